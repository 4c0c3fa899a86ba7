"""Checked against: what was kept of former runs by hand, and the arithmetic of it."""

import json
import re
import threading
import time
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.foundation.cache import clear, read_entry, write_entry
from jaxvib.studies.run import runtime_history
from jaxvib.studies.run.estimate import estimate, lines
from jaxvib.studies.run.study import load
from jaxvib.studies.store.compile_times import CompileTimes, _Union
from tests.studies import pushed

COLD = {
    "samples": 10, "startup": 4.0, "compile": 20.0, "backend": 15.0, "after": 3.0,
    "cold": True,
}  # fmt: skip
RUNS = [(10, 6.0), (110, 56.0)]  # 1 s, and 0.5 s for each sample
WARM = COLD | {"compile": 6.0, "backend": 1.0, "cold": False}


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


def time_of(config, *assignments):
    found = estimate(load(config, assignments), Path("new"))
    (line,) = (line for line in lines(found) if line.startswith("time"))
    return line.removeprefix("time").strip(), found["time"]


def test_nothing_is_said_of_time_before_such_a_study_was_run(config):
    words, found = time_of(config)
    assert found is None
    assert words == (
        "unknown: no pushed of two_body_impact has run here; --measure computes a few "
        "samples"
    )


def test_an_estimate_uses_the_last_run_of_the_same_structure(config):
    runtime_history.record_runtime(load(config), COLD, RUNS)
    # another mass, another range of what is swept: the same programs
    other = "sweep.load.phase=[0.0]", "main.mass=3.0"
    words, found = time_of(config, *other)
    assert found["seconds"] == 4.0 + (20.0 - 15.0) + 3.0 + 3.0
    assert words == (
        "about 15 s (30 s without compiled programs): 4 s to start, 5 s to load programs, "
        "3 s to compute, 3 s to summarise and draw; from the last run of this structure "
        "(10 samples)"
    )
    runtime_history.record_runtime(load(config), WARM, RUNS)
    assert time_of(config, *other)[1]["seconds"] == 4.0 + 6.0 + 3.0 + 3.0


def test_where_programs_are_gone_they_are_compiled_anew(config, tmp_path):
    runtime_history.record_runtime(load(config), COLD, RUNS)
    (tmp_path / "programs" / "one-cache").unlink()
    words, found = time_of(config)
    assert found["seconds"] == found["cold"] == 4.0 + 20.0 + 7.0 + 3.0
    assert words.startswith("about 34 s: 4 s to start, 20 s to compile")


def test_another_structure_is_compiled_anew(config):
    runtime_history.record_runtime(load(config), WARM, RUNS)
    another = "analysis.fail_above=1e9"
    words, found = time_of(config, another)
    assert found["seconds"] == 4.0 + 6.0 + 7.0 + 3.0
    assert words.startswith("at least 20 s")  # as nobody saw it compiled
    runtime_history.record_runtime(load(config), COLD, RUNS)
    words, found = time_of(config, another)
    assert found["seconds"] == 4.0 + 20.0 + 7.0 + 3.0
    assert words.startswith("about 34 s")
    assert words.endswith("from the last comparable run (10 samples)")


def test_clearing_programs_clears_the_estimate(config):
    runtime_history.record_runtime(load(config), COLD, RUNS)
    clear()
    assert time_of(config)[1] is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a": 1}', '{"a": {"last": "cold"}}', '{"a": {"last": [], "cold": 1}}'],
)
def test_a_damaged_file_knows_nothing(config, text):
    runtime_history.record_runtime(load(config), COLD, RUNS)
    write_entry(runtime_history.TIMES, text.encode())
    assert time_of(config)[1] is None


