r"""Newton correction of predicted points on branches of cycles, by multiple shooting.

The unknowns $x = (s_0/u, \dots, s_{m-1}/u, S/\theta, p/\ell)$ are the states at the
starts of m segments of a cycle, its length S in the time of `TimeRescaledSystem`, and the
parameter. The equations are continuity, a phase condition relative to the prediction
$\hat s$, and a plane:

$$\varphi^{S/m}(s_i) - s_{i+1} = 0, \qquad \sum_i f(\hat s_i) \cdot (s_i - \hat s_i) = 0,
  \qquad n \cdot (x - \hat x) = 0.$$

Along a canard neighbouring states diverge by many powers of ten and converge again on
another part of the cycle; within a segment they diverge little. $B_i$ is the transition
matrix of a segment across the flow at its ends. The product of the $B_i$ is never formed:
orthogonal iteration makes each factor triangular, $B_i Q_i = Q_{i+1} R_i$.

With the flow's relative error $\epsilon$, the error of a segment's end and of the diagonal
of $R_i$ is $\epsilon \lVert B_i \rVert$. The segments are resolved if this error is small
relative to the end, and changes each multiplier $\mu_k = \prod_i r_{i,kk}$ little,
absolutely or relatively:

$$\min(1, |\mu_k|) \sum_i \frac{\epsilon \lVert B_i \rVert}{|r_{i,kk}|} \ll 1.$$

**Source:** Doedel, Keller and Kernevez, *Int. J. Bifurcation and Chaos* 1 (1991) 745;
Bojanczyk, Golub and Van Dooren, *Proc. SPIE* 1770 (1992) 31.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ... import linalg
from ...dynamics.flow import flow, simulate
from ...foundation.types import Number
from ...orbits.limit_cycle import reflection
from ...systems.base.equation import Equation, Time
from ...systems.base.system import System
from ...systems.drift import across_drift, modulo_drift
from ...systems.fields import state_size
from .corrector import LaneData, joined, system_of
from .point import at

# Orthogonal iterations, and the entry below which directions are separated. Four
# iterations separate multipliers that differ by a factor of 400 to below the flow's
# error; closer ones need no separation, as they lose no digits in a common block.
_ROUNDS, _APART = 4, 1e-10
# Speed of `TimeRescaledSystem`, in sizes of the cycle per radian (period / 2 pi): it
# distributes the segments over the slow parts of a relaxation oscillation and its jumps.
PACE = 4.0
# Number of segments of a cycle: in fewer, contraction and expansion on different parts
# of the cycle could cancel unnoticed. Factor by which it grows if they are not resolved.
SEGMENTS, SPLIT = 6, 4
# Samples of a cycle from which the joints are interpolated, before their correction.
_SAMPLES = 4001
# Largest error of the flow, relative to a segment's end and to a multiplier. Steps along
# a canard are 1e-2 of the cycle; Newton's method does not converge from 1e-3 on.
OF_ENDS, _OF_MULTIPLIERS = 1e-5, 0.1


class CycleJoints(NamedTuple):
    """The states between the segments of a cycle, (segments, n).

    `length`: of the cycle in the time of `TimeRescaledSystem`, with its `speed`.
    """

    states: Array
    length: Array
    speed: Array


class Segments(NamedTuple):
    """The segments of a cycle, with scaled states (segments, n).

    `starts`, `ends`; `rates` of the flow at the starts. Jacobians of the ends: `blocks`
    with respect to the starts, (segments, n, n); `columns`: to length and parameter.
    """

    starts: Any
    ends: Any
    rates: Any
    blocks: Any
    columns: Any


def segments_at(system: System, path: str, data: LaneData, x: Array) -> Segments:
    """Return the segments of the cycle at scaled unknowns."""
    size = state_size(system)
    number = (x.size - 2) // size
    units = data.units[:size]
    starts = x[:-2].reshape(number, size)

    def rescaled(value):
        return TimeRescaledSystem(at(system, path, value), data.speed)

    def end(start, last, target):
        length, value = last * data.units[-2:]
        there = rescaled(value)
        final = flow(there, start * units, 0.0, length / number, rtol=data.tight)
        # The states of the joints may differ by shifts along a drift.
        final = modulo_drift(system, final, target * units)
        return final / units, final / units

    def segment(start, target):
        return jax.jacfwd(end, (0, 1), has_aux=True)(start, x[-2:], target)

    (blocks, columns), ends = jax.vmap(segment)(starts, jnp.roll(starts, -1, axis=0))
    field = rescaled(x[-1] * data.units[-1]).equation().vector_field
    rates = jax.vmap(lambda start: field(0.0, start * units))(starts)
    rates = across_drift(system, rates) / units[None]
    return Segments(starts, ends, rates, blocks, columns)


def durations(system: System, data: LaneData, x: Array) -> Array:
    """Return the time that each segment of the cycle at scaled unknowns takes."""
    size = state_size(system)
    states = x[:-2].reshape(-1, size) * data.units[None, :size]
    length = x[-2] * data.units[-2] / states.shape[0]
    clock = TimeRescaledSystem(system, data.speed, clock=True)

    def duration(state):
        begun = jnp.append(state, 0.0)
        return flow(clock, begun, 0.0, length, rtol=data.tight)[-1]

    return jax.vmap(duration)(states)


@eqx.filter_jit
def joints_of(
    system: System, state: Array, period: Number, segments: int, speed: Array
) -> CycleJoints:
    """Return the joints of a cycle through a state, evenly spaced in rescaled time."""
    states, rates = motion(system, state, period)
    paces = jnp.hypot(1.0, linalg.norm(rates / speed[None]))
    parts = (paces[1:] + paces[:-1]) / 2 * period / (_SAMPLES - 1)
    lengths = jnp.append(0.0, jnp.cumsum(parts))
    joints = jnp.arange(segments) / segments * lengths[-1]
    begun = [jnp.interp(joints, lengths, each) for each in states.T]
    return CycleJoints(jnp.stack(begun, axis=1), lengths[-1], speed)


@eqx.filter_jit
def motion(system: System, state: Array, period: Number) -> tuple[Array, Array]:
    """Return states and rates at evenly spaced times of a cycle's period."""
    times = jnp.linspace(0.0, period, _SAMPLES)
    states = simulate(system, state, times, throw=False).states
    return states, jax.vmap(system.equation().vector_field, (None, 0))(0.0, states)


