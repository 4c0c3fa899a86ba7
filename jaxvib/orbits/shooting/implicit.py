"""Derivatives of results of iterations, without differentiating the iteration."""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, PyTree

from ... import linalg
from ...foundation.arrays import is_concrete
from ...foundation.types import AnyArray
from ...foundation.zero_tangents import is_zero
from ...kernels import Kernel
from ...kernels.calls.derivative_rule import aligned, refuse_second_derivatives, typed_like
from ...kernels.calls.kernel_cache import cached_kernel


@dataclasses.dataclass(frozen=True)
class KernelFunction:
    """A function whose Jacobians are computed by one kernel, cached under `key`.

    XLA needs a second to compile the operations around the kernels of a motion. `key`:
    everything that the function depends on besides its arguments.
    """

    function: Callable = dataclasses.field(compare=False)
    key: tuple[Hashable, ...]

    def __call__(self, *arguments):
        """Return the function's result."""
        return self.function(*arguments)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def implicit_root(residual: Callable, root: AnyArray, parameters: PyTree) -> AnyArray:
    r"""Return a converged `root` as a differentiable function of `parameters`.

    Where $r(x, p) = 0$, the implicit function theorem gives

    $$\frac{dx}{dp} = -\Big(\frac{\partial r}{\partial x}\Big)^{-1}
      \frac{\partial r}{\partial p}.$$

    `residual(root, parameters)` must be a plain function or a `KernelFunction`; both
    Jacobians come from one call of `jax.jacfwd`, with columns for the perturbed
    parameters only. Derivatives work to any order, forward and reverse, however `root`
    was computed.
    """
    return root


def _root_rule(residual, primals, tangents):
    root, parameters = primals
    value = implicit_root(residual, root, parameters)
    moving = _Moving.along(parameters, tangents[1])
    if not moving.changes:
        return value, jnp.zeros_like(root)
    if isinstance(residual, KernelFunction):
        slopes = _slopes_kernel(residual, moving.places)(value, parameters)
        return value, _jvp(slopes, moving.changes)
    by_root, by_values = _by_root_and_values(residual, value, moving)
    return value, -_solved(by_root, _jvp(by_values, moving.changes))


def _by_root_and_values(residual, root, moving: "_Moving"):
    """Return the Jacobians of a residual by its root and by the perturbed parameters."""

    def moved(root, values):
        return residual(root, moving.filled(values))

    return jax.jacfwd(moved, (0, 1))(root, moving.values)


@functools.lru_cache(maxsize=64)
def _slopes_kernel(residual: KernelFunction, places: tuple[int, ...]) -> Kernel:
    """Return the kernel of (root, parameters) to the root's Jacobians by leaves."""

    def slopes(root, parameters):
        moving = _Moving(parameters, places)
        by_root, by_values = _by_root_and_values(residual.function, root, moving)
        return [-_solved(by_root, jacobian) for jacobian in by_values]

    return cached_kernel(slopes, residual.key, places)


implicit_root.defjvp(_root_rule, symbolic_zeros=True)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def with_derivative_of(function: Callable, value: AnyArray, arguments: tuple) -> AnyArray:
    """Return `value`, which equals `function(*arguments)`, with that derivative.

    For values computed as part of another result: the function is traced only if a
    derivative is requested and used.
    """
    return value


def _function_rule(function, primals, tangents):
    value, arguments = primals
    value = with_derivative_of(function, value, arguments)
    moving = _Moving.along(arguments, tangents[1])
    if not moving.changes:
        return value, jnp.zeros_like(value)

    def along(leaves, changes):
        if isinstance(function, KernelFunction):
            kernel = _jacobian_kernel(function, moving.places)
            jacobians = kernel(*jax.tree.unflatten(moving.tree, leaves))
            return [_jvp(jacobians, changes)]

        def moved(values):
            return function(*moving.filled(values, leaves))

        return [jax.jvp(moved, (moving.of(leaves),), (changes,))[1]]

    (change,) = lazy_linearize(along, moving.leaves, moving.changes, [value])
    return value, change


with_derivative_of.defjvp(_function_rule, symbolic_zeros=True)


@functools.lru_cache(maxsize=64)
def _jacobian_kernel(function: KernelFunction, places: tuple[int, ...]) -> Kernel:
    """Return the kernel of a function's arguments to its Jacobians by leaves."""

    def jacobians(*arguments):
        moving = _Moving(arguments, places)
        by_values = jax.jacfwd(lambda values: function.function(*moving.filled(values)))
        return by_values(moving.values)

    return cached_kernel(jacobians, function.key, places)


def _jvp(jacobians, changes):
    """Return the sum of Jacobians times changes."""
    return sum(
        jnp.tensordot(jacobian, change, change.ndim)
        for jacobian, change in zip(jacobians, changes, strict=True)
    )


class _Moving:
    """The leaves of arguments at the `places` that have tangents."""

    def __init__(self, arguments, places: tuple[int, ...]):
        self.leaves, self.tree = jax.tree.flatten(arguments)
        self.places, self.values = places, [self.leaves[i] for i in places]
        self.changes: list[Any] = []

    @classmethod
    def along(cls, arguments, tangents) -> "_Moving":
        """Return the leaves with tangents that are not zero, and these as `changes`."""
        changes = jax.tree.leaves(tangents, is_leaf=is_zero)
        places = tuple(i for i, change in enumerate(changes) if not is_zero(change))
        moving = cls(arguments, places)
        moving.changes = moving.of(changes)
        return moving

    def of(self, leaves) -> list:
        """Return those of all leaves that have tangents."""
        return [leaves[i] for i in self.places]

    def filled(self, values, leaves=None):
        """Return the arguments with other values of these leaves."""
        every = list(self.leaves if leaves is None else leaves)
        for i, value in zip(self.places, values, strict=True):
            every[i] = value
        return jax.tree.unflatten(self.tree, every)


def differentiable_once(tree: PyTree, what: str) -> Any:
    """Return a tree that can be differentiated once; a second derivative raises.

    It raises before anything is computed: the primitives without second derivatives
    would do so after minutes of compilation.
    """
    numbers, rest = eqx.partition(tree, eqx.is_inexact_array)
    if is_concrete(numbers):
        return tree
    return eqx.combine(_differentiated_once(what, numbers), rest)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _differentiated_once(what, numbers):
    return numbers


def _differentiated_once_rule(what, primals, tangents):
    return refuse_second_derivatives(what, *primals), tangents[0]


_differentiated_once.defjvp(_differentiated_once_rule, symbolic_zeros=True)


def _solved(matrix, right):
    columns = right.reshape(right.shape[0], -1)
    return linalg.solve(matrix, columns).reshape(right.shape)


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
