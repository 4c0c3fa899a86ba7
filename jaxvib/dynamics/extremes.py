"""The largest and the smallest of what a motion does between its samples."""

import jax.numpy as jnp


def top(value, speed, acceleration):
    """Return the extreme that a value has nearby, to second order in time.

    A contact is so short that a nanosecond between the time where its extreme was seen
    and the true one would spoil the extreme's derivative (a thousandth for steel).
    """
    curved = acceleration != 0
    return value - jnp.where(
        curved, speed**2 / (2 * jnp.where(curved, acceleration, 1.0)), 0.0
    )
