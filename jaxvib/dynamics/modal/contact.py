r"""A step in contact: the forces at the nodes by Newton iteration.

The unknowns are the forces of all contacts at the K nodes, whatever the number of modes:
$F = f(z_0 - W F, \dot z_0 - \dot W F)$ with the motion $z_0$ without forces. Its
sensitivities are those of the converged equation, not of the iteration.
"""

import functools
from collections.abc import Callable
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

    `converged`: whether the iteration has.
    """

    forces: Float[Array, "k c"]
    depths: Float[Array, "k c"]
    slopes: tuple[Array, Array]
    converged: Bool[Array, ""]


class _Few(NamedTuple):
    """The matrices of a step for the forces of a few contacts, and the law of these.

    `places` (m,): their numbers; `acts` (m,): whether they are closed; `of_all`: what
    their forces do to the depths of all contacts.
    """

    places: Array
    acts: Array
    rows: Array
    rate_rows: Array
    echo: Array
    rate_echo: Array
    of_all: Array
    push: Array


def _few(step: Collocation, closed: Bool[Array, " c"], count: int) -> _Few:
    """Return the matrices of a step for the first `count` closed contacts."""
    contacts = closed.shape[0]
    if count == contacts:
        every = jnp.arange(contacts)
        parts = step.rows, step.rate_rows, step.echo, step.rate_echo, step.echo, step.push
        return _Few(every, closed, *parts)
    order = jnp.argsort(jnp.where(closed, 0, 1) * contacts + jnp.arange(contacts))
    places = order[:count]

    def taken(array, axis):
        parts = [jax.lax.dynamic_index_in_dim(array, places[k], axis) for k in range(count)]
        return parts[0] if count == 1 else jnp.concatenate(parts, axis)

    of_all, of_rates = taken(step.echo, 3), taken(step.rate_echo, 3)
    return _Few(
        places,
        jnp.ones(count, bool),
        taken(step.rows, 1),
        taken(step.rate_rows, 1),
        taken(of_all, 1),
        taken(of_rates, 1),
        of_all,
        taken(step.push, 2),
    )


def _by_number(closed: Bool[Array, " c"], function: Callable, *operands: Any) -> Any:
    """Return `function` for as few contacts as are closed: one, two or all."""
    contacts = closed.shape[0]
    counts = [count for count in (1, 2) if count < contacts] + [contacts]
    number = jnp.sum(closed.astype(int))
    which = (
        jnp.sum(jnp.stack([(number > count).astype(int) for count in counts[:-1]]))
        if len(counts) > 1
        else jnp.asarray(0)
    )
    branches = [functools.partial(function, count) for count in counts]
    return jax.lax.switch(which, branches, *operands)


def nodal_forces(
    motion: EquationOfMotion,
    gaps: Gaps,
    step: Collocation,
    closed: Bool[Array, " c"],
    y: Array,
    time: Any,
    start: Any,
) -> Forces:
    """Return the forces of a step from amplitudes y at a time, starting from a guess.

    Contacts that are not closed when it begins have none: a step in which one closes is
    not accepted.
    """
    loads = gaps.carried(time + step.length * jnp.asarray(PLACES))
    free = jnp.tensordot(step.rows, y, 1) + loads[:, 0]
    free_rates = jnp.zeros_like(free)
    if any(motion.damped_contacts()):
        free_rates = jnp.tensordot(step.rate_rows, y, 1) + loads[:, 1]

    def solved(count, start):
        few = _few(step, closed, count)
        return _iterated(motion, few, free, free_rates, start)

    return _by_number(closed, solved, start)


def _iterated(motion: EquationOfMotion, few: _Few, free, free_rates, start) -> Forces:
    """Return the forces of few contacts by Newton iteration."""
    nodes, count = free.shape[0], few.places.shape[0]
    size = nodes * count
    echo, rate_echo = (part.reshape(size, size) for part in (few.echo, few.rate_echo))
    own, own_rates, begin = (
        free[:, few.places],
        free_rates[:, few.places],
        start[:, few.places],
    )
    damped = any(motion.damped_contacts())

    def linearized(flat):
        depths = own - (echo @ flat).reshape(own.shape)
        rates = own_rates
        if damped:
            rates = rates - (rate_echo @ flat).reshape(own.shape)
        ones, zeros = jnp.ones_like(depths), jnp.zeros_like(depths)
        law = functools.partial(_laws, motion, few)
        forces, by_depth = jax.jvp(law, (depths, rates), (ones, zeros))
        by_rate = zeros
        if damped:
            _, by_rate = jax.jvp(law, (depths, rates), (zeros, ones))
        return forces.reshape(-1), (by_depth, by_rate)

    def unfinished(last):
        _, change, tries = last
        return (change > _CONVERGED) & (tries < _MOST_ITERATIONS)

    def improve(last):
        flat, _, tries = last
        forces, slopes = linearized(flat)
        change = jnp.linalg.solve(_matrix(few, slopes, damped), forces - flat)
        new = flat + change
        largest = jnp.maximum(jnp.max(jnp.abs(new)), jnp.finfo(float).tiny)
        return new, jnp.max(jnp.abs(change)) / largest, tries + 1

    begun = begin.reshape(-1), jnp.asarray(jnp.inf), jnp.asarray(0)
    flat, change, _ = jax.lax.while_loop(unfinished, improve, begun)
    _, slopes = linearized(flat)
    depths = free - (few.of_all.reshape(free.size, size) @ flat).reshape(free.shape)

    def spread(some):
        return jnp.zeros_like(free).at[:, few.places].set(some)

    forces = spread(flat.reshape(own.shape))
    return Forces(forces, depths, tuple(map(spread, slopes)), change <= _CONVERGED)


def _laws(motion: EquationOfMotion, few: _Few, depths, rates):
    """Return the forces of few contacts at the nodes."""
    laws = [functools.partial(force_of, contact.law) for contact in motion.contacts]
    columns = []
    for k in range(depths.shape[1]):
        column = depths[:, k], rates[:, k]
        whole = depths.shape[1] == len(laws)
        force = laws[k](*column) if whole else jax.lax.switch(few.places[k], laws, *column)
        columns.append(jnp.where(few.acts[k], force, 0.0))
    return jnp.stack(columns, axis=1)


def _matrix(few: _Few, slopes, damped: bool) -> Array:
    """Return the matrix of the linearized equation of few contacts."""
    by_depth, by_rate = (slope.reshape(-1, 1) for slope in slopes)
    size = by_depth.shape[0]
    matrix = jnp.eye(size) + by_depth * few.echo.reshape(size, size)
    return matrix + by_rate * few.rate_echo.reshape(size, size) if damped else matrix


def missed(step: Collocation, forces: Float[Array, "k c"]) -> Float[Array, ""]:
    """Return the error of a step's end: the effect of the last terms of the forces."""
    terms = jnp.abs(jnp.asarray(LAST_TERMS * _SHARES[:, None]) @ forces)
    return jnp.sum(terms * jnp.linalg.norm(step.reach, axis=0)[None])


