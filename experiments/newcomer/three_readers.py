"""Ten tasks of three readers, done by what their pages of the manual say, and nothing else.

    python -m experiments.newcomer.three_readers

Each task takes blocks of a page in `docs/readers`, changes some lines and adds others, as a
reader would, and reads an answer, which is compared with a closed form or with scipy. What
an added line uses of jaxvib must stand on the page. Stored for each: the lines that were
changed or added, seconds of the whole process, and minutes. Nobody was timed: minutes are
these seconds, 200 words of the page a minute (in a reader's first task), and half a minute
for each line.
"""

import ast
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from experiments.house.types import ROOT, blocks

RESULTS = Path(__file__).with_suffix(".json")
WORDS_PER_MINUTE, MINUTES_PER_LINE = 200, 0.5
HERTZ = 2 * np.pi


def settled(rates: Callable, period: float, periods: int = 80) -> np.ndarray:
    """Return the last of many periods of a motion from rest, by scipy."""
    times = np.linspace((periods - 1) * period, periods * period, 4001)
    return solve_ivp(
        rates, (0.0, times[-1]), (0.0, 0.0), t_eval=times, rtol=1e-9, atol=1e-12,
        max_step=period / 200,
    ).y  # fmt: skip


def buffer_force(position: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the force of the feeder's buffer, kN, 3 mm below it."""
    depth = position - 3e-3
    return np.where(depth > 0, np.maximum(900.0 * depth + 2.0 * speed, 0.0), 0.0)


def largest_force() -> float:
    """Return the largest force on the buffer at 8 Hz, kN."""
    natural, omega = 6.5 * HERTZ, 8.0 * HERTZ

    def rates(t, y):
        push = 0.15 * omega**2 * np.cos(omega * t) - 1e3 * buffer_force(*y)
        return [y[1], push / 120.0 - natural**2 * y[0] - 2 * 0.06 * natural * y[1]]

    return float(buffer_force(*settled(rates, 1 / 8.0)).max())


def free_amplitude() -> float:
    """Return the feeder's amplitude at 5 Hz without the buffer, mm."""
    ratio = 5.0 / 6.5
    return 150.0 / 120.0 * ratio**2 / abs(1 - ratio**2 + 2j * 0.06 * ratio)


def pendulum_amplitude() -> float:
    """Return the amplitude of a driven pendulum, rad."""

    def rates(t, y):
        return [y[1], 0.2 * np.cos(0.8 * t) - 0.1 * y[1] - np.sin(y[0])]

    angle = settled(rates, HERTZ / 0.8)[0]
    return float(np.ptp(angle)) / 2


def free_motion() -> float:
    """Return where the motion from 1.5 m, with which the page trains, is after 1.5 s."""

    def rates(t, y):
        return [y[1], 0.3 * np.cos(t) - 0.1 * y[1] - y[0] - 0.8 * y[0] ** 3]

    found = solve_ivp(rates, (0.0, 1.5), (1.5, 0.0), rtol=1e-10, atol=1e-12)
    return float(found.y[0, -1])


def printed(told: str, folder: Path) -> float:
    """Return the last number that was printed."""
    return float(told.split()[-1])


def first_mode(told: str, folder: Path) -> float:
    """Return the frequency in the line of the first mode, Hz."""
    return float(told.split("mode 1")[1].split()[0])


def cell(name: str, unit: float) -> Callable[[str, Path], float]:
    """Return a function that reads the first row of the exported table, in a unit."""

    def read(told: str, folder: Path) -> float:
        with (folder / "feeder.csv").open(encoding="utf-8", newline="") as file:
            return float(next(csv.DictReader(file))[name]) / unit

    return read


def fetched(told: str, folder: Path) -> float:
    """Return how many files the report would fetch."""
    report = (folder / "results" / "feeder" / "report.html").read_text(encoding="utf-8")
    tags = re.findall(r"<(?:script|img|link|iframe|source)\s[^>]*>", report)
    return float(sum(bool(re.search(r'(?:src|href)="(?!data:)', tag)) for tag in tags))


def width(told: str, folder: Path) -> float:
    """Return the width of the page of a PDF, mm."""
    text = (folder / "chart.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", text)
    return float(box[1]) / 72 * 25.4 if box else 0.0


class Task(NamedTuple):
    """A question, how the page's blocks are changed for it, and the true answer.

    `taken`: how many of the page's blocks of config or Python are kept; `changed`: texts by
    what they are replaced with; `added`: lines behind them; `within`: relative difference.
    """

    page: str
    question: str
    taken: int
    changed: dict[str, str]
    added: str
    read: Callable[[str, Path], float]
    true: Callable[[], float]
    within: float


FAMILIAR = ("jnp", "jax", "eqx", "optax")
DESIGNER, DYNAMICIST, JAX = "machine_designer", "dynamicist", "jax"
EXPORTED = """\
jaxvib run feeder.toml
jaxvib export results/feeder feeder.csv
"""
SPEEDS = '{ linspace = ["4 Hz", "8 Hz", 25] }'
GAPS = '{ linspace = ["2 mm", "10 mm", 9] }'
TASKS = (
    Task(
        DESIGNER, "natural frequency on springs of 60 N/mm, Hz", 1,
        {'"mass * natural**2"': '"60 N/mm"'},
        "jaxvib run feeder.toml --set analysis.kind=natural_modes --out results/modes",
        first_mode, lambda: np.sqrt(60e3 / 120) / HERTZ, 1e-5,
    ),
    Task(
        DESIGNER, "amplitude at 5 Hz, 10 mm above the buffer, mm", 1,
        {SPEEDS: '["5 Hz"]', GAPS: '["10 mm"]'}, EXPORTED,
        cell("amplitude[trough]", 1e-3), free_amplitude, 1e-6,
    ),
    Task(
        DESIGNER, "largest force on the buffer at 8 Hz, 3 mm above it, kN", 1,
        {SPEEDS: '["8 Hz"]', GAPS: '["3 mm"]'}, EXPORTED,
        cell("max_contact_force", 1e3), largest_force, 1e-5,
    ),
    Task(
        DESIGNER, "files that the report to mail would fetch", 1, {},
        "jaxvib run feeder.toml", fetched, lambda: 0.0, 0.0,
    ),
    Task(
        DYNAMICIST, "amplitude of a driven pendulum, rad", 2,
        {"- x[0] - x[0] ** 3": "- jnp.sin(x[0])", '"f": 0.3': '"f": 0.2'},
        "print(orbit.amplitude[0])", printed, pendulum_amplitude, 1e-6,
    ),
    Task(
        DYNAMICIST, "frequency of the cusp at twice the damping", 4,
        {'"d": 0.1': '"d": 0.2'}, "print(cusp.parameters[0])", printed,
        lambda: (np.sqrt(0.12) + np.sqrt(4.12)) / 2, 2e-3,  # by one harmonic
    ),
    Task(DYNAMICIST, "width of the figure, mm", 6, {}, "", width, lambda: 84.0, 1e-4),
    Task(
        JAX, "slope of a linear oscillator's amplitude over its load, m/N", 1,
        {"        springs=[jv.NonlinearSpring([1.0], law, \"mount\")],\n": "",
         "jv.HarmonicLoad(0.3, 1.0)": "jv.HarmonicLoad(0.3, 0.7)"},
        """\
def amplitude(force):
    loaded = jv.replace(true, {"loads.push.law.amplitude": force})
    return jv.periodic_orbit(loaded).amplitude[0]
print(jax.grad(amplitude)(0.3))
""", printed, lambda: 1 / abs(1 - 0.7**2 + 0.07j), 1e-7,
    ),
    Task(
        JAX, "where the last motion ends, m", 2, {}, "print(measured[-1, -1])", printed,
        free_motion, 1e-7,
    ),
    Task(
        JAX, "coefficient of a law, found by an own loop, N/m^3", 2, {},
        """\
@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(c):
    return jnp.mean((motions(jv.PolynomialLaw([0.0, 0.0, c])) - measured) ** 2)
adam = optax.adam(0.05)
c = jnp.asarray(0.1)
state = adam.init(c)
for step in range(301):
    value, slope = loss(c)
    change, state = adam.update(slope, state)
    c = eqx.apply_updates(c, change)
print(c)
""", printed, lambda: 0.8, 1e-3,
    ),
)  # fmt: skip


def unknown(task: Task, text: str) -> list[str]:
    """Return what of jaxvib stands in added lines and not on the page.

    Attributes, commands and options; the reader knows JAX, equinox and optax.
    """
    if task.page == DESIGNER:
        words = re.findall(r"--\w+|\bjaxvib \w+", task.added)
    else:
        found = ast.walk(ast.parse(task.added))
        names = [one for one in found if isinstance(one, ast.Attribute)]
        words = [f".{n.attr}" for n in names if ast.unparse(n.value) not in FAMILIAR]
    return [word for word in words if word not in text]


def changed(task: Task, text: str) -> str:
    """Return the page's blocks that are kept, changed."""
    language = "toml" if task.page == DESIGNER else "python"
    kept = [one.body for one in blocks(text) if one.language == language]
    whole = "\n".join(kept[: task.taken])
    for old, new in task.changed.items():
        if old not in whole:
            raise SystemExit(f"{task.question}: the page has no {old!r}")
        whole = whole.replace(old, new)
    return whole


def answer(task: Task, text: str, folder: Path) -> float:
    """Return the answer that the commands or the program give in an empty folder."""
    whole = changed(task, text)
    command = [sys.executable, "-c", f"{whole}\n{task.added}"]
    if task.page == DESIGNER:
        (folder / "feeder.toml").write_text(whole, encoding="utf-8")
        command = ["bash", "-euo", "pipefail", "-c", task.added]
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    settings = {"PATH": places, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{task.question}\n{done.stdout}{done.stderr}")
    return task.read(done.stdout, folder)


def main() -> None:
    """Do the tasks and store. **Raises:** `SystemExit` for a wrong answer."""
    rows, wrong, read = [], [], set()
    for task in TASKS:
        text = (ROOT / "docs" / "readers" / f"{task.page}.md").read_text(encoding="utf-8")
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found, true = answer(task, text, Path(folder)), float(task.true())
        seconds = time.monotonic() - began
        lines = len(task.changed) + len(task.added.splitlines())
        words = 0 if task.page in read else len(text.split())
        minutes = seconds / 60 + words / WORDS_PER_MINUTE + lines * MINUTES_PER_LINE
        rows.append(
            {"reader": task.page, "task": task.question, "answer": found, "true": true}
            | {"lines": lines, "seconds": round(seconds, 1), "minutes": round(minutes, 1)}
        )
        print(json.dumps(rows[-1]), flush=True)
        read.add(task.page)
        if abs(found - true) > task.within * abs(true):
            wrong.append(f"{task.question}: {found}, not {true}")
        if missing := unknown(task, text):
            wrong.append(f"{task.question}: the page does not tell {missing}")
    if wrong:
        raise SystemExit("\n".join(wrong))
    RESULTS.write_text(json.dumps({"tasks": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
