"""Checked against: the ready studies themselves, of which each resolved config is one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.chunk import build
from jaxvib.studies.run.study import load, load_text

NAMES = sorted(file.stem for file in builtin_studies.folder().glob("*.toml"))
# These take seconds; of the beam only some samples.
CHEAP = {
    "beam_with_bodies": ("--set", "sweep.link_stiffness.0.logspace=[0.1, 1e4, 3]"),
    "robust_absorber": (),
    "shock_spectrum": (),
    "tower_response": (),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_resolved_config_of_a_built_in_study_is_that_study(name):
    study = load(builtin_studies.folder() / f"{name}.toml")
    text = to_toml(study.resolved())
    again = load_text(text, name)
    assert again.resolved() == study.resolved()
    assert to_toml(again.resolved()) == text
    assert (again.samples, again.paths) == (study.samples, study.paths)
    build(again)


def test_a_resolved_config_is_a_copy_with_the_folder_of_its_results():
    study = load(builtin_studies.folder() / "quick.toml")
    before = study.resolved()
    moved = study.resolved(Path("elsewhere"))
    assert moved["output"].pop("directory") == "elsewhere"
    assert before["output"]["directory"] == "results/quick"
    moved["system"]["gap"] = 1.0
    assert study.resolved() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEAP)
def test_a_resolved_config_gives_the_same_bytes_again(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for config, words in ((name, CHEAP[name]), ("first/config.toml", ())):
        words = ["run", config, *words, "--set", "output.report=false", "--out", "there"]
        done = CliRunner().invoke(cli.main, words)
        assert done.exit_code == 0, done.output
        if config == name:
            Path("there").rename("first")
    first, again = (stored(place) for place in ("first", "there"))
    assert first == again


def stored(place):
    """Return all that a study holds but its times, and where the config says it goes."""
    files = [path for path in Path(place).rglob("*") if path.is_file()]
    other = ("times.json", "run.lock", "study.json", "journal.jsonl")
    found = {p.relative_to(place): p.read_bytes() for p in files if p.name not in other}
    record = json.loads(Path(place, "study.json").read_text())
    del record["config"]["output"]["directory"]
    return found, record
