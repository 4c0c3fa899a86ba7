"""Springs of polynomial laws as series."""

import itertools
from typing import Any, NamedTuple

import jax.numpy as jnp

from ...systems.springs import PiecewiseLinearLaw
from .series import product_term


class Pull(NamedTuple):
    """One spring: e = direction . q, the acceleration by a unit force, coefficients."""

    direction: list
    response: list
    coefficients: list


def pulls_of(equation) -> list[Pull]:
    """Return the springs of an equation of motion as scalars, of a polygon its line."""
    pairs = zip(equation.springs, equation.spring_responses, strict=True)
    return [
        Pull(list(spring.direction), list(response), _coefficients(spring.law))
        for spring, response in pairs
    ]


def _coefficients(law) -> list:
    line = isinstance(law, PiecewiseLinearLaw)
    return list(law.stiffness[:1] if line else law.coefficients)


class Pulling:
    """The series of the springs' forces, extended order by order with the positions'."""

    def __init__(self, pulls: list[Pull]):
        self.pulls = pulls
        self.powers: list[list[list]] = [[[] for _ in p.coefficients] for p in pulls]

    def pulled(self, accelerations: list, position: list) -> list:
        """Return accelerations of the next order with the springs' forces.

        `position`: the coefficients of that order.
        """
        for pull, powers in zip(self.pulls, self.powers, strict=True):
            pairs = zip(pull.direction, position, strict=True)
            powers[0].append(sum(d * x for d, x in pairs))
            order = len(powers[0]) - 1
            for lower, power in itertools.pairwise(powers):
                power.append(product_term(lower, powers[0], order))
            terms = zip(pull.coefficients, powers, strict=True)
            force: Any = sum(c * power[order] for c, power in terms)
            rows = zip(accelerations, pull.response, strict=True)
            accelerations = [a - r * force for a, r in rows]
        return accelerations


def pulling_rate(pulls: list[Pull], position: list, velocity: list, rate):
    """Return by how much springs raise a motion's rate, 1/s, as far as they stretch."""
    added = jnp.zeros(())
    for pull in pulls:
        rows = list(zip(pull.direction, position, velocity, strict=True))
        far = jnp.abs(sum(d * x for d, x, _ in rows))
        far = far + jnp.abs(sum(d * v for d, _, v in rows)) / rate
        slope = sum((m + 1) * jnp.abs(c) * far**m for m, c in enumerate(pull.coefficients))
        pairs = zip(pull.direction, pull.response, strict=True)
        added = added + jnp.sqrt(slope * sum(d * r for d, r in pairs))
    return added
