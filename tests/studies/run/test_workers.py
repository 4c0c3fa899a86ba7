"""Checked against: the bytes of the same study that one process computed alone."""

import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.chunk import compute_chunk
from jaxvib.studies.run.distributed.executors import (
    Failure,
    LocalExecutor,
    dispatch,
    skipped,
)
from jaxvib.studies.run.distributed.processes import (
    ProcessExecutor,
    Share,
    _Command,
    worker_shares,
)
from jaxvib.studies.run.distributed.worker_tasks import incompatibility
from jaxvib.studies.run.study import load
from jaxvib.studies.store.dataset import open_study
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store
from tests.studies.pushed import CONFIG
from tests.studies.store.test_store import RECORD, array_files, part

WHO = {"versions": {"jax": "1"}, "fingerprint": {"device": "cpu"}}


class Lines:
    """A progress that remembers."""

    def __init__(self):
        self.said, self.samples = [], 0

    def advance(self, samples):
        self.samples += samples

    def message(self, line):
        self.said.append(line)


def result(number):
    return {"result": Variable(("sample",), np.full(2, number, np.int32))}


class Thread:
    """A worker that is a thread, and does what a script says for each of its chunks."""

    def __init__(self, connection, script, who=WHO):
        self.pid = 0
        self._connection = Connection(os.dup(connection.fileno()))
        self._script, self._who = script, who
        self._awake = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            self._connection.send(("who", self._who))
            while True:
                number = self._connection.recv()
                what = self._script(number)
                if what == "die":
                    break
                if what == "freeze":
                    self._awake.wait(30)
                elif isinstance(what, Failure):
                    self._connection.send(("failed", number, what))
                    continue
                elif what:
                    time.sleep(what)
                self._connection.send(("beat", 1))
                self._connection.send(("done", number, result(number)))
        except (OSError, EOFError):
            pass
        self._connection.close()

    def kill(self):
        self._awake.set()

    def ended(self):
        return "was ended by SIGKILL"


def processes(script, count, patience=0.15, started=None, who=WHO):
    lines, started = Lines(), [] if started is None else started

    def start(connection, config, share):
        started.append(Thread(connection, script, who))
        return started[-1]

    return ProcessExecutor("", count, WHO, lines, patience=patience, start=start), lines


def ways(*scripted, then=0.0):
    """Return a script that does these things one after the other, then another always."""
    left = queue.SimpleQueue()
    for each in scripted:
        left.put(each)
    return lambda number: then if left.empty() else left.get()


def all_of(executor, numbers, told=None):
    found, told = {}, [] if told is None else told

    def taken(number, fields):
        found.setdefault(number, []).append(int(fields["result"].values[0]))

    try:
        lost = dispatch(executor, numbers, taken, told.append, lambda seconds: None)
    finally:
        executor.close()
    return found, lost


def test_every_chunk_comes_once_and_is_counted_once():
    executor, lines = processes(ways(), 3)
    found, lost = all_of(executor, range(20))
    assert found == {i: [i] for i in range(20)}
    assert not lost
    assert lines.samples == 40


def test_the_chunk_of_a_worker_that_dies_is_computed_by_another():
    started = []
    executor, _ = processes(ways("die", 0, "die"), 2, started=started)
    found, lost = all_of(executor, range(6))
    assert found == {i: [i] for i in range(6)}
    assert not lost
    assert len(started) >= 3


def test_a_worker_that_freezes_is_replaced_and_its_chunk_computed_again():
    started, told = [], []
    executor, _ = processes(ways("freeze", then=0.02), 2, started=started)
    found, lost = all_of(executor, range(12), told=told)
    assert found == {i: [i] for i in range(12)}
    assert not lost
    assert len(started) == 3
    assert any("has not responded for" in line for line in told)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_worker_that_computes_without_a_heartbeat_is_waited_for():
    class Busy(subprocess.Popen):
        code = """
import sys, time, types
from multiprocessing.connection import Connection
line = Connection(int(sys.argv[1]))
line.send(("who", {"versions": {"jax": "1"}, "fingerprint": {"device": "cpu"}}))
number, began = line.recv(), time.process_time()
while time.process_time() < began + 0.7:
    pass
line.send(("done", number, {"result": types.SimpleNamespace(values=[number] * 2)}))
"""

        def ended(self):
            return f"ended with code {self.wait()}"

    def start(connection, config, share):
        place = connection.fileno()
        words = [sys.executable, "-c", Busy.code, str(place)]
        return Busy(words, pass_fds=[place])

    executor = ProcessExecutor("", 1, WHO, Lines(), patience=0.5, start=start)
    assert all_of(executor, [7]) == ({7: [7]}, {})