def across(blocks: Array, rates: Array) -> tuple[Array, Array]:
    """Return the trivial multiplier and the segments' matrices across the flow.

    A Householder reflection at each joint maps the flow's direction to the first axis,
    see `limit_cycle.transverse`.
    """
    turns = jax.vmap(reflection)(rates)
    turned = jnp.roll(turns, -1, axis=0) @ blocks @ turns
    return jnp.prod(turned[:, 0, 0]), turned[:, 1:, 1:]


def graded_product(matrices: Array) -> tuple[Array, Array]:
    """Return a matrix with the eigenvalues of a product of matrices, the last leftmost.

    **Returns:** the matrix, and the diagonals of the triangular factors, (factors, n).
    The matrix is block triangular, largest eigenvalues first, with blocks of eigenvalues
    of nearly equal modulus: LAPACK keeps the accuracy of small ones among large ones.
    """
    identity = jnp.eye(matrices.shape[-1])

    def factor(last, matrix):
        basis, product = last
        basis, triangle = jnp.linalg.qr(matrix @ basis)
        # With a positive diagonal the factorisation is unique and smooth.
        signs = jnp.where(jnp.diagonal(triangle) < 0, -1.0, 1.0)
        triangle = signs[:, None] * triangle
        return (basis * signs[None], triangle @ product), jnp.diagonal(triangle)

    def again(basis, _):
        (behind, product), each = jax.lax.scan(factor, (basis, identity), matrices)
        return behind, (basis, product, each)

    behind, (bases, products, diagonals) = jax.lax.scan(
        again, identity, None, length=_ROUNDS
    )
    mixed = bases[-1].T @ behind
    lower = jnp.tril(jnp.ones_like(identity), -1) > 0
    mixed = jnp.where(lower & (jnp.abs(mixed) < _APART), 0.0, mixed)
    return mixed @ products[-1], diagonals[-1]


def unresolved(blocks: Array, diagonals: Array, error: Number) -> Array:
    """Return the largest error of ends and multipliers, relative to its limit.

    The segments are resolved if it is below 1. `error`: the flow's relative error.
    """
    moved = error * jnp.sqrt(jnp.sum(blocks**2, axis=(1, 2)))
    diagonals = jnp.maximum(jnp.abs(diagonals), jnp.finfo(float).tiny)
    relative = jnp.sum(moved[:, None] / diagonals, axis=0)
    size = jnp.exp(jnp.minimum(jnp.sum(jnp.log(diagonals), axis=0), 0.0))
    of_multipliers = jnp.max(relative * size) / _OF_MULTIPLIERS
    return jnp.maximum(of_multipliers, jnp.max(moved) / OF_ENDS)


