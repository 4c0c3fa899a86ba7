"""Functions with a derivative rule that survives all transformations of JAX.

When JAX splits a loop for reverse mode, it replaces a `jax.custom_jvp` by its function
and drops the rule. A second derivative, as of `jax.hessian`, then differentiates the
function itself: a call of machine code, which has no derivative, or integration steps
whose derivatives are not error-controlled. A JAX primitive keeps its rule.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from ...foundation.arrays import is_concrete
from ...foundation.zero_tangents import symbolic_zero
from ..lower.tangents import is_lowering


def with_rule(function: Callable, rule: Callable) -> Callable:
    """Return a function of pytrees of arrays whose JVP is `rule`.

    `rule(primals, tangents)`: as of `jax.custom_jvp` with `symbolic_zeros=True`. Works
    under `jit`, `vmap` and differentiation of any order that the rule allows.
    """
    differentiable = jax.custom_jvp(function)
    differentiable.defjvp(rule, symbolic_zeros=True)

    def called(*arguments):
        if is_lowering() or is_concrete(arguments):
            return differentiable(*arguments)
        leaves, tree = jax.tree.flatten(arguments)
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        if not is_concrete(closed.consts):  # captured tracers are no operands
            return differentiable(*arguments)

        def of_leaves(*leaves):
            return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

        def of_changes(primals, tangents):
            trees = (jax.tree.unflatten(tree, each) for each in (primals, tangents))
            values, changes = rule(*trees)
            # A symbolic zero is a leaf, not a pytree.
            return jax.tree.leaves(values), jax.tree.leaves(changes)

        both = _Both(of_leaves, of_changes, tuple(jax.tree.leaves(shapes)))
        found = _RULED.bind(*aligned(list(map(jnp.asarray, leaves))), both=both)
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return called


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def refuse_second_derivatives(what: str, numbers: Any) -> Any:
    """Return numbers of a first derivative, of which no other can be computed."""
    return numbers


@refuse_second_derivatives.defjvp
def _refused(what, primals, tangents):
    raise TypeError(
        f"second derivatives of {what}: take differences of first ones, which jax.jacfwd, "
        "jax.jacrev and jax.grad give"
    )


class _Both(NamedTuple):
    """A function of arrays, its JVP rule, and the shapes of its results."""

    function: Callable
    rule: Callable
    results: tuple


_RULED = core.Primitive("function_with_rule")
_RULED.multiple_results = True


def function_of(equation: Any) -> Any:
    """Return the jaxpr of a function with a rule, `None` for other equations."""
    if equation.primitive is not _RULED:
        return None
    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return jax.make_jaxpr(equation.params["both"].function)(*shapes).jaxpr


@_RULED.def_abstract_eval
def _shapes(*arrays, both):
    return typed_like(both.results, arrays)


@_RULED.def_impl
def _called(*arrays, both):
    return both.function(*arrays)


mlir.register_lowering(_RULED, mlir.lower_fun(_called, multiple_results=True))


def _slope(primals, tangents, *, both):
    given = [
        symbolic_zero(primal) if isinstance(tangent, ad.Zero) else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    values, changes = both.rule(list(primals), given)
    zeros = [
        ad.Zero(jax.typeof(value).to_tangent_aval()) if is_none(change) else change
        for value, change in zip(values, changes, strict=True)
    ]
    return values, zeros


def _mapped(arrays, axes, *, both):
    size = next(
        array.shape[axis]
        for array, axis in zip(arrays, axes, strict=True)
        if axis is not None
    )

    def rule(primals, tangents):
        moving = [i for i, tangent in enumerate(tangents) if not is_none(tangent)]
        moved: list[int] = []

        def one(primals, changes):
            given: list[Any] = list(map(symbolic_zero, primals))
            for i, change in zip(moving, changes, strict=True):
                given[i] = change
            values, found = both.rule(primals, given)
            moved[:] = [k for k, change in enumerate(found) if not is_none(change)]
            return values, [found[k] for k in moved]

        axes_of = list(axes), [axes[i] for i in moving]
        given = list(primals), [tangents[i] for i in moving]
        values, found = jax.vmap(one, axes_of, axis_size=size)(*given)
        changes: list[Any] = list(map(symbolic_zero, values))
        for k, change in zip(moved, found, strict=True):
            changes[k] = change
        return values, changes

    results = (jax.ShapeDtypeStruct((size, *r.shape), r.dtype) for r in both.results)
    function = jax.vmap(both.function, tuple(axes), axis_size=size)
    found = _RULED.bind(*arrays, both=_Both(function, rule, tuple(results)))
    return found, [0] * len(found)


def is_none(change) -> bool:
    """Return whether a tangent is zero: symbolic, or of dtype float0."""
    none = isinstance(change, SymbolicZero | ad.Zero)
    return none or np.result_type(change.dtype) == jax.dtypes.float0


ad.primitive_jvps[_RULED] = _slope
batching.primitive_batchers[_RULED] = _mapped


def aligned(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays that all vary over the mesh axes over which any of them does.

    Under `jax.shard_map` a primitive's arguments do; the cotangent of one that is the
    same on all devices is then the sum over these.
    """
    axes = [_varying(jax.typeof(array)) for array in arrays]
    every = frozenset().union(*axes)
    return [
        jax.lax.pcast(array, tuple(every - own), to="varying") if every - own else array
        for array, own in zip(arrays, axes, strict=True)
    ]


def typed_like(results: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Return the types of results of given shapes, which vary as the arguments do."""
    if not arguments:
        return [jax.core.ShapedArray(r.shape, r.dtype) for r in results]
    first = max(arguments, key=lambda each: len(_varying(each)))
    return [first.update(shape=r.shape, dtype=r.dtype, weak_type=False) for r in results]


def _varying(kind: Any) -> frozenset:
    # The name differs between versions of JAX.
    return getattr(getattr(kind, "mat", kind), "varying", getattr(kind, "vma", frozenset()))
