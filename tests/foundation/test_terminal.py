"""Checked against: the widths of lines, and the words before they were wrapped."""

import os
import subprocess
import sys

import pytest

from jaxvib.foundation.command.terminal import wrapped

REGIMES = "regimes    " + ", ".join(
    f"{n}.5% +- 0.7% period {n} with {n} contacts" for n in range(9)
)
LINES = [
    "done       144 samples in 3 s",
    REGIMES,
    "worst      contact force 3.013e+06 N at load.amplitude = 1000 N, "
    "load.frequency = 6.0952 rad/s, variables.speed = 69.44 m/s",
    "           linear.modules.ground-first.mass 1 kg -> 2 kg, " * 3,
    "jaxvib: study.toml, line 3: gap = -1 m is not in [0, inf); allowed: " + "x " * 60,
    "results    /home/somebody/" + "a_long_folder/" * 12,
    "word " * 60,
]  # fmt: skip


@pytest.mark.parametrize("width", [40, 80, 92, 120])
@pytest.mark.parametrize("line", LINES)
def test_lines_are_wrapped_below_their_text_and_keep_their_words(line, width):
    found = wrapped(line, width).split("\n")
    longest = max(map(len, line.split()))
    assert max(map(len, found)) <= max(width, longest + 11)
    assert " ".join(found).split() == line.split()
    if line.startswith("regimes") and len(found) > 1:
        assert all(each.startswith(" " * 11) and each[11] != " " for each in found[1:])


@pytest.mark.parametrize("label", ["next       jaxvib", "Try: jaxvib"])
def test_a_command_stays_in_one_line(label):
    line = f"{label} run study.toml " + "--set attached.mass=120 " * 9
    assert wrapped(line, 80) == line


def test_a_terminal_gets_short_lines_and_a_pipe_whole_ones():
    module = "jaxvib.foundation.command.terminal"
    code = f"from {module} import print_line; print_line({REGIMES!r})"
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert piped.stdout == f"{REGIMES}\n"
    master, terminal = os.openpty()
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    subprocess.run(
        [sys.executable, "-c", code], stdout=terminal, env=environment, check=True
    )
    lines = os.read(master, 10_000).decode().splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
