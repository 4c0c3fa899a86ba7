"""Search for all branches over a parameter range, including isolas."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Real

from ..dynamics.flow import flow
from ..ensemble import Reason, map_samples
from ..foundation.arrays import combine_arrays, equal_lanes, partition_arrays
from ..foundation.quantity import Range, check_range
from ..orbits.periodic_orbit import (
    PeriodicOrbit,
    check_periods,
    orbit_from_guess,
)
from ..orbits.shooting.orbit_shooting import scales
from ..systems.base.system import System
from ..systems.drift import modulo_drift
from ..systems.fields import state_size
from ..systems.parameters import parameter_at
from .continuation import continue_orbit
from .equations.point import at
from .results.branch import Branch, passing
from .tracing.parameter_range import parameter_range
from .tracing.settings import USUAL, ContinuationSettings

_ONE = 1e-6  # relative distance below which orbits are equal
_SAME = 0.02  # relative distance to a branch below which an orbit is on it


def find_branches(
    system: System,
    path: str,
    bounds: tuple[float, float],
    states: Real[np.ndarray, "starts n"],
    *,
    values: int = 9,
    periods: int = 1,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> list[Branch]:
    """Return all branches found by Newton's method from a grid of starts.

        grid = {0: np.linspace(-2, 2, 9), 1: [-1.0, 0.0, 1.0]}
        starts = jv.orbits.state_grid(system, grid)
        jv.branches.find_branches(system, "load.frequency", (5.0, 7.0), starts, periods=3)

    Stable and unstable orbits are computed from all starts at several values of the
    parameter; each orbit that is not on a known branch is continued by arclength in
    both directions. Orbits that differ by a shift of load periods count as equal.

    **Arguments:** `states`: starts at t = 0. `values`: the number of values of the
    parameter, evenly spaced within the bounds. `periods`: load periods per period of
    the motion. The others as in `continue_orbit`.

    **Raises:** `ValueError` for an unknown path, bounds out of range, or states of the
    wrong size. Branches to which no start converges are missed.
    """
    settings.refuse("find_branches", "stop_at")
    parameter_at(system, path)
    starts = np.atleast_2d(np.asarray(states, float))
    size = state_size(system)
    if starts.ndim != 2 or starts.shape[1] != size or not np.isfinite(starts).all():
        raise ValueError(f"states have shape {np.shape(states)}; allowed: (starts, {size})")
    check_range("values", values, "", Range(at_least=1))
    check_periods(periods)
    extent = parameter_range(system, path, bounds, np.mean(bounds), settings)
    levels = extent.low + extent.span * (np.arange(values) + 0.5) / values
    branches: list[Branch] = []
    for value, orbit, shifted in _orbits(system, path, levels, starts, periods, settings):
        if any(_on_branch(branch, value, shifted) for branch in branches):
            continue
        there = at(system, path, value)
        branches.append(
            continue_orbit(there, orbit, path, bounds, settings=settings, progress=progress)
        )
    return branches


def _orbits(
    system, path, levels, starts, periods: int, settings: ContinuationSettings
) -> list:
    """Return distinct orbits: value, orbit, and its states after each load period."""
    leaves, static = partition_arrays(system)
    each = np.repeat(levels, len(starts)), np.tile(starts, (len(levels), 1))
    number = len(each[0])
    many = equal_lanes(leaves, number)
    tolerances = np.full(number, settings.rtol), np.full(number, settings.factor)
    orbits, shifted, units = map_samples(
        _orbit_kernel(static, path, periods), (many, *each, *tolerances)
    )
    found = []
    for i in np.flatnonzero(np.asarray(orbits.result) == Reason.SUCCESS):
        known = (s[2] for s in found if s[0] == each[0][i])
        apart = [np.abs((s - shifted[i][0]) / units[i]).max(axis=1).min() for s in known]
        if apart and min(apart) < _ONE:
            continue
        orbit = jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), orbits)
        found.append((float(each[0][i]), orbit, shifted[i]))
    return found


@functools.lru_cache(maxsize=32)
def _orbit_kernel(static, path: str, periods: int):
    """Return the function from a lane to orbit, states per load period and scales."""

    def find(lane) -> tuple[PeriodicOrbit, jax.Array, jax.Array]:
        leaves, value, start, rtol, factor = lane
        there = at(combine_arrays(leaves, static), path, value)
        number = jnp.asarray(periods, jnp.int32)
        orbit = orbit_from_guess(there, start, number, rtol, factor)
        states = [orbit.state]
        for _ in range(1, periods):
            image = flow(there, states[-1], 0.0, there.period(), rtol=rtol)
            states.append(modulo_drift(there, image))
        return orbit, jnp.stack(states), scales(there, orbit.state)

    return find


def _on_branch(branch: Branch, value: float, shifted) -> bool:
    """Return whether a branch passes through an orbit, shifted by any load period."""
    at_points, states = np.asarray(branch.parameter), np.asarray(branch.states)
    size = np.abs(states).max(axis=0) + np.finfo(float).tiny
    for (state,) in passing(at_points, value, states):
        if (np.abs(shifted - state) / size < _SAME).all(axis=1).any():
            return True
    return False
