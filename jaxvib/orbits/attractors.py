"""Attractors: the motions that a system settles on, and how they are told apart."""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Complex, Float, Int

from .._quantity import reported
from ..ensemble import Reason

# A motion is an attractor's where it is this near, in units of the motion's size.
CLOSE = 1e-4
_SAME = 1e-5  # two orbits that are nearer are one
# ... and, of motions without a period, where it is as near as its points to each other.
_CLOUD = 1e-2
_WITHIN = 4.0


class Attractors(eqx.Module):
    """Motions that attract: periodic ones by their periods, then the others.

    Of the same number of periods those with fewer contacts come first, then those of
    smaller amplitude. `A1` is the first one. Numbers that only periodic motions have
    are NaN (-1, and 0 periods) of the others.
    """

    state: Float[np.ndarray, "attractor state"] = reported(
        "one state at t = 0", "", ("attractor", "state")
    )
    points: Float[np.ndarray, "attractor point state"] = reported(
        "states once a period of the load", "", ("attractor", "point", "state")
    )
    periods: Int[np.ndarray, " attractor"] = reported(
        "periods of the load in one of the motion, 0 without", "", ("attractor",)
    )
    contacts: Int[np.ndarray, " attractor"] = reported(
        "onsets of contact in one period of the motion", "", ("attractor",)
    )
    contacts_per_period: Float[np.ndarray, " attractor"] = reported(
        "contacts per period of the load", "", ("attractor",)
    )
    floquet_multipliers: Complex[np.ndarray, "attractor multiplier"] = reported(
        "Floquet multipliers, largest modulus first", "", ("attractor", "multiplier")
    )
    largest_multiplier: Float[np.ndarray, " attractor"] = reported(
        "modulus of the largest multiplier", "", ("attractor",)
    )
    stable: Int[np.ndarray, " attractor"] = reported(
        "1 stable, 0 unstable, -1 undecided", "", ("attractor",)
    )
    amplitude: Float[np.ndarray, "attractor freedom"] = reported(
        "half of highest minus lowest displacement", "m", ("attractor", "freedom")
    )
    max_contact_force: Float[np.ndarray, " attractor"] = reported(
        "largest contact force", "N", ("attractor",)
    )
    lyapunov_exponent: Float[np.ndarray, " attractor"] = reported(
        "largest Lyapunov exponent", "1/s", ("attractor",)
    )
    lyapunov_error: Float[np.ndarray, " attractor"] = reported(
        "its standard error, NaN of periodic motions", "1/s", ("attractor",)
    )
    result: Int[np.ndarray, " attractor"] = reported(
        "reason code: success of periodic motions", "", ("attractor",)
    )

    @property
    def names(self) -> list[str]:
        """What each is called: `A1: period 1, 0 contacts`."""
        columns = (self.result, self.periods, self.contacts)
        each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        return [f"A{i}: {named(*numbers)}" for i, numbers in enumerate(each, 1)]

    def __repr__(self) -> str:
        lines = [f"Attractors: {len(self.periods)}"]
        for i, name in enumerate(self.names):
            state = ", ".join(f"{value:.6g}" for value in self.state[i])
            exponent = f"exponent {self.lyapunov_exponent[i]:.4g} 1/s"
            lines.append(f"  {name}; state, t = 0: {state}; {exponent}")
        return "\n".join(lines)


def named(code: int, periods: int, contacts: int) -> str:
    """Return what a motion is, in words: its period and contacts, or its class."""
    if code != Reason.SUCCESS:
        return Reason(code).motion
    return f"period {periods}, {contacts} contact{'' if contacts == 1 else 's'}"


class Found(NamedTuple):
    """One motion that attracts or, if it is not `attracting`, repels.

    `fields`: of `Attractors`, without the leading axis; `points` (points, n) are its
    states once a period, `units` (n,) what they are measured in, and `near` how far a
    state may be from them, in those.
    """

    fields: dict
    points: np.ndarray
    units: np.ndarray
    near: float
    attracting: bool


