"""Power series of the forces of polynomial springs."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.base.event_form import product_term
from .factors import Acting, ScaledSeries, steepest
from .rows import dot, minus


class Spring(NamedTuple):
    """One spring: e = direction . q, the acceleration per unit force, coefficients.

    `factor`: see `ContactTerm`; with one, `still` is the force of its stops at rest.
    """

    direction: list
    response: list
    coefficients: list
    factor: int | None = None
    still: Any = None


def springs_of(springs: Sequence[Acting]) -> list[Spring]:
    """Return an equation's springs as scalars, without their stops."""
    found = []
    for spring, form, factor in springs:
        along = list(spring.direction), list(spring.response), list(form.coefficients)
        still = None
        if factor is not None and form.stops:
            still = -sum(change * jnp.maximum(-place, 0.0) for place, change in form.stops)
        found.append(Spring(*along, factor, still))
    return found


class SpringSeries:
    """Power series of spring forces, extended order by order with the positions'."""

    def __init__(self, springs: list[Spring]):
        self.springs, self.scaled = springs, ScaledSeries(springs)
        self.powers: list[list[list]] = [[[] for _ in p.coefficients] for p in springs]

    def pulled(self, accelerations: list, position: list, factors: Sequence) -> list:
        """Return accelerations of the next order with the springs' forces.

        `position`: the coefficients of that order; `factors`: see `ScaledSeries`.
        """
        for i, (spring, powers) in enumerate(zip(self.springs, self.powers, strict=True)):
            powers[0].append(dot(spring.direction, position))
            order = len(powers[0]) - 1
            for lower, power in itertools.pairwise(powers):
                power.append(product_term(lower, powers[0], order))
            terms = zip(spring.coefficients, powers, strict=True)
            force: Any = sum(c * power[order] for c, power in terms)
            if spring.still is not None and not order:
                force = force + spring.still
            force = self.scaled.term(i, force, factors)
            accelerations = minus(accelerations, spring.response, force)
        return accelerations


def spring_rate(motion: Any, position: list, velocity: list, rate: Number) -> Array:
    """Return the springs' contribution to a motion's rate, 1/s, at its deflections."""
    added = jnp.zeros(())
    for spring in motion.springs:
        far = jnp.abs(dot(spring.direction, position))
        far = far + jnp.abs(dot(spring.direction, velocity)) / rate
        slope = sum(
            (m + 1) * jnp.abs(c) * far**m for m, c in enumerate(spring.coefficients)
        )
        slope = steepest(motion, spring, slope)
        added = added + jnp.sqrt(slope * dot(spring.direction, spring.response))
    return added
