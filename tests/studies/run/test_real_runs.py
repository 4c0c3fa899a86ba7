"""Checked against: the same study run whole, run again, and the published fold.

These are the ready studies and what a user does to them, with the real solvers.
"""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds.continuation.stability_chart import KINDS
from tests.machine import slowness
from tests.places import SAME_BITS, check_same
from tests.studies.configs import array_files
from tests.users import newcomer

pytestmark = pytest.mark.slow
SMALL = (
    "--set", "sweep.load.amplitude.linspace=[100.0, 900.0, 3]",
    "--set", "sweep.load.frequency.linspace=[5.0, 8.0, 4]",
    "--set", "run.chunk=4", "--set", "analysis.traces=4", "--set", "output.report=false",
)  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def command(*words):
    return [sys.executable, "-m", "jaxvib", *words]


def shell(cache, *words, **more):
    environment = newcomer(cache, **more)
    return subprocess.run(command(*words), capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def whole(cache, tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "whole"
    done = shell(cache, "run", "quick", *SMALL, "--out", str(directory))
    assert done.returncode == 0, done.stderr
    return directory


def of_xla(cache):
    # By name and size: JAX has been seen to store all but the ones that matter.
    entries = {path.name.removesuffix("-cache"): path for path in cache.rglob("*-cache")}
    return {name for name, path in entries.items() if path.stat().st_size > 50_000}


def kernels(cache):
    return {path.name: path.stat().st_size for path in cache.rglob("*.o")}


def test_the_second_process_takes_the_main_programs_from_the_cache(cache, whole):
    stored, code = of_xla(cache), kernels(cache)
    # Transients, orbits, aperiodic motions, traces; programs of linear algebra are small.
    assert sum(size > 50_000 for size in code.values()) >= 4
    again = Path(f"{whole}-again")
    done = shell(cache, "run", "quick", *SMALL, "--out", str(again), JAX_LOG_COMPILES="1")
    assert done.returncode == 0, done.stderr
    hits = re.findall(r"compilation cache hit for '\S+' with key '(\S+)'", done.stderr)
    assert stored <= set(hits)
    assert of_xla(cache) == stored
    # None anew but what had run for so long that better code was worth it.
    assert {name for name in kernels(cache) if not name.endswith(".2.o")} <= set(code)
    sessions = [
        json.loads((folder / "times.json").read_text())["sessions"]
        for folder in (whole, again)
    ]
    assert sessions[1][0]["compile_seconds"] < sessions[0][0]["compile_seconds"] / 4
    assert array_files(again) == array_files(whole)


@pytest.mark.parametrize("when", ["chunk 0", "chunk 2"])
def test_a_killed_run_resumes_to_the_same_bytes(cache, whole, tmp_path, when):
    directory = tmp_path / "killed"
    words = ["run", "quick", *SMALL, "--out", str(directory)]
    environment = newcomer(cache)
    process = subprocess.Popen(command(*words), env=environment)
    journal = directory / "journal.jsonl"
    with process:
        while not (journal.exists() and when in journal.read_text()):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = shell(cache, *words, "--resume")
    assert done.returncode == 0, done.stderr
    assert array_files(directory) == array_files(whole)


def test_ctrl_c_ends_a_run_in_its_midst_within_two_seconds(cache, tmp_path):
    directory = tmp_path / "stopped"
    words = ["run", "regime_map", "--out", str(directory)]
    environment = newcomer(cache)
    process = subprocess.Popen(
        command(*words), env=environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        while not (directory / "times.json").exists():
            assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 2 * slowness()
    assert process.returncode == 130
    assert f"jaxvib run regime_map --out {directory} --resume" in errors


def test_an_interrupted_chunk_goes_on_where_it_was_and_ends_with_the_same_bytes(
    cache, tmp_path
):
    size = ("--set", "run.chunk=4096", "--set", "output.report=false")
    words = ["run", "regime_map", *size, "--out"]
    directory, environment = tmp_path / "stopped", newcomer(cache)
    status = directory / "running.json"
    process = subprocess.Popen(command(*words, str(directory)), env=environment)
    with process:
        while not (status.exists() and json.loads(status.read_text())["samples"]):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert "chunk 0" not in (directory / "journal.jsonl").read_text()
    kept = (directory / "evaluations.jsonl").read_text().splitlines()
    assert len(kept) > 10
    done = shell(cache, *words, str(directory), "--resume")
    assert done.returncode == 0, done.stderr
    assert not (directory / "evaluations.jsonl").exists()
    assert shell(cache, *words, str(tmp_path / "whole")).returncode == 0
    assert array_files(directory) == array_files(tmp_path / "whole")


def test_orbits_do_not_depend_on_how_the_study_is_cut_into_chunks(cache, whole, tmp_path):
    directory = tmp_path / "other"
    options = [word.replace("run.chunk=4", "run.chunk=7") for word in SMALL]
    assert shell(cache, "run", "quick", *options, "--out", str(directory)).returncode == 0
    one, other = jv.open_study(whole), jv.open_study(directory)
    if SAME_BITS:
        for name in one.variables:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    periodic = (one["result"] == 0).values
    np.testing.assert_array_equal(periodic, other["result"] == 0)
    for name in ("state", "floquet_multipliers", "max_contact_force"):
        check_same(one[name].values[periodic], other[name].values[periodic], rtol=1e-6)


def test_the_loading_curve_turns_at_the_fold_near_125_newtons(cache, tmp_path):
    done = shell(cache, "run", "loading_curve", "--out", str(tmp_path / "curve"))
    assert done.returncode == 0, done.stderr
    branch = jv.open_study(tmp_path / "curve")
    assert branch["load.amplitude"].dims == ("point",)
    assert branch["load.amplitude"].values[[0, -1]].tolist() == [50.0, 1000.0]
    kinds = [KINDS[kind] for kind in branch["bifurcation.kind"].values]
    places = branch["bifurcation.parameter"].values
    assert sorted(kinds) == [
        "fold",
        "fold",
        "grazing",
        "period_doubling",
        "period_doubling",
    ]
    # Where the linear response closes the gap; where natural continuation stops.
    assert places[kinds.index("grazing")] == pytest.approx(183.8801998, abs=1e-6)
    folds = [place for kind, place in zip(kinds, places, strict=True) if kind == "fold"]
    assert min(folds) == pytest.approx(125.04, abs=0.01)
    assert (tmp_path / "curve" / "report.html").exists()


def test_the_first_design_makes_the_main_body_move_less(cache, tmp_path):
    done = shell(cache, "run", "first_design", "--out", str(tmp_path / "design"))
    assert done.returncode == 0, done.stderr
    course = jv.open_study(tmp_path / "design")
    assert course["objective"].shape == (21,)
    assert float(course["objective"].min()) < 0.85 * float(course["objective"][0])
    tuned = {path: float(course[path][-1]) for path in (
        "attached.frequency", "attached.damping_ratio")}  # fmt: skip
    soft = jv.HertzContact.from_materials((2.21e7, 2.1e11), (0.4, 0.3), 1.0, 0.318)
    system = jv.replace(jv.two_body_impact(contact=soft), tuned)
    orbit = jv.periodic_orbit(system)
    np.testing.assert_allclose(orbit.amplitude[0], course["objective"][-1], rtol=1e-6)
