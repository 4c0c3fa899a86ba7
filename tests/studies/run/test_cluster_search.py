"""Checked against: the same search made by this process alone, bit by bit."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxvib.ensemble import map_samples, use_executor
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run.chunk import Silent
from jaxvib.studies.run.distributed import worker_tasks
from jaxvib.studies.run.distributed.cluster import ClusterSearch
from jaxvib.studies.run.record import record
from jaxvib.studies.run.study import load_text
from tests.ensemble.test_checkpoint import Notes, StoppedError, search
from tests.ensemble.test_map_samples import digest, starts, wander
from tests.studies.store.test_store import array_files

distributed = pytest.importorskip("distributed")


SEARCH = """
[output]
report = false
[system]
kind = "two_body_impact"
contact.stiffness = 3.504e7
load.amplitude = 500.0
load.frequency = 5.8
[analysis]
kind = "basins"
points = 16
transient = 32
[analysis.grid]
x_main = [-0.1, 0.1]
v_main = [-0.5, 0.5]
"""


def cluster_of(processes):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0",
        memory_limit=None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def on_cluster():
    """Start a cluster of threads in this process, so that what they do can be counted."""
    study = load_text(SEARCH)
    text = to_toml(study.resolved())
    with cluster_of(processes=False) as cluster:
        search = ClusterSearch(
            cluster.scheduler_address, text, record(study, "cpu"), Silent()
        )
        yield search
        search.close()


@pytest.fixture
def parts(monkeypatch):
    """Count the parts of maps that workers compute."""
    given, compute = [], worker_tasks._mapped

    def counted(*arguments):
        given.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(worker_tasks, "_mapped", counted)
    return given


def test_a_map_on_a_cluster_has_the_same_bits(on_cluster, parts):
    done = []
    expected = map_samples(wander, starts, chunk=16)
    with use_executor(on_cluster):
        found = map_samples(wander, starts, chunk=16, progress=done.append)
    assert digest(found) == digest(expected)
    assert len(parts) == 7  # nineteen chunks by threes, so that each worker has four or so
    assert sum(done) == len(starts)


def test_a_map_of_one_chunk_stays_here(on_cluster, parts):
    with use_executor(on_cluster):
        map_samples(wander, starts[:16], chunk=16)
    assert not parts


def test_a_search_is_resumed_in_another_process(on_cluster, parts):
    whole = Notes()
    expected = search(whole)
    stopped = Notes(most=whole.new // 2)
    with pytest.raises(StoppedError):
        search(stopped)
    resumed = Notes(dict(stopped.kept))
    with use_executor(on_cluster):
        found = search(resumed)
    assert digest(found) == digest(expected)
    assert parts
    assert resumed.new == whole.new - stopped.new


def test_a_part_that_fails_is_tried_again(on_cluster, parts, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    compute = worker_tasks._mapped

    def fails_at_first(*arguments):
        if len(parts) < 2:
            parts.append(arguments)
            raise OSError("too little memory for the moment")
        return compute(*arguments)

    monkeypatch.setattr(worker_tasks, "_mapped", fails_at_first)
    with use_executor(on_cluster):
        found = map_samples(wander, starts, chunk=16)
    assert digest(found) == digest(map_samples(wander, starts, chunk=16))


def test_a_sample_that_no_worker_can_compute_is_an_error(on_cluster):
    def wrong(state):
        raise ValueError(f"{state.shape} is no state")

    with use_executor(on_cluster), pytest.raises(RuntimeError, match="is no state"):
        map_samples(wrong, starts, chunk=16)


@pytest.mark.slow
def test_a_study_on_a_cluster_has_the_same_bytes(tmp_path):
    (tmp_path / "search.toml").write_text(SEARCH)

    def run(*words):
        # Its own process: under pytest functions are wrapped for the checks of types.
        command = [sys.executable, "-m", "jaxvib", "run", "search.toml", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run("--out", "here")
    with cluster_of(processes=True) as cluster:
        said = run("--out", "there", "--cluster", cluster.scheduler_address)
        ended = {
            key for key, _, end, *_ in cluster.scheduler.transition_log if end == "memory"
        }
    assert ", 2 workers" in said
    assert sum("-chunk-" in key for key in ended) >= 2
    assert array_files(Path(tmp_path, "there")) == array_files(Path(tmp_path, "here"))
