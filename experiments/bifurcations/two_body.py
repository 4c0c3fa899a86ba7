"""Bifurcations of the two-body system, each verified by an independent integration.

    python -m experiments.bifurcations.two_body

One branch at 500 N is continued automatically in the load frequency, from where the
bodies do not touch. Its bifurcations are verified on both sides by `tests.independent`,
which shares no code with jaxvib: numpy, scipy's DOP853 and separately written
variational equations. Writes `two_body.json`.
"""

import itertools
import json
import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize_scalar

import jaxvib as jv
from experiments.machine import machine
from tests.independent import TwoBody, motion, periodic_orbit, settle, trajectory
from tests.systems_table import SOFT

PATH = "load.frequency"
BOUNDS = (2.5, 14.0)
START = 9.0


def system_at(frequency: float):
    """Return the two-body system with the soft contact at a frequency of the load."""
    system = jv.two_body_impact(contact=jv.HertzContact(SOFT))
    return jv.replace(system, {PATH: frequency})


def branch():
    """Return the branch at 500 N and the seconds that it took, compiling included."""
    system = system_at(START)
    begin = time.perf_counter()
    orbit = jv.periodic_orbit(system, system.rest())
    followed = jv.continue_orbit(system, orbit, PATH, BOUNDS, "arclength")
    return followed, time.perf_counter() - begin


def rival(frequency: float) -> TwoBody:
    """Return the independent system at a frequency of the load."""
    return TwoBody(contact_stiffness=SOFT, load_frequency=float(frequency))


def there(point):
    """Return the independent orbit at a bifurcation, and how far ours is from it."""
    orbit = periodic_orbit(rival(point.parameter), np.asarray(point.state))
    return orbit, float(np.abs(orbit.state - point.state).max())


def beside(point, away: float, steps: int = 4):
    """Return the independent orbit at a frequency `away` from a bifurcation's."""
    state = np.asarray(point.state)
    for part in np.linspace(0, away, steps + 1)[1:]:
        orbit = periodic_orbit(rival(float(point.parameter) + part), state)
        state = orbit.state
    return orbit


def flip(point, step: float = 2e-3) -> dict:
    """Return the multiplier that passes -1 at a period doubling."""
    here, apart = there(point)
    sides = [float(min(beside(point, way * step).multipliers.real)) for way in (-1, 1)]
    return {
        "|state - independent state|": apart,
        "|multiplier + 1| there": float(np.abs(here.multipliers + 1).min()),
        f"multiplier {step:g} below and above": sides,
        "verified": bool((sides[0] + 1) * (sides[1] + 1) < 0),
    }


def doubled(point, step: float, periods: int = 300) -> dict:
    """Return our branch of two periods beyond a period doubling, and where motions settle.

    `step`: to the side on which the motion of one period is unstable. The settling
    motion begins 1 % away from it and is integrated independently. Where the branch's
    motion is unstable, as after a subcritical doubling, no transient converges to it.
    """
    frequency = float(point.parameter) + step
    low, high = sorted((float(point.parameter) - step / 10, frequency + step))
    double = jv.branches.switch_branch(
        system_at(float(point.parameter)), point, (low, high)
    )
    near = int(np.abs(double.parameter - frequency).argmin())
    other = rival(frequency)
    ours = periodic_orbit(other, np.asarray(double.states[near]), 2)
    once = motion(other, ours.state, 0.0, other.period).state
    report = {
        "at": frequency,
        "the branch's motion is stable": int(double.stable[near]),
        "largest |multiplier|, independent": float(np.abs(ours.multipliers).max()),
        "|s(T) - s(0)|": float(np.abs(once - ours.state).max()),
        "|s(2T) - s(0)|": ours.residual,
    }
    if not report["the branch's motion is stable"]:
        return report
    begin = beside(point, step).state * 1.01
    state = settle(other, periods, begin)[-1]
    apart = min(np.abs(state - image).max() for image in (ours.state, once))
    return report | {"where it settles, from the branch's motion": float(apart)}


