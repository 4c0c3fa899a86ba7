"""Complex modes of a linear system, as real matrices."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..linear_modes import Blocks
from .collocation import Eigenvalues


class Eigenmodes(NamedTuple):
    r"""Complex modes: $s = \mathrm{Re}(V a)$ with $a = W s$ and $\dot a = \lambda a$.

    One of each pair of complex eigenvalues, and each real one, with real columns. The
    norm of $a$ is about the square root of twice the energy. `shapes` and `duals` are
    the transpose of V, and W, as real matrices for y, the real parts of the amplitudes
    followed by the imaginary ones.
    """

    eigenvalues: Eigenvalues
    shapes: Float[Array, "y state"]
    duals: Float[Array, "y state"]


def eigenmodes(blocks: Blocks) -> Eigenmodes:
    """Return the modes of real 2 x 2 blocks.

    A block [[a, b], [-b, a]] with b > 0 acts on (p, q) as a + i b does on p - i q.
    """
    to_state, to_blocks, decay, angular = blocks
    half = len(angular)
    turns = angular > 0
    pairs, real = np.flatnonzero(turns), np.flatnonzero(~turns)
    real = np.concatenate([real, real + half])
    # Amplitudes of real eigenvalues have no imaginary part.
    nothing = np.zeros((to_state.shape[0], real.size))
    shapes = [to_state[:, pairs], to_state[:, real], -to_state[:, pairs + half], nothing]
    duals = [to_blocks[pairs], to_blocks[real], -to_blocks[pairs + half], nothing.T]
    decay = np.concatenate([decay[pairs], decay[real]])
    angular = np.concatenate([angular[pairs], np.zeros(real.size)])
    # Modes that decay at about the same pace are neighbours.
    order = np.argsort(np.hypot(decay, angular), kind="stable")
    both = np.concatenate([order, order + order.size])
    shapes, duals = np.concatenate(shapes, axis=1), np.concatenate(duals, axis=0)
    eigenvalues = Eigenvalues(jnp.asarray(decay[order]), jnp.asarray(angular[order]))
    return Eigenmodes(eigenvalues, jnp.asarray(shapes.T[both]), jnp.asarray(duals[both]))
