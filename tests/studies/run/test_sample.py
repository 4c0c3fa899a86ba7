"""Checked against: what a whole run of the same study stores, and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies import open_study
from jaxvib.studies.run.sample import results_of, sample_again
from jaxvib.studies.store.fields import Variable

CONFIG = """
title = "A tower"
[system]
kind = "assembly"
modules.ground-first = { module = "translation_translation", mass = 2.0, stiffness = 8.0 }
[analysis]
kind = "natural_modes"
[sweep]
modules.ground-first.mass = [0.5, 2.0, 8.0]
[run]
chunk = 2
"""


def invoke(*words):
    with pytest.MonkeyPatch.context() as patch:
        # What the command sets in its environment must not outlive a test.
        patch.setattr(cli, "use_compilation_cache", lambda: None)
        return CliRunner().invoke(cli.main, [str(word) for word in words])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    (folder / "tower.toml").write_text(CONFIG)
    done = invoke("run", folder / "tower.toml", "--out", folder / "tower")
    assert done.exit_code == 0, done.output
    return folder / "tower"


def test_a_sample_is_computed_again_and_is_what_is_stored(study):
    lines = sample_again(study, 2)
    assert lines[0] == "sample     2 of 3 of A tower"
    assert "modules.ground-first.mass = 8.0 kg" in lines[1]
    (frequency,) = (line for line in lines if line.startswith("frequencies"))
    assert frequency.split() == ["frequencies", "1", "rad/s"]  # sqrt(8 / 8)
    assert not any("stored" in line for line in lines[3:])


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_each_sample_of_a_merged_study_is_computed_again(tmp_path, method):
    sweep = f'method = "{method}"\ncount = COUNT\nmodules.ground-first.mass = '
    text = CONFIG.replace(
        "modules.ground-first.mass = [0.5, 2.0, 8.0]", f"{sweep}{{ bounds = [1.0, 2.0] }}"
    )
    parts = [tmp_path / f"part-{seed}" for seed in (3, 7)]
    for seed, part in zip((3, 7), parts, strict=True):
        (tmp_path / "t.toml").write_text(text.replace("COUNT", str(seed)))
        done = invoke(
            "run", tmp_path / "t.toml", "--out", part, "--set", f"run.seed={seed}"
        )
        assert done.exit_code == 0, done.output
    done = invoke("merge", *parts, "--out", tmp_path / "all")
    assert done.exit_code == 0, done.output
    stored = open_study(tmp_path / "all")
    for number in (0, 2, 3, 9):
        lines = sample_again(tmp_path / "all", number)
        mass = stored["modules.ground-first.mass"].values[number]
        assert f"modules.ground-first.mass = {float(mass)!r} kg" in lines[1]
        assert not any("stored" in line for line in lines[3:])
    with pytest.raises(ValueError, match=r"sample = 10 of .* is not in \[0, 9\]"):
        sample_again(tmp_path / "all", 10)


def test_a_different_stored_result_is_reported(study, monkeypatch):
    from jaxvib.studies.run import sample

    true = sample.stored_fields

    def changed(*arguments, **more):
        found = true(*arguments, **more)
        return {n: SimpleNamespace(values=2 * f.values) for n, f in found.items()}

    monkeypatch.setattr(sample, "stored_fields", changed)
    (line,) = (each for each in sample_again(study, 2) if each.startswith("frequencies"))
    assert line.endswith("1 rad/s; stored: 2 rad/s")


def test_values_missing_in_both_are_no_difference(study, monkeypatch):
    from jaxvib.studies.run import sample

    def unknown(function):
        def found(*arguments, **more):
            fields = dict(function(*arguments, **more))
            nothing = np.full((1, 1), complex(np.nan, 0.0))
            fields["frequencies"] = Variable(("sample", "mode"), nothing, "rad/s")
            return fields

        return found

    for name in ("stored_fields", "_computed"):
        monkeypatch.setattr(sample, name, unknown(getattr(sample, name)))
    (line,) = (each for each in sample_again(study, 2) if each.startswith("frequencies"))
    assert line.split() == ["frequencies", "nan", "rad/s"]


def test_a_sample_is_shown_in_the_units_of_the_study(study, tmp_path):
    text = CONFIG + '[output]\nunits = ["Hz", "g"]\n'
    (tmp_path / "tower.toml").write_text(text)
    assert invoke("run", tmp_path / "tower.toml", "--out", tmp_path / "t").exit_code == 0
    lines = sample_again(tmp_path / "t", 2)
    assert "modules.ground-first.mass = 8000.0 g" in lines[1]
    (frequency,) = (line for line in lines if line.startswith("frequencies"))
    assert frequency.split() == ["frequencies", "0.1591549431", "Hz"]  # 1 / (2 pi)


def test_the_config_of_a_sample_alone_gives_that_sample(study, tmp_path):
    config = tmp_path / "one.toml"
    done = invoke("sample", study, 1, "--config", config)
    assert done.exit_code == 0, done.output
    results = results_of(config.read_text())
    assert results["modules.ground-first.mass"].values.tolist() == [2.0]
    stored = open_study(study).frequencies.values[1]
    np.testing.assert_array_equal(results.frequencies.values[0], stored)
    assert results.frequencies.attrs["units"] == "rad/s"
    assert invoke("check", config).exit_code == 0
    again = invoke("sample", study, 1, "--config", config)
    assert again.exit_code == 2, "it writes over no file"


@pytest.mark.parametrize("number", [-1, 3])
def test_a_number_beyond_the_samples_is_refused(study, number):
    done = invoke("sample", study, "--", number)
    assert done.exit_code == 2
    assert f"sample = {number}" in done.output
    assert "is not in [0, 2]" in done.output


def test_a_study_without_samples_has_none():
    config = CONFIG.replace("[sweep]\nmodules.ground-first.mass = [0.5, 2.0, 8.0]", "")
    results = results_of(config)
    np.testing.assert_allclose(results.frequencies.values, [[2.0]], rtol=1e-14)
