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
from ...systems.base.law import force_of
from ...systems.impact import EquationOfMotion
from .axes import are_alike, axes_of, axis_forces
from .collocation import NODES, PLACES, SHARES_OF_TERMS, Collocation
from .gaps import Gaps
from .modal_form import ModalForm

# The error of converged forces relative to the largest: the last change times the rate
# at which changes fall.
_CONVERGED = 1e-13
# Iterations whose changes fall less than this each give up.
_SLOW = 0.1
# Twelve iterations at that rate gain all digits; steps that need more are too long.
_MOST_ITERATIONS, _MOST_FACTORIZATIONS = 12, 8
# The forces of a step are extrapolated over less than this many lengths: beyond it they
# grow by orders of magnitude.
_FARTHEST = 3.0


class Forces(NamedTuple):
    """Forces along the axes at the nodes (K, d), displacements and rates there.

    `converged`: whether the iteration has.
    """

    forces: Float[Array, "k d"]
    depths: Float[Array, "k d"]
    rates: Float[Array, "k d"]
    converged: Bool[Array, ""]

    def path(
        self, before: Float[Array, "2 d"], after: Float[Array, "2 d"]
    ) -> Float[Array, "2 kk d"]:
        """Return displacements and rates in the step, with those at both its ends."""
        inside = jnp.stack([self.depths, self.rates])
        return jnp.concatenate([before[:, None], inside, after[:, None]], axis=1)

    def at_shares(self, shares: Float[Array, "k k"]) -> "Forces":
        """Return them elsewhere, by a matrix that takes polynomials there."""
        forces, depths, rates = (shares @ part for part in self[:3])
        return Forces(forces, depths, rates, self.converged)


class Slopes(NamedTuple):
    """Slopes of the forces along axes by the motion along the same and along others.

    `across` (..., m): those by the motion along the `partners` (m,); None if all are 0.
    """

    own: Float[Array, "*k m"]
    across: Float[Array, "*k m"] | None = None
    partners: np.ndarray | None = None

    def times(self, motion: Float[Array, "km r"]) -> Float[Array, "km r"]:
        """Return the changes of the forces under columns of motions."""
        found = self.own.reshape(-1, 1) * motion
        if self.across is None:
            return found
        other = motion.reshape(*self.own.shape, -1)[:, self.partners]
        return found + self.across.reshape(-1, 1) * other.reshape(motion.shape)

    def each(self, function: Callable, *others: "Slopes") -> "Slopes":
        """Return a function of those along the same axes, and of those along others."""
        own = function(self.own, *[other.own for other in others])
        if self.across is None:
            return Slopes(own)
        across = function(self.across, *[other.across for other in others])
        return Slopes(own, across, self.partners)


class Few(NamedTuple):
    """The matrices of a step for the forces along the axes of a few contacts.

    `places` (m,): their numbers.
    """

    places: Array
    rows: Array
    rate_rows: Array | None
    echo: Array
    rate_echo: Array | None
    push: Array

    def matrix(self, slopes: tuple[Slopes, Slopes]) -> Array:
        """Return the matrix of the linearized equation."""
        by_depth, by_rate = slopes
        size = by_depth.own.size
        matrix = jnp.eye(size) + by_depth.times(self.echo.reshape(size, size).T)
        if self.rate_echo is None:
            return matrix
        return matrix + by_rate.times(self.rate_echo.reshape(size, size).T)

    def of(self, slopes: Slopes) -> Slopes:
        """Return the slopes of these axes."""
        few = slopes.each(lambda part: part[..., self.places])
        if few.partners is None:
            return few
        # The first axes of some annular contacts, or all.
        return few._replace(partners=few.partners[: self.places.shape[0]])


def few_contacts(
    motion: EquationOfMotion, step: Collocation, closed: Bool[Array, " c"], count: int
) -> Few:
    """Return the matrices of a step for the first `count` closed contacts."""
    contacts = closed.shape[0]
    matrices = step.rows, step.rate_rows, step.echo, step.rate_echo, step.push
    if count == contacts:
        return Few(jnp.arange(step.echo.shape[1]), *matrices)
    order = jnp.argsort(jnp.where(closed, 0, 1) * contacts + jnp.arange(contacts))
    places = order[:count]
    if axes_of(motion.contacts).all_round:
        places = (2 * places[:, None] + jnp.arange(2)[None]).reshape(-1)
    axes = (2,), (2,), (1, 3), (1, 3), (1,)
    parts: list[Any] = [
        taken(one, places, *along) for one, along in zip(matrices, axes, strict=True)
    ]
    return Few(places, *parts)