def cycle_map(
    system: System, path: str, data: LaneData, anchor: Array, x: Array
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Return the residual of a cycle's equations, see `corrector.lane_corrector`.

    The matrix has all multipliers except the trivial one. `anchor`: the predicted
    unknowns.
    """
    found = segments_at(system, path, data, x)
    number, size = found.starts.shape
    at_anchor = TimeRescaledSystem(at(system, path, (anchor * data.units)[-1]), data.speed)
    units = data.units[:size]
    before = anchor[:-2].reshape(number, size)
    along = jax.vmap(at_anchor.equation().vector_field, (None, 0))(
        0.0, before * units[None]
    )
    along = (across_drift(system, along) / units[None]).reshape(-1)
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    missed = (found.ends - jnp.roll(found.starts, -1, axis=0)).reshape(-1)
    rest = jnp.append(missed, along @ (x - anchor)[:-2])
    columns = found.columns.reshape(number * size, 2)
    matrix = jnp.column_stack([joined(found.blocks, size), columns])
    phase = jnp.append(along, jnp.zeros(2))
    _, others = across(found.blocks, found.rates)
    product, diagonals = graded_product(others)
    left = unresolved(found.blocks, diagonals, data.tight)
    return rest, jnp.vstack([matrix, phase]), (product, left)


@functools.partial(jax.jit, static_argnums=(0, 1))
def cycle_segments(static: System, path: str, data: LaneData, x: Array) -> Segments:
    """Return the segments at scaled unknowns of a branch with some data."""
    return segments_at(system_of(data, static), path, data, x)


@functools.lru_cache(maxsize=32)
def cycle_splitter(static: System, path: str) -> Callable[[Any], tuple[Array, Array]]:
    """Return the function that splits the segments of a lane (data, x, tangent).

    It returns x and tangent for `SPLIT` times as many segments.
    """

    def split(lane):
        data, x, tangent = lane
        system = system_of(data, static)
        size = state_size(system)
        units = data.units[:size]
        segments = (x.size - 2) // size

        def joints(x):
            there = TimeRescaledSystem(at(system, path, x[-1] * data.units[-1]), data.speed)
            part = x[-2] * data.units[-2] / (segments * SPLIT)

            def ahead(state, _):
                return flow(there, state, 0.0, part, rtol=data.tight), state

            def each(state):
                return jax.lax.scan(ahead, state, None, length=SPLIT)[1]

            states = jax.vmap(each)(x[:-2].reshape(segments, size) * units[None])
            # Norms are root mean squares over the segments.
            return jnp.append(
                (states / (units * np.sqrt(SPLIT))[None, None]).reshape(-1), x[-2:]
            )

        return jax.jvp(joints, (x,), (tangent,))

    return split


class TimeRescaledEquation(Equation):
    """The equation of a `TimeRescaledSystem`."""

    equation: Equation
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True)

    def vector_field(self, time: Time, state: Float[Array, " state"]) -> Array:
        """Return the derivative by sigma of the state, and with a clock of the time."""
        rate = self.equation.vector_field(time, state[:-1] if self.clock else state)
        pace = jnp.sqrt(1 + jnp.sum((rate / self.speed) ** 2))
        return (jnp.append(rate, 1.0) if self.clock else rate) / pace

    def may_pulse(self) -> bool:
        """Return False: the field changes with its state only."""
        return False


class TimeRescaledSystem(System):
    r"""A system in a time that spreads states evenly over its slow and fast parts.

    $$\frac{dx}{d\sigma} = \frac{f(x)}{\rho(x)}, \quad \frac{dt}{d\sigma} =
      \frac{1}{\rho(x)}, \quad \rho = \sqrt{1 + \lVert f / v \rVert^2},$$

    so that a step $\Delta\sigma$ is at most $\Delta\sigma$ in time, and at most
    $v\,\Delta\sigma$ in each component. With equal steps in time, states in the jump of a
    relaxation oscillation would change with every parameter as fast as it jumps.
    `speed`: v. With a `clock` the last state is the time.
    """

    system: System
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True, default=False)

    autonomous = True

    def equation(self) -> TimeRescaledEquation:
        """Return the equation of motion, ready to be evaluated."""
        return TimeRescaledEquation(self.system.equation(), self.speed, self.clock)

    def rest(self) -> Float[Array, " state"]:
        """Return the state of the system at rest."""
        rest = self.system.rest()
        return jnp.append(rest, 0.0) if self.clock else rest

    def period(self) -> Float[Array, ""]:
        """Return NaN: the system is autonomous."""
        return jnp.asarray(jnp.nan)