def torus(point, step: float = 5e-3) -> dict:
    """Return the modulus of the pair that passes 1 at a Neimark-Sacker bifurcation."""

    def modulus(orbit):
        pairs = orbit.multipliers[np.abs(orbit.multipliers.imag) > 1e-6]
        return float(np.abs(pairs).max())

    here, apart = there(point)
    sides = [modulus(beside(point, way * step)) for way in (-1, 1)]
    return {
        "|state - independent state|": apart,
        "modulus - 1 there": modulus(here) - 1,
        f"modulus {step:g} below and above": sides,
        "verified": bool((sides[0] - 1) * (sides[1] - 1) < 0),
    }


def fold(point, side: float, step: float, rival=rival, reach: float = 0.1) -> dict:
    """Return how many motions there are on both sides of a fold.

    Newton's method on the independent period map, from starts along the critical
    direction. `side`: 1 if motions are above the fold, -1 if below; `reach`: how far,
    relative to the state, a motion may be.
    """
    other, state = rival(point.parameter), np.asarray(point.state)
    seen = motion(other, state, 0.0, other.period, ())
    values, vectors = np.linalg.eig(seen.monodromy)
    which = int(np.argmin(np.abs(values - 1)))
    found = {}
    for name, way in (("with motions", side), ("without", -side)):
        away, ends = rival(float(point.parameter) + way * step), []
        for size in reach * np.array([-0.3, -0.1, -0.03, 0.03, 0.1, 0.3]):
            try:
                # A motion within reach is found in eight steps.
                orbit = periodic_orbit(
                    away, state + size * vectors[:, which].real, steps=12
                )
            except RuntimeError:
                continue
            near = np.abs(orbit.state - state).max() < reach * np.abs(state).max()
            new = all(np.abs(orbit.state - end).max() > 1e-7 for end in ends)
            if near and new and orbit.contacts:
                ends.append(orbit.state)
        found[name] = len(ends)
    return {
        "|s(T) - s(0)|": float(np.abs(seen.state - state).max()),
        "|multiplier - 1| there": float(np.abs(values - 1).min()),
        f"motions within {step:g} on the side {side:+g}": found["with motions"],
        "on the other side": found["without"],
        "verified": bool(found["with motions"] == 2 and found["without"] == 0),
    }


def depth(frequency: float, state) -> float:
    """Return the greatest penetration, m, of the independent motion from a state."""
    other = rival(frequency)
    times = np.linspace(0.0, other.period, 201)
    states = trajectory(other, state, times)
    depths = states[:, 0] - states[:, 1]
    top = int(np.clip(np.argmax(depths), 1, 199))

    def shallow(time):
        after = motion(other, states[top - 1], times[top - 1], time).state
        return after[1] - after[0]

    between = (times[top - 1], times[top + 1])
    return -float(minimize_scalar(shallow, bounds=between, method="bounded",
                                  options={"xatol": 1e-10}).fun)  # fmt: skip


def linear_grazing(near: float) -> float:
    """Return the frequency near another at which the open system closes the gap."""
    mass, damping, stiffness = (np.asarray(m) for m in system_at(START).matrices())

    def gap_left(frequency):
        dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
        response = np.linalg.solve(dynamic, [500.0, 0.0])
        return abs(response[0] - response[1]) - 0.05

    return brentq(gap_left, near - 1e-2, near + 1e-2, xtol=1e-14)


def graze(found, point) -> dict:
    """Return the greatest penetration there and at the branch's points on both sides."""
    after = int(
        np.argmin(
            np.linalg.norm(np.asarray(found.states) - np.asarray(point.state), axis=1)
        )
    )
    counts = np.asarray(found.contacts)
    way = next(i for i in range(1, 30) if counts[after - i] != counts[after + i])
    ends = {}
    for near in (after - way, after + way):
        orbit = periodic_orbit(rival(found.parameter[near]), np.asarray(found.states[near]))
        ends[int(counts[near])] = (
            orbit.contacts, depth(found.parameter[near], orbit.state)
        )  # fmt: skip
    frequency = float(point.parameter)
    exact = linear_grazing(frequency)
    return {
        "greatest penetration there, m": depth(frequency, np.asarray(point.state)),
        "apart: contacts, greatest penetration, m": ends[0],
        "touching: contacts, greatest penetration, m": ends[1],
        "frequency where the linear response closes the gap": exact,
        "ours - that": frequency - exact,
        "verified": bool(
            (ends[0][0], ends[1][0]) == (0, 1) and ends[0][1] < 0 < ends[1][1]
        ),
    }


