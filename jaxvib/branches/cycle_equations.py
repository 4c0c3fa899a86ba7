r"""A predicted point of a branch of cycles, brought back onto it by multiple shooting.

The unknowns $x = (s_0/u, \dots, s_{m-1}/u, S/\theta, p/\ell)$ are the states where m
segments of a cycle begin, its length S at the pace of `paced` and the parameter. The
segments must join, begin as little along the flow from where they were predicted as they
can, and the point lies in a plane:

$$\varphi^{S/m}(s_i) - s_{i+1} = 0, \qquad \sum_i f(\hat s_i) \cdot (s_i - \hat s_i) = 0,
  \qquad n \cdot (x - \hat x) = 0.$$

Along a canard neighbours part by powers of ten that the whole cycle takes back; a segment
parts them by little. Across the flow at their ends the segments have matrices $B_i$, whose
product is never formed from its entries: orthogonal iteration makes each triangular,
$B_i Q_i = Q_{i+1} R_i$.

With the flow's relative error $\epsilon$ a segment's end is known to
$\epsilon \lVert B_i \rVert$, and so is the diagonal of $R_i$. The segments are `resolved`
where that is little of the end, and where it moves the product $\mu_k$ of each diagonal's
entries by little, or by little of itself:

$$\min(1, |\mu_k|) \sum_i \frac{\epsilon \lVert B_i \rVert}{|r_{i,kk}|} \ll 1.$$

**Source:** Doedel, Keller and Kernevez, *Int. J. Bifurcation and Chaos* 1 (1991) 745;
Bojanczyk, Golub and Van Dooren, *Proc. SPIE* 1770 (1992) 31.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..dynamics.flow import flow
from ..orbits.limit_cycle import reflection
from .corrector import in_plane, joined, state_size, system_of
from .paced import PacedSystem
from .point import at

# Rounds of orthogonal iteration: multipliers that differ by a factor of 400 are apart after
# four by more than the flow's error, which is what may be left of directions that are
# apart; nearer ones lose no digits in each other's company.
_ROUNDS, _APART = 4, 1e-10
# Of a segment's end, and of a multiplier, the flow's error may be this much. Steps along
# a canard are 1e-2 of the cycle; Newton's method goes round in circles from 1e-3 on.
_OF_ENDS, _OF_MULTIPLIERS = 1e-5, 0.1


class CycleProblem(NamedTuple):
    """What a corrector knows of a branch, see `corrector.BranchProblem`.

    `speed`: of `PacedSystem`.
    """

    leaves: Any
    units: Any
    speed: Any
    rtol: Any
    tight: Any
    close: Any


class Segments(NamedTuple):
    """The segments of a cycle, with states in units (segments, n).

    `starts`, `ends`; `rates` of the flow at the starts; `blocks` of their ends by their
    starts, (segments, n, n); `columns` of the ends by length and parameter.
    """

    starts: Any
    ends: Any
    rates: Any
    blocks: Any
    columns: Any


def segments_at(system, path: str, problem: CycleProblem, x) -> Segments:
    """Return the segments of the cycle at scaled unknowns."""
    size = state_size(system)
    number = (x.size - 2) // size
    units = problem.units[:size]
    starts = x[:-2].reshape(number, size)

    def paced(value):
        return PacedSystem(at(system, path, value), problem.speed)

    def end(start, last):
        length, value = last * problem.units[-2:]
        there = paced(value)
        final = flow(there, start * units, 0.0, length / number, rtol=problem.tight)
        return final / units, final / units

    def segment(start):
        return jax.jacfwd(end, (0, 1), has_aux=True)(start, x[-2:])

    (blocks, columns), ends = jax.vmap(segment)(starts)
    field = paced(x[-1] * problem.units[-1]).equation().vector_field
    rates = jax.vmap(lambda start: field(0.0, start * units) / units)(starts)
    return Segments(starts, ends, rates, blocks, columns)


def across(blocks, rates):
    """Return trivial multiplier and matrices across the flow of segments.

    A Householder reflection at each joint turns the flow's direction into the first axis,
    see `limit_cycle.transverse`.
    """
    turns = jax.vmap(reflection)(rates)
    turned = jnp.roll(turns, -1, axis=0) @ blocks @ turns
    return jnp.prod(turned[:, 0, 0]), turned[:, 1:, 1:]


def graded_product(matrices):
    """Return a matrix with the eigenvalues of a product, the last factor on the left.

    Beside it the diagonals of the triangular factors, (factors, n). The matrix is
    triangular, largest eigenvalues first, but for those that are nearly as large as each
    other: LAPACK finds small ones beside large ones in it.
    """
    identity = jnp.eye(matrices.shape[-1])

    def factor(last, matrix):
        basis, product = last
        basis, triangle = jnp.linalg.qr(matrix @ basis)
        # The factorisation is unique, and smooth, with a positive diagonal.
        signs = jnp.where(jnp.diagonal(triangle) < 0, -1.0, 1.0)
        triangle = signs[:, None] * triangle
        return (basis * signs[None], triangle @ product), jnp.diagonal(triangle)

    def again(basis, _):
        (behind, product), each = jax.lax.scan(factor, (basis, identity), matrices)
        return behind, (basis, product, each)

    behind, (bases, products, diagonals) = jax.lax.scan(
        again, identity, None, length=_ROUNDS
    )
    mixed = bases[-1].T @ behind
    lower = jnp.tril(jnp.ones_like(identity), -1) > 0
    mixed = jnp.where(lower & (jnp.abs(mixed) < _APART), 0.0, mixed)
    return mixed @ products[-1], diagonals[-1]


def unresolved(blocks, diagonals, error):
    """Return how far ends and multipliers are from being resolved, at a relative error.

    They are resolved where it is below 1.
    """
    moved = error * jnp.sqrt(jnp.sum(blocks**2, axis=(1, 2)))
    diagonals = jnp.maximum(jnp.abs(diagonals), jnp.finfo(float).tiny)
    relative = jnp.sum(moved[:, None] / diagonals, axis=0)
    size = jnp.exp(jnp.minimum(jnp.sum(jnp.log(diagonals), axis=0), 0.0))
    of_multipliers = jnp.max(relative * size) / _OF_MULTIPLIERS
    return jnp.maximum(of_multipliers, jnp.max(moved) / _OF_ENDS)


class CorrectedCycle(NamedTuple):
    """A point of the branch, see `corrector.Corrected`.

    `monodromy` has all multipliers but the trivial one.
    """

    x: Any
    tangent: Any
    monodromy: Any
    miss: Any
    found: Any
    unresolved: Any


def cycle_map(system, path: str, problem: CycleProblem, anchor, x):
    """Return what is left of a cycle's equations, its matrix, and what it tells besides.

    That are the matrix of all multipliers but the trivial one, and what is `unresolved`.
    `anchor`: the unknowns of the point that was predicted.
    """
    found = segments_at(system, path, problem, x)
    number, size = found.starts.shape
    at_anchor = PacedSystem(at(system, path, (anchor * problem.units)[-1]), problem.speed)
    units = problem.units[:size]
    before = anchor[:-2].reshape(number, size)
    along = jax.vmap(at_anchor.equation().vector_field, (None, 0))(
        0.0, before * units[None]
    )
    along = (along / units[None]).reshape(-1)
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    missed = (found.ends - jnp.roll(found.starts, -1, axis=0)).reshape(-1)
    rest = jnp.append(missed, along @ (x - anchor)[:-2])
    columns = found.columns.reshape(number * size, 2)
    matrix = jnp.column_stack([joined(found.blocks, size), columns])
    phase = jnp.append(along, jnp.zeros(2))
    _, others = across(found.blocks, found.rates)
    whole, diagonals = graded_product(others)
    left = unresolved(found.blocks, diagonals, problem.tight)
    return rest, jnp.vstack([matrix, phase]), (whole, left)


@functools.lru_cache(maxsize=32)
def cycle_corrector(static, path: str):
    """Return the function of a lane (problem, predicted x, normal) that corrects it."""

    def correct(lane) -> CorrectedCycle:
        problem, predicted, normal = lane
        system = system_of(problem, static)

        def map_(x):
            return cycle_map(system, path, problem, predicted, x)

        there = in_plane(map_, problem.rtol, problem.close, predicted, normal)
        whole, left = there.monodromy
        return CorrectedCycle(*there._replace(monodromy=whole), left)

    return correct


@functools.lru_cache(maxsize=32)
def cycle_segments(static, path: str):
    """Return the function of a lane (problem, x) that gives `Segments`."""

    def segments(lane):
        problem, x = lane
        return segments_at(system_of(problem, static), path, problem, x)

    return jax.jit(segments)


@functools.lru_cache(maxsize=32)
def cycle_splitter(static, path: str, number: int):
    """Return the function of a lane (problem, x, tangent) that splits each segment.

    It gives x and tangent of `number` times as many segments.
    """

    def split(lane):
        problem, x, tangent = lane
        system = system_of(problem, static)
        size = state_size(system)
        units = problem.units[:size]
        segments = (x.size - 2) // size

        def joints(x):
            there = PacedSystem(at(system, path, x[-1] * problem.units[-1]), problem.speed)
            part = x[-2] * problem.units[-2] / (segments * number)

            def ahead(state, _):
                return flow(there, state, 0.0, part, rtol=problem.tight), state

            def each(state):
                return jax.lax.scan(ahead, state, None, length=number)[1]

            states = jax.vmap(each)(x[:-2].reshape(segments, size) * units[None])
            # Lengths are root mean squares over the segments.
            return jnp.append(
                (states / (units * np.sqrt(number))[None, None]).reshape(-1), x[-2:]
            )

        return jax.jvp(joints, (x,), (tangent,))

    return split
