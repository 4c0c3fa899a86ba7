"""Dry frictions as scalars, and what those that slide do to a motion."""

from typing import Any, NamedTuple

import jax


class Grip(NamedTuple):
    """One dry friction: w = direction . v - speed, and the acceleration by a unit force.

    `force`: of sliding, `limit`: of sticking, N.
    """

    direction: list
    response: list
    force: Any
    limit: Any
    speed: Any


def grips_of(equation) -> list[Grip]:
    """Return the dry frictions of an equation of motion as scalars."""
    pairs = zip(equation.frictions, equation.friction_responses, strict=True)
    return [
        Grip(list(f.direction), list(response), f.force, f.limit, f.speed)
        for f, response in pairs
    ]


def slid(motion, sliding, accelerations: list) -> list:
    """Return accelerations with the forces of frictions that slide.

    `sliding`: the sign of each one's speed, 0 where it sticks.
    """
    for grip, sign in zip(motion.frictions, sliding, strict=True):
        force = jax.lax.stop_gradient(sign) * grip.force
        terms = zip(accelerations, grip.response, strict=True)
        accelerations = [term - response * force for term, response in terms]
    return accelerations
