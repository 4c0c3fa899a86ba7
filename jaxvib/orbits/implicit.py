"""Derivatives of results of iterations, without differentiating the iteration."""

import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .. import linalg
from ..foundation.arrays import is_concrete
from ..foundation.types import AnyArray
from ..foundation.zero_tangents import is_zero
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel
from .lazy_linear import lazy_linearize


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
    return _refuse_second_derivatives(what, *primals), tangents[0]


_differentiated_once.defjvp(_differentiated_once_rule, symbolic_zeros=True)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _refuse_second_derivatives(what, numbers):
    return numbers


@_refuse_second_derivatives.defjvp
def _refuse_second_derivatives_rule(what, primals, tangents):
    raise TypeError(
        f"second derivatives of {what}: take differences of first ones, which jax.jacfwd, "
        "jax.jacrev and jax.grad give"
    )


def _solved(matrix, right):
    columns = right.reshape(right.shape[0], -1)
    return linalg.solve(matrix, columns).reshape(right.shape)
