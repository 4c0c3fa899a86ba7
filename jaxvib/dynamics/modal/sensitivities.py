r"""Sensitivities of the amplitudes: diagonal in flights, plus low rank in contact.

A step in contact changes them by

$$Y \to e^{\Lambda h} Y - E\,(I + f' W)^{-1} f' R\, Y,$$

the derivative of the converged equation of the forces. Columns are in blocks that fit
into a core's cache. Those of modes that have decayed are left alone.

Slopes f' begin and end like square roots. They act on polynomials and their product is
projected on polynomials: f' is a matrix for each axis of a contact, or four for the two of
a round hole, by quadrature that clusters at both ends. Steps then are about as long as
those of the motion.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...kernels.lower.in_place import in_place_of
from ...systems.impact import EquationOfMotion
from .collocation import (
    NODES,
    PLACES,
    SHARES_OF_TERMS,
    Collocation,
    Eigenvalues,
    turn_less_one,
    turned,
)
from .contact import (
    Few,
    Slopes,
    by_number,
    few_contacts,
    law_slopes,
    taken,
)
from .crossing import WITH_ENDS

# Columns of a block, in whole vectors.
_COLUMNS, _VECTOR = 32, 8
# Amplitudes below this have decayed: those of the unit changes are 1 at first.
DECAYED = 1e-12
# Quadrature points of the slopes' matrices, and of those that they are compared with.
_FINE, _COARSE = 24, 18
# Weights of a force's mean and of its first moment.
_UNEVEN = np.polynomial.legendre.leggauss(NODES)[1] * PLACES


class _Quadrature(NamedTuple):
    """`points` (q, k + 2): from values at `WITH_ENDS` to the points; `matrix` (k k, q).

    `moments` (k, q): of what a matrix gives, its mean and its first moment.
    """

    points: np.ndarray
    matrix: np.ndarray
    moments: np.ndarray


def _quadrature(count: int) -> _Quadrature:
    """Return a rule whose points cluster at both ends as s^2 (3 - 2 s)."""
    roots, weights = np.polynomial.legendre.leggauss(count)
    s = (roots + 1) / 2
    places, weights = s**2 * (3 - 2 * s), weights * 3 * s * (1 - s)

    def lagrange(nodes, at):
        powers = np.polynomial.legendre.legvander
        degree = len(nodes) - 1
        return np.linalg.solve(
            powers(2 * nodes - 1, degree).T, powers(2 * at - 1, degree).T
        ).T

    own = lagrange(PLACES, places)
    mass = (own * weights[:, None]).T @ own
    project = np.linalg.solve(mass, own.T * weights)
    matrix = np.einsum("iq,qj->ijq", project, own)
    moments = np.tensordot(_UNEVEN, matrix, 1)
    matrix = matrix.reshape(NODES**2, count)
    return _Quadrature(lagrange(WITH_ENDS, places), matrix, moments)


_RULES = _quadrature(_FINE), _quadrature(_COARSE)


class Sensitivities(NamedTuple):
    """Changes of amplitudes (2p,) along initial ones, in b blocks of w columns.

    `largest` (b,): the largest number of each block when it was last measured.
    """

    blocks: Float[Array, "b y w"]
    largest: Float[Array, " b"]

    def turned(self, eigenvalues: Eigenvalues, time: Array) -> "Sensitivities":
        """Return them after free motion."""
        turn = turn_less_one(eigenvalues, time)

        def one(_, block):
            columns, moves = block
            new = jax.lax.cond(moves, lambda: turned(turn, columns), lambda: columns)
            return None, in_place_of(columns, new)

        blocks = jax.lax.scan(one, None, (self.blocks, self.move()))[1]
        return self._replace(blocks=blocks)

    def measured(self) -> "Sensitivities":
        """Return them with the largest numbers of blocks that have not decayed."""

        def one(_, block):
            columns, largest, moves = block

            def new():
                # Along columns first, in vectors.
                return jnp.max(jnp.max(jnp.abs(columns), axis=0))

            return None, jax.lax.cond(moves, new, lambda: largest)

        largest = jax.lax.scan(one, None, (*self, self.move()))[1]
        return self._replace(largest=largest)

    def move(self) -> Bool[Array, " b"]:
        """Return which blocks have not decayed."""
        return ~(self.largest < DECAYED * jnp.max(self.largest))


def unit_sensitivities(size: int) -> Sensitivities:
    """Return the sensitivities at the start of a motion: the unit matrix."""
    rows = unit_rows(size)
    return Sensitivities(rows.transpose(0, 2, 1), jnp.ones(rows.shape[0]))


def unit_rows(size: int) -> Float[Array, "b w y"]:
    """Return the directions of the columns of each block: unit vectors, then zeros."""
    order, count, width = places_of_columns(size)
    # Compared, not listed: constants are part of a program's text.
    places = jnp.full(count * width, -1).at[:size].set(jnp.asarray(order))
    rows = (places[:, None] == jnp.arange(size)[None]).astype(float)
    return rows.reshape(count, width, size)


def places_of_columns(size: int) -> tuple[np.ndarray, int, int]:
    """Return the order of columns, the number of blocks, and that of columns of each.

    The two columns of a mode are beside each other, so that blocks decay one by one.
    """
    count = -(-size // _COLUMNS)
    width = -(-size // (count * _VECTOR)) * _VECTOR
    return np.arange(size).reshape(2, -1).T.reshape(-1), count, width


class _Response(NamedTuple):
    """How forces along the axes answer displacements along them in a step, or rates.

    `matrices` (k, k, d): from values at the nodes to forces there; `errors` (1, k, d): of
    the forces' means and first moments. `largest` (d,): slopes at the nodes, and `tails`
    (d,): last terms of their series.
    """

    matrices: Slopes
    errors: Slopes
    largest: Slopes
    tails: Slopes


def _responses(motion: EquationOfMotion, closed, path) -> tuple[_Response, _Response]:
    """Return the responses to displacements and to rates, from a step's `path`."""
    fine, coarse = _RULES
    by_fine = law_slopes(motion, closed, *(jnp.asarray(fine.points) @ x for x in path))
    by_coarse = law_slopes(motion, closed, *(jnp.asarray(coarse.points) @ x for x in path))
    at_nodes = law_slopes(motion, closed, *path[:, 1:-1])

    def response(one: Slopes, other: Slopes, nodal: Slopes) -> _Response:
        return _Response(
            one.each(lambda x: (jnp.asarray(fine.matrix) @ x).reshape(NODES, NODES, -1)),
            one.each(
                lambda x, y: (fine.moments @ x - jnp.asarray(coarse.moments) @ y)[None],
                other,
            ),
            nodal.each(lambda x: jnp.max(jnp.abs(x), axis=0)),
            nodal.each(lambda x: jnp.sum(jnp.abs(SHARES_OF_TERMS @ x), axis=0)),
        )

    by_depth, by_rate = zip(by_fine, by_coarse, at_nodes, strict=True)
    return response(*by_depth), response(*by_rate)


