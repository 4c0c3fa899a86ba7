"""Attractors of an autonomous field: tests for being on an equilibrium or a cycle."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .linalg and .spatial take 0.2 s
from jaxtyping import Array

from ... import linalg
from ...dynamics.engines.choice import engine_of
from ...dynamics.motion import Want
from ...ensemble import Reason
from ...foundation.arrays import to_numpy
from ...foundation.types import AnyArray, Number
from ...systems.base.system import System
from ...systems.drift import Drift, modulo_drift
from ...systems.sampled_bodies import SampledSystem
from ...systems.unforced import UnforcedSystem
from ..equilibrium import Equilibrium
from ..limit_cycle import DriftingCycle, LimitCycle
from ..orbit import PeriodicOrbit, unknown_orbits, with_fields
from .attractors import ON_ATTRACTOR, Motion, exponent_of

# From states (s, n) to their distances from a motion.
Distance = Callable[[np.ndarray], np.ndarray]
# States around an equilibrium in which the field is tested, over six decades of
# distance, up to this part of the extent of motions: nearer than that there may be
# another attractor.
_TRIED, _DECADES, _FARTHEST = 16_384, 6.0, 0.1
_INSIDE = 0.5  # of the distance of the first state that is not drawn nearer
# States along a cycle: chords between them are within 1e-6 of a circle.
_ALONG = 2048
_SHOWN = 64  # of those, as the points of an attractor
_LEAP = 16.0  # a chord of more than this many usual ones is an impact
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
    matrix = np.asarray(_jacobian(system, jnp.asarray(state)))
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
    nearest = min(nearest, _distance_of_events(system.moved, state, units, shape))
    if not nearest > distance.min():
        return None
    orbit = with_fields(
        nothing_known(system.moved, Reason.EQUILIBRIUM),
        state=state,
        stable=np.asarray(found.stable),
        amplitude=np.zeros(freedoms_of(system.moved)),
        lyapunov_exponent=_slowest(system, np.asarray(found.eigenvalues)),
        state_error=np.asarray(found.state_error),
        **_progress(system, found),
    )

    def lyapunov_function(states):
        away = modulo_drift(system, states - state) / units
        return np.einsum("ki,ij,kj->k", away, shape, away)

    level = float(_INSIDE * nearest) ** 2
    return Motion(orbit, state[None], units, lyapunov_function, level)


def _distance_of_events(system: System, state, units, shape) -> float:
    r"""Return $\sqrt{V}$ up to which no friction sticks and no stop is hit.

    On a plane at $a \cdot (x - x_0) = c$ the Lyapunov function is
    $c^2 / (a \cdot P^{-1} a)$ or more. Zero if one is reached at the equilibrium itself.
    """
    if not system.mechanical:
        return np.inf
    equation, half = system.equation(), len(state) // 2
    none, found = np.zeros(half), [np.inf]
    speeds = [
        (np.append(none, each.direction), each.direction @ state[half:] - each.speed)
        for each in system.frictions
    ]
    hard = np.flatnonzero(equation.hard_contacts())
    depths = np.asarray(equation.penetrations(jnp.asarray(state)))
    gaps = [
        (np.append(system.contacts[j].direction, none), min(depths[j], 0.0)) for j in hard
    ]
    for normal, away in (*speeds, *gaps):
        scaled = normal * units
        found.append(abs(float(away)) / np.sqrt(scaled @ np.linalg.solve(shape, scaled)))
    return float(min(found))


def _slowest(system: UnforcedSystem, eigenvalues: np.ndarray) -> np.ndarray:
    """Return the largest real part of eigenvalues, but that of a drift that is held."""
    if system.held is not None and len(eigenvalues) > 1:
        along = np.argmin(np.abs(eigenvalues + 1 / float(system.span)))
        eigenvalues = np.delete(eigenvalues, along)
    return np.asarray(eigenvalues.real.max())


def _progress(system: UnforcedSystem, found: Equilibrium) -> dict[str, np.ndarray]:
    """Return the progress of a uniform motion in a span and its error, by field."""
    drift = system.moved.drift
    if drift is None:
        return {}
    field = system.moved.equation().vector_field

    def moved(state):
        return drift.coordinate(field(0.0, state)) * system.span

    lead, slope = jax.value_and_grad(moved)(jnp.asarray(found.state))
    error = np.sum(np.abs(slope)) * found.state_error
    if drift.step is not None:
        lead, error = 0.0, 0.0
    return {"progress": np.asarray(lead), "progress_error": np.asarray(error)}


def cycle_motion(
    system: SampledSystem, cycle: LimitCycle, sizes: np.ndarray, rtol: float
) -> Motion:
    """Return a stable cycle and a neighbourhood of it."""
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
    orbit, drift = cycle_orbit(system.moved, cycle), system.drift
    along[-1] = along[0]
    if isinstance(cycle, DriftingCycle) and drift is not None:
        along[-1] += cycle.progress * np.asarray(drift.direction)
    points = modulo_drift(system, along[: -1 : _ALONG // _SHOWN])
    if drift is not None and drift.step is None:
        along = modulo_drift(system, along)
    away = _distance_from(along, units)
    if drift is not None and drift.step is not None:
        away = _at_any_shift(away, along, drift)
    return Motion(orbit, points, units, away, ON_ATTRACTOR, drift)


def _at_any_shift(away: Distance, along: np.ndarray, drift: Drift) -> Distance:
    """Return the distance from a curve at the nearest shift of each state."""
    places = drift.coordinate(along)
    first, step = places.min(), np.asarray(drift.step)
    turns = range(-1, int(np.ceil(np.ptp(places) / step)) + 2)

    def nearest(states: np.ndarray) -> np.ndarray:
        near = drift.shifted_back(states, drift.coordinate(states) - first)
        shifts = [turn * step * np.asarray(drift.direction) for turn in turns]
        return np.min([away(near + shift) for shift in shifts], axis=0)

    return nearest


def cycle_orbit(system: System, cycle: LimitCycle) -> PeriodicOrbit:
    """Return a cycle as a `PeriodicOrbit` of NumPy arrays with 0 periods."""
    same = (
        "state", "period", "monodromy", "floquet_multipliers", "largest_multiplier",
        "stable", "residual", "state_error", "monodromy_error", "multiplier_error",
        "condition",
    )  # fmt: skip
    drifted = {}
    if isinstance(cycle, DriftingCycle):
        drifted = {"progress": cycle.progress, "progress_error": cycle.progress_error}
    return with_fields(
        nothing_known(system, Reason.SUCCESS),
        amplitude=cycle.amplitude[: freedoms_of(system)],
        lyapunov_exponent=exponent_of(cycle),
        **drifted,
        **{name: getattr(cycle, name) for name in same},
    )


def _distance_from(along: np.ndarray, units: np.ndarray) -> Distance:
    """Return the function from states (s, n) to their distances from a closed curve.

    `along`: states of the curve, the first one twice; distances are in `units`.
    """
    chords = np.diff(along / units, axis=0)
    corners = along[:-1] / units  # one for each chord, which begins there
    lengths = np.maximum(np.sum(chords**2, axis=1), np.finfo(float).tiny)
    # No state of a motion is between those before and after an impact.
    chords[lengths > _LEAP**2 * np.median(lengths)] = 0.0
    tree = scipy.spatial.KDTree(corners)

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
    filled = {"periods": 0, "result": code}
    return with_fields(one, **{k: np.asarray(v, np.int32) for k, v in filled.items()})


def freedoms_of(system: System) -> int:
    """Return the number of displacements, or of states of a field."""
    return len(system.freedom_names)


@eqx.filter_jit
def sampled(system: SampledSystem, state: AnyArray, times: AnyArray, rtol: Number) -> Array:
    """Return the states of a motion at times, (times, n), NaN after a failure."""
    chosen = engine_of(system, "auto" if system.mechanical else "diffrax")
    state, times = jnp.asarray(state), jnp.asarray(times)
    want = Want(jnp.asarray(rtol, float), times)
    return chosen.integrate(system, state, times[0], times[-1], want).states


@eqx.filter_jit
def rates_in(system: System, states: Array) -> Array:
    """Return the rates of states (s, n)."""
    field = system.equation().vector_field
    return jax.vmap(lambda state: field(0.0, state))(states)


@eqx.filter_jit
def _jacobian(system: System, state: Array) -> Array:
    """Return the derivatives of the rates of a state."""
    field = system.equation().vector_field
    return jax.jacfwd(lambda x: field(0.0, x))(state)
