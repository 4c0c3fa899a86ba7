"""Frictions side by side: which share bears what is not known, so they act as one.

Those that rub in one direction, on one belt, have one speed. Together they hold as much as
the sum of their limits, and let go and begin to stick at the same instant.
"""

import jax
import jax.numpy as jnp

from .series import any_of
from .sliding import DryFriction


def side_by_side(frictions: list[DryFriction]) -> list[list]:
    """Return for each two frictions 1 if they have one speed, -1 if opposite ones, or 0."""
    return jax.lax.stop_gradient(
        [
            [1.0 if i == j else _sense(f, g) for j, g in enumerate(frictions)]
            for i, f in enumerate(frictions)
        ]
    )


def _sense(one: DryFriction, other: DryFriction):
    pairs = list(zip(one.direction, other.direction, strict=True))
    pairs.append((one.speed, other.speed))
    differ, oppose = any_of([a != b for a, b in pairs]), any_of([a != -b for a, b in pairs])
    return jnp.where(differ, jnp.where(oppose, 0.0, -1.0), 1.0)


def joint(senses: list[list], values: list) -> list:
    """Return for each friction the sum of the values of those beside it."""
    return [_sum(list(map(abs, row)), values) for row in senses]


def joint_force(senses: list[list], forces: list) -> list:
    """Return for each friction the sum of the forces beside it, each by its direction."""
    return [_sum(row, forces) for row in senses]


def joint_flags(senses: list[list], flags: list) -> list:
    """Return for each friction whether one of those beside it has its flag up."""
    return [
        any_of([flag & (c != 0) for c, flag in zip(row, flags, strict=True)])
        for row in senses
    ]


def _sum(weights: list, values: list):
    if len(values) == 1:
        return values[0]
    return sum(c * value for c, value in zip(weights, values, strict=True))
