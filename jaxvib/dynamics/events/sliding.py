"""Dry frictions as scalars, and the series of their sliding forces."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from ...foundation.types import Number
from ...systems.base.event_form import product_term
from ...systems.frictions.friction import sticking_limit
from ...systems.frictions.sliding import SlidingLaw
from ...systems.impact import EquationOfMotion
from .rows import dot, minus


class DryFriction(eqx.Module):
    """One dry friction: w = direction . v - speed, and the acceleration per unit force.

    `force` when sliding, `limit` when sticking: N, or per N of the normal force if
    `presses` names contacts (one and its pieces); `sliding`: None for a force
    independent of speed.
    """

    direction: list
    response: list
    force: Any
    limit: Any
    speed: Any
    sliding: SlidingLaw | None
    presses: tuple[int, ...] = eqx.field(static=True)

    def normal(self, forces: list) -> Number:
        """Return the normal force from the contacts' forces; 1 if it is constant."""
        return sum([forces[j] for j in self.presses]) if self.presses else 1.0


def frictions_of(
    equation: EquationOfMotion, presses: Sequence[tuple[int, ...]]
) -> list[DryFriction]:
    """Return the dry frictions of an equation of motion as scalars."""
    found = []
    for friction, by in zip(equation.frictions, presses, strict=True):
        forces = friction.kinetic, sticking_limit(friction)
        of_speeds = friction.speed, friction.sliding
        along = list(friction.direction), list(friction.response)
        found.append(DryFriction(*along, *forces, *of_speeds, by))
    return found


class FrictionSeries:
    """Power series of the forces of sliding frictions, extended with the velocities'.

    `sliding`: the sign of each one's speed, 0 where it sticks; `normals`: the series of
    the normal forces.
    """

    def __init__(self, frictions: list[DryFriction], sliding: list):
        self.frictions = frictions
        self.signs = jax.lax.stop_gradient(sliding)
        self.left = [None if f.sliding is None else f.sliding.series() for f in frictions]
        self.shares: list[list] = [[] for _ in frictions]
        self.normals: list[list] = [[] for _ in frictions]

    def slid(self, accelerations: list, velocity: list, forces: list) -> list:
        """Return accelerations of the next order with the forces of that order.

        `velocity`, `forces`: the coefficients of that order, of all contacts.
        """
        for i, (friction, sign) in enumerate(zip(self.frictions, self.signs, strict=True)):
            force = self._force(i, velocity, friction.normal(forces))
            if not isinstance(force, float):  # 0 without a normal force
                accelerations = minus(accelerations, friction.response, sign * force)
        return accelerations

    def _force(self, i: int, velocity: list, normal):
        """Return the coefficient of the next order of a friction's sliding force."""
        friction, shares, normals = self.frictions[i], self.shares[i], self.normals[i]
        share = 0.0 if shares else friction.force
        if (left := self.left[i]) is not None:
            along = dot(friction.direction, velocity)
            speed = self.signs[i] * (along if shares else along - friction.speed)
            falling = (friction.limit - friction.force) * left(speed)
            share = share + falling if not shares else falling
        shares.append(share)
        normals.append(normal)
        if not friction.presses:
            return share
        if isinstance(normal, float):
            return 0.0
        if left is None:
            return friction.force * normal
        return product_term(shares, normals, len(shares) - 1)


def slid(
    motion: Any, sliding: list, accelerations: list, velocity: list, forces: list
) -> list:
    """Return accelerations of a state including the forces of sliding frictions."""
    series = FrictionSeries(motion.frictions, sliding)
    return series.slid(accelerations, velocity, forces)
