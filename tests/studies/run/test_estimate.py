"""Checked against: `times.json` written by hand, and the arithmetic of its numbers."""

import json
import platform

import pytest
from click.testing import CliRunner

from jaxvib.cli import main
from jaxvib.studies.run.estimate import estimate, lines
from jaxvib.studies.run.study import load
from tests.studies import pushed

SESSION = {
    "started": "2026-01-01T00:00:00+00:00", "host": platform.node(), "samples": 10,
    "seconds": 50.0, "startup_seconds": 6.0, "compile_seconds": 14.0,
}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "pushed.toml"
    file.write_text(pushed.CONFIG)
    return file


def run(config, out):
    return CliRunner().invoke(main, ["run", str(config), "--out", str(out)])


def time_of(config, folder):
    told = lines(estimate(load(config), folder))
    (found,) = (line for line in told if line.startswith("time"))
    return found.removeprefix("time").strip()


def test_nothing_is_said_of_time_before_such_a_study_was_run(config, tmp_path):
    words = time_of(config, tmp_path / "results" / "new")
    assert words.startswith("not known")
    assert words.endswith("is one of pushed of two_body_impact")


def test_time_is_that_of_the_last_study_of_the_same_kinds(config, tmp_path):
    for name, start in (("first", "2026-01-01"), ("second", "2026-01-02")):
        assert run(config, tmp_path / name).exit_code == 0
        session = SESSION | {"started": start, "seconds": 20.0 + 10 * len(name)}
        content = {"sessions": [session | {"samples": 3}, session]}
        (tmp_path / name / "times.json").write_text(json.dumps(content))
    # 20 s to start and compile, and 60 s / 10 for each of the 12 samples
    words = time_of(config, tmp_path / "new")
    assert words == (
        "about 92 s: 20 s to start and compile, 6 s for each sample, as 10 samples took in "
        f"{tmp_path / 'second'}"
    )


@pytest.mark.parametrize(
    "other", [{"host": "elsewhere"}, {"samples": 0}, {"started": None}, {"seconds": "long"}]
)
def test_a_session_that_says_nothing_of_this_machine_is_left_out(config, tmp_path, other):
    assert run(config, tmp_path / "there").exit_code == 0
    session = {k: v for k, v in (SESSION | other).items() if v is not None}
    (tmp_path / "there" / "times.json").write_text(json.dumps({"sessions": [session]}))
    assert time_of(config, tmp_path / "new").startswith("not known")


def test_a_study_of_another_kind_is_left_out(config, tmp_path):
    assert run(config, tmp_path / "there").exit_code == 0
    config.write_text(pushed.CONFIG.replace('kind = "pushed"', 'kind = "periodic_orbit"'))
    assert time_of(config, tmp_path / "new").startswith("not known")
