"""Linear functions that are traced only if their results are used."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from ..kernels.calls.mesh_axes import aligned, typed_like


class _Linear(NamedTuple):
    """`function(values, changes)`, linear in the changes, and the shapes of its results.

    `known`: the number of values among its arguments; the remaining ones are changes.
    """

    function: Callable
    known: int
    results: tuple


def lazy_linearize(
    function: Callable, values: Sequence, changes: Sequence, results: Sequence
) -> Sequence[Array]:
    """Return `function(values, changes)`, arrays of shapes `results`, linear in `changes`.

    For JAX it is one primitive, whose function is traced when a program that contains
    it is compiled, and not at all if its results are unused. Unused derivatives of long
    motions then cost nothing. Works under `jit`, `vmap` and differentiation, forward
    and reverse.
    """
    linear = _Linear(
        lambda *arrays: function(list(arrays[: len(values)]), list(arrays[len(values) :])),
        len(values),
        tuple(jax.ShapeDtypeStruct(r.shape, r.dtype) for r in results),
    )
    arrays = aligned([jnp.asarray(array) for array in (*values, *changes)])
    return _DEFERRED.bind(*arrays, linear=linear)


_DEFERRED = core.Primitive("deferred_changes")
_DEFERRED.multiple_results = True


def _called(*arrays, linear):
    return linear.function(*arrays)


@_DEFERRED.def_abstract_eval
def _shapes(*arrays, linear):
    return typed_like(linear.results, arrays)


@_DEFERRED.def_impl
def _eager(*arrays, linear):
    # A derivative may be unknown, and unused.
    with jax.disable_jit(False), jax.debug_nans(False):
        return jax.jit(linear.function)(*arrays)


mlir.register_lowering(_DEFERRED, mlir.lower_fun(_called, multiple_results=True))


def _slope(primals, tangents, *, linear):
    changes = []
    for primal, tangent in zip(primals, tangents, strict=True):
        if isinstance(tangent, ad.Zero):
            moves = jnp.issubdtype(primal.dtype, jnp.inexact)
            kind = primal.dtype if moves else jax.dtypes.float0
            tangent = np.zeros(primal.shape, kind)
        changes.append(tangent)
    return jax.jvp(linear.function, tuple(primals), tuple(changes))


def _transposed(cotangents, *arrays, linear):
    values, changes = arrays[: linear.known], arrays[linear.known :]
    shapes = [jax.ShapeDtypeStruct(c.aval.shape, c.aval.dtype) for c in changes]
    given = [
        jnp.zeros(r.shape, r.dtype) if isinstance(c, ad.Zero) else c
        for c, r in zip(cotangents, linear.results, strict=True)
    ]

    def back(values, given):
        def forward(changes):
            return linear.function(*values, *changes)

        return jax.linear_transpose(forward, shapes)(given)[0]

    found = lazy_linearize(back, values, given, shapes)
    return [None] * linear.known + list(found)


def _mapped(arrays, axes, *, linear):
    size = next(
        array.shape[axis]
        for array, axis in zip(arrays, axes, strict=True)
        if axis is not None
    )
    mapped = jax.vmap(linear.function, in_axes=tuple(axes))

    def function(values, changes):
        return mapped(*values, *changes)

    results = [jax.ShapeDtypeStruct((size, *r.shape), r.dtype) for r in linear.results]
    found = lazy_linearize(
        function, arrays[: linear.known], arrays[linear.known :], results
    )
    return found, [0] * len(found)


ad.primitive_jvps[_DEFERRED] = _slope
ad.primitive_transposes[_DEFERRED] = _transposed
batching.primitive_batchers[_DEFERRED] = _mapped
