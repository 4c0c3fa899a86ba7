"""Gaps of a system in modal form: values, rates, and certified bounds."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.types import Number
from .modal_form import ModalForm

# A gap closer to zero than this, relative to its terms, is at an onset or a release.
_TOUCH = 1e-13


class Gaps(NamedTuple):
    r"""The gaps of a system in modal form, as functions of amplitudes y and time.

    Penetrations and their rates are `rows` (2, c, 2p) times y and the part of the loads.
    `speeds` (c, p) are $|r_k
    \lambda_k^2|$, so that $|\ddot z|$ stays below their sum with $|a_k|$, plus that of
    the loads, until the contacts act; `grown` is the growth of unstable modes in a
    flight. `touch` (c,): the distance from zero at which a contact begins, m.
    """

    rows: Array
    steady: Array
    limits: Array
    frequency: Array
    phase: Array
    speeds: Array
    of_loads: Array
    grown: Array
    touch: Array

    def at(self, y: Array, time: Number) -> Float[Array, "2 c"]:
        """Return z and dz/dt of all contacts."""
        return self.rows @ y + self.carried(time)

    def carried(self, time: Number) -> Float[Array, "*t 2 c"]:
        """Return the part of the loads at times of any shape."""
        time = jnp.asarray(time, float)[..., None]
        shape = (*[1] * (time.ndim - 1), -1)
        w = self.frequency.reshape(shape)
        angle = w * time + self.phase.reshape(shape)
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        first, second = self.steady
        value = cosine @ first + sine @ second - self.limits.reshape(shape)
        slope = (w * cosine) @ second - (w * sine) @ first
        return jnp.stack([value, slope], axis=-2)

    def apart_for(self, y: Array, motion: Float[Array, "2 c"]) -> Float[Array, ""]:
        r"""Return a time, s, in which certainly no gap closes.

        With $z < 0$ and $|\ddot z| \le B$ it is $2 |z| / (\dot z + \sqrt{\dot z^2 + 2 B
        |z|})$, which approaches an onset from one side as Newton iteration does.
        """
        half = y.shape[0] // 2
        sizes = jnp.hypot(y[:half], y[half:])
        bound = self.grown * (self.speeds @ sizes) + self.of_loads
        depth = jnp.maximum(-motion[0], self.touch)
        rate = motion[1]
        root = jnp.sqrt(rate**2 + 2 * bound * depth)
        # For a gap that opens the same without cancellation.
        late = (root - rate) / jnp.where(bound > 0, bound, 1.0)
        soon = 2 * depth / jnp.maximum(rate + root, jnp.finfo(float).tiny)
        return jnp.min(jnp.where(rate > 0, soon, late), initial=jnp.inf)


def gaps_of(system: ModalForm, y: Array, longest: Number) -> Gaps:
    """Return the gaps of a system, for flights of at most `longest` seconds."""
    motion, values = system.motion, system.modes.eigenvalues
    half = system.modes.shapes.shape[1] // 2
    first = system.gap_rows
    rows = jnp.stack([first, values.rates_of(first)])
    positions = system.forced[..., :half]
    if motion.contacts:
        directions = jnp.stack([contact.direction for contact in motion.contacts])
        limits = jnp.stack([contact.gap for contact in motion.contacts])
        steady = positions @ directions.T
    else:
        limits = jnp.zeros(0)
        steady = jnp.zeros((*positions.shape[:2], 0))
    sizes = jnp.sqrt(jnp.sum(steady**2, axis=0))
    amplitudes = jnp.hypot(*jnp.split(y, 2))
    largest = jnp.hypot(*jnp.split(first, 2, axis=-1))
    reach = largest @ amplitudes + jnp.sum(sizes, axis=0) + jnp.abs(limits)
    growth = jnp.maximum(jnp.max(values.decay), 0.0)
    return Gaps(
        rows,
        steady,
        limits,
        system.frequency,
        system.phase,
        largest * values.paces()[None] ** 2,
        jnp.sum(system.frequency[:, None] ** 2 * sizes, axis=0),
        jnp.exp(growth * longest),
        _TOUCH * reach,
    )
