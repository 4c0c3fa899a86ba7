"""Extremes of a signal between samples."""

import jax.numpy as jnp
from jaxtyping import Array


def top(value: Array, speed: Array, acceleration: Array) -> Array:
    """Return the nearby extreme of a signal, to second order in time.

    A contact is so short that an error of a nanosecond in the time of an extreme would
    spoil the extreme's derivative (by a thousandth for steel).
    """
    curved = acceleration != 0
    return value - jnp.where(
        curved, speed**2 / (2 * jnp.where(curved, acceleration, 1.0)), 0.0
    )
