"""Checked against: what a run that is held up in its midst was seen to do."""

import json
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.run import status
from jaxvib.studies.run.distributed.executors import Worker
from jaxvib.studies.run.status import LiveStatus
from jaxvib.studies.store.lock import Lock
from tests.studies.pushed import CONFIG, KIND, install


def command(*words):
    return CliRunner().invoke(cli.main, list(words))


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(status, "_EVERY", 0.02)
    (tmp_path / "pushed.toml").write_text(CONFIG)


def files(directory):
    return {
        path: path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()
    }


def test_a_run_at_work_is_looked_at_and_not_touched(config, monkeypatch):
    compute, seen = KIND.compute, []

    def looked_at(system, samples, *arguments):
        if samples["load.amplitude"][0] > 150.0 and not seen:
            time.sleep(0.2)
            seen.append(command("status", "there").output)
        return compute(system, samples, *arguments)

    install(monkeypatch, compute=looked_at)
    assert command("run", "pushed.toml", "--out", "there").exit_code == 0
    lines = seen[0].splitlines()
    assert lines[0] == "study      Pushed from rest"
    assert lines[1].startswith("state      running: process ")
    assert lines[2] == "done       5 of 12 samples (41.7 %), 1 of 3 chunks"
    assert lines[3].startswith("rate       ")
    assert "left" in lines[3]
    assert lines[4] == "failed     0 samples since the last start"
    before = files("there")
    assert not Path("there/running.json").exists()
    done = command("status", "there")
    assert done.exit_code == 0
    assert "state      complete" in done.output
    assert "done       12 of 12 samples (100 %), 3 of 3 chunks" in done.output
    assert files("there") == before


def test_status_lists_workers_and_messages(tmp_path, config, monkeypatch):

    class Silent:
        advance = fail = message = staticmethod(lambda _: None)

    monkeypatch.setattr(status, "is_held", lambda directory: "somebody")
    command("run", "pushed.toml", "--out", "there")
    at = Worker("worker 1", 7, time.time() - 300), Worker("worker 2", silent=True)
    with LiveStatus(Path("there"), Silent()) as watched:
        watched.follow(lambda: at)
        watched.advance(5)
        watched.fail(2)
        watched.message("chunk 3 failed")
        time.sleep(0.2)
        lines = command("status", "there").output.splitlines()
    assert lines[4:] == [
        "failed     2 samples since the last start",
        "worker     worker 1 computes chunk 7 for 5 min",
        "worker     worker 2 is idle, not responding",
        "message    chunk 3 failed",
    ]


def test_a_run_that_was_killed_is_called_so(config):
    command("run", "pushed.toml", "--out", "there")
    journal = Path("there/journal.jsonl")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:3]))
    Path("there/running.json").write_text(json.dumps({"rate": []}))
    lines = command("status", "there").output.splitlines()
    assert lines[1] == "state      stopped; `--resume` continues it"
    assert lines[2] == "done       10 of 12 samples (83.3 %), 2 of 3 chunks"
    assert len(lines) == 3


def test_a_folder_without_a_sound_study_is_refused(config):
    done = command("status", "nowhere")
    assert done.exit_code == 2
    assert "nowhere contains no study" in done.output
    command("run", "pushed.toml", "--out", "there")
    Path("there/study.json").write_text("{")
    assert command("status", "there").exit_code == 3


@pytest.mark.slow  # 500 removals beside two readers, 2 s
def test_many_looks_never_hold_a_run_up(config):
    command("run", "pushed.toml", "--out", "there")
    done = threading.Event()

    def look():
        while not done.is_set():
            status.status(Path("there"))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(500):  # of 50, one in twenty met the instant of removal
            lock = Lock(Path("there"))
            lock.acquire()
            lock.release()
    finally:
        done.set()
        for thread in threads:
            thread.join()