def moved_sensitivities(
    motion: EquationOfMotion,
    step: Collocation,
    closed: Bool[Array, " c"],
    path: Float[Array, "2 k d"],
    sensitivities: Sensitivities,
    left: Float[Array, " p"],
    allowed: Float[Array, ""],
) -> tuple[Sensitivities, Float[Array, ""]]:
    """Return sensitivities after a step, and the largest relative error of one.

    Where that is not `allowed` they are those before. `path`: displacements and rates in
    the step, with both ends; `left`: the part of each amplitude that is left at the end of
    the motion.
    """
    responses = _responses(motion, closed, path)

    def moved(count, sensitivities):
        few = few_contacts(motion, step, closed, count)
        of_few = [_Response(*map(few.of, response)) for response in responses]
        return _moved(step, few, of_few, sensitivities, left, allowed)

    # A step that is not accepted anyway needs no columns.
    return jax.lax.cond(
        allowed > 0,
        lambda same: by_number(motion, closed, moved, same),
        lambda same: (same, jnp.zeros(())),
        sensitivities,
    )


def _moved(step, few: Few, responses, sensitivities: Sensitivities, left, allowed):
    nodes, count = few.push.shape[:2]
    size = nodes * count
    slow, rate_slow = (taken(x, few.places, 1) for x in (step.slow, step.rate_slow))
    parts = (few.rows, few.echo, slow), (few.rate_rows, few.rate_echo, rate_slow)
    motions, matrix = [], jnp.eye(size)
    for response, (rows, echo, slow) in zip(responses, parts, strict=True):
        if rows is None or echo is None or slow is None:
            continue
        motions.append((response, rows, slow))
        back = echo.transpose(2, 3, 0, 1).reshape(nodes, count, -1)
        matrix = matrix + _answers(response.matrices, back).reshape(size, size)
    # Effects of the last terms of each axis's force, and of the terms of gaps left out.
    reach = jnp.linalg.norm(step.last * left[None, None], axis=-1)[:, few.places]
    whole_reach = jnp.linalg.norm(step.reach * left[:, None], axis=0)[few.places]
    factors = jax.scipy.linalg.lu_factor(matrix)
    push = few.push.reshape(size, -1).T
    moves = sensitivities.move()

    def pulls_of(_, block):
        columns, acts = block

        def some(_):
            forces, doubts = zip(
                *[_forced(*motion, columns) for motion in motions], strict=True
            )
            pulls = jax.scipy.linalg.lu_solve(factors, sum(forces).reshape(size, -1))
            terms = (SHARES_OF_TERMS @ pulls.reshape(nodes, -1)).reshape(2, count, -1)
            errors = jnp.sum(jnp.abs(terms) * reach[..., None], axis=(0, 1))
            errors = errors + whole_reach @ sum(doubts)
            return pulls, jnp.max(errors)

        def none(_):
            return jnp.zeros((size, columns.shape[1])), jnp.zeros(())

        return None, jax.lax.cond(acts, some, none, None)

    pulls, errors = jax.lax.scan(pulls_of, None, (sensitivities.blocks, moves))[1]
    worst = jnp.max(errors)

    def after(_, block):
        columns, acts, pulls = block

        def new():
            # Unfused, products are calls of a fast routine.
            pushed = jax.lax.optimization_barrier(push @ pulls)
            return turned(step.turn, columns, less=pushed)

        acts = (worst <= allowed) & acts
        return None, in_place_of(columns, jax.lax.cond(acts, new, lambda: columns))

    blocks = jax.lax.scan(after, None, (sensitivities.blocks, moves, pulls))[1]
    return sensitivities._replace(blocks=blocks), worst


