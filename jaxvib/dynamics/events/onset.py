"""First derivatives at the onset of Hertz contacts."""

import jax.numpy as jnp
from jaxtyping import Array

from .scalar_system import ScalarSystem, along, gap
from .series import value


def at_onset(
    motion: ScalarSystem,
    meets: list,
    position: list,
    velocity: list,
    time: Array,
    rows: list,
    length: Array,
) -> tuple[list, list, Array]:
    """Return the end of a flight, with tangents at the onset that ends it.

    `rows`: the flight's series, evaluated up to `length`.
    """
    acceleration = [_second(row, length) for row in motion.still(rows)]
    after = jnp.zeros_like(time)
    for j in motion.hertz:
        contact = motion.contacts[j]
        speed = motion.still(along(contact, velocity))
        met = meets[j] & (speed > 0)
        delay = -gap(contact, position) / jnp.where(met, speed, 1.0)
        after = jnp.where(met, delay - motion.still(delay), after)
    rates = motion.still((velocity, acceleration))
    position, velocity = (
        [x + rate * after for x, rate in zip(row, row_rates, strict=True)]
        for row, row_rates in zip((position, velocity), rates, strict=True)
    )
    return position, velocity, time + after


def _second(series, s):
    """Return the second derivative at s."""
    return value([k * (k - 1.0) * c for k, c in enumerate(series)][2:], s)
