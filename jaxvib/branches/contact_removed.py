"""Motions with the grazing contact removed around the time of grazing.

At grazing the contact exerts no force. Near it, during the iteration, it would: even a
weak impact on a hard stop makes the motion nonsmooth.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..dynamics.engines.choice import engine_of
from ..dynamics.flow import flow
from ..foundation.types import Integer, Number
from ..systems.around import AroundSystem
from ..systems.system import System

_WINDOW = 0.02  # half width of the window around the touch, relative to the span
_FAR = 10.0  # shift, relative to the motion's size, by which a contact is never reached


def contact_removed(
    system: System,
    contact: Integer,
    time: Array,
    state: Array,
    begin: Array,
    end: Array,
    size: Number,
    rtol: float,
) -> tuple[Array, Array]:
    """Return the state at the `time` of a touch, and at the end.

    `contact`: the index of the touched contact, which is moved away around that time;
    `size`: of the motion, m.
    """
    gaps = len(eqx.filter_eval_shape(system.equation).contacts)
    away = jnp.where(jnp.arange(gaps) == contact, _FAR * size, 0.0)
    width = _WINDOW * (end - begin)
    between = jnp.clip(jnp.stack([time - width, time, time + width]), begin, end)
    moments = jnp.concatenate([begin[None], between, end[None]])

    def go(state, piece):
        first, last, gone = piece
        there = _Retracted(system, gone * away)
        engine = engine_of(there, "auto")
        image = flow(there, state, first, last, rtol=rtol, engine=engine)
        return image, image

    pieces = moments[:-1], moments[1:], jnp.array([0.0, 1.0, 1.0, 0.0])
    final, images = jax.lax.scan(go, state, pieces)
    return images[1], final


class _Retracted(AroundSystem):
    """A system whose gaps are increased by `away`, m."""

    away: Float[Array, " contacts"]

    def equation(self):
        def gaps(equation):
            return [contact.gap for contact in equation.contacts]

        equation = self.moved.equation()
        farther = [gap + more for gap, more in zip(gaps(equation), self.away, strict=True)]
        return eqx.tree_at(gaps, equation, farther)
