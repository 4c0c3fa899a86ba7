"""Attractors of an autonomous field: tests for being on an equilibrium or a cycle."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .linalg and .spatial take 0.2 s

from .. import linalg
from ..dynamics.engines.choice import engine_of
from ..ensemble import Reason
from .attractors import CLOSE, exponent_of, numbers
from .equilibrium import Equilibrium
from .limit_cycle import LimitCycle
from .orbit import PeriodicOrbit, unknown_orbits

# States around an equilibrium in which the field is tested, over six decades of
# distance, up to this part of the extent of motions: nearer than that there may be
# another attractor.
_TRIED, _DECADES, _FARTHEST = 16_384, 6.0, 0.1
_INSIDE = 0.5  # of the distance of the first state that is not drawn nearer
# States along a cycle: chords between them are within 1e-6 of a circle.
_ALONG = 2048
_SHOWN = 64  # of those, as the points of an attractor
_FLAT = 1e-6  # relative extent below which a component of a cycle is constant


class Well(NamedTuple):
    r"""A stable equilibrium $x_0$, and a tested region of attraction around it.

    With $J^T P + P J = -W$, J the Jacobian and W that of squares in `units`, the
    Lyapunov function $V = (x - x_0)^T P (x - x_0)$ decreases along every motion near
    $x_0$. It was found to decrease in all of many sampled states with V below `level`.
    **Source:** Khalil, *Nonlinear Systems* (2002), section 8.2.
    """

    orbit: PeriodicOrbit
    points: np.ndarray
    units: np.ndarray
    shape: np.ndarray
    level: float

    def contains(self, trails: np.ndarray) -> np.ndarray:
        """Return which motions (lanes, times, n) end in the region."""
        away = (trails[:, -1] - self.points[0]) / self.units
        return np.einsum("ki,ij,kj->k", away, self.shape, away) < self.level


class Tube(NamedTuple):
    """A stable cycle, and a neighbourhood of it.

    `along`: its states, equally spaced along its length in `units`, the first one
    twice.
    """

    orbit: PeriodicOrbit
    points: np.ndarray
    units: np.ndarray
    along: np.ndarray

    def contains(self, trails: np.ndarray) -> np.ndarray:
        """Return which motions (lanes, times, n) end in the neighbourhood."""
        return self.away(trails[:, -1]) < CLOSE

    def away(self, states: np.ndarray) -> np.ndarray:
        """Return the distance of states (s, n) from the cycle, in units of its size."""
        scaled, along = states / self.units, self.along / self.units
        found = np.full(len(states), np.inf)
        finite = np.isfinite(scaled).all(axis=1)
        scaled = scaled[finite]
        _, nearest = scipy.spatial.KDTree(along[:-1]).query(scaled)
        chords = np.diff(along, axis=0)
        lengths = np.maximum(np.sum(chords**2, axis=1), np.finfo(float).tiny)
        least = np.full(len(scaled), np.inf)
        for which in (nearest, nearest - 1):  # both chords that end in the nearest state
            between = scaled - along[which]
            part = np.sum(between * chords[which], axis=1) / lengths[which]
            between = between - np.clip(part, 0.0, 1.0)[:, None] * chords[which]
            least = np.minimum(least, np.abs(between).max(axis=1))
        found[finite] = least
        return found


def well(system, found: Equilibrium, sizes: np.ndarray) -> Well | None:
    """Return the region of a stable equilibrium; None if no sampled state is in it.

    `system`: of a `UnforcedSystem`; `sizes`: the extent of motions, (n,).
    """
    state, units = np.asarray(found.state), sizes
    field = system.equation().vector_field
    matrix = np.asarray(jax.jacfwd(lambda x: field(0.0, x))(jnp.asarray(state)))
    matrix = matrix * units / units[:, None]
    shape = scipy.linalg.solve_continuous_lyapunov(matrix.T, -np.eye(len(units)))
    roots, axes = np.linalg.eigh(shape)
    if not roots.min() > 0:
        return None
    draw = np.random.default_rng(1)
    ways = draw.normal(size=(_TRIED, len(units)))
    ways /= linalg.norm(ways)[:, None]
    part = 10.0 ** -draw.uniform(0, _DECADES, _TRIED)
    distance = _FARTHEST * np.sqrt(roots.min()) * part
    away = (ways * distance[:, None] / np.sqrt(roots)) @ axes.T
    rates = np.asarray(rates_in(system, jnp.asarray(state + away * units))) / units
    falls = np.einsum("ki,ij,kj->k", away, shape, rates) < 0
    nearest = np.min(distance[~falls], initial=distance.max())
    if not nearest > distance.min():
        return None
    orbit = eqx.tree_at(
        lambda o: (o.state, o.stable, o.amplitude, o.lyapunov_exponent, o.state_error),
        _nothing_known(system, Reason.EQUILIBRIUM),
        (
            state,
            np.asarray(found.stable),
            np.zeros(_freedoms(system)),
            np.asarray(found.eigenvalues).real[0],
            np.asarray(found.state_error),
        ),
    )
    return Well(orbit, state[None], units, shape, float(_INSIDE * nearest) ** 2)


def tube(system, cycle: LimitCycle, sizes: np.ndarray, rtol: float) -> Tube:
    """Return the neighbourhood of a stable cycle of a `UnforcedSystem`."""
    cycle = numbers(cycle)
    period = float(cycle.period)
    times = np.linspace(0.0, period, _ALONG + 1)
    along = np.asarray(sampled(system, cycle.state, times, rtol))
    extent = np.ptp(along, axis=0)
    units = np.where(extent > _FLAT * sizes, extent, sizes)
    lengths = np.sqrt(np.sum((np.diff(along, axis=0) / units) ** 2, axis=1))
    passed = np.append(0.0, np.cumsum(lengths))
    times = np.interp(np.linspace(0.0, passed[-1], _ALONG + 1), passed, times)
    along = np.array(sampled(system, cycle.state, times, rtol))
    along[-1] = along[0]
    same = (
        "state", "period", "monodromy", "floquet_multipliers", "largest_multiplier",
        "stable", "residual", "state_error", "monodromy_error", "multiplier_error",
        "condition",
    )  # fmt: skip
    orbit = eqx.tree_at(
        lambda o: (*(getattr(o, name) for name in same), o.amplitude, o.lyapunov_exponent),
        _nothing_known(system, Reason.SUCCESS),
        (
            *(getattr(cycle, name) for name in same),
            cycle.amplitude[: _freedoms(system)],
            exponent_of(cycle),
        ),
    )
    return Tube(orbit, along[: -1 : _ALONG // _SHOWN], units, along)


def _nothing_known(system, code: Reason) -> PeriodicOrbit:
    one = jax.tree.map(lambda leaf: leaf[0], unknown_orbits(system.moved, 1))
    known = np.asarray(0, np.int32), np.asarray(code, np.int32)
    return eqx.tree_at(lambda o: (o.periods, o.result), one, known)


def _freedoms(system) -> int:
    return len(system.moved.freedom_names)


@eqx.filter_jit
def sampled(system, state, times, rtol):
    """Return the states of a motion at times, (times, n), NaN after a failure."""
    return engine_of(system, "diffrax").sampled(
        system, jnp.asarray(state), jnp.asarray(times), jnp.asarray(rtol, float)
    )[0]


@eqx.filter_jit
def rates_in(system, states):
    """Return the rates of states (s, n)."""
    field = system.equation().vector_field
    return jax.vmap(lambda state: field(0.0, state))(states)
