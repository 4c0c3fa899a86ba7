"""Checked against: what reaches stderr, with and without a terminal."""

import io
import sys
import time

import pytest

from jaxvib.foundation.command import progress
from jaxvib.foundation.command.progress import progress_reporter, without_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that puts one in the place of stderr."""
    return lambda: terminal_of(monkeypatch)


def terminal_of(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    return stream


def test_a_terminal_sees_a_bar_that_says_compiling_first(terminal):
    stream = terminal()
    with progress_reporter(None, 10, "sweep", "samples") as report:
        assert "sweep: compiling" in stream.getvalue()
        report(4)
        report(6)
    assert "sweep:" in stream.getvalue().replace("sweep: compiling", "")


def test_a_pipe_gets_no_progress_of_short_runs(capfd):
    with progress_reporter(None, 10, "sweep", "samples") as report:
        report(10)
    assert capfd.readouterr() == ("", "")


def test_a_pipe_sees_a_line_a_minute(capfd, monkeypatch):
    clock = iter([0.0, 59.0, 61.0, 90.0, 122.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress_reporter(None, 10, "basins", "states") as report:
        for _ in range(4):
            report(2)
    assert capfd.readouterr().err.splitlines() == [
        "basins: 4 of 10 states, 61 s",
        "basins: 8 of 10 states, 2 min",
    ]


def test_a_progress_function_is_called_and_nothing_is_printed(terminal):
    stream = terminal()
    told = []
    with progress_reporter(told.append, 10, "sweep", "samples") as report:
        report(3)
    assert told == [3]
    assert stream.getvalue() == ""


@pytest.mark.parametrize("progress", [False, None])
def test_nothing_is_shown_where_nobody_wants_it_or_another_tells(terminal, progress):
    stream = terminal()
    with without_progress(), progress_reporter(progress, 10, "sweep", "samples") as report:
        report(3)
    assert stream.getvalue() == ""


def test_calls_within_a_call_show_nothing(terminal):
    stream = terminal()
    with (
        progress_reporter(None, 10, "outer", "samples"),
        progress_reporter(None, 3, "inner", "things"),
    ):
        pass
    assert "inner" not in stream.getvalue()
