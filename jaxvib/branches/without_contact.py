"""Motions past a contact that they only touch: as if it were not there.

At grazing a motion does not feel the contact. Beside it, while its place is sought, it
would: a hard stop's impact, however slight, makes the motion anything but smooth.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..dynamics.engines.choice import engine_of
from ..dynamics.flow import flow
from ..systems.system import System

_WINDOW = 0.02  # of the span, before and after the touch
_FAR = 10.0  # times the motion's size: moved so far, a contact is never touched


def without_contact(system, contact, time, state, begin, end, size, rtol):
    """Return the state at the `time` of a touch, and at the end.

    `contact`: the one that is touched, which is farther away around that time; `size`: of
    the motion, m.
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


class _Retracted(System):
    """A system whose contacts are farther away, m."""

    system: System
    away: Float[Array, " contacts"]
    has_contacts = True

    def rest(self):
        return self.system.rest()

    def period(self):
        return self.system.period()

    def equation(self):
        def gaps(equation):
            return [contact.gap for contact in equation.contacts]

        equation = self.system.equation()
        farther = [gap + more for gap, more in zip(gaps(equation), self.away, strict=True)]
        return eqx.tree_at(gaps, equation, farther)
