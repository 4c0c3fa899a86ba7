r"""Sensitivities of the amplitudes: diagonal in flights, plus low rank in contact.

A step in contact changes them by

$$Y \to e^{\Lambda h} Y - E\,(I + f' W)^{-1} f' R\, Y,$$

the derivative of the converged equation of the forces. Columns are in blocks that fit
into a core's cache. Those of modes that have decayed are left alone.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...systems.impact import EquationOfMotion
from .collocation import Collocation, Eigenvalues, turn_less_one, turned
from .contact import SHARES_OF_TERMS, Forces, by_number, few_contacts, law_slopes

# Columns of a block, in whole vectors.
_COLUMNS, _VECTOR = 32, 8
# Amplitudes below this have decayed: those of the unit changes are 1 at first.
_DECAYED = 1e-20


class Sensitivities(NamedTuple):
    """Changes of amplitudes (2p,) by the initial ones, in b blocks of w columns.

    `largest` (b,): the largest number of each block after the last flight.
    """

    blocks: Float[Array, "b y w"]
    largest: Float[Array, " b"]

    def whole(self) -> Float[Array, "y y"]:
        """Return the matrix with its columns in order."""
        size = self.blocks.shape[1]
        columns = self.blocks.transpose(1, 0, 2).reshape(size, -1)
        return columns[:, np.argsort(_order(size))]

    def turned(self, eigenvalues: Eigenvalues, time: Array) -> "Sensitivities":
        """Return them after free motion."""
        turn = turn_less_one(eigenvalues, time)

        def one(_, block):
            columns, largest = block

            def new(_):
                found = turned(turn, columns)
                # Along columns first, in vectors.
                return found, jnp.max(jnp.max(jnp.abs(found), axis=0))

            acts = largest > _DECAYED
            return None, jax.lax.cond(acts, new, lambda _: (columns, largest), None)

        return Sensitivities(*jax.lax.scan(one, None, tuple(self))[1])


def unit_sensitivities(size: int) -> Sensitivities:
    """Return the sensitivities at the start of a motion: the unit matrix."""
    count = -(-size // _COLUMNS)
    width = -(-size // (count * _VECTOR)) * _VECTOR
    columns = np.zeros((size, count * width))
    columns[_order(size), np.arange(size)] = 1.0
    blocks = columns.reshape(size, count, width).transpose(1, 0, 2)
    return Sensitivities(jnp.asarray(blocks), jnp.ones(count))


def _order(size: int) -> np.ndarray:
    """Return the columns with the two of each mode beside each other."""
    return np.arange(size).reshape(2, -1).T.reshape(-1)


def moved_sensitivities(
    motion: EquationOfMotion,
    step: Collocation,
    closed: Bool[Array, " c"],
    found: Forces,
    sensitivities: Sensitivities,
    left: Float[Array, " p"],
    allowed: Float[Array, ""],
) -> tuple[Sensitivities, Float[Array, ""]]:
    """Return sensitivities after a step, and the largest relative error of one.

    Where that is not `allowed` they are those before. `left`: the part of each
    amplitude that is left at the end of the motion.
    """
    slopes = law_slopes(motion, closed, found.depths, found.rates)

    def moved(count, sensitivities):
        return _moved(step, closed, count, slopes, sensitivities, left, allowed)

    return by_number(closed, moved, sensitivities)


def _moved(step, closed, count, slopes, sensitivities: Sensitivities, left, allowed):
    few = few_contacts(step, closed, count)
    slopes = [slope[:, few.places] for slope in slopes]
    nodes = slopes[0].shape[0]
    rows = few.rows * slopes[0][None]
    if few.rate_rows is not None:
        rows = rows + few.rate_rows * slopes[1][None]
    # What fast modes do averages out but for the last terms of the pulls.
    reach = jnp.linalg.norm(step.last * left[None, None], axis=-1)[:, few.places]
    slow_reach = jnp.linalg.norm(step.reach * left[:, None], axis=0)[few.places]
    slow = jnp.einsum("qk,ykc->qcy", SHARES_OF_TERMS, rows * step.slow[:, None, None])
    slow = (slow * slow_reach[None, :, None]).reshape(2 * count, -1)
    rows = rows.reshape(-1, nodes * count).T
    # The inverse makes the solution for many columns a product.
    inverse = jnp.linalg.inv(few.matrix(tuple(slopes)))
    push = few.push.reshape(nodes * count, -1).T

    def pulls_of(_, block):
        columns, largest = block

        def some(_):
            # Unfused, products are calls of a fast routine.
            pulls = inverse @ jax.lax.optimization_barrier(rows @ columns)
            terms = (SHARES_OF_TERMS @ pulls.reshape(nodes, -1)).reshape(2, count, -1)
            errors = jnp.sum(jnp.abs(terms) * reach[..., None], axis=(0, 1))
            errors = errors + jnp.sum(jnp.abs(slow @ columns), axis=0)
            return pulls, jnp.max(errors)

        def none(_):
            return jnp.zeros((rows.shape[0], columns.shape[1])), jnp.zeros(())

        return None, jax.lax.cond(largest > _DECAYED, some, none, None)

    pulls, errors = jax.lax.scan(pulls_of, None, tuple(sensitivities))[1]
    worst = jnp.max(errors)

    def after(_, block):
        columns, largest, pulls = block

        def new(_):
            pushed = jax.lax.optimization_barrier(push @ pulls)
            return turned(step.turn, columns, less=pushed)

        acts = (worst <= allowed) & (largest > _DECAYED)
        return None, jax.lax.cond(acts, new, lambda _: columns, None)

    blocks, largest = sensitivities
    blocks = jax.lax.scan(after, None, (blocks, largest, pulls))[1]
    return Sensitivities(blocks, largest), worst