def _forced(response: _Response, rows, slow, columns) -> tuple[Array, Array]:
    """Return forces (k, m, w) that answer columns of amplitudes, without their reaction.

    Also the sums of their errors (m, w): those of the slopes' matrices, and bounds of
    what the terms of motions left out cause. Where a step does not resolve an
    amplitude, they average out but for the last terms of the slopes.
    """
    amplitudes, nodes, count = rows.shape
    free = jax.lax.optimization_barrier(rows.reshape(amplitudes, -1).T @ columns)
    free = free.reshape(nodes, count, -1)
    wrong = jnp.abs(_answers(response.errors, free)[0])
    terms = (SHARES_OF_TERMS @ free.reshape(nodes, -1)).reshape(2, count, -1)
    seen = (slow.reshape(2 * count, amplitudes) @ columns).reshape(2, count, -1)
    sizes = response.largest.each(lambda x, y: (x, y), response.tails)

    def unseen(sizes, terms, seen):
        largest, tails = (x[None, :, None] for x in sizes)
        return jnp.sum(jnp.abs(largest * seen + tails * (terms - seen)), axis=0)

    wrong = wrong + unseen(sizes.own, terms, seen)
    if sizes.across is not None:
        others = terms[:, sizes.partners], seen[:, sizes.partners]
        wrong = wrong + unseen(sizes.across, *others)
    return _answers(response.matrices, free), wrong


def _answers(slopes: Slopes, motion: Float[Array, "k m r"]) -> Float[Array, "i m r"]:
    """Return what matrices (i, k, m) make of columns of motions."""
    found = jnp.einsum("ikm,kmr->imr", slopes.own, motion)
    if slopes.across is None:
        return found
    return found + jnp.einsum("ikm,kmr->imr", slopes.across, motion[:, slopes.partners])
