"""Checked against: a second process that asks for the same lock."""

import subprocess
import sys
from pathlib import Path

import pytest

import jaxvib
from jaxvib.studies.store.lock import FILE, Lock

ROOT = Path(jaxvib.__file__).parents[1]
TAKES = """
import sys, time
from pathlib import Path
from jaxvib.studies.store.lock import Lock
lock = Lock(Path(sys.argv[1]))
lock.take()
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


def test_the_second_is_told_who_is_there(tmp_path, other):
    who = rf"{tmp_path} is being computed by process {other.pid} on \S+ since 2\d\d\d-"
    with pytest.raises(BlockingIOError, match=who):
        Lock(tmp_path).take()


def test_it_dies_with_its_process(tmp_path, other):
    other.kill()
    other.wait()
    assert (tmp_path / FILE).exists()
    lock = Lock(tmp_path)
    lock.take()
    lock.take()
    with pytest.raises(BlockingIOError):
        Lock(tmp_path).take()
    lock.release()
    assert not (tmp_path / FILE).exists()
    Lock(tmp_path).take()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / FILE).symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="no plain file"):
        Lock(tmp_path).take()
    assert (tmp_path / "mine").read_text() == "mine"
