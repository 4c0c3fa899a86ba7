"""Attractors of a system, and tests for being on one of them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float, Int

from ...drawing import Plottable
from ...ensemble import Reason
from ...foundation.arrays import stack_lanes
from ...foundation.quantity import result_field
from ...foundation.text import contacts_text
from ...systems.base.system import System
from ...systems.drift import Drift
from ..limit_cycle import LimitCycle
from ..orbit import PeriodicOrbit, unknown_orbits, with_fields
from ..shooting.multipliers import ROUNDING
from .aperiodic import TrackedMotions

# Distance within which a motion is on an attractor, in units of the motion's size.
ON_ATTRACTOR = 1e-4
_EQUAL = 1e-5  # orbits closer than this are the same
# ... for aperiodic motions 4 times the spacing of its points, as these are random, or
# this distance if the points are denser.
_CLOUD, _WITHIN = 1e-2, 4.0


class Attractors(Plottable):
    """Attracting motions: periodic ones by their periods, then the others.

    For equal periods those with fewer contacts come first, then those of smaller
    amplitude. `A1` is the first one. `orbits` is a `PeriodicOrbit` whose fields have a
    leading axis of attractors; aperiodic motions have 0 periods, and the
    amplitude, the largest force, the contacts per period and the exponent. The
    `points` of a motion begin with the one that sorts first.

    For an autonomous system equilibria come first, marked by their `result`, with
    the largest real part of an eigenvalue as exponent, and then cycles: also with 0
    `periods`, and with a `period` of their own and the multipliers of a `LimitCycle`.
    An interval in which a friction sticks is given by its middle and even points.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> jv.orbits.attractors(system, starts).points.shape
    (1, 1, 4)
    """

    orbits: PeriodicOrbit
    points: Float[np.ndarray, "attractor point state"] = result_field(
        "states once a period of the load, or along a cycle",
        "",
        ("attractor", "point", "state"),
    )

    @property
    def state(self) -> Float[np.ndarray, "attractor state"]:
        """The first point of each attractor."""
        return self.points[:, :1].reshape(len(self.points), self.points.shape[2])

    @property
    def periods(self) -> Int[np.ndarray, " attractor"]:
        """Periods of the load in one of the motion, 0 if aperiodic."""
        return np.asarray(self.orbits.periods)

    @property
    def floquet_multipliers(self) -> Complex[np.ndarray, "attractor n"]:
        """The Floquet multipliers, largest modulus first."""
        return np.asarray(self.orbits.floquet_multipliers)

    @property
    def lyapunov_exponent(self) -> Float[np.ndarray, " attractor"]:
        """The largest Lyapunov exponents, 1/s."""
        return np.asarray(self.orbits.lyapunov_exponent)

    @property
    def lyapunov_error(self) -> Float[np.ndarray, " attractor"]:
        """Their standard errors, 1/s, NaN for periodic motions."""
        return np.asarray(self.orbits.lyapunov_error)

    @property
    def names(self) -> list[str]:
        """Names such as `A1: period 1, 0 contacts`."""
        orbits = self.orbits
        touching = np.asarray(orbits.contact_duration) > 0
        columns = orbits.result, orbits.periods, orbits.contacts, orbits.period, touching
        each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        return [f"A{i}: {named(*numbers)}" for i, numbers in enumerate(each, 1)]

    def __repr__(self) -> str:
        lines = [f"Attractors: {len(self.points)}"]
        for i, name in enumerate(self.names):
            state = ", ".join(f"{value:.6g}" for value in self.state[i])
            exponent = f"exponent {self.orbits.lyapunov_exponent[i]:.4g} 1/s"
            lines.append(f"  {name}; state, t = 0: {state}; {exponent}")
        return "\n".join(lines)


def named(code: int, periods: int, contacts: int, period: float, touching: bool) -> str:
    """Return the description of a motion: its period and contacts, or its class."""
    if code == Reason.EQUILIBRIUM:
        return "equilibrium"
    if code != Reason.SUCCESS:
        return Reason(code).motion
    if periods == 0:
        return f"cycle, {period:.6g} s"
    return f"period {periods}, {contacts_text(contacts, touching)}"


class Motion(NamedTuple):
    """A known motion, with a test for being on it.

    `points` (points, n): some of its states; `units` (n,): their scales; `away`:
    the function from states (s, n) to their distances from it; `near`: the distance
    within which a state is on it; `drift`: of the system.
    """

    orbit: PeriodicOrbit
    points: np.ndarray
    units: np.ndarray
    away: Callable[[np.ndarray], np.ndarray]
    near: float
    drift: Drift | None = None

    def contains(self, trails: np.ndarray) -> np.ndarray:
        """Return which motions (lanes, times, n) converge to this one.

        The last state must be near; for an aperiodic one half of all states.
        """
        if self.orbit.result in (Reason.SUCCESS, Reason.EQUILIBRIUM):
            return self.away(trails[:, -1]) < self.near
        every = [self.away(trails[:, i]) for i in range(trails.shape[1])]
        return np.median(every, axis=0) < self.near


def motion_at(
    orbit: PeriodicOrbit,
    points: np.ndarray,
    units: np.ndarray,
    near: float,
    drift: Drift | None = None,
) -> Motion:
    """Return a motion that consists of its `points`, (points, n)."""

    def away(states):
        return distances(states, points, units, drift).min(axis=1)

    return Motion(orbit, points, units, away, near, drift)


def near_any(motions: Iterable[Motion], states: np.ndarray, within: float) -> np.ndarray:
    """Return which states (s, n) are within a distance of some motion."""
    near = np.zeros(len(states), bool)
    for each in motions:
        near |= each.away(states) < within
    return near


def periodic_motion(
    orbit: PeriodicOrbit,
    points: np.ndarray,
    units: np.ndarray,
    drift: Drift | None = None,
) -> Motion:
    """Return an orbit with its states once a period, (periods, n), as a `Motion`."""
    # The start of a periodic motion is arbitrary: choose the point that sorts first.
    order = np.lexsort(np.round(points / units, 6).T[::-1])
    points = np.roll(points, -int(order[0]), axis=0)
    code = np.asarray(Reason.SUCCESS, np.int32)
    # Tables of attractors have an error only for exponents from motions.
    exponents = {
        "lyapunov_exponent": exponent_of(orbit),
        "lyapunov_error": np.array(np.nan),
    }
    known = with_fields(orbit, **exponents, result=code)
    return motion_at(known, points, units, ON_ATTRACTOR, drift)


def exponent_of(orbit: PeriodicOrbit | LimitCycle) -> np.ndarray:
    """Return the exponent of an orbit or cycle, 1/s, from its largest multiplier.

    NaN if the multiplier is no larger than its error or than rounding relative to 1:
    only an upper bound is known then.
    """
    largest, error, period = _largest_multiplier(orbit)
    with np.errstate(divide="ignore"):
        exponent = np.log(largest) / period
    return np.where((largest > 0) & (largest <= error), np.nan, exponent)


def exponent_error_of(orbit: PeriodicOrbit) -> np.ndarray:
    """Return the error of an orbit's exponent, 1/s, NaN if unknown."""
    largest, error, period = _largest_multiplier(orbit)
    known = largest > error
    relative = np.where(known, error, np.nan) / np.where(known, largest, 1.0)
    return np.asarray(relative / period)