def verified(found, point) -> dict:
    """Return what the independent integration says about a bifurcation."""
    value = float(point.parameter)
    if point.kind == "period_doubling":
        report = flip(point)
        below, above = report["multiplier 0.002 below and above"]
        return report | {"two periods": doubled(point, -0.05 if below < above else 0.05)}
    if point.kind == "neimark_sacker":
        return torus(point, 5e-3 if abs(value - 4.4041) > 0.1 else 1e-5)
    if point.kind == "grazing":
        return graze(found, point)
    near = int(np.argmin(np.linalg.norm(
        np.asarray(found.states) - np.asarray(point.state), axis=1)))  # fmt: skip
    side = float(np.sign(found.parameter[near - 3 : near + 4] - value).sum())
    return fold(point, np.sign(side), 2e-6 if value < 9 else 1e-4)


def more_contacts(
    largest_step: float | None = None, every: int = 4, verify_folds: bool = True
) -> dict:
    """Return the branch at 2 rad/s from no contact to one and to two a period.

    Along the load; of one in `every` points the contacts are counted by the independent
    integration as well, and its state compared. That looks for motions on both sides of
    each fold too, if it is to, which takes most of the time.
    """
    system = jv.replace(system_at(2.0), {"load.amplitude": 11900.0})
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    dynamic = stiffness - 2.0**2 * mass + 2j * damping
    response = np.linalg.solve(dynamic, [11900.0, 0.0])
    apart = np.concatenate([response.real, -2.0 * response.imag])
    orbit = jv.periodic_orbit(system, apart + np.asarray(system.rest()))
    bounds = 11800.0, 16000.0
    found = jv.continue_orbit(
        system, orbit, "load.amplitude", bounds,
        settings=jv.branches.ContinuationSettings(largest_step=largest_step),
    )  # fmt: skip

    def other(load):
        return TwoBody(
            contact_stiffness=SOFT, load_frequency=2.0, load_amplitude=float(load)
        )

    def independent(load: float, state):
        return periodic_orbit(other(load), np.asarray(state))

    loads = [float(value) for value in found.parameter]
    counts, misses = [], []
    for point in range(0, len(loads), every):
        seen = independent(loads[point], found.states[point])
        counts.append((int(found.contacts[point]), seen.contacts))
        misses.append(np.abs(seen.state - np.asarray(found.states[point])).max())
    folds = [point for point in found.bifurcations if point.kind == "fold"]
    folds = folds if verify_folds else []
    return {
        "points": len(found.parameter),
        "contacts along the branch": [
            int(count) for count, _ in itertools.groupby(np.asarray(found.contacts))
        ],
        "bifurcations": [
            [point.kind, float(point.parameter)] for point in found.bifurcations
        ],
        "contacts before and after each change, independently": [
            [independent(loads[i], found.states[i]).contacts for i in (last, last + 1)]
            for last in np.flatnonzero(np.diff(found.contacts))
        ],
        # The two lie 1.2 N apart, and a third motion 0.5 % of the state away.
        "folds, independently": [
            fold(point, side, 1e-2, other, reach=1e-3)
            for point, side in zip(folds, (-1, 1), strict=verify_folds)
        ],
        "points looked at": len(counts),
        "same number of contacts": sum(ours == theirs for ours, theirs in counts),
        "largest |state - independent state|": float(max(misses)),
    }


def main() -> None:
    """Follow, verify, print and store."""
    found, seconds = branch()
    rows = []
    for point in found.bifurcations:
        row = {"kind": point.kind, "frequency": float(point.parameter)}
        rows.append(row | verified(found, point))
        print(json.dumps(rows[-1]), flush=True)
    report = {
        "machine": machine(),
        "points": len(found.parameter),
        "contacts": sorted({int(count) for count in found.contacts}),
        "seconds with compilation": round(seconds, 1),
        "bifurcations": rows,
        "from no contact to two": more_contacts(),
    }
    file = Path(__file__).with_name("two_body.json")
    file.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
