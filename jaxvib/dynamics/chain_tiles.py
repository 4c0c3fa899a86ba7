"""Steps of one long chain by tiles that stay in the processor's cache."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from .._quantity import Range, check_range
from ..systems.chain import BeamChain
from .chain_stepping import stages, step_chain

_ROUND = 32  # steps of a tile before its neighbours are looked at again


def step_long_chain(
    chain: BeamChain,
    state: Real[ArrayLike, "4 bodies"],
    duration: Real[ArrayLike, ""] | float,
    steps: int,
    *,
    order: int = 2,
    tile: int = 4000,
) -> Float[Array, "4 bodies"]:
    """Return what `step_chain` returns, of a uniform periodic chain with many bodies.

    Forces reach one body further with each stage of a step. So a tile with as many of
    its neighbours as it has stages to come moves on by itself, in the cache; only the
    neighbours' states go stale, and are dropped. **Raises:** `ValueError` for a chain
    with ends or defects, a number of bodies that is no multiple of `tile`.
    """
    if not chain.uniform or chain.ends != "periodic":
        raise ValueError("the chain has ends or defects; allowed: uniform and periodic")
    check_range("tile", tile, "bodies", Range(at_least=2))
    if chain.bodies % tile:
        raise ValueError(f"bodies = {chain.bodies} is no multiple of tile = {tile}")
    state = jnp.asarray(state, float)
    step = jnp.asarray(duration, float) / steps
    rounds, rest = divmod(steps, _ROUND)
    state = _rounds(chain, order, tile, rounds, state, step)
    if rest:
        state = step_chain(chain, state, step * rest, rest, order=order)
    return state


@eqx.filter_jit
def _rounds(chain, order, tile, rounds, state, step):
    # one more: the first kick of a tile already lacks a neighbour
    halo = _ROUND * stages(order) + 1
    part = BeamChain(
        tile + 2 * halo,
        chain.gamma,
        mass=chain.mass,
        length=chain.length,
        bending_stiffness=chain.bending_stiffness,
    )
    around = jnp.arange(-halo, chain.bodies + halo) % chain.bodies

    def advance(_, state):
        wide = state[:, around]

        def move(start):
            piece = jax.lax.dynamic_slice(wide, (0, start), (4, tile + 2 * halo))
            moved = step_chain(part, piece, step * _ROUND, _ROUND, order=order)
            return moved[:, halo:-halo]

        moved = jax.lax.map(move, tile * jnp.arange(chain.bodies // tile))
        return jnp.swapaxes(moved, 0, 1).reshape(state.shape)

    return jax.lax.fori_loop(0, rounds, advance, state)
