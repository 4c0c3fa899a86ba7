r"""Orbits written from an instant of impact, which are smooth down to the speed 0.

With x the state just before the impact on a hard stop, $\theta$ the part of the period T
at which it happens, and J the impact, an orbit solves

$$\varphi_T(J x; \theta T) - x = 0, \qquad z(x) = 0,$$

where the stop is removed just before the impact, and after it unless the body is pressed
against it. Both are smooth functions of
x, $\theta$ and the parameter p, also at the speed $v = \dot z = 0$, where the orbit
grazes: no root of the depth appears. Orbits without the impact solve the first equation
with v = 0 in place of the second.

**Source:** Nordmark, *J. Sound Vib.* 145 (1991) 279; di Bernardo et al.,
*Piecewise-smooth Dynamical Systems* (2008), section 2.5.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..foundation.types import Number
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel
from ..systems.drift import modulo_drift
from ..systems.equation import Equation
from ..systems.system import System
from .contact_removed import states_without
from .corrector import LaneData, lane_corrector, system_of
from .defining_equations import RTOL
from .point import at

# Newton's method has converged if a step is below this.
_CLOSE = 1e-12


class Stop(NamedTuple):
    """The stop that is struck: its index, and the part of the period for which it is gone.

    It is removed so long after the impact, and before the next one.
    """

    contact: Any
    window: Any


def section_data(data: LaneData, size: int, stop: Stop) -> LaneData:
    """Return the data of lanes of `section_corrector` from those of a single branch."""
    number = len(stop.contact)
    units = np.concatenate([data.units[:size], [1.0], data.units[-1:]])
    exact = data._replace(units=units, rtol=RTOL, close=_CLOSE, tight=RTOL)
    many = jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * number), exact)
    return many._replace(setting=stop)


class _Touch(NamedTuple):
    """An instant of a motion: system, state, time and length of the period, s."""

    system: System
    state: Array
    time: Array
    span: Array


def _touch(static: System, path: str, data: LaneData, x: Array) -> _Touch:
    unscaled = x * data.units
    system = at(system_of(data, static), path, unscaled[-1])
    span = data.periods.astype(float) * system.period()
    return _Touch(system, unscaled[:-2], unscaled[-2] * span, span)


def _motion(touch: _Touch, contact) -> tuple[Array, Array, Array]:
    """Return the depth of a contact, m, its rate, and whether it is about to open."""
    equation = touch.system.equation()
    rate = equation.vector_field(touch.time, touch.state)
    depth, speed, bend = jnp.stack(equation.contact_motion(touch.state, rate))[:, contact]
    return depth, speed, bend < 0


def _struck(equation: Any, state: Array, contact, speed: Number) -> Array:
    """Return the state after an impact at a speed, m/s."""
    return state + speed * impulses(equation)[contact]


def impulses(equation: Equation) -> Array:
    """Return the change of the state by an impact at unit speed, of each contact."""
    changes: list[Array] = []
    hard = equation.hard_contacts()
    every: Any = equation
    for i, contact in enumerate(every.contacts):
        response = contact.response
        if not hard[i]:
            changes.append(jnp.zeros(2 * response.shape[0]))
            continue
        factor = -(1 + contact.law.restitution) / (contact.direction @ response)
        changes.append(jnp.concatenate([jnp.zeros_like(response), factor * response]))
    return jnp.stack(changes)


@functools.lru_cache(maxsize=32)
def section_corrector(static: System, path: str) -> Kernel:
    """Return the kernel that corrects a lane (data, predicted x, normal).

    The scaled unknowns are the state before the impact, the part of the period, and the
    parameter. In the result, `monodromy` has the rows of the equations' Jacobian and the
    gradient of the scaled speed, and `unresolved` is the largest residual.
    """

    def equations(data: LaneData, predicted, x):
        contact, window = data.setting
        scale = data.units[:-2]

        def left(x):
            touch = _touch(static, path, data, x)
            state, span = touch.state, touch.span
            depth, speed, leaves = _motion(touch, contact)
            after = _struck(touch.system.equation(), state, contact, speed)
            moments = touch.time + span * jnp.stack(
                [jnp.zeros_like(window), window, 1 - window, jnp.ones_like(window)]
            )
            gone = [leaves, False, True]
            end = states_without(
                touch.system, contact, after, moments, gone, scale[0], data.tight
            )[-1]
            rest = (modulo_drift(touch.system, end, state) - state) / scale
            residual = jnp.append(rest, depth / scale[0])
            return (residual, speed / _speed_unit(data)), residual

        (matrix, gradient), residual = jax.jacfwd(left, has_aux=True)(x)
        others = jnp.vstack([matrix, gradient]), jnp.max(jnp.abs(residual))
        return residual, matrix, others

    return cached_kernel(lane_corrector(equations), "section", static, path)


def _speed_unit(data: LaneData):
    return data.units[data.units.shape[0] - 3]


@functools.lru_cache(maxsize=32)
def start_kernel(static: System, path: str) -> Kernel:
    """Return the kernel from a lane (data, x) to state and parameter at t = 0."""

    def start(lane):
        data, x = lane
        contact, window = data.setting
        touch = _touch(static, path, data, x)
        _, speed, leaves = _motion(touch, contact)
        after = _struck(touch.system.equation(), touch.state, contact, speed)
        last = jnp.ceil(touch.time / touch.span) * touch.span
        alone = jnp.minimum(touch.time + window * touch.span, last)
        moments = jnp.stack([touch.time, alone, last])
        gone, size = [leaves, False], data.units[0]
        whole = touch.system, contact, after, moments, gone, size, data.tight
        end = states_without(*whole)[-1]
        return modulo_drift(touch.system, end), x[-1] * data.units[-1]

    return cached_kernel(start, static, path)