def periodic_motion(orbit, points: np.ndarray, units: np.ndarray) -> Found:
    """Return what is known of an orbit with its states once a period, (periods, n)."""
    # The same motion begins in any of its points: in the one that sorts first.
    order = np.lexsort(np.round(points / units, 6).T[::-1])
    points = np.roll(points, -int(order[0]), axis=0)
    largest = float(orbit.largest_multiplier)
    exponent = np.log(largest) / float(orbit.period) if largest > 0 else -np.inf
    fields = {
        "state": points[0],
        "periods": int(orbit.periods),
        "contacts": int(orbit.contacts),
        "contacts_per_period": float(orbit.contacts_per_period),
        "floquet_multipliers": np.asarray(orbit.floquet_multipliers),
        "largest_multiplier": largest,
        "stable": int(orbit.stable),
        "amplitude": np.asarray(orbit.amplitude),
        "max_contact_force": float(orbit.max_contact_force),
        "lyapunov_exponent": exponent,
        "lyapunov_error": np.nan,
        "result": int(Reason.SUCCESS),
    }
    return Found(fields, points, units, CLOSE, int(orbit.stable) != 0)


def wandering_motion(watched, period: float, units: np.ndarray) -> Found:
    """Return what is known of a motion of no short period, one row of `Watched`."""
    points = watched.trail
    size = points.shape[1]
    apart = distances(points, points, units)
    np.fill_diagonal(apart, np.inf)
    spacing = float(np.median(apart.min(axis=1)))
    fields = {
        "state": points[0],
        "periods": 0,
        "contacts": -1,
        "contacts_per_period": float(watched.contacts_per_period),
        "floquet_multipliers": np.full(size, np.nan, complex),
        "largest_multiplier": np.nan,
        "stable": -1,
        "amplitude": np.asarray(watched.amplitude),
        "max_contact_force": float(watched.max_contact_force),
        "lyapunov_exponent": float(watched.exponent) / period,
        "lyapunov_error": float(watched.error) / period,
        "result": int(watched.code),
    }
    return Found(fields, points, units, max(_WITHIN * spacing, _CLOUD), True)


def distances(states: np.ndarray, points: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the largest component of what is between states (s, n) and points (p, n)."""
    largest = np.zeros((len(states), len(points)))
    for component, unit in enumerate(units):
        between = np.abs(states[:, None, component] - points[None, :, component])
        np.maximum(largest, between / unit, out=largest)
    return largest


def belongs(states: np.ndarray, found: Found) -> np.ndarray:
    """Return which motions (s, times, n) are on their way into one that is known.

    On a periodic one a motion is where its last state is near; on another one where
    half of all its states are.
    """
    if found.fields["periods"]:
        return distances(states[:, -1], found.points, found.units).min(axis=1) < found.near
    least = np.stack([
        distances(states[:, i], found.points, found.units).min(axis=1)
        for i in range(states.shape[1])
    ])  # fmt: skip
    return np.median(least, axis=0) < found.near


def same(one: Found, other: Found) -> bool:
    """Return whether two orbits are one: every point of one is a point of the other."""
    apart = distances(one.points, other.points, other.units)
    return len(one.points) == len(other.points) and bool(apart.min(axis=1).max() < _SAME)


def in_order(found: list[Found]) -> list[int]:
    """Return the positions of attractors in the order in which they are named."""

    def rank(position: int):
        fields = found[position].fields
        code = int(fields["result"])
        start = np.round(found[position].points[0] / found[position].units, 6)
        amplitude = np.round(fields["amplitude"] / np.max(fields["amplitude"]), 6)
        size = float(f"{np.max(fields['amplitude']):.6g}")
        return code, fields["periods"], fields["contacts"], size, *amplitude, *start

    return sorted(range(len(found)), key=rank)


def gathered(found: list[Found], size: int, freedoms: int) -> Attractors:
    """Return attractors as arrays, in the order of a list."""
    shapes = {
        "state": (size,), "floquet_multipliers": (size,), "amplitude": (freedoms,)
    }  # fmt: skip
    whole = {"periods": np.int32, "contacts": np.int32, "stable": np.int8,
             "result": np.int32, "floquet_multipliers": complex}  # fmt: skip
    columns = {
        name: np.array([each.fields[name] for each in found], whole.get(name, float))
        .reshape(len(found), *shapes.get(name, ()))
        for name in _FIELDS
    }  # fmt: skip
    longest = max((len(each.points) for each in found), default=0)
    points = np.full((len(found), longest, size), np.nan)
    for row, each in zip(points, found, strict=True):
        row[: len(each.points)] = each.points
    return Attractors(points=points, **columns)


_FIELDS = [name for name in Attractors.__dataclass_fields__ if name != "points"]


def numbers(tree):
    """Return a tree of arrays as one of numpy arrays."""
    return jax.tree.map(np.asarray, tree)
