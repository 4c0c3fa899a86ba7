"""Checked against: the bytes of the same study where nothing goes wrong."""

import numpy as np
import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib import cli
from jaxvib.ensemble import Reason
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run import memory
from jaxvib.studies.run.computing import compute_part
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.studies import pushed
from tests.studies.configs import array_files

NOT_AN_ORDINARY_ONE = 300.0  # N: the load of three samples in two chunks


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "pushed.toml"
    file.write_text(pushed.CONFIG)
    return file


def run(config, directory, *more):
    return CliRunner().invoke(
        cli.main, ["run", str(config), "--out", str(directory), *more]
    )


def breaking(monkeypatch, breaks):
    """Let the computation of a part break off with what `breaks` raises."""

    def compute(system, samples, *rest):
        breaks(samples)
        return pushed.KIND.compute(system, samples, *rest)

    pushed.install(monkeypatch, compute=compute)


def test_a_sample_that_breaks_the_computation_loses_no_other(config, tmp_path, monkeypatch):
    assert run(config, tmp_path / "good").exit_code == 0

    def breaks(samples):
        if np.any(samples["load.amplitude"] == NOT_AN_ORDINARY_ONE):
            raise np.linalg.LinAlgError("Eigenvalues did not converge")

    breaking(monkeypatch, breaks)
    done = run(config, tmp_path / "bad")
    assert done.exit_code == 1, done.output
    assert "sample 6: LinAlgError: Eigenvalues did not converge" in done.output
    good, bad = (jv.open_study(tmp_path / name) for name in ("good", "bad"))
    lost = bad["load.amplitude"].values == NOT_AN_ORDINARY_ONE  # one row of a grid
    codes, numbers = bad["result"].values, bad["acceleration"].values
    assert np.all(codes[lost] == Reason.COMPUTATION_FAILED)
    assert np.isnan(numbers[lost]).all()
    assert np.all(codes[~lost] == 0)
    np.testing.assert_array_equal(numbers[~lost], good["acceleration"].values[~lost])
    listed = (tmp_path / "bad" / "failed.csv").read_text()
    assert listed.count("the computation failed with an error") == 3


def test_a_first_chunk_of_bad_samples_alone_is_stored_as_well(
    config, tmp_path, monkeypatch
):
    def breaks(samples):
        if np.any(samples["load.amplitude"] < 250.0):  # the first six of twelve
            raise ZeroDivisionError("no")

    breaking(monkeypatch, breaks)
    assert run(config, tmp_path / "study").exit_code == 1
    codes = jv.open_study(tmp_path / "study")["result"].values
    np.testing.assert_array_equal(codes.ravel(), [11] * 6 + [0] * 6)


def test_a_chunk_that_needs_too_much_memory_goes_on_in_halves(
    config, tmp_path, monkeypatch
):
    assert run(config, tmp_path / "good").exit_code == 0
    errors = [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating")]

    def breaks(samples):
        if len(samples["load.amplitude"]) > 2:
            raise errors[len(samples["load.amplitude"]) % 2]

    breaking(monkeypatch, breaks)
    done = run(config, tmp_path / "halved")
    assert done.exit_code == 0, done.output
    assert array_files(tmp_path / "halved") == array_files(tmp_path / "good")


def test_a_study_of_which_no_sample_can_be_computed_ends_with_one_line(
    config, tmp_path, monkeypatch
):
    calls = []

    def breaks(samples):
        calls.append(samples)
        raise TypeError("nothing\nfits")

    breaking(monkeypatch, breaks)
    done = run(config, tmp_path / "study")
    assert done.exit_code == 3
    assert "no sample can be computed: TypeError: nothing fits" in done.output
    assert len(calls) < 12


def test_too_little_memory_for_one_sample_or_a_full_disk_is_no_reason_code(
    config, tmp_path, monkeypatch
):
    for error in (MemoryError("Unable to allocate"), OSError(28, "No space left")):

        def breaks(samples, error=error):
            raise error

        with monkeypatch.context() as patch:
            breaking(patch, breaks)
            done = run(config, tmp_path / type(error).__name__)
        assert done.exit_code == 3, done.output
    again = run(config, tmp_path / "MemoryError", "--resume")
    assert again.exit_code == 0, again.output


@pytest.mark.slow  # computes a study in halves, 2 s
def test_progress_counts_no_sample_twice(config, tmp_path, monkeypatch):
    def breaks(samples):
        if np.any(samples["load.phase"] == 0.5) and len(samples["load.phase"]) > 1:
            raise RuntimeError("not together")

    breaking(monkeypatch, breaks)
    counted = []
    monkeypatch.setattr(
        "jaxvib.studies.run.progress.Progress.advance", lambda self, n: counted.append(n)
    )
    assert run(config, tmp_path / "study").exit_code == 0
    assert sum(counted) == 12


def test_without_requested_traces_none_are_stored(config, tmp_path, monkeypatch):
    pushed.install(monkeypatch, groups={"first": lambda *_: {}})
    assert run(config, tmp_path / "study").exit_code == 0
    assert "acceleration" in jv.open_study(tmp_path / "study")
    sets = ["--set", "analysis.kind=periodic_orbit", "--set", "analysis.traces=0"]
    study = load(config, sets[1::2])
    values = {path: np.ones(12) for path in study.paths}
    kind = ANALYSES["periodic_orbit"]
    assert kind.groups["traces"](None, values, study, lambda name: np.ones(12)) == {}


def test_a_study_that_needs_more_memory_than_there_is_is_refused(
    config, tmp_path, monkeypatch
):
    needed = 1e9 + 4 * 12 * 24
    monkeypatch.setattr(memory, "memory", lambda: needed - 1.0)
    done = run(config, tmp_path / "study")
    assert done.exit_code == 2
    assert "12 samples need about 1 GB" in done.output
    assert "allowed: 11 samples" in done.output
    assert not (tmp_path / "study").exists()
    monkeypatch.setattr(memory, "memory", lambda: needed)
    assert run(config, tmp_path / "study").exit_code == 0


def test_fewer_samples_go_into_a_chunk_where_memory_is_short(config, monkeypatch):
    config.write_text(pushed.CONFIG.replace("chunk = 5", ""))
    assert load(config).run.chunk == 1024
    monkeypatch.setattr(memory, "memory", lambda: 1024 * 24 * 16 * 8 / 4)
    assert load(config).run.chunk == 256
    assert load(config, ["run.chunk=700"]).run.chunk == 700


def test_the_engine_does_not_depend_on_the_chunks(config, monkeypatch):
    numbers = []

    def regimes(system, samples, number, **options):
        numbers.append(number)
        raise ZeroDivisionError

    class Silent:
        advance = staticmethod(lambda number: None)
        message = staticmethod(lambda line: None)

    monkeypatch.setattr(jv.orbits, "regimes", regimes)
    study = load(config, ["analysis.kind=periodic_orbit"])

    def columns(part):
        return {path: np.ones(12)[part] for path in study.paths}

    with pytest.raises(RuntimeError, match="no sample can be computed"):
        compute_part(study, build(study), columns, slice(5, 10), Silent())
    assert set(numbers) == {12}
    assert len(numbers) > 1
