"""Steps of one long chain by tiles that fit into the processor's cache."""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import Range, check_range
from ...foundation.threads import map_in_threads
from ...systems.chain import BeamChain
from .lanes import LANES, stencil_of, step_lanes
from .stepping import stage_weights, step_chain

# Steps of a tile before its halo is refreshed. More steps widen the halo, whose work is
# wasted; fewer load the state from memory more often.
_ROUND = 32
_PARTS = 4  # of the chain, distributed over the cores, for load balance


def step_long_chain(
    chain: BeamChain,
    state: Real[ArrayLike, "4 bodies"] | Sequence,
    duration: Real[ArrayLike, ""] | float,
    steps: int,
    *,
    order: int = 2,
    tile: int = 1000,
) -> Float[Array, "4 bodies"]:
    """Like `step_chain`, for a uniform periodic chain with many bodies.

    Forces act one body further with each stage of a step. A tile with a halo of as many
    bodies as it has stages to come is therefore advanced independently, in the cache;
    the halo's states become invalid, and are dropped. Eight tiles are advanced as one
    group of lanes, groups on all cores. **Raises:** `ValueError` for a chain with ends
    or defects, a number of bodies that is not a multiple of `tile`.

    >>> long = jv.BeamChain(bodies=2000)
    >>> state = jv.dynamics.kick(long, body=3, velocity=1.0)
    >>> jv.dynamics.step_long_chain(long, state, duration=1.0, steps=20).shape
    (4, 2000)
    """
    if not chain.uniform or chain.ends != "periodic":
        raise ValueError("the chain has ends or defects; allowed: uniform and periodic")
    check_range("tile", tile, "bodies", Range(at_least=2))
    if chain.bodies % tile:
        raise ValueError(f"bodies = {chain.bodies} is not a multiple of tile = {tile}")
    state = jnp.asarray(state, float)
    step = jnp.asarray(duration, float) / steps
    rounds, rest = divmod(steps, _ROUND)
    tiles = chain.bodies // tile
    # an accelerator takes all tiles at once
    lanes = LANES if jax.default_backend() == "cpu" else tiles
    parts = min(_PARTS, -(-tiles // lanes))
    for _ in range(rounds):
        move = functools.partial(_part_moved, chain, order, tile, lanes, parts, state, step)
        state = _joined(map_in_threads(move, jnp.arange(parts)), chain.bodies)
    if rest:
        state = step_chain(chain, state, step * rest, rest, order=order)
    return state


@eqx.filter_jit
def _part_moved(chain, order, tile, lanes, parts, state, step, part):
    """Return the tiles of a part, (4, groups, lanes, tile), after a round."""
    # one more: the first kick of a tile already lacks a neighbour
    halo = _ROUND * len(stage_weights(order)) + 1
    groups = -(-(chain.bodies // tile) // (lanes * parts))
    piece = BeamChain(
        tile + 2 * halo, chain.gamma, mass=chain.mass, length=chain.length,
        bending_stiffness=chain.bending_stiffness,
    )  # fmt: skip
    stencil = stencil_of(piece)
    reach = jnp.arange(tile + 2 * halo)[:, None] + tile * jnp.arange(lanes)[None, :]

    def move(group):
        # indices beyond the last tile wrap around to the first ones
        start = (part * groups + group) * lanes * tile - halo
        wide = jnp.take(state, (start + reach) % chain.bodies, axis=1)
        moved = step_lanes(stencil, wide, step, _ROUND, order, stale=True)
        return jnp.moveaxis(moved[:, halo:-halo], -1, 1)

    return jnp.moveaxis(jax.lax.map(move, jnp.arange(groups)), 0, 1)


@functools.partial(jax.jit, static_argnums=1)
def _joined(parts, bodies):
    return jnp.concatenate([each.reshape(4, -1) for each in parts], 1)[:, :bodies]
