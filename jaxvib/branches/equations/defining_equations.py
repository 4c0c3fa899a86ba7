r"""Defining equations of bifurcations: those of a motion, and a condition on it.

With r(s, p) = 0 for a periodic orbit through s, M its monodromy matrix and $M^{(2)}$
the second compound, whose eigenvalues are the products of two multipliers:

- `"fold"`: $\det(M - I) = 0$, a multiplier at 1;
- `"period_doubling"`: $\det(M + I) = 0$, a multiplier at -1;
- `"neimark_sacker"`: $\det(M^{(2)} - I) = 0$, a complex pair on the unit circle;
- `"grazing"`: $\dot z = 0$ at the impact of `equations.impact_section`.

With one parameter the solution is a point, with two parameters a curve.

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.2; di Bernardo
et al., *Piecewise-smooth Dynamical Systems* (2008), chapter 6, for grazing.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...dynamics.engines import EventEngine, engine_of
from ...dynamics.flow import flow, observe, simulate
from ...foundation.arrays import combine_arrays
from ...foundation.types import AnyArray, Number
from ...orbits.periodic_orbit import GRAZING
from ...orbits.shooting.multipliers import floquet_multipliers
from ...orbits.shooting.orbit_shooting import scales
from ...systems.base.system import System
from ...systems.drift import modulo_drift
from ...systems.fields import state_size
from ...systems.parameters import replace
from .contact_removed import states_without
from .impact_section import Touch, state_at_start, touch_equations
from .root import RTOL
from .touches import hard_contacts, nearest_touches

KINDS = ("fold", "period_doubling", "neimark_sacker", "grazing")
# Tolerance of multipliers: the error of a double one is the root of the matrix error.
NEAR = 1e-4
_SAMPLES = 2001  # per period, for the search of contacts
_TOUCHES = 8  # nearest to grazing, from which one is searched
_RETURNS = 1e-6  # scaled, of a motion that grazes: the root of rounding, and its growth
SLOW = 1e-4  # scaled speed below which a touch may or may not count as one


class Setting(NamedTuple):
    """The data of the equations besides the system.

    `periods`: load periods per period of the motion; `begin`: the phase at which the
    state is taken; `units`: scales of the unknowns; `stop`: the contact that grazes.
    """

    periods: Any
    begin: Any
    units: Any
    stop: Any = None


class Section(NamedTuple):
    """A state with all gaps open, its phase, and what is known of the motion.

    A monodromy matrix that starts during a contact is not differentiable. `size`:
    scales of the state; `touches`: those nearest to grazing.
    """

    periods: Any
    state: Any
    size: Any
    begin: Any
    touches: Any = None


def with_values(system: System, paths: Sequence[str], values: AnyArray) -> System:
    """Return the system with other values of some parameters."""
    return replace(system, dict(zip(paths, values, strict=True)))


def equations(
    static: System, kind: str, paths: tuple[str, ...]
) -> Callable[..., tuple[Array, Array]]:
    """Return the residual function of (unknowns, (leaves, setting)).

    The scaled unknowns are the state, the part of the period (grazing only) and the
    parameters. It returns the residual and the monodromy matrix, or for grazing the speed
    of the impact.
    """
    grazing = kind == "grazing"
    problem = _touching if grazing else _returning

    def left(unknowns, arguments):
        leaves, setting = arguments
        unscaled = unknowns * setting.units
        values = unscaled[-len(paths) :]
        system = with_values(combine_arrays(leaves, static), paths, values)
        rest, seen = problem(system, setting, unscaled)
        condition = seen[0, 0] if grazing else multiplier_test(kind, seen)
        return jnp.append(rest, condition), seen

    return left


def _returning(system, setting: Setting, unscaled: Array) -> tuple[Array, Array]:
    """Return how far a state is from where it returns, and the monodromy matrix."""
    size = state_size(system)
    span = setting.periods * system.period()
    first = setting.begin * span

    def residual(state):
        image = _flow(system, state, first, first + span)
        rest = modulo_drift(system, image, state) - state
        return rest, rest

    matrix, rest = jax.jacfwd(residual, has_aux=True)(unscaled[:size])
    return rest / setting.units[:size], matrix + jnp.eye(size)


def _touching(system, setting: Setting, unscaled: Array) -> tuple[Array, Array]:
    """Return the equations of an orbit with a touch, and the speed there."""
    scale = setting.units[: state_size(system)]
    touch = Touch.at(system, setting.periods, unscaled)
    residual, speed = touch_equations(touch, setting.stop, scale, RTOL)
    return residual, speed[None, None]


def state_at_zero(kind: str, system: System, setting: Setting, unscaled: Array) -> Array:
    """Return the state at t = 0 of unscaled unknowns."""
    if kind == "grazing":
        touch = Touch.at(system, setting.periods, unscaled)
        return state_at_start(touch, setting.stop, setting.units[0], RTOL)
    span = setting.periods * system.period()
    state = unscaled[: state_size(system)]
    return modulo_drift(system, _flow(system, state, setting.begin * span, span))


def _flow(system, state, begin, end):
    # The event engine runs in kernels, also for second derivatives.
    engine = engine_of(system, "auto")
    return flow(system, state, begin, end, rtol=RTOL, engine=engine)


def second_compound(matrix: Float[Array, "n n"]) -> Float[Array, "m m"]:
    """Return the matrix of all 2 x 2 minors, with products of eigenvalue pairs."""
    pairs = np.array(list(itertools.combinations(range(matrix.shape[0]), 2)))
    i, j = pairs[:, 0], pairs[:, 1]
    return (
        matrix[i[:, None], i] * matrix[j[:, None], j]
        - matrix[i[:, None], j] * matrix[j[:, None], i]
    )


def has_torus(multipliers: AnyArray) -> Array:
    """Return whether a complex pair of multipliers (..., n) is on the unit circle.

    Two real multipliers with product 1 (a neutral saddle) solve the same equation.
    """
    apart = jnp.abs(jnp.abs(multipliers) - 1)
    return jnp.any((multipliers.imag != 0) & (apart < NEAR), axis=-1)


def section(system: System, state: Array, periods: Number, kind: str) -> Section:
    """Return the section of a motion that starts in `state` at t = 0."""
    if not system.has_contacts:
        return Section(periods, state, scales(system, state), jnp.asarray(0.0))
    times = periods * system.period() * jnp.linspace(0.0, 1.0, _SAMPLES)
    states = _states_along(system, state, times)
    depths = jax.vmap(system.equation().penetrations)(states)
    first = jnp.argmin(jnp.max(depths, axis=1))
    # The state at a single time may be small: take the maximum over the motion.
    size = jnp.max(jax.vmap(lambda state: scales(system, state))(states), axis=0)
    touches = None
    if kind == "grazing":
        touches = nearest_touches(system, states, times, _TOUCHES)
    begin = jnp.linspace(0.0, 1.0, _SAMPLES)[first]
    return Section(periods, states[first], size, begin, touches)


def _states_along(system, state, times):
    if not isinstance(engine_of(system, "auto"), EventEngine):
        return simulate(system, state, times).states

    def to_next(state, between):
        image = _flow(system, state, *between)
        return image, image

    # 2000 kernel calls take 0.05 s and need no compilation.
    _, later = jax.lax.scan(to_next, state, (times[:-1], times[1:]))
    return jnp.concatenate([state[None], later])


def beginnings(cut: Section, values: Array, ranges: Array) -> tuple[Array, Setting]:
    """Return unscaled initial unknowns, for each touch of a section, and their data."""
    touches = cut.touches
    units = jnp.concatenate([cut.size, ranges])
    if touches is None:
        setting = Setting(cut.periods, cut.begin, units)
        return jnp.concatenate([cut.state, values]), setting
    units = jnp.concatenate([cut.size, jnp.ones(1), ranges])
    more = jnp.broadcast_to(values, (_TOUCHES, len(values)))
    starts = jnp.column_stack([touches.state, touches.phase, more])
    return starts, Setting(cut.periods, cut.begin, units, touches.stop)


def onsets_of(system: System, state: Array, periods: Number, size: Array) -> Array:
    """Return the number of onsets of each contact, -1 where it comes to rest."""
    shallow, span = GRAZING * size[0], periods * system.period()
    seen = observe(system, state, 0.0, span, rtol=RTOL, grazing=shallow)[1]
    return _counts(system, seen.onsets, seen.duration)


def _counts(system, onsets, duration):
    rests = hard_contacts(system.equation()) & (duration > 0)
    return jnp.where(rests, -1, onsets)


def touching(system: System, setting: Setting, unscaled: Array) -> tuple[Array, Array]:
    """Return whether a motion of a system touches as asked, and its other onsets.

    The equations leave out the contact around the touch, where the motion may meet it, and
    hold at a minimum of the depth as they do at a maximum.
    """
    stop, size = setting.stop, setting.units[: state_size(system)]
    here = Touch.at(system, setting.periods, unscaled)
    state, time, span = here.after(stop.contact), here.time, here.span
    _, speed, bend = here.motion(stop.contact)
    image = _flow(system, state, time, time + span)
    rest = jnp.abs(modulo_drift(system, image, here.state) - here.state) / size
    # An impact at the end of the period may or may not be among it.
    returns = (jnp.max(rest) < _RETURNS) | (speed > _RETURNS / 10 * size[-1])
    settings = size[0], RTOL, GRAZING * size[0]
    _, seen = states_without(system, stop.removed, state, *here.moments(stop), *settings)
    onsets = jnp.sum(seen.onsets, axis=0, dtype=seen.onsets.dtype)
    others = _counts(system, onsets, seen.duration.sum(0))
    return returns & ((bend > 0) == stop.opens), others


def multiplier_test(kind: str, monodromy: Array) -> Array:
    """Return the test function of a kind, a determinant, of a monodromy matrix."""
    if kind == "neimark_sacker":
        monodromy = second_compound(monodromy)
    sign = -1.0 if kind != "period_doubling" else 1.0
    return jnp.linalg.det(monodromy + sign * jnp.eye(monodromy.shape[0]))


def is_torus(monodromy: Array) -> Array:
    """Return whether a matrix has a complex pair of multipliers on the unit circle."""
    return has_torus(floquet_multipliers(monodromy))