def test_a_run_is_remembered_with_its_parts(config):
    began = time.monotonic()
    assert command("run", "pushed.toml", "--out", "there").exit_code == 0
    took = time.monotonic() - began
    (entry,) = json.loads(read_entry(runtime_history.TIMES) or "").values()
    found, runs = entry[entry["last"]], dict(entry["runs"])
    parts = found["startup"] + found["compile"] + runs[12] + found["after"]
    assert 0 < runs[5] < runs[12]  # a chunk, and all of them
    assert found["samples"] == 12
    assert found["compile"] > 0
    assert 0.5 * took < parts < took
    assert time_of(config)[1]["same"]


def test_a_few_samples_predict_the_run_time(config):
    compute, seen = pushed.PushedKind.compute, []

    def counted(self, system, samples, *arguments):
        seen.append(len(samples["load.phase"]))
        return compute(self, system, samples, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pushed.PushedKind, "compute", counted)
        done = command("check", "pushed.toml", "--measure", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)["time"]
    # Once for what is imported, three times for the spread, once stored: 2 of each path.
    assert seen == [4, 4, 4, 4, 4]
    assert 0 < found["low"] <= 1 <= found["high"]
    assert found["least"] <= found["seconds"] <= found["most"]
    assert found["after"] > 0
    assert found["samples"] == 12
    assert not Path("results").exists()
    assert "from 12 samples, measured now" in command("check", "pushed.toml").output


def slowly(fixed: float, each: float):
    """Return the computation of a kind that takes so many seconds."""
    compute = pushed.PushedKind.compute

    def slow(self, system, samples, *arguments):
        time.sleep(fixed + each * len(samples["load.phase"]))
        return compute(self, system, samples, *arguments)

    return slow


def test_the_fixed_part_of_a_small_run_is_not_taken_for_a_rate(config, monkeypatch):
    """Each chunk takes 0.3 s and 1 ms for a sample, of which one run knows but the sum."""
    monkeypatch.setattr(pushed.PushedKind, "compute", slowly(0.3, 1e-3))
    small = ("run.chunk=1000", "sweep.load.phase=[0.5]")
    large = ("run.chunk=1000", "sweep.load.phase={ linspace = [0.0, 1.0, 200] }")
    words = [word for each in small for word in ("--set", each)]
    assert command("run", "pushed.toml", *words, "--out", "small").exit_code == 0
    said, found = time_of(config, *large)
    others = found["seconds"] - found["computing"]
    # From nothing to do for more samples, to 200 times as much.
    assert 0.3 < found["least"] - others < 0.3 + 0.8 < 50 < found["computing"] < 100
    assert re.match(r"\d+ s to (\d+ s|\d min)", said)
    words = [word for each in large for word in ("--set", each)]
    assert command("run", "pushed.toml", *words, "--out", "large").exit_code == 0
    _, found = time_of(
        config, "run.chunk=1000", "sweep.load.phase={ linspace = [0.0, 1.0, 400] }"
    )
    assert 0.3 + 1.6 < found["computing"] < 1.5 * (0.3 + 1.6)
    assert found["least"] == found["seconds"] == found["most"]


def test_measurements_separate_a_fixed_part_from_a_rate(config, monkeypatch):
    monkeypatch.setattr(pushed.PushedKind, "compute", slowly(0.3, 1e-3))
    large = ("run.chunk=1000", "sweep.load.phase={ linspace = [0.0, 1.0, 200] }")
    words = [word for each in large for word in ("--set", each)]
    done = command("check", "pushed.toml", "--measure", "--json", *words)
    found = json.loads(done.stdout)["time"]
    assert 0.3 + 0.8 < found["computing"] < 1.5 * (0.3 + 0.8)


def test_runs_of_about_as_many_samples_determine_no_fixed_part():
    assert runtime_history.computing([[10, 6.0], [14, 6.0]], 140) == (6.0, 60.0)
    assert runtime_history.computing([[10, 6.0]], 1) == (0.6, 6.0)
    assert runtime_history.computing([[10, 6.0]], 10) == (6.0, 6.0)


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
    low, high = runtime_history.computing(runs, 1000)
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
