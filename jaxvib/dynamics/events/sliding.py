"""Dry frictions as scalars, and what those that slide do to a motion."""

from typing import Any, NamedTuple

import jax

from .series import product_term


class DryFriction(NamedTuple):
    """One dry friction: w = direction . v - speed, and the acceleration by a unit force.

    `force`: of sliding, `limit`: of sticking, N; `stribeck`: m/s, None of a force that is
    the same at all speeds.
    """

    direction: list
    response: list
    force: Any
    limit: Any
    speed: Any
    stribeck: Any


def frictions_of(equation) -> list[DryFriction]:
    """Return the dry frictions of an equation of motion as scalars."""
    pairs = zip(equation.frictions, equation.friction_responses, strict=True)
    return [
        DryFriction(
            list(f.direction), list(response), f.force, f.limit, f.speed, f.stribeck
        )
        for f, response in pairs
    ]


class FrictionSeries:
    r"""The series of the forces of frictions that slide, extended with the velocities'.

    Stribeck's curve is $F + E / g$ with $g = 1 + |w|/v_s$, and the series of 1/g that of
    g divided out. `sliding`: the sign of each one's speed, 0 where it sticks.
    """

    def __init__(self, frictions: list[DryFriction], sliding: list):
        self.frictions = frictions
        self.signs = jax.lax.stop_gradient(sliding)
        self.slownesses: list[list] = [[] for _ in frictions]
        self.inverses: list[list] = [[] for _ in frictions]

    def slid(self, accelerations: list, velocity: list) -> list:
        """Return accelerations of the next order with the forces of that order.

        `velocity`: the coefficients of that order.
        """
        for i, (friction, sign) in enumerate(zip(self.frictions, self.signs, strict=True)):
            order = len(self.inverses[i])
            force = friction.force if order == 0 else None
            if friction.stribeck is not None:
                falling = (friction.limit - friction.force) * self._inverse(i, velocity)
                force = falling if force is None else force + falling
            elif order == 0:
                self.inverses[i].append(1.0)
            if force is not None:
                terms = zip(accelerations, friction.response, strict=True)
                accelerations = [a - response * (sign * force) for a, response in terms]
        return accelerations

    def _inverse(self, i: int, velocity: list):
        """Return the coefficient of the next order of 1/g."""
        friction, sign = self.frictions[i], self.signs[i]
        slowness, inverse = self.slownesses[i], self.inverses[i]
        along = sum(d * v for d, v in zip(friction.direction, velocity, strict=True))
        if not inverse:
            slowness.append(1 + sign * (along - friction.speed) / friction.stribeck)
            inverse.append(1 / slowness[0])
        else:
            slowness.append(sign * along / friction.stribeck)
            rest = product_term(slowness[1:], inverse, len(inverse) - 1)
            inverse.append(-inverse[0] * rest)
        return inverse[-1]


def slid(motion, sliding, accelerations: list, velocity: list) -> list:
    """Return accelerations of a state with the forces of frictions that slide."""
    return FrictionSeries(motion.frictions, sliding).slid(accelerations, velocity)
