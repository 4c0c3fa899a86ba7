"""Checked against: classes and numbers in closed form, at every sample of the grid."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv
from jaxvib import cli
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.analyses.study_kind import StudyKind
from jaxvib.studies.run.distributed.worker_tasks import compute_chunk
from jaxvib.studies.run.refining import COMPUTED, FILLED, RIGHT, WRONG, words
from jaxvib.studies.run.study import load_text
from jaxvib.studies.store.fields import Variable
from tests.studies.pushed import PushedOptions

CONFIG = """
[system]
kind = "two_body_impact"
[analysis]
kind = "mapped"
[sweep]
method = "refine"
coarsest = 8
checked = 300
load.amplitude = {{ linspace = [0.0, 1.0, {lines}] }}
load.frequency = {{ linspace = [1.0, 2.0, {columns}] }}
[output]
report = false
"""
DISC = (0.47, 1.53, 0.21)  # centre and radius, of which no lattice of 8 misses anything


def inside(samples, disc=DISC):
    line, column, radius = disc
    return (
        np.hypot(samples["load.amplitude"] - line, samples["load.frequency"] - column)
        < radius
    )


def mapped_with(disc):
    """Return a kind: a disc of another class on a plane where numbers are bilinear."""

    def compute(system, samples, options, run, progress):
        force = samples["load.amplitude"] * samples["load.frequency"]
        member = inside(samples, disc)
        progress(len(force))
        fields = {
            "result": np.zeros(len(force), np.int32),
            "contacts": member.astype(np.int32),
            "force": np.where(member, -force, force),
            "state": np.stack([force, force], axis=1),
        }
        axes = {"state": ("sample", "freedom")}
        return {
            name: Variable(axes.get(name, ("sample",)), values)
            for name, values in fields.items()
        }

    options = type("MappedOptions", (PushedOptions,), {"__annotations__": {"kind": str}})
    return StudyKind(
        name="mapped",
        options=options,
        sampled=True,
        compute=compute,
        summary=lambda read, study: [],
        smooth=frozenset({"force"}),
        sample_bytes=lambda options: 24.0,
    )


@pytest.fixture(autouse=True)
def mapped(monkeypatch):
    monkeypatch.setitem(ANALYSES, "mapped", mapped_with(DISC))


def command(*arguments):
    return CliRunner().invoke(cli.main, list(map(str, arguments)))


def test_a_refined_map_is_that_of_all_samples(tmp_path):
    config = tmp_path / "mapped.toml"
    config.write_text(CONFIG.format(lines=97, columns=130))
    done = command("run", config, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = jv.open_study(tmp_path / "out")
    paths = ("load.amplitude", "load.frequency")
    values = np.meshgrid(*(found[path] for path in paths), indexing="ij")
    grid = dict(zip(paths, values, strict=True))
    force = grid["load.amplitude"] * grid["load.frequency"]
    member = inside(grid)
    assert np.array_equal(found["contacts"], member)
    np.testing.assert_allclose(found["force"], np.where(member, -force, force), rtol=1e-12)
    how = found["computed"].values
    assert 0.05 < np.mean(how == COMPUTED) < 0.25
    assert not np.any(how == WRONG)
    assert 100 < np.sum(how == RIGHT) < 500
    assert np.nanmax(found["filling_error"]) < 1e-12
    filled = how == FILLED
    assert np.isnan(found["state"].values[filled]).all()
    assert np.array_equal(found["state"].values[~filled][:, 0], force[~filled])
    assert "differ in class (0.00% to" in done.output


@pytest.mark.slow  # 40 examples of whole maps, 5 s
@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 70), st.integers(2, 70), st.integers(2, 20),
    st.tuples(st.floats(0, 1), st.floats(1, 2), st.floats(0.0, 0.7)), st.integers(1, 3),
)  # fmt: skip
def test_computed_samples_are_right_and_wrong_fillers_are_found(
    lines, columns, coarsest, disc, strips
):
    ANALYSES["mapped"] = mapped_with(disc)  # the fixture takes it away
    text = CONFIG.format(lines=lines, columns=columns)
    text = text.replace("coarsest = 8", f"coarsest = {coarsest}")
    text += f"[run]\nchunk = {strips * coarsest * columns}\n"

    def whole(checked):
        config = text.replace("checked = 300", f"checked = {checked}")
        number = -(-lines // (strips * coarsest))
        chunks = [compute_chunk(config, i) for i in range(number)]
        return {
            name: np.concatenate([c[name].values for c in chunks]) for name in chunks[0]
        }

    rough, full = whole(0), whole(10**6)
    exact = inside(rough, disc)
    assert len(exact) == lines * columns
    first, second = (values.listed() for values in load_text(text).paths.values())
    for found in (rough, full):
        assert np.array_equal(found["load.amplitude"], np.repeat(first, columns))
        assert np.array_equal(found["load.frequency"], np.tile(second, lines))
    assert np.array_equal(full["contacts"], exact)
    known = rough["computed"] == COMPUTED
    assert np.array_equal(known, rough["computed"] != FILLED)
    assert np.array_equal(known, full["computed"] == COMPUTED)
    assert np.array_equal(full["computed"] == WRONG, rough["contacts"] != exact)
    assert np.array_equal(full["computed"] == RIGHT, ~known & (rough["contacts"] == exact))


def test_a_share_of_wrong_fills_is_reported_with_its_interval():
    how = np.repeat([COMPUTED, FILLED, RIGHT, WRONG], [100, 700, 190, 10]).astype(np.int8)
    error = np.where(how == RIGHT, 0.01, np.nan)
    text = words({"computed": how, "filling_error": error}.__getitem__)
    # Wilson's interval of 10 in 200, from its table.
    assert "100 of 1000 samples" in text
    assert "of 200 checked others 5.00% differ in class (2.74% to 8.96%)" in text
    assert "numbers by 1.0% (95th percentile 1.0%)" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("coarsest = 8", "coarsest = 1", "sweep.coarsest = 1"),
        ('"refine"', '"grid"', "coarsest is given where method = \"grid\""),
        ('"mapped"', '"pushed"', 'allowed: with "mapped", "periodic_orbit"'),
        ("linspace = [0.0, 1.0, 9]", "values = [0.0, 2.0, 1.0]", "is not monotonic"),
        ("load.frequency", "load.phase = [0.0]\nload.frequency", "allowed: two paths"),
        ("report = false", "[run]\nchunk = 60", "allowed: no value, or a multiple of 72"),
    ],
)  # fmt: skip
def test_invalid_refinement_is_refused(old, new, message):
    text = CONFIG.format(lines=9, columns=9)
    assert old in text
    with pytest.raises(ValueError, match="allowed") as error:
        load_text(text.replace(old, new, 1))
    assert message in str(error.value)


def test_workers_and_a_resume_give_the_same_bytes(tmp_path):
    config = tmp_path / "mapped.toml"
    config.write_text(CONFIG.format(lines=40, columns=33))
    for name in ("once", "twice"):
        assert command("run", config, "--out", tmp_path / name).exit_code == 0
    journal = Path(tmp_path / "twice/journal.jsonl")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:3]))
    assert command("run", config, "--out", tmp_path / "twice", "--resume").exit_code == 0
    files = [
        {
            str(file.relative_to(tmp_path / name)): file.read_bytes()
            for file in (tmp_path / name / "results.zarr").rglob("*")
            if file.is_file()
        }
        for name in ("once", "twice")
    ]
    assert files[0] == files[1]
