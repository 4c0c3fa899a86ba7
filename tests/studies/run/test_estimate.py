"""Checked against: a straight line fitted by hand, and the parts of a time."""

import json
import threading
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.run.computing import CompileTimes, _Union
from jaxvib.studies.run.estimate import computing_time, estimate, lines
from jaxvib.studies.run.study import load
from tests.studies import pushed


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def config(tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "one-cache").touch()
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(programs))
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pushed.toml"
    file.write_text(pushed.CONFIG)
    return file


def command(*words):
    return CliRunner().invoke(cli.main, list(words))


def test_without_a_measurement_no_time_is_predicted(config):
    found = estimate(load(config, ()), Path("new"))
    (line,) = (line for line in lines(found) if line.startswith("time"))
    assert found["time"] is None
    assert "--measure" in line


def test_a_few_samples_predict_the_run_time(config):
    compute, seen = pushed.KIND.compute, []

    def counted(system, samples, *arguments):
        seen.append(len(samples["load.phase"]))
        return compute(system, samples, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        pushed.install(patch, compute=counted)
        done = command("check", "pushed.toml", "--measure", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)["time"]
    # Once for what is imported, three times for the spread, once stored: 2 of each path.
    assert seen == [4, 4, 4, 4, 4]
    assert found["least"] <= found["seconds"] <= found["most"]
    parts = found["startup"] + found["compile"] + found["computing"] + found["after"]
    assert found["seconds"] == pytest.approx(parts, rel=1e-12)
    assert found["cold"] >= found["seconds"]
    assert found["samples"] == 12
    assert not Path("results").exists()
    line = lines(json.loads(done.stdout))[4]
    assert line.endswith("measured from 12 samples")


def test_runs_of_about_as_many_samples_determine_no_fixed_part():
    assert computing_time([[10, 6.0], [14, 6.0]], 140) == (6.0, 60.0)
    assert computing_time([[10, 6.0]], 1) == (0.6, 6.0)
    assert computing_time([[10, 6.0]], 10) == (6.0, 6.0)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([[10, 6.0], [110, 56.0]], 1 + 1000 * 0.5),
        # No rate below 0, and no fixed part: the minimum of (a / 6 - 1)^2 + (a / 5 - 1)^2,
        # and that of (10 b - 1)^2 + (5 b - 1)^2.
        ([[10, 6.0], [110, 5.0]], (1 / 6 + 1 / 5) / (1 / 36 + 1 / 25)),
        ([[10, 1.0], [100, 20.0]], 1000 * (10 + 5) / (10**2 + 5**2)),
    ],
)
def test_a_line_of_two_parts_goes_through_the_runs(runs, expected):
    low, high = computing_time(runs, 1000)
    assert low == high == pytest.approx(expected, rel=1e-12)


def test_a_study_of_one_piece_is_not_measured(tmp_path):
    done = command("check", "loading_curve", "--measure")
    assert done.exit_code == 2
    assert "is computed in one piece" in done.output


def test_simultaneous_work_counts_once():
    union = _Union()
    for end, seconds in ((1.0, 1.0), (3.0, 0.5), (3.5, 2.0), (6.0, 1.0)):
        union.add(end, seconds)
    assert union.seconds == 1.0 + 2.0 + 1.0


def test_compiling_is_heard_from_every_thread():
    with CompileTimes() as compiling:
        thread = threading.Thread(target=jax.jit(lambda x: x * 1.25), args=(1.0,))
        thread.start()
        thread.join()
    assert 0 < compiling.backend_seconds < compiling.seconds
    before = compiling.seconds
    jax.jit(lambda x: x * 1.5)(1.0)
    assert compiling.seconds == before