def taken(array: Array | None, places: Array, *axes: int) -> Array | None:
    """Return the part of an array at places of some axes, None for None."""
    if array is None or all(places.shape[0] == array.shape[axis] for axis in axes):
        return array
    for axis in axes:
        parts = [
            jax.lax.dynamic_index_in_dim(array, places[k], axis)
            for k in range(places.shape[0])
        ]
        array = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis)
    return array


def by_number(
    motion: EquationOfMotion,
    closed: Bool[Array, " c"],
    function: Callable,
    *operands: Any,
) -> Any:
    """Return `function(count, ...)` for one, two, four, ... contacts, as few as suffice.

    For all where contacts of one axis and of two are mixed.
    """
    contacts, axes = closed.shape[0], axes_of(motion.contacts)
    counts = [2**k for k in range(contacts) if 2**k < contacts] + [contacts]
    counts = counts[-1:] if axes.some_round and not axes.all_round else counts
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
    acts = axes_of(motion.contacts).of_contacts(closed)

    def moved(flat):
        depths = free - (flat @ step.echo.reshape(size, size)).reshape(free.shape)
        if step.rate_echo is None:
            return depths, free_rates
        back = flat @ step.rate_echo.reshape(size, size)
        return depths, free_rates - back.reshape(free.shape)

    def renewed(flat):
        forces = axis_laws(motion, *moved(flat))
        return jnp.where(acts[None], forces, 0.0).reshape(-1)

    begin = start.reshape(-1)
    found = _iterated(renewed, begin)

    def by_newton(_):
        nearer = jnp.where(found.rate < 1, found.forces, begin)
        improved = functools.partial(_newton, motion, step, closed, moved, renewed)
        return by_number(motion, closed, improved, nearer)

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
        largest = jnp.maximum(_largest(new), jnp.finfo(float).tiny)
        change = _largest(new - last.forces) / largest
        rate = jnp.where(last.tries > 0, change / last.change, 1.0)
        return _Iterate(new, change, rate, last.tries + 1)

    first = _Iterate(begin, jnp.asarray(jnp.inf), jnp.ones(()), jnp.asarray(0))
    return jax.lax.while_loop(goes_on, turn, first)


def _largest(forces: Array) -> Array:
    """Return the largest of forces at all nodes: of each axis first, in vectors."""
    return jnp.max(jnp.max(jnp.abs(forces.reshape(NODES, -1).T), axis=0))


def _newton(motion, step, closed, moved, renewed, count, begin):
    """Return the forces of few contacts by Newton iteration, and whether it converged.

    A factorization serves as many iterations as converge quickly.
    """
    few = few_contacts(motion, step, closed, count)
    axes = step.echo.shape[1]
    nodes = begin.shape[0] // axes

    def of_few(flat):
        return flat.reshape(nodes, -1)[:, few.places].reshape(-1)

    def unfinished(last):
        _, converged, tries = last
        return ~converged & (tries < _MOST_FACTORIZATIONS)

    def turn(last):
        flat, _, tries = last
        slopes = law_slopes(motion, closed, *moved(flat))
        by_depth, by_rate = map(few.of, slopes)
        factors = jax.scipy.linalg.lu_factor(few.matrix((by_depth, by_rate)))

        def improve(flat):
            change = jax.scipy.linalg.lu_solve(factors, of_few(renewed(flat) - flat))
            whole = jnp.zeros((nodes, axes))
            whole = whole.at[:, few.places].set(change.reshape(nodes, -1))
            return flat + whole.reshape(-1)

        found = _iterated(improve, flat)
        return found.forces, found.converged(), tries + 1

    first = begin, jnp.asarray(False), jnp.asarray(0)
    flat, converged, _ = jax.lax.while_loop(unfinished, turn, first)
    return flat, converged


