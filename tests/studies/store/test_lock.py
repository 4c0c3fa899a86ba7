"""Checked against: a second process that asks for the same lock."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import jaxvib
from jaxvib.studies.store.lock import FILE, Lock, is_held

ROOT = Path(jaxvib.__file__).parents[1]
TAKES = """
import sys, time
from pathlib import Path
from jaxvib.studies.store.lock import Lock
lock = Lock(Path(sys.argv[1]))
lock.acquire()
print("taken", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock of the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", TAKES, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    with process:
        assert process.stdout.readline() == b"taken\n"
        yield process
        process.kill()


def test_a_second_run_reports_who_holds_the_lock(tmp_path, other):
    who = rf"{tmp_path} is in use by process {other.pid} on \S+ since 2\d\d\d-"
    with pytest.raises(BlockingIOError, match=who):
        Lock(tmp_path).acquire()


def test_it_dies_with_its_process(tmp_path, other):
    other.kill()
    other.wait()
    assert (tmp_path / FILE).exists()
    lock = Lock(tmp_path)
    lock.acquire()
    lock.acquire()
    with pytest.raises(BlockingIOError):
        Lock(tmp_path).acquire()
    lock.release()
    assert not (tmp_path / FILE).exists()
    Lock(tmp_path).acquire()


FORKS = TAKES.replace(
    'print("taken", flush=True)\n',
    """import os
if os.fork() == 0:  # a child that has not come to its exec yet keeps the lock
    print("taken", flush=True)
    sys.stdin.readline()
    os._exit(0)
""",
)


def test_a_child_of_a_killed_process_holds_the_lock_only_briefly(tmp_path):
    arguments = [sys.executable, "-c", FORKS, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, cwd=ROOT) as process:
        assert process.stdout.readline() == b"taken\n"
        process.kill()
        process.wait()
        with pytest.raises(BlockingIOError):  # the child lives
            Lock(tmp_path).acquire()
        threading.Timer(0.2, process.stdin.close).start()
        Lock(tmp_path).acquire()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / FILE).symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="not a plain file"):
        Lock(tmp_path).acquire()
    assert (tmp_path / "mine").read_text() == "mine"


def test_those_who_look_do_not_take_each_other_for_a_run(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    with open(tmp_path / FILE, "w+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as somebody else does who looks, for an instant
        threading.Timer(0.01, fcntl.flock, (file, fcntl.LOCK_UN)).start()
        assert is_held(tmp_path) == ""


def test_a_lock_names_its_holder(other, tmp_path):
    assert is_held(tmp_path).startswith(f"process {other.pid} ")
