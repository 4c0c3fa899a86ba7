"""Instants at which a motion touches hard stops, or nearly does."""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..dynamics.flow import observe, simulate
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel
from ..orbits.periodic_orbit import GRAZING
from ..orbits.shooting import scales
from ..systems.autonomous import state_size
from ..systems.equation import Equation
from ..systems.system import System, equation_shape, structural_fact
from .corrector import LaneData, system_of
from .point import at

_SAMPLES = 1001  # per period, for the search of touches


def has_hard_stops(system: System) -> bool:
    """Return whether a system has hard stops."""
    return structural_fact(_has_hard_contacts, system)


def _has_hard_contacts(system: System) -> bool:
    return bool(hard_contacts(equation_shape(system)).any())


def hard_contacts(equation: Equation) -> np.ndarray:
    """Return a mask of the hard stops among an equation's contacts."""
    return np.array(equation.hard_contacts(), bool)


class Touches(NamedTuple):
    """Impacts on hard stops, and highest points before them, nearest to grazing first.

    `contact`: the stop's index; `phase`: the part of the period at which it happens;
    `state` there, before an impact; `speed` of the impact, m/s, 0 at a highest point;
    `apart`: the speed, m/s, that corresponds to the distance from grazing; `window`: a
    part of the period without another touch of the same stop, before and after.
    """

    contact: np.ndarray
    phase: np.ndarray
    state: np.ndarray
    speed: np.ndarray
    apart: np.ndarray
    window: np.ndarray

    def some(self, which: np.ndarray | slice) -> "Touches":
        """Return some of them."""
        return Touches(*(leaf[which] for leaf in self))


_WIDEST = 0.02  # window of a touch, as a part of the period


def touches_of(static: System, path: str, data: LaneData, x: np.ndarray) -> Touches:
    """Return the touches of the orbit at a point of a branch.

    `data`: of a single branch, without an axis of branches.
    """
    size = state_size(system_of(data, static))
    unscaled = x * data.units
    there = at(system_of(data, static), path, unscaled[-1])
    span = float(data.periods) * float(there.period())
    times = np.linspace(0.0, span, _SAMPLES)
    states = simulate(there, unscaled[:size], times, rtol=data.tight, throw=False).states
    seen = _contact_samples(there, states, jnp.asarray(times))
    depth, speed, bend, rates, half_rates = (np.asarray(leaf) for leaf in seen)
    parts = []
    step = times[1]
    for contact in np.flatnonzero(hard_contacts(equation_shape(there))):
        d, v, a = (leaf[:-1, contact] for leaf in (depth, speed, bend))
        turns = (v > 0) & (speed[1:, contact] <= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.where(a < 0, d - v**2 / (2 * a), np.inf)
            root = np.sqrt(np.maximum(v**2 - 2 * a * d, 0.0))
            ahead = np.where(height < 0, -v / a, -2 * d / (v + root))
        rows = np.flatnonzero(turns & (ahead < 2 * step))
        parts += [
            (int(contact), times[i] + ahead[i], i, ahead[i], height[i], root[i], a[i])
            for i in rows
        ]
    return _ordered(parts, np.asarray(states), (rates, half_rates), span)


def _ordered(parts, states, rates, span: float) -> Touches:
    if not parts:
        return Touches(*(np.zeros(0) for _ in Touches._fields))
    contact, time, row, ahead, height, root, bend = (
        np.array(c) for c in zip(*parts, strict=True)
    )
    # The midpoint rule, from the sample before.
    first, curve = (rate[row] for rate in rates)
    state = states[row] + ahead[:, None] * (first + ahead[:, None] / 2 * curve)
    near = height < 0
    apart = np.where(near, np.sqrt(np.abs(2 * bend * np.where(near, height, 0.0))), root)
    windows = np.full(len(time), _WIDEST)
    for i, (stop, when) in enumerate(zip(contact, time, strict=True)):
        others = time[(contact == stop) & (np.arange(len(time)) != i)]
        distance = np.abs(others - when) / span
        distance = np.minimum(distance, 1 - distance)
        windows[i] = min(_WIDEST, *(distance / 2)) if len(others) else _WIDEST
    phase = np.mod(time / span, 1.0)
    speed = np.where(near, 0.0, root)
    order = np.argsort(apart, kind="stable")
    return Touches(contact, phase, state, speed, apart, windows).some(order)


@eqx.filter_jit
def _contact_samples(system: System, states: Array, times: Array):
    """Return depths, speeds, accelerations, rates and their derivatives at all times."""
    equation = system.equation()

    def one(time, state):
        rate = equation.vector_field(time, state)
        _, curve = jax.jvp(
            equation.vector_field, (time, state), (jnp.ones_like(time), rate)
        )
        return *equation.contact_motion(state, rate), rate, curve

    return jax.vmap(one)(times, states)


class Seen(NamedTuple):
    """What a motion does at its hard stops, (points, stops).

    `onsets`: the number of impacts; `margins`: the smallest |depth|, m, of all highest
    points and, without the stop, of all impacts, NaN at a grazing; `holds`: whether it
    stays closed.
    """

    onsets: Any
    margins: Any
    holds: Any


@functools.lru_cache(maxsize=32)
def watch_kernel(static: System, path: str) -> Kernel:
    """Return the kernel from a lane (data, x) to `Seen`."""

    def watch(lane):
        data, x = lane
        system = system_of(data, static)
        unscaled = x * data.units
        there = at(system, path, unscaled[-1])
        state = unscaled[: state_size(system)]
        span = data.periods.astype(float) * there.period()
        shallow = GRAZING * scales(there, state)[0]
        found = observe(there, state, 0.0, span, rtol=data.tight, grazing=shallow)[1]
        hard = np.flatnonzero(hard_contacts(there.equation()))
        # A body that does not rebound has a highest point of rounding at its impact.
        margins = jnp.where(found.nearest > shallow, found.nearest, jnp.nan)
        return Seen(found.onsets[hard], margins[hard], found.duration[hard] > 0)

    return cached_kernel(watch, static, path)
