r"""A step in contact: the forces at the nodes, by iteration.

The unknowns are the forces of all contacts at the K nodes, whatever the number of modes:
$F = f(z_0 - W F, \dot z_0 - \dot W F)$ with the motion $z_0$ without forces. Steps
resolve the fastest modes that move, so that the reaction $W F$ of the forces is small
and $F \leftarrow f(z_0 - W F, \dots)$ converges in few iterations. Where it does not,
contacts being stiff, a Newton iteration follows with few factorizations.
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
from .collocation import LAST_TERMS, PLACES, Collocation
from .gaps import Gaps

# The error of converged forces relative to the largest: the last change times the rate
# at which changes fall.
_CONVERGED = 1e-13
# Iterations whose changes fall less than this each give up.
_SLOW = 0.1
# Twelve iterations at that rate gain all digits; steps that need more are too long.
_MOST_ITERATIONS, _MOST_FACTORIZATIONS = 12, 8
# Shares of the last two terms in the error: the first one left out is smaller than both.
SHARES_OF_TERMS = LAST_TERMS * np.array([[1.0], [0.1]])


class Forces(NamedTuple):
    """Forces at the nodes (K, c), penetrations and rates there.

    `converged`: whether the iteration has.
    """

    forces: Float[Array, "k c"]
    depths: Float[Array, "k c"]
    rates: Float[Array, "k c"]
    converged: Bool[Array, ""]


class Few(NamedTuple):
    """The matrices of a step for the forces of a few contacts.

    `places` (m,): their numbers.
    """

    places: Array
    rows: Array
    rate_rows: Array | None
    echo: Array
    rate_echo: Array | None
    push: Array

    def matrix(self, slopes: tuple[Array, Array]) -> Array:
        """Return the matrix of the linearized equation, with slopes (K, m)."""
        by_depth, by_rate = (slope.reshape(-1, 1) for slope in slopes)
        size = by_depth.shape[0]
        matrix = jnp.eye(size) + by_depth * self.echo.reshape(size, size).T
        if self.rate_echo is None:
            return matrix
        return matrix + by_rate * self.rate_echo.reshape(size, size).T


def few_contacts(step: Collocation, closed: Bool[Array, " c"], count: int) -> Few:
    """Return the matrices of a step for the first `count` closed contacts."""
    contacts = closed.shape[0]
    matrices = step.rows, step.rate_rows, step.echo, step.rate_echo, step.push
    if count == contacts:
        return Few(jnp.arange(contacts), *matrices)
    order = jnp.argsort(jnp.where(closed, 0, 1) * contacts + jnp.arange(contacts))
    places = order[:count]

    def taken(array, *axes):
        if array is None:
            return None
        for axis in axes:
            parts = [
                jax.lax.dynamic_index_in_dim(array, places[k], axis) for k in range(count)
            ]
            array = parts[0] if count == 1 else jnp.concatenate(parts, axis)
        return array

    axes = (2,), (2,), (1, 3), (1, 3), (1,)
    parts = [taken(one, *along) for one, along in zip(matrices, axes, strict=True)]
    return Few(places, *parts)


def by_number(closed: Bool[Array, " c"], function: Callable, *operands: Any) -> Any:
    """Return `function(count, ...)` for one, two, four, ... contacts, as few as suffice."""
    contacts = closed.shape[0]
    counts = [2**k for k in range(contacts) if 2**k < contacts] + [contacts]
    branches = [functools.partial(function, count) for count in counts]
    if len(counts) == 1:
        return branches[0](*operands)
    number = jnp.sum(closed.astype(int))
    which = jnp.sum(jnp.stack([(number > count).astype(int) for count in counts[:-1]]))
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
    free = jnp.tensordot(y, step.rows, 1) + loads[:, 0]
    free_rates = jnp.zeros_like(free)
    if step.rate_rows is not None:
        free_rates = jnp.tensordot(y, step.rate_rows, 1) + loads[:, 1]
    size = free.size

    def moved(flat):
        depths = free - (flat @ step.echo.reshape(size, size)).reshape(free.shape)
        if step.rate_echo is None:
            return depths, free_rates
        back = flat @ step.rate_echo.reshape(size, size)
        return depths, free_rates - back.reshape(free.shape)

    def renewed(flat):
        forces = _laws(motion, *moved(flat))
        return jnp.where(closed[None], forces, 0.0).reshape(-1)

    begin = start.reshape(-1)
    found = _iterated(renewed, begin)

    def by_newton(_):
        nearer = jnp.where(found.rate < 1, found.forces, begin)
        improved = functools.partial(_newton, motion, step, closed, moved, renewed)
        return by_number(closed, improved, nearer)

    flat, converged = jax.lax.cond(
        found.converged(),
        lambda _: (found.forces, jnp.asarray(True)),
        by_newton,
        None,
    )
    depths, rates = moved(flat)
    return Forces(flat.reshape(free.shape), depths, rates, converged)


class _Iterate(NamedTuple):
    """Forces, the last relative change, the rate at which changes fall, and a count."""

    forces: Array
    change: Array
    rate: Array
    tries: Array

    def converged(self) -> Array:
        """Return whether the error is small."""
        return self.change * jnp.minimum(self.rate, 1.0) <= _CONVERGED


def _iterated(improve: Callable, begin: Array) -> _Iterate:
    """Return forces improved until they have converged or their changes fall slowly."""

    def goes_on(last):
        falls = (last.rate < _SLOW) | (last.tries < 2)
        ends = last.converged() | ~(last.change >= 0) & (last.tries > 0)
        return ~ends & falls & (last.tries < _MOST_ITERATIONS)

    def turn(last):
        new = improve(last.forces)
        largest = jnp.maximum(jnp.max(jnp.abs(new)), jnp.finfo(float).tiny)
        change = jnp.max(jnp.abs(new - last.forces)) / largest
        rate = jnp.where(last.tries > 0, change / last.change, 1.0)
        return _Iterate(new, change, rate, last.tries + 1)

    first = _Iterate(begin, jnp.asarray(jnp.inf), jnp.ones(()), jnp.asarray(0))
    return jax.lax.while_loop(goes_on, turn, first)


def _newton(motion, step, closed, moved, renewed, count, begin):
    """Return the forces of few contacts by Newton iteration, and whether it converged.

    A factorization serves as many iterations as converge quickly.
    """
    few = few_contacts(step, closed, count)
    nodes = begin.shape[0] // closed.shape[0]

    def of_few(flat):
        return flat.reshape(nodes, -1)[:, few.places].reshape(-1)

    def unfinished(last):
        _, converged, tries = last
        return ~converged & (tries < _MOST_FACTORIZATIONS)

    def turn(last):
        flat, _, tries = last
        slopes = law_slopes(motion, closed, *moved(flat))
        by_depth, by_rate = (slope[:, few.places] for slope in slopes)
        factors = jax.scipy.linalg.lu_factor(few.matrix((by_depth, by_rate)))

        def improve(flat):
            change = jax.scipy.linalg.lu_solve(factors, of_few(renewed(flat) - flat))
            whole = jnp.zeros((nodes, closed.shape[0]))
            whole = whole.at[:, few.places].set(change.reshape(nodes, count))
            return flat + whole.reshape(-1)

        found = _iterated(improve, flat)
        return found.forces, found.converged(), tries + 1

    first = begin, jnp.asarray(False), jnp.asarray(0)
    flat, converged, _ = jax.lax.while_loop(unfinished, turn, first)
    return flat, converged


def _laws(motion: EquationOfMotion, depths, rates):
    """Return the forces of all contacts (K, c) at the nodes."""
    laws = [contact.law for contact in motion.contacts]
    if _are_alike(laws):
        law = jax.tree.map(lambda *leaves: jnp.stack(leaves), *laws)
        return jax.vmap(force_of, (0, 1, 1), 1)(law, depths, rates)
    forces = [force_of(law, depths[:, k], rates[:, k]) for k, law in enumerate(laws)]
    return jnp.stack(forces, axis=1)


def _are_alike(laws) -> bool:
    """Return whether laws differ in their numbers only."""
    kinds = [
        (jax.tree.structure(law), [jnp.shape(leaf) for leaf in jax.tree.leaves(law)])
        for law in laws
    ]
    arrays = all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(laws))
    return len(laws) > 1 and arrays and all(kind == kinds[0] for kind in kinds)


def law_slopes(
    motion: EquationOfMotion, closed: Bool[Array, " c"], depths: Array, rates: Array
) -> tuple[Float[Array, "k c"], Float[Array, "k c"]]:
    """Return the slopes of the forces by depth and by rate, 0 for open contacts."""
    law = functools.partial(_laws, motion)
    ones, zeros = jnp.ones_like(depths), jnp.zeros_like(depths)
    _, by_depth = jax.jvp(law, (depths, rates), (ones, zeros))
    by_rate = zeros
    if any(motion.damped_contacts()):
        _, by_rate = jax.jvp(law, (depths, rates), (zeros, ones))
    return jnp.where(closed[None], by_depth, 0.0), jnp.where(closed[None], by_rate, 0.0)


def missed(step: Collocation, forces: Float[Array, "k c"]) -> Float[Array, ""]:
    """Return the error of a step's end: the effect of the last terms of the forces."""
    terms = jnp.abs(jnp.asarray(SHARES_OF_TERMS) @ forces)
    return jnp.sum(terms * jnp.linalg.norm(step.reach, axis=0)[None])


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
