"""Checked against: what arrives in a pseudo-terminal and in a pipe."""

import os
import pty
import subprocess
import sys

CODE = """
from jaxvib.studies.run.progress import Progress
bar = Progress(10, done=2)
bar.refresh()
bar.advance(3)
bar.fail(1)
bar.refresh()
bar.close()
"""


def test_a_terminal_shows_rate_remaining_time_and_failures():
    reading, writing = pty.openpty()  # of no size, as from many tools
    subprocess.run([sys.executable, "-c", CODE], check=True, stderr=writing)
    os.close(writing)
    shown = os.read(reading, 100_000).decode().replace("\r", "\n")
    os.close(reading)
    first, *_, last = [line for line in shown.split("\n") if line.strip()]
    assert first.startswith("compiling")
    assert "2/10" in first
    assert last.startswith("running")
    assert "5/10" in last
    assert "<" in last
    assert "samples/s, failed=1]" in last


def test_a_pipe_gets_not_one_byte():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
