"""Checked against: the bytes of the same study that nobody stopped."""

import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.store.evaluations import Evaluations
from tests.studies.configs import array_files

SYSTEM = """
[output]
report = false
[system]
kind = "two_body_impact"
contact.stiffness = 3.504e7
load.amplitude = 500.0
load.frequency = 5.8
"""
SENSITIVITY = """
[analysis]
kind = "sensitivity"
samples = 1024
variables.main.mass = [900.0, 1100.0]
variables.attached.mass = [90.0, 110.0]
variables.attached.damping_ratio = [0.03, 0.05]
[analysis.measures.variance]
measure = "white_noise"
force = "main"
at = "main"
"""
OTHERS = {
    "bifurcation_diagram": """
[analysis]
kind = "bifurcation_diagram"
path = "load.amplitude"
bounds = [300.0, 600.0]
values = 320
sweep = "both"
transient = 4
points = 16
""",
    "basins": """
[analysis]
kind = "basins"
points = 32
transient = 32
[analysis.grid]
x_main = [-0.1, 0.1]
v_main = [-0.5, 0.5]
""",
    "arclength": """
[analysis]
kind = "continuation"
path = "load.amplitude"
bounds = [300.0, 600.0]
method = "arclength"
""",
}


def check_stopped_and_resumed(text, tmp_path, monkeypatch):
    config = tmp_path / "study.toml"
    config.write_text(SYSTEM + text)
    kept, most = [], [float("inf")]
    put = Evaluations.put

    def counted(self, key, arrays):
        if len(kept) >= most[0]:
            raise RuntimeError("stopped")
        kept.append(key)
        put(self, key, arrays)

    monkeypatch.setattr(Evaluations, "put", counted)

    def run(name, *more):
        words = ["run", str(config), "--out", str(tmp_path / name), *more]
        return CliRunner().invoke(cli.main, words)

    assert run("whole").exit_code == 0
    number = len(kept)
    assert number >= 10
    kept.clear()
    most[0] = int(0.9 * number)
    done = run("stopped")
    assert done.exit_code == 3
    assert "stopped; finished samples are kept" in done.output
    kept.clear()
    assert run("stopped", "--resume").exit_code == 0
    assert len(kept) == number - most[0]
    assert array_files(tmp_path / "stopped") == array_files(tmp_path / "whole")
    assert not (tmp_path / "stopped" / "evaluations.jsonl").exists()


@pytest.mark.slow  # a whole study, twice, 3 s
def test_a_sensitivity_study_stopped_at_nine_tenths_keeps_them(tmp_path, monkeypatch):
    check_stopped_and_resumed(SENSITIVITY, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_a_study_stored_as_a_whole_keeps_nine_tenths(kind, tmp_path, monkeypatch):
    check_stopped_and_resumed(OTHERS[kind], tmp_path, monkeypatch)
