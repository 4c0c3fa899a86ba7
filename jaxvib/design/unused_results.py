"""Dead code elimination before differentiation.

Apart from `problem.py`, its only user, because it alone uses JAX's partial evaluation,
which has no stability promise.
"""

from collections.abc import Callable

import jax
import jax.extend
from jax.interpreters import partial_eval
from jaxtyping import PyTree


def without_unused_results(function: Callable, *arguments: PyTree) -> Callable:
    """Return the function after dead code elimination, for arguments of the same shape.

    XLA eliminates dead code only after derivatives of every field of an orbit are
    traced, even if one field is used. Eliminating it first reduces the tracing time of
    a design's gradient to two thirds.
    """
    traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    used = [True] * len(traced.jaxpr.outvars)
    lean, _ = partial_eval.dce_jaxpr(traced.jaxpr, used, instantiate=True)
    flat = jax.extend.core.jaxpr_as_fun(jax.extend.core.ClosedJaxpr(lean, traced.consts))
    tree = jax.tree.structure(shape)

    def run(*arguments):
        return jax.tree.unflatten(tree, flat(*jax.tree.leaves(arguments)))

    return run
