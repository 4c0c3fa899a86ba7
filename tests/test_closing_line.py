"""Checked against: closing lines that pytest has printed."""

import runpy
from pathlib import Path

import pytest

closing = runpy.run_path(str(Path(__file__).parents[1] / ".ci/closing.py"))["closing"]


def test_two_runs_close_as_one():
    log = """
bringing up nodes...
2007 passed, 7 skipped in 1513.22s (0:25:13)
=== slow tests (2000 s)
===== 59 passed, 1 skipped, 230 deselected in 486.78s (0:08:06) =====
"""
    assert closing(log) == "2066 passed, 8 skipped in 2000.00s (0:33:20)"


def test_a_log_without_a_closing_line_is_refused():
    with pytest.raises(SystemExit, match="no closing line"):
        closing("17 passed the house\n")