def test_a_worker_that_is_stopped_within_a_message_is_replaced():
    class Half(Thread):
        def _serve(self):
            self._connection.send(("who", self._who))
            self._connection.recv()
            words = pickle.dumps(("done", 0, result(0)))
            os.write(self._connection.fileno(), struct.pack("!i", len(words)) + words[:9])
            self._awake.wait(30)
            self._connection.close()

    kinds = iter([Half, Thread])
    executor = ProcessExecutor(
        "", 1, WHO, Lines(), patience=0.15, start=lambda c, *_: next(kinds)(c, ways())
    )
    assert all_of(executor, range(3)) == ({i: [i] for i in range(3)}, {})


def test_a_chunk_that_always_kills_its_worker_is_set_aside_and_the_others_finish():
    executor, _ = processes(lambda number: "die" if number == 3 else 0, 2)
    found, lost = all_of(executor, range(8))
    assert found == {i: [i] for i in range(8) if i != 3}
    assert "was ended by SIGKILL" in lost[3]


def test_a_chunk_that_fails_three_times_is_set_aside_and_the_run_continues():
    tries = []

    def script(number):
        tries.append(number)
        return Failure("MemoryError: too much") if number == 2 else 0

    executor, _ = processes(script, 2)
    found, lost = all_of(executor, range(5))
    assert sorted(found) == [0, 1, 3, 4]
    assert tries.count(2) == 3
    assert skipped(lost) == "1 chunk skipped after 3 tries: chunk 2: MemoryError: too much"


def test_a_failure_that_stands_for_all_ends_the_study_at_once():
    executor, _ = processes(ways(then=Failure("no sample can be computed", True)), 2)
    with pytest.raises(RuntimeError, match="no sample can be computed"):
        all_of(executor, range(1000))


def test_workers_that_die_one_after_the_other_end_the_study():
    started = []
    executor, _ = processes(ways(then="die"), 2, started=started)
    with pytest.raises(RuntimeError, match="7 workers died in a row: was ended"):
        all_of(executor, range(100))
    assert len(started) <= 8


def test_a_worker_with_other_versions_or_another_processor_is_refused():
    other = {"versions": {"jax": "2"}, "fingerprint": {"device": "cpu"}}
    executor, _ = processes(ways(), 1, who=other)
    with pytest.raises(RuntimeError, match=r"worker 1 .* has versions.jax = 2, the"):
        all_of(executor, range(3))
    assert incompatibility({**WHO, "fingerprint": {}}, WHO).startswith(
        "fingerprint.device = None"
    )
    assert incompatibility(WHO, WHO) == ""


def test_status_lists_the_work_of_each_worker():
    executor, _ = processes(ways(then=0.05), 2)
    chunks = []
    for _ in executor.submit(range(8)):
        chunks += [worker.chunk for worker in executor.workers()]
    assert {worker.name for worker in executor.workers()} == {
        "worker 1 (process 0)", "worker 2 (process 0)",
    }  # fmt: skip
    executor.close()
    assert set(chunks) >= set(range(2, 7))