def _largest_multiplier(orbit) -> list[np.ndarray]:
    """Return the largest multiplier of an orbit, its error, and the period, s."""
    error = np.maximum(orbit.multiplier_error, ROUNDING)
    return [np.asarray(value) for value in (orbit.largest_multiplier, error, orbit.period)]


def aperiodic_motion(
    system: System, tracked: TrackedMotions, period: float, units: np.ndarray
) -> Motion:
    """Return an aperiodic motion, one row of `TrackedMotions`, as a `Motion`."""
    points = tracked.trail
    apart = distances(points, points, units, system.drift)
    np.fill_diagonal(apart, np.inf)
    spacing = float(np.median(apart.min(axis=1)))
    unknown = jax.tree.map(lambda leaf: leaf[0], unknown_orbits(system, 1))
    orbit = with_fields(
        unknown,
        state=points[0],
        periods=np.asarray(0, np.int32),
        contacts_per_period=np.asarray(tracked.contacts_per_period),
        amplitude=np.asarray(tracked.amplitude),
        max_contact_force=np.asarray(tracked.max_contact_force),
        lyapunov_exponent=np.asarray(float(tracked.exponent) / period),
        lyapunov_error=np.asarray(float(tracked.error) / period),
        watched=np.asarray(tracked.watched, np.int32),
        result=np.asarray(tracked.code, np.int32),
    )
    if tracked.progress is not None:
        mean, error = map(np.asarray, tracked.progress)
        orbit = with_fields(orbit, progress=mean, progress_error=error)
    near = max(_WITHIN * spacing, _CLOUD)
    return motion_at(orbit, points, units, near, system.drift)


def distances(
    states: np.ndarray, points: np.ndarray, units: np.ndarray, drift: Drift | None = None
) -> np.ndarray:
    """Return the maximum-norm distances of states (s, n) from points (p, n).

    Those of a system with a `drift` in steps are the distances after the best shift.
    """
    largest = np.zeros((len(states), len(points)))
    lead, along = np.zeros(()), np.zeros(len(units))
    if drift is not None and drift.step is not None:
        lead = drift.coordinate(states)[:, None] - drift.coordinate(points)[None]
        lead, along = drift.step * np.round(lead / drift.step), np.array(drift.direction)
    for component, unit in enumerate(units):
        between = states[:, None, component] - points[None, :, component]
        if along[component]:
            between = between - lead * along[component]
        np.maximum(largest, np.abs(between) / unit, out=largest)
    return largest


def same(one: Motion, other: Motion) -> bool:
    """Return whether two orbits are equal: all points of one are among the other's."""
    apart = distances(one.points, other.points, other.units, one.drift)
    return len(one.points) == len(other.points) and bool(apart.min(axis=1).max() < _EQUAL)


def in_order(found: list[Motion]) -> list[int]:
    """Return the positions of attractors in the order of their names."""

    def rank(position: int):
        orbit = found[position].orbit
        start = np.round(found[position].points[0] / found[position].units, 6)
        largest = np.max(orbit.amplitude)
        shape, size = np.round(orbit.amplitude / (largest or 1.0), 6), f"{largest:.6g}"
        rests = orbit.result == Reason.EQUILIBRIUM
        key = not rests, int(orbit.result), int(orbit.periods), int(orbit.contacts)
        return *key, float(size), *shape, *start

    return sorted(range(len(found)), key=rank)


def gathered(system: System, found: list[Motion]) -> Attractors:
    """Return attractors as arrays, in the order of a list."""
    longest = max((len(each.points) for each in found), default=0)
    points = np.full((len(found), longest, len(system.rest())), np.nan)
    for row, each in zip(points, found, strict=True):
        row[: len(each.points)] = each.points
    orbits = unknown_orbits(system, 0)
    if found:
        orbits = stack_lanes([each.orbit for each in found])
    # Observed motions have averages here, in double precision.
    contacts = np.asarray(orbits.contacts_per_period, float)
    return Attractors(with_fields(orbits, contacts_per_period=contacts), points)
