r"""Reference sizes of a motion, relative to which errors are measured in any units.

A step may err in component $i$ by $r\,(|y_i| + \kappa S_i)$ with $r$ the relative
tolerance. $S_i$ is the motion's size in the unit of component $i$, so that a component
that passes through zero is not resolved to its last digit; no length or time unit
enters. For a mechanical system with masses $m_i$

$$S_{x_i} = \max(X, V/\omega_1) / \sqrt{m_i}, \qquad
  S_{v_i} = \max(V, \omega_0 X) / \sqrt{m_i}$$

with $X = \max_j \sqrt{m_j} |x_j|$, $V = \max_j \sqrt{m_j} |v_j|$: a rotation and a
displacement that store the same energy have equal sizes; $\omega_0$, $\omega_1$ are the
lowest and the highest of the frequencies of loads, of variations and of each body
alone. For any other field $f$ with the Jacobian $J$ at the start
$S_i = p_i \max_j |y_j| / p_j$,

$$p = (1 + \tau |J|)^{16} (|y| + \tau \overline{|f|}), \qquad
  1/\tau = \rho(|J|) + 2\pi/T,$$

an estimate of the components' influence on each other ($\overline{|f|}$: mean over a
period). The sensitivities of a motion have the same ratios between their components.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ...foundation.types import Number
from ...kernels.lower.tangents import map_rows
from ...systems.base.equation import Equation, Time
from ...systems.impact import EquationOfMotion
from ...systems.loads import as_load
from ...systems.variation import variations_of
from ..integrated_system import IntegratedEquation

# The part of a motion's size added to each component's magnitude: for motions of 0.1 m,
# accuracy and steps then match an absolute tolerance of a hundredth in metres.
SHARE = 0.01
_LOOKED_AT = 32  # samples per load period: a sine's peak is missed by 0.5 % at most
_ROUNDING = 1e-15  # of the largest term: the limit of a step's accuracy
_TINY = 1e-300  # avoids a size of 0 in a denominator; negligible against any other


class Scales(NamedTuple):
    """Units of the components, the reference state, and the least sizes.

    `units` (n,): ratios of the components. For a mechanical system, displacements and
    velocities are related by the frequencies `slow` and `fast`, else None. `pace`: the
    time in which a rate of the motion accumulates its size. `zero` (n,): the reference
    state; `least` (n,): the size at the start and of the response to the loads.
    Integrals along the motion follow in `zero` and `least` only: their sizes grow as
    the largest of the motion's own. `changes`: for the state and each of its
    sensitivities the relative changes of parameters that they are along, None if of
    states alone.
    """

    units: Float[Array, " n"]
    slow: Any
    fast: Any
    pace: Any
    zero: Float[Array, " n"]
    least: Float[Array, " n"]
    changes: tuple[Any, ...] = (1.0,)

    def along(self, changes: Float[Array, " rows"] | None) -> "Scales":
        """Return the scales of a state and its sensitivities along relative changes."""

        def times(change):
            if changes is None or change is None:
                return None
            rows = jnp.reshape(changes, (-1, *[1] * jnp.ndim(change)))
            return rows * jnp.broadcast_to(change, (len(changes), *jnp.shape(change)))

        return self._replace(changes=(*self.changes, *map(times, self.changes)))

    def sizes(self, values: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
        """Return the size of each component implied by a state or a sensitivity."""
        count = self.units.shape[-1]
        if values.shape[-1] == count:
            return self._own_sizes(values)
        own, least = self._own_sizes(values[..., :count]), self.least[:count]
        there = jnp.where(least > 0, least, 1.0)
        grown = jnp.max(own / jnp.broadcast_to(there, own.shape), axis=-1, keepdims=True)
        integrals = jnp.broadcast_to(self.least[count:], values[..., count:].shape)
        return jnp.concatenate([own, grown * integrals], axis=-1)

    def _own_sizes(self, values):
        units = jnp.broadcast_to(self.units, values.shape)
        reached = units > 0
        ratios = jnp.where(reached, jnp.abs(values) / jnp.where(reached, units, 1.0), 0.0)
        if self.slow is None:
            return units * jnp.max(ratios, axis=-1, keepdims=True)
        parts = jnp.split(ratios, 2, axis=-1)
        x, v = (jnp.max(part, axis=-1, keepdims=True) for part in parts)
        sizes = jnp.maximum(x, v / self.fast), jnp.maximum(v, x * self.slow)
        wide = [jnp.broadcast_to(s, parts[0].shape) for s in sizes]
        return units * jnp.concatenate(wide, axis=-1)

    def least_sizes(self, start: PyTree, rates: PyTree) -> PyTree:
        """Return the least sizes of a start state, with or without sensitivities.

        Sensitivities to a parameter start at zero: their size is that of their rates,
        or, where the parameter does not act yet, that of the state, whose unit they
        have.
        """
        (state, *sensitivities), (_, *rates) = (
            jax.tree.leaves(start),
            jax.tree.leaves(rates),
        )
        sizes = [jnp.maximum(self.least, self.sizes(jnp.abs(state - self.zero)))]
        for sensitivity, rate in zip(sensitivities, rates, strict=True):
            size = self.sizes(sensitivity)
            if sensitivity.ndim == 2:
                reached = self.pace * self.sizes(rate)
                state = jnp.broadcast_to(sizes[0], size.shape)
                reached = jnp.where(
                    _is_zero_row(reached), state, jnp.minimum(reached, state)
                )
                size = jnp.where(_is_zero_row(sensitivity), reached, size)
            sizes.append(size)
        return jax.tree.unflatten(jax.tree.structure(start), sizes)

    def allowed(self, rtol: Number, least: PyTree, first: PyTree, last: PyTree) -> PyTree:
        """Return the allowed errors of a step between states (with sensitivities).

        The rounding of a parameter changes the state by the rounding of its size at
        most: smaller sensitivities are rounding themselves, and no step resolves them.
        """

        def of(least, first, last, change, state=None):
            both = size = jnp.maximum(jnp.abs(first), jnp.abs(last))
            if state is None:
                size = jnp.maximum(jnp.abs(first - self.zero), jnp.abs(last - self.zero))
            size = size + SHARE * jnp.maximum(self.sizes(size), least)
            found = rtol * size + _ROUNDING * both + _TINY
            if state is not None and change is not None:
                state = jnp.broadcast_to(state, found.shape)
                found = jnp.maximum(found, _ROUNDING * change[..., None] * state)
            return found / jnp.broadcast_to(weights, found.shape) if integrals else found

        count, integrals = self.units.shape[-1], self.least.shape[-1] - self.units.shape[-1]
        # The mean square of all errors is then the sum of both parts' own ones: integrals
        # with small errors do not lengthen steps.
        parts = np.array([count, max(integrals, 1)])
        weights = np.sqrt((count + integrals) / np.repeat(parts, [count, integrals]))
        leaves = *map(jax.tree.leaves, (least, first, last)), self.changes
        own, *rows = zip(*leaves, strict=True)
        parts = [of(*own)]
        if rows:
            state = jnp.maximum(self.sizes(jnp.abs(own[1] - self.zero)), own[0])
            parts += [of(*row, state) for row in rows]
        return jax.tree.unflatten(jax.tree.structure(first), parts)

    def slack(self, rtol: Number, first: Array, last: Array) -> Array:
        """Return the sizes below which displacements of two states are neglected."""
        size = jnp.maximum(jnp.abs(first - self.zero), jnp.abs(last - self.zero))
        return rtol * SHARE * jnp.maximum(self.sizes(size), self.least)


def scales_of(
    equation: Equation, field: Callable, t0: Time, t1: Time, state: Array
) -> Scales:
    """Return the scales of an equation; `field`: the function of its rates."""
    if isinstance(equation, EquationOfMotion):
        return mechanical_scales(equation, t1 - t0)
    if isinstance(equation, IntegratedEquation):
        return _with_integrals(equation, t0, t1, state)
    return field_scales(field, t0, state, equation.repeats_in(t1 - t0))


def _with_integrals(equation: IntegratedEquation, t0: Time, t1: Time, state: Array):
    """Return the scales of a motion, by which alone it is stepped, and its integrals."""
    moved, own = equation.moved, state[: equation.size]
    scales = scales_of(moved, moved.vector_field, t0, t1, own)
    start = jnp.maximum(scales.least, scales.sizes(jnp.abs(own - scales.zero)))
    none = jnp.zeros_like(state[equation.size :])
    sizes = none + equation.sizes(start, scales.pace, (t0, t1))
    zero, least = jnp.concatenate([scales.zero, none]), jnp.concatenate([start, sizes])
    return scales._replace(zero=zero, least=least)


def _is_zero_row(rows):
    return jnp.all(rows == 0, axis=-1, keepdims=True)


def mechanical_scales(equation: EquationOfMotion, span: Number) -> Scales:
    """Return the scales of a mechanical system for a motion of a time span, s."""
    size = equation.stiffness.shape[0]
    slow, fast = _slowest_and_fastest(equation, span)
    inertia = jnp.abs(equation.inertia)
    units = 1 / jnp.sqrt(jnp.where(inertia > 0, inertia, 1.0))
    x, v = jnp.zeros(()), jnp.zeros(())
    for far, frequency in _driven(equation, slow):
        far = far / units
        x = jnp.maximum(x, jnp.max(far))
        v = jnp.maximum(v, jnp.max(far) * frequency)
    units = jnp.concatenate([units, units])
    least = units * jnp.concatenate([jnp.full(size, x), jnp.full(size, v)])
    zero = jnp.concatenate([equation.offset, jnp.zeros(size)])
    return Scales(units, slow, fast, 1 / fast, zero, least)


def driven_sizes(equation: EquationOfMotion, span: Number) -> Float[Array, " state"]:
    """Return responses of single degrees of freedom to the loads, and their rates."""
    size = equation.stiffness.shape[0]
    slow, _ = _slowest_and_fastest(equation, span)
    least = jnp.zeros(2 * size)
    for far, frequency in _driven(equation, slow):
        least = jnp.maximum(least, jnp.concatenate([far, far * frequency]))
    return least


def _slowest_and_fastest(equation: EquationOfMotion, span):
    """Return the lowest and highest frequency of what acts and of each body alone."""
    own = jnp.abs(jnp.diagonal(equation.stiffness))
    acting = [*equation.loads, *variations_of(equation)]
    driven = [pace for part in acting if (pace := _load_frequency(part.law)) is not None]
    squares = jnp.concatenate([own, jnp.stack(driven) ** 2]) if driven else own
    there = squares > 0
    alone = ~jnp.any(there)  # free bodies without a load
    slow = jnp.sqrt(jnp.min(jnp.where(there, squares, jnp.inf)))
    fast = jnp.sqrt(jnp.max(squares))
    span = jnp.where(span > 0, span, 1.0)
    return tuple(jnp.where(alone, 1 / span, x) for x in (slow, fast))


def _driven(equation: EquationOfMotion, slow):
    """Yield, per load, amplitudes and frequency of each degree of freedom alone."""
    own = jnp.abs(jnp.diagonal(equation.stiffness))
    for load in equation.loads:
        pace = _load_frequency(load.law)
        frequency = slow if pace is None else pace
        far = jnp.abs(load.response) * _amplitude(load.law)
        yield far / (own + frequency**2), frequency


def _load_frequency(law):
    """Return the angular frequency at which a law changes, None if it is constant."""
    known = as_load(law)
    return 2 * jnp.pi / law.period() if known is None else known.angular_frequency()


def _amplitude(law):
    if (known := as_load(law)) is not None:
        return known.largest()
    times = law.period() * jnp.linspace(0.0, 1.0, _LOOKED_AT, endpoint=False)
    return jnp.max(jnp.abs(map_rows(law.force, times)))


def field_scales(field: Callable, t0: Number, state: Array, period: Number) -> Scales:
    """Return the scales of any field of a time and a state, from its start."""
    times = t0 + period * jnp.linspace(0.0, 1.0, _LOOKED_AT, endpoint=False)
    rates = map_rows(lambda time: field(time, state), times)
    jacobian = jnp.abs(jax.jacfwd(lambda state: field(t0, state))(state))
    jacobian = jnp.where(jnp.isfinite(jacobian), jacobian, 0.0)
    power = jacobian @ jacobian
    power = power @ power
    radius = jnp.trace(power @ power) ** 0.125  # the spectral radius, or slightly more
    period = jnp.where(period > 0, period, 1.0)  # a motion of zero length takes no step
    pace = 1 / (radius + 2 * jnp.pi / period)
    rate = jnp.mean(jnp.where(jnp.isfinite(rates), jnp.abs(rates), 0.0), axis=0)
    start = jnp.abs(state) + pace * rate
    step = jnp.eye(state.shape[0]) + pace * jacobian
    for _ in range(4):
        step = step @ step
    scales = Scales(step @ start, None, None, pace, jnp.zeros_like(state), start)
    return scales._replace(least=scales.sizes(start))


def base(state: PyTree) -> Float[Array, " n"]:
    """Return the state without its sensitivities."""
    return jax.tree.leaves(state)[0]


def initial_scales(
    field: Callable, scales: Scales, t0: Number, t1: Number, state: PyTree, rtol: Number
) -> tuple[PyTree, Array]:
    """Return the least sizes of a motion from a state, and the length of its first step.

    An eighth-order step of a motion of size S and rates S' and S'' has an error of
    about rtol if its length is rtol^(1/8) of S / S' and of sqrt(S / S'').
    """
    rates = field(t0, state)
    least = jax.lax.stop_gradient(scales.least_sizes(state, rates))
    rate, span = base(rates), jnp.abs(t1 - t0)
    size = base(least) + _TINY

    def pace(change):
        return jnp.max(jnp.abs(change) / size)

    short = 1e-3 * jnp.minimum(span, 1 / jnp.maximum(pace(rate), _TINY))
    moved = jax.tree.map(lambda y, k: y + short * k, state, rates)
    change = (base(field(t0 + short, moved)) - rate) / jnp.where(span > 0, short, 1.0)
    fastest = jnp.maximum(pace(rate), jnp.sqrt(pace(change)))
    length = 0.5 * rtol**0.125 / jnp.maximum(fastest, _TINY)
    length = jnp.where(jnp.isfinite(length), length, 0.0)
    return least, jnp.clip(length, 1e-12 * span, span)
