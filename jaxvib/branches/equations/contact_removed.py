"""Motions with a contact removed for a while, around an instant at which it is touched.

At grazing the contact exerts no force. Near it, during the iteration, it would: even a
weak impact on a hard stop makes the motion nonsmooth.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...dynamics.engines.choice import engine_of
from ...dynamics.flow import flow, observe
from ...foundation.types import Number
from ...systems.base.around import AroundSystem
from ...systems.base.system import System

_FAR = 10.0  # shift, relative to the motion's size, by which a contact is never reached


def states_without(
    system: System,
    removed: Array,
    state: Array,
    moments: Array,
    gone: Sequence[bool | Array],
    size: Number,
    rtol: Array | float,
    grazing: Number | None = None,
) -> Any:
    """Return the states at all `moments` (s) but the first, where the motion begins.

    Between two moments the contact `removed` is moved away if it is `gone`; `grazing`: a
    depth, m, from which touches count: also return the `Observables` between the moments.
    """
    gaps = len(eqx.filter_eval_shape(system.equation).contacts)

    def go(state, piece):
        first, last, contact, absent = piece
        away = jnp.where(jnp.arange(gaps) == contact, _FAR * size, 0.0)
        there = _Retracted(system, absent * away)
        if grazing is not None:
            image, seen, _ = observe(there, state, first, last, rtol=rtol, grazing=grazing)
            return image, (image, seen)
        engine = engine_of(there, "auto")
        image = flow(there, state, first, last, rtol=rtol, engine=engine)
        return image, image

    absent = jnp.stack([jnp.asarray(now, float) for now in gone])
    return jax.lax.scan(go, state, (moments[:-1], moments[1:], removed, absent))[1]


class _Retracted(AroundSystem):
    """A system whose gaps are increased by `away`, m."""

    away: Float[Array, " contacts"]

    def equation(self):
        def gaps(equation):
            return [contact.gap for contact in equation.contacts]

        equation = self.moved.equation()
        farther = [gap + more for gap, more in zip(gaps(equation), self.away, strict=True)]
        return eqx.tree_at(gaps, equation, farther)