def axis_laws(motion: EquationOfMotion, depths: Array, rates: Array) -> Array:
    """Return the forces of all contacts along their axes (K, d)."""
    if axes_of(motion.contacts).some_round:
        return axis_forces(motion.contacts, depths, rates)
    laws = [contact.law for contact in motion.contacts]
    if are_alike(laws):
        law = jax.tree.map(lambda *leaves: jnp.stack(leaves), *laws)
        return jax.vmap(force_of, (0, 1, 1), 1)(law, depths, rates)
    forces = [force_of(law, depths[:, k], rates[:, k]) for k, law in enumerate(laws)]
    return jnp.stack(forces, axis=1)


def law_slopes(
    motion: EquationOfMotion, closed: Bool[Array, " c"], depths: Array, rates: Array
) -> tuple[Slopes, Slopes]:
    """Return the slopes of the forces by depth and by rate, 0 for open contacts."""
    law, axes = functools.partial(axis_laws, motion), axes_of(motion.contacts)
    acts = axes.of_contacts(closed)[None]
    ones, zeros = jnp.ones_like(depths), jnp.zeros_like(depths)

    def slope(*along):
        return jnp.where(acts, jax.jvp(law, (depths, rates), along)[1], 0.0)

    if axes.some_round:
        # Changes along the first axes, and along the second ones of annular contacts.
        first = np.isin(np.arange(axes.owners.size), axes.first)[None]
        sets = [jnp.where(which, ones, 0.0) for which in (first, ~first)]
        paired = axes.is_round[axes.owners][None]

        def pairs(along_first, along_second):
            own = jnp.where(first, along_first, along_second)
            across = jnp.where(first, along_second, along_first)
            return Slopes(own, jnp.where(paired, across, 0.0), axes.partners)

        by_depth = pairs(*(slope(change, zeros) for change in sets))
        return by_depth, pairs(*(slope(zeros, change) for change in sets))
    by_rate = slope(zeros, ones) if any(motion.damped_contacts()) else zeros
    return Slopes(slope(ones, zeros)), Slopes(by_rate)


def missed(step: Collocation, forces: Float[Array, "k c"]) -> Float[Array, ""]:
    """Return the error of a step's end: the effect of the last terms of the forces."""
    terms = jnp.abs(jnp.asarray(SHARES_OF_TERMS) @ forces)
    return jnp.sum(terms * jnp.linalg.norm(step.reach, axis=0)[None])


def forces_ahead(
    gaps: Gaps,
    closed: Bool[Array, " c"],
    forces: Float[Array, "k d"],
    length: Number,
    next_length: Number,
) -> Float[Array, "k d"]:
    """Return a guess of the forces at the nodes of the next step, from the last one.

    They are 0 if there is none, of `length` 0, and for contacts that are open.
    """
    known, acts = length > 0, gaps.axes.of_contacts(closed)
    start = _extrapolated(forces, jnp.where(known, length, 1.0), next_length)
    # After a much shorter step, up to an event, the polynomial says nothing.
    start = jnp.where(next_length < _FARTHEST * length, start, forces[-1:])
    return jnp.where(known & acts, start, 0.0)


def _extrapolated(
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


def state_and_rate(
    system: ModalForm, gaps: Gaps, y: Float[Array, " y"], time: Number
) -> tuple[Float[Array, " state"], Float[Array, " state"]]:
    r"""Return the state and its rate, from that of the amplitudes.

    As velocities have the shapes $\lambda_k$ times those of displacements, those of
    displacements suffice: reading them takes most of the time.
    """
    own = rates_of_amplitudes(system, gaps, y, time)
    half = system.forced.shape[-1] // 2
    rows = jnp.stack([y, own, system.modes.eigenvalues.of(own)])
    place, speed, bend = rows @ system.modes.shapes[:, :half]
    steady = system.carried(time)
    angle = system.frequency * time + system.phase
    turn = jnp.stack([-jnp.sin(angle), jnp.cos(angle)]) * system.frequency[None]
    place = place + steady[:half] + system.motion.offset
    speed = speed + steady[half:]
    bend = bend + jnp.tensordot(turn, system.forced[..., half:], 2)
    return jnp.concatenate([place, speed]), jnp.concatenate([speed, bend])


def rates_of_amplitudes(
    system: ModalForm, gaps: Gaps, y: Float[Array, " y"], time: Number
) -> Float[Array, " y"]:
    """Return the rates of amplitudes y at a time."""
    along = gaps.at(y, time)[:, None]
    forces = axis_laws(system.motion, along[0], along[1])[0]
    return system.modes.eigenvalues.of(y) - system.pushes @ forces
