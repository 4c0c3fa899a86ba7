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

from ...foundation.arrays import equal_lanes
from ...foundation.types import Number
from ...kernels import Kernel
from ...kernels.calls.kernel_cache import cached_kernel
from ...systems.base.system import System
from ...systems.drift import modulo_drift
from ...systems.fields import state_size
from ...systems.lane_kernel import lane_kernel
from .contact_removed import states_without
from .corrector import LaneData, lane_corrector, system_of
from .point import at
from .root import RTOL
from .touches import Stop, hard_contacts

# Newton's method has converged if a step is below this.
_SMALL_STEP = 1e-12


def section_data(data: LaneData, size: int, stop: Stop) -> LaneData:
    """Return the data of lanes of `section_corrector` from those of a single branch."""
    units = np.concatenate([data.units[:size], [1.0], data.units[-1:]])
    exact = data._replace(units=units, rtol=RTOL, close=_SMALL_STEP, tight=RTOL)
    return equal_lanes(exact, len(stop.contact))._replace(setting=stop)


class Touch(NamedTuple):
    """An instant of a motion: system, state, time and length of the period, s."""

    system: System
    state: Array
    time: Array
    span: Array

    @classmethod
    def at(cls, system: System, periods: Any, unscaled: Array) -> "Touch":
        """Return that of unknowns: the state, the part of the period, and parameters."""
        span = periods * system.period()
        size = state_size(system)
        return cls(system, unscaled[:size], unscaled[size] * span, span)

    def motion(self, contact: Any) -> Array:
        """Return the depth of a contact, m, its rate and its acceleration."""
        equation = self.system.equation()
        rate = equation.vector_field(self.time, self.state)
        return jnp.stack(equation.contact_motion(self.state, rate))[:, contact]

    def after(self, contact: Any) -> Array:
        """Return the state after the impact."""
        state, speed = self.state, self.motion(contact)[1]
        return state + speed * impulses(self.system.equation(), len(state))[contact]

    def moments(self, stop: Stop) -> tuple[Array, list[Any]]:
        """Return times until the touch repeats, and whether a stop is gone between them."""
        none, window = jnp.zeros(()), stop.window
        last = 1 if stop.mirror is None else 0.5
        parts = jnp.stack([none, window, last - window, none + last])
        leaves = self.motion(stop.contact)[2] < 0
        return self.time + self.span * parts, [leaves, False, True]


def touch_equations(
    touch: Touch, stop: Stop, scale: Array, rtol: Any
) -> tuple[Array, Array]:
    """Return the residual, and the speed of the impact, of an orbit with a touch.

    Both in units of the state, `scale`.
    """
    system, state = touch.system, touch.state
    depth, speed, _ = touch.motion(stop.contact)
    after, when = touch.after(stop.contact), touch.moments(stop)
    end = states_without(system, stop.removed, after, *when, scale[0], rtol)[-1]
    image = state if stop.mirror is None else 2 * stop.mirror.middle - state
    rest = (modulo_drift(system, end, image) - image) / scale
    return jnp.append(rest, depth / scale[0]), speed / scale[-1]


def state_at_start(touch: Touch, stop: Stop, size: Number, rtol: Any) -> Array:
    """Return the state at t = 0 of an orbit with a touch."""
    last = jnp.ceil(touch.time / touch.span) * touch.span
    alone = jnp.minimum(touch.time + stop.window * touch.span, last)
    moments, gone = jnp.stack([touch.time, alone, last]), touch.moments(stop)[1][:2]
    after = touch.after(stop.contact)
    when = stop.removed[:2], after, moments, gone
    end = states_without(touch.system, *when, size, rtol)[-1]
    return modulo_drift(touch.system, end)


def impulses(equation: Any, size: int) -> Array:
    """Return the change of the state by an impact at unit speed, of each contact."""
    changes = [jnp.zeros(size) for _ in equation.contacts]
    for i in np.flatnonzero(hard_contacts(equation)):
        contact = equation.contacts[i]
        response = contact.response
        factor = -(1 + contact.law.restitution) / (contact.direction @ response)
        n = response.shape[0]
        changes[i] = changes[i].at[n : 2 * n].set(factor * response)
    return jnp.stack(changes)


@functools.lru_cache(maxsize=32)
def section_corrector(static: System, path: str) -> Kernel:
    """Return the kernel that corrects a lane (data, predicted x, normal).

    The scaled unknowns are the state before the impact, the part of the period, and the
    parameter. In the result, `monodromy` has the rows of the equations' Jacobian and the
    gradient of the scaled speed, and `unresolved` is the largest residual.
    """

    def equations(data: LaneData, predicted, x):
        def left(x):
            residual, speed = touch_equations(
                _touch(static, path, data, x), data.setting, data.units[:-2], data.tight
            )
            return (residual, speed), residual

        (matrix, gradient), residual = jax.jacfwd(left, has_aux=True)(x)
        others = jnp.vstack([matrix, gradient]), jnp.max(jnp.abs(residual))
        return residual, matrix, others

    return cached_kernel(lane_corrector(equations), "section", static, path)


def _touch(static: System, path: str, data: LaneData, x: Array) -> Touch:
    unscaled = x * data.units
    system = at(system_of(data, static), path, unscaled[-1])
    return Touch.at(system, data.periods.astype(float), unscaled)


@lane_kernel
def start_kernel(lane: Any, static: System, path: str) -> Any:
    """Return the kernel from a lane (data, x) to state and parameter at t = 0."""
    data, x = lane
    touch = _touch(static, path, data, x)
    first = state_at_start(touch, data.setting, data.units[0], data.tight)
    return first, x[-1] * data.units[-1]
