"""Checked against: what was kept of former runs by hand, and the arithmetic of it."""

import json
import threading
import time
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib._cache import clear, read_entry, write_entry
from jaxvib.studies.run import past
from jaxvib.studies.run.estimate import estimate, lines
from jaxvib.studies.run.study import load
from jaxvib.studies.store.compiling import Compiling, _Union
from tests.studies import pushed

COLD = {
    "samples": 10, "startup": 4.0, "compile": 20.0, "backend": 15.0, "each": 0.5,
    "after": 3.0, "cold": True,
}  # fmt: skip
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
        "not known: no pushed of two_body_impact was run here; --measure computes a few "
        "samples"
    )


def test_of_the_same_structure_what_was_compiled_is_kept(config):
    past.remember(load(config), COLD)
    # another mass, another range of what is swept: the same programs
    other = "sweep.load.phase=[0.0]", "main.mass=3.0"
    words, found = time_of(config, *other)
    assert found["seconds"] == 4.0 + (20.0 - 15.0) + 0.5 * 4 + 3.0
    assert words == (
        "about 14 s (29 s where nothing is compiled yet): 4 s to start, 5 s to load or "
        "trace programs, 0.5 s for each sample, 3 s to sum up and draw; as 10 samples took "
        "in the last run of this structure"
    )
    past.remember(load(config), WARM)
    assert time_of(config, *other)[1]["seconds"] == 4.0 + 6.0 + 0.5 * 4 + 3.0


def test_where_programs_are_gone_they_are_compiled_anew(config, tmp_path):
    past.remember(load(config), COLD)
    (tmp_path / "programs" / "one-cache").unlink()
    words, found = time_of(config)
    assert found["seconds"] == found["cold"] == 4.0 + 20.0 + 0.5 * 12 + 3.0
    assert words.startswith("about 33 s: 4 s to start, 20 s to compile")


def test_another_structure_is_compiled_anew(config):
    past.remember(load(config), WARM)
    another = "analysis.fail_above=1e9"
    words, found = time_of(config, another)
    assert found["seconds"] == 4.0 + 6.0 + 0.5 * 12 + 3.0
    assert words.startswith("at least 19 s")  # as nobody saw it compiled
    past.remember(load(config), COLD)
    words, found = time_of(config, another)
    assert found["seconds"] == 4.0 + 20.0 + 0.5 * 12 + 3.0
    assert words.startswith("about 33 s")
    assert words.endswith("another structure may differ")


def test_what_is_cleared_with_the_programs_is_not_known(config):
    past.remember(load(config), COLD)
    clear()
    assert time_of(config)[1] is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a": 1}', '{"a": {"last": "cold"}}', '{"a": {"last": [], "cold": 1}}'],
)
def test_a_damaged_file_knows_nothing(config, text):
    past.remember(load(config), COLD)
    write_entry(past.TIMES, text.encode())
    assert time_of(config)[1] is None


def test_a_run_is_remembered_with_its_parts(config):
    began = time.monotonic()
    assert command("run", "pushed.toml", "--out", "there").exit_code == 0
    took = time.monotonic() - began
    (entry,) = json.loads(read_entry(past.TIMES) or "").values()
    found = entry[entry["last"]]
    parts = found["startup"] + found["compile"] + 12 * found["each"] + found["after"]
    assert found["samples"] == 12
    assert found["compile"] > 0
    assert 0.5 * took < parts < took
    assert time_of(config)[1]["same"]


def test_a_few_samples_tell_what_all_take(config):
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
    assert 0 < found["low"] <= found["each"] <= found["high"]
    assert found["after"] > 0
    assert found["samples"] == 12
    assert not Path("results").exists()
    assert "12 samples were measured" in command("check", "pushed.toml").output


def test_a_study_of_one_piece_is_not_measured(tmp_path):
    done = command("check", "loading_curve", "--measure")
    assert done.exit_code == 2
    assert "is computed in one piece" in done.output


def test_what_is_done_at_the_same_time_counts_once():
    union = _Union()
    for end, seconds in ((1.0, 1.0), (3.0, 0.5), (3.5, 2.0), (6.0, 1.0)):
        union.add(end, seconds)
    assert union.seconds == 1.0 + 2.0 + 1.0


def test_compiling_is_heard_from_every_thread():
    with Compiling() as compiling:
        thread = threading.Thread(target=jax.jit(lambda x: x * 1.25), args=(1.0,))
        thread.start()
        thread.join()
    assert 0 < compiling.backend_seconds < compiling.seconds
    before = compiling.seconds
    jax.jit(lambda x: x * 1.5)(1.0)
    assert compiling.seconds == before
