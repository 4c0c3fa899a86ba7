"""An optimization barrier: values that XLA computes once, not in each use."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
from jax.custom_derivatives import SymbolicZero

from ..kernels.lower.tangents import is_lowering

_BARRIERS = jax.__version_info__ >= (0, 12)


class Barrier(NamedTuple):
    """Return values that XLA computes once and does not recompute in each use.

    Its CPU compiler fuses a chain of sums into all of their consumers, which multiplies
    the work and the compile time. Optimization barriers prevent that from JAX 0.12 on;
    earlier compilers drop them before fusion. There the values are divided by a 1 that
    XLA cannot know: too expensive to duplicate, and about as costly as a barrier.
    Tangents are divided by the tangent of that 1, if it has one: a separate 1 for each
    sensitivity, as a common one would be factored out.

    **Fields:** `one`: a 1 that XLA cannot know.
    """

    one: Any

    def __call__(self, tree):
        """Return a tree whose floating-point arrays are computed once."""
        values, others = eqx.partition(tree, eqx.is_inexact_array)
        if is_lowering() or not jax.tree.leaves(values):  # LLVM computes it once anyway
            return tree
        if _BARRIERS:
            return eqx.combine(jax.lax.optimization_barrier(values), others)
        return eqx.combine(_divided(values, self.one), others)


@jax.custom_jvp
def _divided(values, one):
    return jax.tree.map(lambda x: x / one, values)


def _divided_rule(primals, tangents):
    values, one = primals
    changes, ones = tangents
    ones = one if isinstance(ones, SymbolicZero) else ones
    changes, tree = jax.tree.flatten(changes)
    moved = iter(_divided([c for c in changes if not isinstance(c, SymbolicZero)], ones))
    changes = [c if isinstance(c, SymbolicZero) else next(moved) for c in changes]
    return _divided(values, one), jax.tree.unflatten(tree, changes)


_divided.defjvp(_divided_rule, symbolic_zeros=True)
