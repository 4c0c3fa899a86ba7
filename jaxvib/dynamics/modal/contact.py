r"""A step in contact: the forces at the nodes by Newton iteration.

The unknowns are the forces of all contacts at the K nodes, whatever the number of modes:
$F = f(z_0 - W F, \dot z_0 - \dot W F)$ with the motion $z_0$ without forces. Its
sensitivities are those of the converged equation, not of the iteration.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...foundation.types import Number
from ...systems.impact import EquationOfMotion
from ...systems.roles import force_of
from .collocation import LAST_TERMS, PLACES, Collocation, turned
from .gaps import Gaps

# Newton iterations: two to four from the last step's polynomial; more are a sign of a
# step too long.
_MOST_ITERATIONS = 12
# After a change of the forces below this, relative to the largest, the next one would be
# rounding: convergence is quadratic.
_CONVERGED = 1e-8
# Shares of the last two terms in the error: the first one left out is smaller than both.
_SHARES = np.array([1.0, 0.1])


class Forces(NamedTuple):
    """Forces at the nodes (K, c), penetrations there, and slopes by depth and rate.

    `matrix` (K c, K c): of the linearized equation; `converged`: whether the iteration
    has.
    """

    forces: Float[Array, "k c"]
    depths: Float[Array, "k c"]
    slopes: tuple[Array, Array]
    matrix: Array
    converged: Bool[Array, ""]


def nodal_forces(
    motion: EquationOfMotion, gaps: Gaps, step: Collocation, y: Array, time: Any, start: Any
) -> Forces:
    """Return the forces of a step from amplitudes y at a time, starting from a guess."""
    count, contacts = start.shape
    size = count * contacts
    loads = gaps.carried(time + step.length * jnp.asarray(PLACES))
    free = step.rows @ y + loads[:, 0]
    free_rates = step.rate_rows @ y + loads[:, 1]
    echo, rate_echo = (part.reshape(size, size) for part in (step.echo, step.rate_echo))
    damped = any(motion.damped_contacts())
    identity = jnp.eye(size)

    def law(depths, rates):
        columns = [
            force_of(contact.law, depths[:, j], rates[:, j])
            for j, contact in enumerate(motion.contacts)
        ]
        return jnp.stack(columns, axis=1)

    def linearized(flat):
        depths = free - (echo @ flat).reshape(free.shape)
        rates = free_rates
        if damped:
            rates = rates - (rate_echo @ flat).reshape(free.shape)
        ones, zeros = jnp.ones_like(depths), jnp.zeros_like(depths)
        forces, by_depth = jax.jvp(law, (depths, rates), (ones, zeros))
        matrix = identity + by_depth.reshape(-1, 1) * echo
        by_rate = zeros
        if damped:
            _, by_rate = jax.jvp(law, (depths, rates), (zeros, ones))
            matrix = matrix + by_rate.reshape(-1, 1) * rate_echo
        return depths, forces.reshape(-1), (by_depth, by_rate), matrix

    def unfinished(last):
        _, change, tries = last
        return (change > _CONVERGED) & (tries < _MOST_ITERATIONS)

    def improve(last):
        flat, _, tries = last
        _, forces, _, matrix = linearized(flat)
        change = jnp.linalg.solve(matrix, forces - flat)
        new = flat + change
        largest = jnp.maximum(jnp.max(jnp.abs(new)), jnp.finfo(float).tiny)
        return new, jnp.max(jnp.abs(change)) / largest, tries + 1

    begun = start.reshape(-1), jnp.asarray(jnp.inf), jnp.asarray(0)
    flat, change, _ = jax.lax.while_loop(unfinished, improve, begun)
    depths, _, slopes, matrix = linearized(flat)
    return Forces(flat.reshape(start.shape), depths, slopes, matrix, change <= _CONVERGED)


def missed(step: Collocation, forces: Float[Array, "k c"]) -> Float[Array, ""]:
    """Return the error of a step's end: the effect of the last terms of the forces."""
    terms = jnp.abs(jnp.asarray(LAST_TERMS * _SHARES[:, None]) @ forces)
    return jnp.sum(terms * jnp.linalg.norm(step.reach, axis=0)[None])


def moved_sensitivities(
    step: Collocation,
    found: Forces,
    sensitivities: Float[Array, "y s"],
    left: Float[Array, " p"],
) -> tuple[Float[Array, "y s"], Float[Array, ""]]:
    """Return sensitivities after a step, and the largest relative error of one.

    `left`: the part of each amplitude that is left at the end of the motion.
    """
    count, contacts = found.forces.shape
    by_depth, by_rate = (slope[..., None] for slope in found.slopes)
    rows = by_depth * step.rows + by_rate * step.rate_rows
    right = rows.reshape(count * contacts, -1) @ sensitivities
    # Unfused, products are calls of a fast routine; the inverse makes the second one.
    pulls = jnp.linalg.inv(found.matrix) @ jax.lax.optimization_barrier(right)
    push = step.push.reshape(sensitivities.shape[0], -1)
    parts = turned(step.turn, sensitivities), push @ pulls
    free, pushed = jax.lax.optimization_barrier(parts)
    ends = free - pushed
    shares = jnp.asarray(LAST_TERMS * _SHARES[:, None])
    # What fast modes do averages out but for these terms.
    terms = jnp.abs(shares @ pulls.reshape(count, -1)).reshape(2, contacts, -1)
    reach = jnp.linalg.norm(step.last * left[None, :, None], axis=1)
    errors = jnp.sum(terms * reach[..., None], axis=(0, 1))
    resolved = jnp.tensordot(shares, rows * step.slow[None, None], 1).reshape(
        2 * contacts, -1
    )
    terms = jnp.abs(resolved @ sensitivities).reshape(2, contacts, -1)
    reach = jnp.linalg.norm(step.reach * left[:, None], axis=0)
    errors = errors + jnp.sum(terms * reach[None, :, None], axis=(0, 1))
    return ends, jnp.max(errors)


def extrapolated(
    forces: Float[Array, "k c"], length: Number, next_length: Number
) -> Float[Array, "k c"]:
    """Return the last step's force polynomial at the nodes of the next step."""
    places = 1 + jnp.asarray(PLACES) * next_length / length
    nodes = jnp.asarray(PLACES)
    apart = nodes[:, None] - nodes[None]
    apart = jnp.where(jnp.eye(nodes.size, dtype=bool), 1.0, apart)
    weights = 1 / jnp.prod(apart, axis=1)
    away = places[:, None] - nodes[None]
    return (jnp.prod(away, axis=1)[:, None] * weights[None] / away) @ forces
