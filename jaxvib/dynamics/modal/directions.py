r"""Initial changes that sensitivities are along: as few as their rank asks for.

Free motion decays, and contacts act through few gaps: after a while the sensitivities of
many modes Y have a small rank. Gram-Schmidt on sums of their rows gives

$$Y = U V + R, \qquad V V^T = I,$$

with a small R. The columns of U are the changes along the rows of V, unit changes of the
start, as those of Y were along unit vectors.

**Source:** Halko, Martinsson and Tropp (2011), Finding structure with randomness:
probabilistic algorithms for constructing approximate matrix decompositions.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...kernels.lower.in_place import in_place_of
from .collocation import Eigenvalues
from .sensitivities import DECAYED, Sensitivities, unit_rows

# Blocks of columns that are looked for.
_FEW = 2
# The rank is about that of the modes that have not decayed, and this many more.
_MORE = 16
# It is looked for again when it must have fallen to this part.
_FALLEN = 0.6
# Factors and shifts of a hash of numbers.
_HASH = (2654435761, 15), (2246822519, 13)


class Directions(NamedTuple):
    """Initial changes (b, w, 2p) that blocks of columns are along.

    `due`: the rank from which on fewer may do.
    """

    rows: Float[Array, "b w y"]
    due: Float[Array, ""]

    def matrix(
        self,
        sensitivities: Sensitivities,
        shapes: Float[Array, "y state"],
        duals: Float[Array, "y state"],
    ) -> Float[Array, "state state"]:
        """Return the changes of states by the initial ones."""

        def more(found, block):
            columns, rows, moves = block

            def added(found):
                return found + (shapes.T @ columns) @ (rows @ duals)

            return jax.lax.cond(moves, added, lambda found: found, found), None

        first = jnp.zeros((shapes.shape[1], duals.shape[1]))
        blocks = sensitivities.blocks, self.rows, sensitivities.move()
        return jax.lax.scan(more, first, blocks)[0]

    def fewer(
        self, sensitivities: Sensitivities, eigenvalues: Eigenvalues, elapsed: Any
    ) -> tuple[Sensitivities, "Directions"]:
        """Return fewer columns and their directions, if the rank may have fallen.

        `elapsed`: the time since the start, s.
        """
        count, _, width = sensitivities.blocks.shape
        sensitivities = sensitivities.measured()
        if count <= _FEW:
            return sensitivities, self
        lives = jnp.exp(eigenvalues.decay * elapsed) > DECAYED
        rank = 2.0 * jnp.sum(lives.astype(float)) + _MORE
        now = width * jnp.sum(sensitivities.move().astype(float))
        due = (rank <= self.due) & (rank <= _FEW * width) & (rank <= now / 2)
        new, rows = jax.lax.cond(
            due, _fewer, lambda *same: same[:2], sensitivities, self, rank
        )
        # Where they were, so that loops may replace them.
        blocks = in_place_of(sensitivities.blocks, new.blocks)
        rows = rows._replace(rows=in_place_of(self.rows, rows.rows))
        return new._replace(blocks=blocks), rows


def unit_directions(size: int) -> Directions:
    """Return the directions at the start of a motion: unit vectors."""
    return Directions(unit_rows(size), jnp.asarray(jnp.inf))


def _fewer(sensitivities: Sensitivities, directions: Directions, rank):
    blocks, moves = sensitivities.blocks, sensitivities.move()
    least = DECAYED * jnp.max(sensitivities.largest)
    rows = _directions_of(_mixed(blocks, moves), moves, least)
    columns, left = _along(blocks, moves, rows)
    count, width = blocks.shape[0], blocks.shape[2]

    def replaced(_):
        new = columns.T.reshape(_FEW, width, -1)
        largest = jnp.max(jnp.max(jnp.abs(new), axis=2), axis=1)
        none = jnp.zeros((count - _FEW, width, new.shape[2]))

        def more(found, block):
            part, known, moves = block

            def added(found):
                return found + part @ known

            return jax.lax.cond(moves, added, lambda found: found, found), None

        first = jnp.zeros((_FEW * width, new.shape[2]))
        whole = jax.lax.scan(more, first, (rows, directions.rows, moves))[0]
        fewer = Sensitivities(
            jnp.concatenate([new, none]).transpose(0, 2, 1),
            jnp.concatenate([largest, jnp.zeros(count - _FEW)]),
        )
        return fewer, jnp.concatenate([whole.reshape(_FEW, width, -1), none])

    found = left <= least, replaced, lambda _: (sensitivities, directions.rows), None
    fewer, rows = jax.lax.cond(*found)
    return fewer, Directions(rows, _FALLEN * rank)


def _mixed(blocks, moves) -> Float[Array, "b r w"]:
    """Return sums of all rows with signs that have no pattern."""
    size, width = blocks.shape[1:]
    number = jnp.arange(_FEW * width * size, dtype=jnp.uint32) + 1
    for factor, shift in _HASH:
        number = number * jnp.uint32(factor)
        number = number ^ (number >> jnp.uint32(shift))
    signs = jnp.where(number & 1 == 1, 1.0, -1.0).reshape(-1, size)
    return _of_moving(lambda block, _: signs @ block, blocks, moves, blocks)


def _directions_of(rows, moves, least) -> Float[Array, "b r w"]:
    """Return directions that rows are along, the longest row first, then zeros."""
    count, number, width = rows.shape

    def squares_of(rows):
        def squares(row, _):
            return jnp.sum(row**2, axis=1)

        return jnp.sum(_of_moving(squares, rows, moves, rows), axis=0)

    def one(last, _):
        def taken(rows, squares):
            longest = jnp.argmax(squares)
            direction = jax.lax.dynamic_index_in_dim(rows, longest, 1, keepdims=False)
            direction = direction / jnp.sqrt(squares[longest])
            along = _of_moving(lambda row, part: row @ part, rows, moves, direction)
            along = jnp.sum(along, axis=0)

            def without(_, block):
                row, moves, part = block
                rest = jax.lax.cond(
                    moves, lambda: row - along[:, None] * part[None], lambda: row
                )
                return None, in_place_of(row, rest)

            rest = jax.lax.scan(without, None, (rows, moves, direction))[1]
            return rest, squares_of(rest), direction

        def nothing(rows, squares):
            return rows, squares, jnp.zeros((count, width))

        acts = jnp.max(last[1]) > least**2
        *last, direction = jax.lax.cond(acts, taken, nothing, *last)
        return tuple(last), direction

    found = jax.lax.scan(one, (rows, squares_of(rows)), None, length=number)[1]
    return found.transpose(1, 0, 2)


def _along(blocks, moves, rows) -> tuple[Float[Array, "y r"], Float[Array, ""]]:
    """Return the columns along directions, and the length of the largest row left."""
    number = rows.shape[1]

    def more(found, block):
        columns, part, moves = block

        def added(found):
            return found[0] + columns @ part.T, found[1] + part @ part.T

        return jax.lax.cond(moves, added, lambda found: found, found), None

    first = jnp.zeros((blocks.shape[1], number)), jnp.zeros((number, number))
    columns, products = jax.lax.scan(more, first, (blocks, rows, moves))[0]
    # Rounding errors leave short rows at small angles; zeros are no directions.
    none = jnp.diag(jnp.where(jnp.diagonal(products) > 0, 0.0, 1.0))
    columns = jnp.linalg.solve(products + none, columns.T).T

    def squares(block, part):
        return jnp.sum((block - columns @ part) ** 2, axis=1)

    left = jnp.sum(_of_moving(squares, blocks, moves, rows), axis=0)
    return columns, jnp.sqrt(jnp.max(left))


def _of_moving(function, blocks, moves, parts) -> Array:
    """Return what a function makes of each block that moves and its part, else zeros."""
    shape = jax.eval_shape(function, blocks[0], parts[0])

    def one(_, block):
        columns, moves, part = block
        return None, jax.lax.cond(
            moves,
            lambda: function(columns, part),
            lambda: jnp.zeros(shape.shape),
        )

    return jax.lax.scan(one, None, (blocks, moves, parts))[1]
