"""Parallel frictions: their shares of the force are undetermined, so they act as one.

Frictions with one direction and one belt have the same speed. Their limits add, and
they let go and begin to stick at the same instant.
"""

import jax
import jax.numpy as jnp

from .rows import dot
from .series import any_of
from .sliding import DryFriction


def parallel_frictions(frictions: list[DryFriction]) -> list[list]:
    """Return the matrix of 1 for frictions of equal speed, -1 for opposite, or 0."""
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
    """Return for each friction the sum of the values of all parallel ones."""
    return [_sum(list(map(abs, row)), values) for row in senses]


def joint_force(senses: list[list], forces: list) -> list:
    """Return for each friction the sum of all parallel forces, signed by direction."""
    return [_sum(row, forces) for row in senses]


def joint_flags(senses: list[list], flags: list) -> list:
    """Return for each friction whether the flag of any parallel one is set."""
    return [
        any_of([flag & (c != 0) for c, flag in zip(row, flags, strict=True)])
        for row in senses
    ]


def _sum(weights: list, values: list):
    if len(values) == 1:
        return values[0]
    return dot(weights, values)