def moved_sensitivities(
    motion: EquationOfMotion,
    step: Collocation,
    closed: Bool[Array, " c"],
    slopes: tuple[Array, Array],
    sensitivities: Float[Array, "y s"],
    left: Float[Array, " p"],
) -> tuple[Float[Array, "y s"], Float[Array, ""]]:
    """Return sensitivities after a step, and the largest relative error of one.

    `slopes`: of the converged forces; `left`: the part of each amplitude that is left
    at the end of the motion.
    """

    def moved(count, sensitivities):
        few = _few(step, closed, count)
        own = [slope[:, few.places] for slope in slopes]
        damped = any(motion.damped_contacts())
        return _moved(step, few, own, damped, sensitivities, left)

    return _by_number(closed, moved, sensitivities)


def _moved(step: Collocation, few: _Few, slopes, damped: bool, sensitivities, left):
    count, contacts = slopes[0].shape
    by_depth, by_rate = (slope[..., None] for slope in slopes)
    rows = by_depth * few.rows
    if damped:
        rows = rows + by_rate * few.rate_rows
    right = rows.reshape(count * contacts, -1) @ sensitivities
    # Unfused, products are calls of a fast routine; the inverse makes the second one.
    inverse = jnp.linalg.inv(_matrix(few, slopes, damped))
    pulls = inverse @ jax.lax.optimization_barrier(right)
    push = few.push.reshape(sensitivities.shape[0], -1)
    parts = turned(step.turn, sensitivities), push @ pulls
    free, pushed = jax.lax.optimization_barrier(parts)
    ends = free - pushed
    shares = jnp.asarray(LAST_TERMS * _SHARES[:, None])
    # What fast modes do averages out but for these terms.
    terms = jnp.abs(shares @ pulls.reshape(count, -1)).reshape(2, contacts, -1)
    reach = jnp.linalg.norm(step.last * left[None, :, None], axis=1)[:, few.places]
    errors = jnp.sum(terms * reach[..., None], axis=(0, 1))
    resolved = jnp.tensordot(shares, rows * step.slow[None, None], 1)
    terms = jnp.abs(resolved.reshape(2 * contacts, -1) @ sensitivities)
    terms = terms.reshape(2, contacts, -1)
    reach = jnp.linalg.norm(step.reach * left[:, None], axis=0)[few.places]
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
