r"""Defining equations of bifurcations: periodicity and a test function.

With r(s, p) = 0 for a periodic orbit through s, M its monodromy matrix and $M^{(2)}$
the second compound, whose eigenvalues are the products of two multipliers:

- `"fold"`: $\det(M - I) = 0$, a multiplier at 1;
- `"period_doubling"`: $\det(M + I) = 0$, a multiplier at -1;
- `"neimark_sacker"`: $\det(M^{(2)} - I) = 0$, a complex pair on the unit circle;
- `"grazing"`: $z(t) = \dot z(t) = 0$ at an unknown time t, a contact of zero depth.

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

from ..dynamics.engines import EventEngine, engine_of
from ..dynamics.flow import flow, simulate
from ..foundation.arrays import combine_arrays
from ..foundation.types import AnyArray, Number
from ..orbits.multipliers import floquet_multipliers
from ..orbits.shooting import scales
from ..systems.drift import modulo_drift
from ..systems.equation import Equation
from ..systems.parameters import replace
from ..systems.system import System
from .contact_removed import contact_removed

KINDS = ("fold", "period_doubling", "neimark_sacker", "grazing")
# Tolerance of the flow, which is differentiated twice: near the limit of float64.
RTOL = 1e-11
# Tolerance of multipliers: the error of a double one is the root of the matrix error.
NEAR = 1e-4
_SAMPLES = 2001  # per period, for the search of contacts
_APART = 0.05  # of the period, between a motion's start and where its contact opens


class Setting(NamedTuple):
    """The data of the equations besides the system.

    `periods`: load periods per period of the motion; `begin`: the phase at which the
    state is taken; `units`: scales of the unknowns; `contact`: the index of the grazing
    contact; `opens`: whether it is closed before and after, and opens for an instant.
    """

    periods: Any
    begin: Any
    units: Any
    contact: Any
    opens: Any


class Section(NamedTuple):
    """A state with all gaps open, its phase, and the contact nearest to grazing.

    A monodromy matrix that starts during a contact is not differentiable. `size`:
    scales of the state; `speed`: that of a velocity; `turn`: the time, after that, of
    the extremum nearest to grazing; `contact`: its contact; `opens`: whether it is a
    minimum of the depth, where two contacts merge.
    """

    state: Any
    size: Any
    begin: Any
    turn: Any
    contact: Any
    opens: Any
    speed: Any


def with_values(system: System, paths: Sequence[str], values: AnyArray) -> System:
    """Return the system with other values of some parameters."""
    return replace(system, dict(zip(paths, values, strict=True)))


def equations(
    static: System, kind: str, paths: tuple[str, ...]
) -> Callable[..., tuple[Array, Array]]:
    """Return the residual function of (unknowns, (leaves, setting)).

    The scaled unknowns are the state, the time (grazing only) and the parameters. It
    returns the residual and the monodromy matrix (NaN for grazing).
    """

    def left(unknowns, arguments):
        leaves, setting = arguments
        state, time, values = _parts(kind, unknowns * setting.units, len(paths))
        system = with_values(combine_arrays(leaves, static), paths, values)
        span = setting.periods * system.period()
        first, size = setting.begin * span, state.size

        def residual(state):
            image = _flow(system, state, first, first + span)
            image = modulo_drift(system, image, state)
            return image - state, image - state

        if kind == "grazing":
            there, image = _without_contact(
                system, setting, time, state, first, first + span
            )
            rest = modulo_drift(system, image, state) - state
            equation = system.equation()
            rate = equation.vector_field(time, there)
            depth, speed, _ = equation.contact_motion(there, rate)
            lengths = setting.units[0], setting.units[_velocity(system, state)]
            test = jnp.stack(
                [depth[setting.contact] / lengths[0], speed[setting.contact] / lengths[1]]
            )
            monodromy = jnp.full((size, size), jnp.nan)
        else:
            matrix, rest = jax.jacfwd(residual, has_aux=True)(state)
            monodromy = matrix + jnp.eye(size)
            test = multiplier_test(kind, monodromy)[None]
        return jnp.concatenate([rest / setting.units[:size], test]), monodromy

    return left


def state_at_start(
    kind: str, system: System, setting: Setting, unscaled: Array, parameters: int
) -> Array:
    """Return the state at t = 0 of unscaled unknowns."""
    state, time, _ = _parts(kind, unscaled, parameters)
    span = setting.periods * system.period()
    first = setting.begin * span
    if kind == "grazing":
        end = _without_contact(system, setting, time, state, first, span)[1]
        return modulo_drift(system, end)
    return modulo_drift(system, _flow(system, state, first, span))


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


def section(system: System, state: Array, periods: Number) -> Section:
    """Return the section of a motion that starts in `state` at t = 0."""
    nothing = jnp.asarray(0.0)
    if not system.has_contacts:
        size = scales(system, state)
        none = jnp.asarray(0), jnp.asarray(False)
        return Section(state, size, nothing, nothing, *none, size[-1])
    span = periods * system.period()
    parts = jnp.linspace(0.0, 1.0, _SAMPLES)
    states = _states_along(system, state, span * parts)
    equation = system.equation()
    depths, heights, opens, ahead = _extrema(equation, states, span * parts)
    row, contact = jnp.unravel_index(jnp.argmin(jnp.abs(heights)), heights.shape)
    turn = span * parts[row + 1] + ahead[row, contact]
    # Not where a closed contact opens for an instant: its time is solved for.
    apart = jnp.abs(parts - parts[row + 1])
    touched = opens[row, contact] & (jnp.minimum(apart, 1 - apart) < _APART)
    first = jnp.argmin(jnp.where(touched, jnp.inf, jnp.max(depths, axis=1)))
    turn = turn + jnp.where(row + 1 < first, span, 0.0)
    # The state at a single time may be small: take the maximum over the motion.
    size = jnp.max(jax.vmap(lambda state: scales(system, state))(states), axis=0)
    speed = size[_velocity(system, state)]
    which = contact, opens[row, contact]
    return Section(states[first], size, parts[first], turn, *which, speed)


def _extrema(equation: Equation, states: Array, times: AnyArray) -> tuple[Array, ...]:
    """Return depths (times, contacts), and at inner times those of extrema.

    These are the heights of parabolas, infinite where there is no extremum, whether it is
    a minimum, and the time to it. A sample beside an impact or a short contact is an
    extremum of the samples only: its parabola is high. A hard stop has no minimum.
    """

    def one(time, state):
        return equation.contact_motion(state, equation.vector_field(time, state))

    depths, speeds, accelerations = jax.vmap(one)(times, states)
    before, inner, after = depths[:-2], depths[1:-1], depths[2:]
    speeds, accelerations = speeds[1:-1], accelerations[1:-1]
    highest = (inner >= before) & (inner >= after) & (accelerations < 0)
    lowest = (inner <= before) & (inner <= after) & (accelerations > 0)
    lowest = lowest & ~np.array(equation.hard_contacts(), bool)[None]
    turns = highest | lowest
    bend = jnp.where(turns, accelerations, 1.0)
    heights = jnp.where(turns, inner - speeds**2 / (2 * bend), jnp.inf)
    return depths, heights, lowest, jnp.where(turns, -speeds / bend, 0.0)


def _velocity(system: System, state: Array) -> int:
    """Return the place of the last velocity; states of elements may follow it."""
    return 2 * system.equation().displaced(state).size - 1


def _states_along(system, state, times):
    if not isinstance(engine_of(system, "auto"), EventEngine):
        return simulate(system, state, times).states

    def to_next(state, between):
        image = _flow(system, state, *between)
        return image, image

    # 2000 kernel calls take 0.05 s and need no compilation.
    _, later = jax.lax.scan(to_next, state, (times[:-1], times[1:]))
    return jnp.concatenate([state[None], later])


def beginning(kind: str, cut: Section, values: Array, ranges: Array) -> tuple[Array, Array]:
    """Return the unscaled initial unknowns and their scales."""
    grazing = kind == "grazing"
    # Scales of displacement over velocity give a period.
    period = 2 * jnp.pi * cut.size[:1] / cut.speed
    time, unit = ([cut.turn[None]], [period]) if grazing else ([], [])
    start = jnp.concatenate([cut.state, *time, values])
    return start, jnp.concatenate([cut.size, *unit, ranges])


def _parts(kind: str, unscaled, parameters: int):
    """Split unknowns into state, time of grazing and parameters."""
    size = unscaled.size - parameters - (kind == "grazing")
    return unscaled[:size], unscaled[size], unscaled[unscaled.size - parameters :]


def is_grazing(system: System, setting: Setting, unscaled: Array) -> Array:
    """Return whether unscaled unknowns are a motion of a system that grazes as asked.

    The equations leave out the contact around the touch, where the motion may meet it, and
    hold at a minimum of the depth as they do at a maximum.
    """
    state, time, _ = _parts("grazing", unscaled, 1)
    span = setting.periods * system.period()
    first = setting.begin * span
    inside = (time >= first) & (time <= first + span)
    time = jnp.clip(time, first, first + span)
    there = _flow(system, state, first, time)
    image = modulo_drift(system, _flow(system, there, time, first + span), state)
    equation = system.equation()
    rate = equation.vector_field(time, there)
    acceleration = equation.contact_motion(there, rate)[2][setting.contact]
    rest = jnp.max(jnp.abs(image - state) / setting.units[: state.size])
    return inside & (rest < NEAR) & ((acceleration > 0) == setting.opens)


def _without_contact(system, setting: Setting, time, state, begin, end):
    """Return the states at the touch and at the end, see `contact_removed`.

    Where two contacts merge, none is removed: the force begins and ends at 0 there.
    """
    size, contact = setting.units[0], jnp.where(setting.opens, -1, setting.contact)
    return contact_removed(system, contact, time, state, begin, end, size, RTOL)


def multiplier_test(kind: str, monodromy: Array) -> Array:
    """Return the test function of a kind, a determinant, of a monodromy matrix."""
    if kind == "neimark_sacker":
        monodromy = second_compound(monodromy)
    sign = -1.0 if kind != "period_doubling" else 1.0
    return jnp.linalg.det(monodromy + sign * jnp.eye(monodromy.shape[0]))


def is_torus(monodromy: Array) -> Array:
    """Return whether a matrix has a complex pair of multipliers on the unit circle."""
    return has_torus(floquet_multipliers(monodromy))
