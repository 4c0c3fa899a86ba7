"""Branch points per second, with multipliers and bifurcations: one branch and many.

    python -m experiments.benchmarks.branches [--many 4096] [--auto DIR]

One branch of a forced Duffing oscillator (x'' + 0.04 x' + x + x^3 = 0.015 cos w t, w
from 0.9 to 1.3) in small steps, with one shooting segment and with 16; the same branch
for many load amplitudes at once; the branch of the two-body system in the load, soft
contact, with automatic and with small steps; and that of an oscillator past the grazing of
its hard stop. Every point is computed at 1e-10 with its multipliers. The excess of the
first call is compilation. With `--auto DIR` (or AUTO_DIR), the folder of a built AUTO-07p,
AUTO computes the first branch as well, with multipliers, on one thread, on meshes from
coarse to fine; it prints eleven digits.
Errors: of both folds, compared with 1.0492623992 and 1.0439137088; of 24 orbits of each
branch, the difference between start and end of a period by `tests.independent` and
scipy at 1e-13, relative to the largest displacement and velocity (median, largest).
Writes `branches-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import scipy.integrate

import jaxvib as jv
from experiments.benchmarks.auto_branch import auto_rows
from experiments.bifurcations.flights import Bodies, Flights
from experiments.bifurcations.impact_branches import (
    PATH,
    bodies,
    grazing_load,
    oscillator,
)
from experiments.machine import machine
from jaxvib.branches import ContinuationSettings
from jaxvib.orbits import regimes
from tests import independent, systems_table

JUDGED = 24  # orbits of a branch whose error is told
EXACT = {"rtol": 1e-13, "atol": 1e-15}
FOLDS = np.array([1.0492623992, 1.0439137088])
SOFT = jv.two_body_impact(contact=jv.HertzContact(systems_table.SOFT))
START = np.array([0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893])
DUFFING = jv.forced_system(
    lambda t, x, p: [
        x[1],
        p["f"] * jnp.cos(p["w"] * t) - 0.04 * x[1] - x[0] - x[0] ** 3,
    ],
    parameters={"w": 1.0, "f": 0.015},
    period=lambda p: 2 * jnp.pi / p["w"],
    dimension=2,
)


def single(segments: int):
    """Return the branch of the Duffing oscillator in small steps."""
    orbit = jv.periodic_orbit(DUFFING, np.zeros(2))
    return jv.continue_orbit(
        DUFFING, orbit, "w", (0.9, 1.3),
        settings=ContinuationSettings(
            segments=segments, largest_step=5e-4, most_points=5000
        ),
    )  # fmt: skip


def two_bodies(largest_step: float | None):
    """Return the branch of the two-body system in the load."""
    orbit = jv.periodic_orbit(SOFT, START)
    return jv.continue_orbit(
        SOFT, orbit, "load.amplitude", (50.0, 1000.0),
        settings=ContinuationSettings(largest_step=largest_step, most_points=5000),
    )  # fmt: skip


def stopped():
    """Return the branch of an oscillator with a hard stop, past its grazing."""
    size = grazing_load(0.8, 0.1)
    system = oscillator(0.8, 0.1, 0.8, 0.9 * size)
    settings = ContinuationSettings(largest_step=1e-3, most_points=5000)
    bounds = 0.5 * size, 1.3 * size
    return jv.continue_orbit(
        system, jv.periodic_orbit(system), PATH, bounds, settings=settings
    )


def many(number: int, samples, orbits):
    """Return the branches of many Duffing oscillators, followed at once."""
    return jv.branches.continue_orbits(
        DUFFING, samples, orbits, "w", (0.9, 1.3),
        settings=ContinuationSettings(largest_step=4e-3, most_points=1000),
    )  # fmt: skip


def timed(function):
    """Return a result, the seconds of the first call, and of the second."""
    begin = time.perf_counter()
    function()
    first = time.perf_counter() - begin
    begin, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, first, time.perf_counter() - begin, time.process_time() - cpu


def after_a_period(force: float | Bodies | None, value: float, start):
    """Return the state after a period of the load, by others' integration.

    `force`: the Duffing oscillator's, whose `value` is the frequency; None of the two
    bodies, whose `value` is the load, as it is that of bodies with stops.
    """
    if isinstance(force, Bodies):
        return Flights(force.with_value(PATH, value)).motion(start).state
    if force is None:
        system = independent.TwoBody(
            contact_stiffness=systems_table.SOFT,
            load_amplitude=value,
            load_frequency=float(SOFT.load.frequency),
        )
        return independent.motion(system, start, 0.0, system.period, rtol=1e-13).state

    def field(t, x):
        return [x[1], force * np.cos(value * t) - 0.04 * x[1] - x[0] - x[0] ** 3]

    span = 0.0, 2 * np.pi / value
    return scipy.integrate.solve_ivp(field, span, start, "DOP853", **EXACT).y[:, -1]


def misses(branches, forces) -> list[float]:
    """Return by how much orbits miss their start, the median and the most of them."""
    owners = np.repeat(np.arange(len(branches)), [len(b.parameter) for b in branches])
    values = np.concatenate([b.parameter for b in branches])
    states = np.concatenate([b.orbits.state for b in branches])
    half = states.shape[1] // 2
    size = np.repeat([np.abs(states[:, :half]).max(), np.abs(states[:, half:]).max()], half)
    apart = [
        np.abs(after_a_period(forces[owners[i]], float(values[i]), states[i]) - states[i])
        for i in np.linspace(0, len(values) - 1, JUDGED).astype(int)
    ]
    largest = (apart / size).max(axis=1)
    return [float(np.median(largest)), float(largest.max())]


def row(name: str, branches, forces, first: float, second: float, cpu: float) -> dict:
    """Return a line of the table; `forces`: see `after_a_period`, of each branch."""
    points = sum(len(branch.parameter) for branch in branches)
    return {
        "branch": name,
        "branches": len(branches),
        "points": points,
        "first call, s": first,
        "second call, s": second,
        "points per second": points / second,
        "points per core-second": points / cpu,
        "missed after a period (median, largest)": misses(branches, forces),
    }


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--many", type=int, default=4096)
    arguments.add_argument("--auto", default=os.environ.get("AUTO_DIR"))
    chosen = arguments.parse_args()
    about, rows = machine(), []
    if chosen.auto:
        rows += auto_rows(chosen.auto, FOLDS)
        for line in rows:
            print(line, flush=True)
    for segments in (1, 16):
        branch, *seconds = timed(lambda segments=segments: single(segments))
        found = np.array([float(point.parameter) for point in branch.bifurcations])
        line = row(f"Duffing, {segments} segments", [branch], [0.015], *seconds)
        rows.append(line | {"error of the folds": float(np.abs(found - FOLDS).max())})
        print(rows[-1], flush=True)
    for name, step in {"its own steps": None, "steps of 1 N": 1.0}.items():
        branch, *seconds = timed(lambda step=step: two_bodies(step))
        rows.append(row(f"two bodies, soft contact, {name}", [branch], [None], *seconds))
        print(rows[-1], flush=True)
    branch, *seconds = timed(stopped)
    stop = [bodies(0.8, 0.1, 0.8, 1.0)]
    rows.append(row("hard stop, small steps", [branch], stop, *seconds))
    print(rows[-1], flush=True)
    forces = np.linspace(0.005, 0.03, chosen.many)
    samples = {"f": forces, "w": np.full(chosen.many, 1.0)}
    orbits = regimes(DUFFING, samples)
    branches, *seconds = timed(lambda: many(chosen.many, samples, orbits))
    rows.append(row("Duffing, many loads at once", branches, forces, *seconds))
    print(rows[-1], flush=True)
    name = f"branches-{about['device']}-{os.cpu_count()}.json"
    file = Path(__file__).with_name(name)
    file.write_text(json.dumps({"machine": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
