"""Attractors of an autonomous field: tests for being on an equilibrium or a cycle."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .linalg and .spatial take 0.2 s
from jaxtyping import Array

from .. import linalg
from ..dynamics.engines.choice import engine_of
from ..ensemble import Reason
from ..foundation.arrays import to_numpy
from ..foundation.types import AnyArray, Number
from ..systems.system import System
from ..systems.unforced import UnforcedSystem
from .attractors import CLOSE, Motion, exponent_of
from .equilibrium import Equilibrium
from .limit_cycle import LimitCycle
from .orbit import PeriodicOrbit, unknown_orbits, with_fields

# States around an equilibrium in which the field is tested, over six decades of
# distance, up to this part of the extent of motions: nearer than that there may be
# another attractor.
_TRIED, _DECADES, _FARTHEST = 16_384, 6.0, 0.1
_INSIDE = 0.5  # of the distance of the first state that is not drawn nearer
# States along a cycle: chords between them are within 1e-6 of a circle.
_ALONG = 2048
_SHOWN = 64  # of those, as the points of an attractor
_FLAT = 1e-6  # relative extent below which a component of a cycle is constant


def equilibrium_motion(
    system: UnforcedSystem, found: Equilibrium, sizes: np.ndarray
) -> Motion | None:
    r"""Return a stable equilibrium $x_0$ and a tested region of attraction around it.

    With $J^T P + P J = -W$, J the Jacobian and W that of squares in `sizes`, the extent
    of motions, the Lyapunov function $V = (x - x_0)^T P (x - x_0)$ decreases along
    every motion near $x_0$. In the region, where V is below `near`, it was found to
    decrease in all of many sampled states; None if in none of them. `system`: an
    `UnforcedSystem`. **Source:** Khalil, *Nonlinear Systems* (2002), section 8.2.
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
    orbit = with_fields(
        nothing_known(system.moved, Reason.EQUILIBRIUM),
        state=state,
        stable=np.asarray(found.stable),
        amplitude=np.zeros(freedoms_of(system.moved)),
        lyapunov_exponent=np.asarray(found.eigenvalues).real[0],
        state_error=np.asarray(found.state_error),
    )

    def lyapunov_function(states):
        away = (states - state) / units
        return np.einsum("ki,ij,kj->k", away, shape, away)

    level = float(_INSIDE * nearest) ** 2
    return Motion(orbit, state[None], units, lyapunov_function, level)


def cycle_motion(
    system: UnforcedSystem, cycle: LimitCycle, sizes: np.ndarray, rtol: float
) -> Motion:
    """Return a stable cycle of an `UnforcedSystem` and a neighbourhood of it."""
    cycle = to_numpy(cycle)
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
    orbit = cycle_orbit(system.moved, cycle)
    points = along[: -1 : _ALONG // _SHOWN]
    return Motion(orbit, points, units, _distance_from(along, units), CLOSE)


def cycle_orbit(system: System, cycle: LimitCycle) -> PeriodicOrbit:
    """Return a cycle as a `PeriodicOrbit` of NumPy arrays with 0 periods."""
    same = (
        "state", "period", "monodromy", "floquet_multipliers", "largest_multiplier",
        "stable", "residual", "state_error", "monodromy_error", "multiplier_error",
        "condition",
    )  # fmt: skip
    return with_fields(
        nothing_known(system, Reason.SUCCESS),
        amplitude=cycle.amplitude[: freedoms_of(system)],
        lyapunov_exponent=exponent_of(cycle),
        **{name: getattr(cycle, name) for name in same},
    )


def _distance_from(along: np.ndarray, units: np.ndarray):
    """Return the function from states (s, n) to their distances from a closed curve.

    `along`: states of the curve, the first one twice; distances are in `units`.
    """
    corners = along / units
    chords = np.diff(corners, axis=0)
    lengths = np.maximum(np.sum(chords**2, axis=1), np.finfo(float).tiny)
    tree = scipy.spatial.KDTree(corners[:-1])

    def away(states: np.ndarray) -> np.ndarray:
        scaled = states / units
        found = np.full(len(states), np.inf)
        finite = np.isfinite(scaled).all(axis=1)
        scaled = scaled[finite]
        _, nearest = tree.query(scaled)
        least = np.full(len(scaled), np.inf)
        for which in (nearest, nearest - 1):  # both chords that end in the nearest state
            between = scaled - corners[which]
            part = np.sum(between * chords[which], axis=1) / lengths[which]
            between = between - np.clip(part, 0.0, 1.0)[:, None] * chords[which]
            least = np.minimum(least, np.abs(between).max(axis=1))
        found[finite] = least
        return found

    return away


def nothing_known(system: System, code: int) -> PeriodicOrbit:
    """Return an orbit without numbers, with 0 periods and a reason code."""
    one = jax.tree.map(lambda leaf: leaf[0], unknown_orbits(system, 1))
    whole = {"periods": 0, "result": code}
    return with_fields(one, **{k: np.asarray(v, np.int32) for k, v in whole.items()})


def freedoms_of(system: System) -> int:
    """Return the number of displacements, or of states of a field."""
    return len(system.freedom_names)


@eqx.filter_jit
def sampled(
    system: UnforcedSystem, state: AnyArray, times: AnyArray, rtol: Number
) -> Array:
    """Return the states of a motion at times, (times, n), NaN after a failure."""
    return engine_of(system, "diffrax").sampled(
        system, jnp.asarray(state), jnp.asarray(times), jnp.asarray(rtol, float)
    )[0]


@eqx.filter_jit
def rates_in(system: System, states: Array) -> Array:
    """Return the rates of states (s, n)."""
    field = system.equation().vector_field
    return jax.vmap(lambda state: field(0.0, state))(states)