def test_cores_are_dealt_out_and_gpus_in_turn(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 4, 6, 8}, raising=False)
    dealt = [share.cores for share in worker_shares(2, "cpu")]
    assert dealt == [(0, 2), (4, 6, 8)]
    assert [share.cores for share in worker_shares(6, "cpu")] == [
        (0,),
        (2,),
        (4,),
        (6,),
        (8,),
        (0,),
    ]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    given = [share.environment for share in worker_shares(3, "NVIDIA H200")]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in given] == ["3", "5", "3"]
    assert all(each["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false" for each in given)
    assert (
        "XLA_PYTHON_CLIENT_PREALLOCATE"
        not in worker_shares(2, "NVIDIA H200")[0].environment
    )


@pytest.fixture
def pushed(tmp_path):
    config = tmp_path / "pushed.toml"
    config.write_text(CONFIG)
    done = CliRunner().invoke(
        cli.main, ["run", str(config), "--out", str(tmp_path / "here")]
    )
    assert done.exit_code == 0, done.output
    return load(config), tmp_path / "here"


def test_a_chunk_depends_on_config_and_number_alone(pushed):
    study, directory = pushed
    config, stored = to_toml(study.resolved()), open_study(directory)
    for number in (2, 0, 1, 2):
        fields = compute_chunk(config, number)
        for name, field in fields.items():
            if name not in study.paths:
                rows = np.reshape(stored[name].values, (12, *field.values.shape[1:]))
                np.testing.assert_array_equal(
                    field.values, rows[5 * number : 5 * number + 5]
                )
    with pytest.raises(ValueError, match=r"chunk = 3 is not in \[0, 2\]"):
        compute_chunk(config, 3)


def test_how_many_compute_stands_nowhere_in_the_results(pushed, tmp_path):
    study, directory = pushed
    text = (directory / "config.toml").read_text()
    assert "workers" not in text
    assert "cluster" not in text
    with_workers = load(tmp_path / "pushed.toml", ["run.workers=7"])
    assert with_workers.resolved() == study.resolved()
    with pytest.raises(ValueError, match=r"workers = 0 .*allowed"):
        load(tmp_path / "pushed.toml", ["run.workers=0"])
    with pytest.raises(ValueError, match="conflicts with workers = 2"):
        load(tmp_path / "pushed.toml", ["run.workers=2", "run.cluster=tcp://here:1"])
    with pytest.raises(ValueError, match=r"cluster .*allowed"):
        load(tmp_path / "pushed.toml", ["run.cluster=here"])


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_chunks_are_stored_in_any_order_to_the_same_bytes(tmp_path, order):
    store = Store.create(tmp_path / "study", RECORD, "title = 1\n")
    for number, fields in LocalExecutor(part).submit(order):
        store.append(number, fields)
        again = Store.resume(tmp_path / "study", RECORD, "title = 1\n")
        assert again.done == store.done
        again.compare(number, fields)
        with pytest.raises(OSError, match="with different bytes of states"):
            again.compare(number, {**fields, "states": part(1 - number)["states"]})
    store.finish()
    other = Store.create(tmp_path / "other", RECORD, "title = 1\n")
    for number in (0, 1):
        other.append(number, part(number))
    other.finish()
    assert array_files(tmp_path / "study") == array_files(tmp_path / "other")


@pytest.mark.parametrize("lost", [0, 1])
def test_the_chunk_that_came_first_may_lose_its_line(tmp_path, lost):
    store = Store.create(tmp_path / "study", RECORD, "title = 1\n")
    for number in (1, 0):
        store.append(number, part(number))
    store.finish()
    before = array_files(tmp_path / "study")
    journal = tmp_path / "study" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(x for x in lines if b'"chunk %d"' % lost not in x))
    store = Store.resume(tmp_path / "study", RECORD, "title = 1\n")
    for number in (0, 1):
        if f"chunk {number}" not in store.done:
            store.append(number, part(number))
    store.finish()
    assert array_files(tmp_path / "study") == before
    open_study(tmp_path / "study")


@pytest.mark.slow  # starts processes that import JAX, 5 s
def test_workers_of_their_own_processes_give_the_same_bytes(tmp_path):
    config = str(builtin_studies.folder() / "tower_modes.toml")
    some = ["--set", "run.chunk=7", "--set", "output.report=false"]
    for workers in ("1", "2"):
        words = [
            "run",
            config,
            *some,
            "--workers",
            workers,
            "--out",
            str(tmp_path / workers),
        ]
        done = CliRunner().invoke(cli.main, words)
        assert done.exit_code == 0, done.output
    assert "computed by 2 worker processes" in done.output
    assert array_files(tmp_path / "1") == array_files(tmp_path / "2")
    for name in ("study.json",):
        one, two = (Path(tmp_path, each, name).read_bytes() for each in "12")
        assert one == two


def test_a_worker_ends_with_the_one_that_started_it():
    ours, theirs = Pipe()
    process = _Command(theirs, "", Share((), {}))
    theirs.close()
    ours.close()
    assert process.ended() in ("ended with code 0", f"was ended by {signal.SIGPIPE.name}")


def state(pid: int) -> str:
    """Return a process's state as the kernel tells it, `""` if it has ended."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return found.replace("Z", "")  # nobody asked yet how it ended


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_stopped_worker_whose_driver_was_killed_ends_when_it_is_woken(tmp_path):
    """Its driver is killed by the kernel's own hand, so that nothing says goodbye."""
    words = ["run", "quick", "--workers", "2", "--out", str(tmp_path / "there")]
    words += ["--set", "run.chunk=8"]
    driver = subprocess.Popen([sys.executable, "-m", "jaxvib", *words])
    children = Path(f"/proc/{driver.pid}/task")
    workers: list[int] = []
    while len(workers) < 2:
        assert driver.poll() is None
        time.sleep(0.1)
        found = [each.read_text().split() for each in children.glob("*/children")]
        every = sorted(int(pid) for pids in found for pid in pids)
        workers = [pid for pid in every if "distributed.worker" in command_of(pid)]
    stopped, other = workers
    time.sleep(2.0)  # at its imports, or at a chunk
    os.kill(stopped, signal.SIGSTOP)
    driver.kill()
    driver.wait()
    ends = time.monotonic() + 20
    while state(other) and time.monotonic() < ends:
        time.sleep(0.1)
    assert (state(other), state(stopped)) == ("", "T")
    os.kill(stopped, signal.SIGCONT)
    while state(stopped) and time.monotonic() < ends:
        time.sleep(0.1)
    assert state(stopped) == ""
