"""Derivatives of results of iterations, without differentiating the iteration."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import PyTree

from .. import linalg
from ..foundation.arrays import is_concrete
from ..foundation.types import AnyArray
from .lazy_linear import lazy_linearize


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def implicit_root(residual: Callable, root: AnyArray, parameters: PyTree) -> AnyArray:
    r"""Return a converged `root` as a differentiable function of `parameters`.

    Where $r(x, p) = 0$, the implicit function theorem gives

    $$\frac{dx}{dp} = -\Big(\frac{\partial r}{\partial x}\Big)^{-1}
      \frac{\partial r}{\partial p}.$$

    `residual(root, parameters)` must be a plain function; both Jacobians come from one
    call of `jax.jacfwd`, with columns for the perturbed parameters only. Derivatives
    work to any order, forward and reverse, however `root` was computed.
    """
    return root


def _root_rule(residual, primals, tangents):
    root, parameters = primals
    value = implicit_root(residual, root, parameters)
    moving = _Moving(parameters, tangents[1])
    if not moving.changes:
        return value, jnp.zeros_like(root)

    def moved(root, values):
        return residual(root, moving.filled(values))

    by_root, by_values = jax.jacfwd(moved, (0, 1))(value, moving.values)
    forcing = sum(
        jnp.tensordot(jacobian, change, change.ndim)
        for jacobian, change in zip(by_values, moving.changes, strict=True)
    )
    return value, -_solved(by_root, forcing)


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
    moving = _Moving(arguments, tangents[1])
    if not moving.changes:
        return value, jnp.zeros_like(value)

    def along(leaves, changes):
        def moved(values):
            return function(*moving.filled(values, leaves))

        return [jax.jvp(moved, (moving.of(leaves),), (changes,))[1]]

    (change,) = lazy_linearize(along, moving.leaves, moving.changes, [value])
    return value, change


with_derivative_of.defjvp(_function_rule, symbolic_zeros=True)


class _Moving:
    """The leaves of arguments that have tangents: their `values` and `changes`."""

    def __init__(self, arguments, tangents):
        self.leaves, self.tree = jax.tree.flatten(arguments)
        changes = jax.tree.leaves(tangents, is_leaf=_is_zero)
        self.places = [i for i, change in enumerate(changes) if not _is_zero(change)]
        self.values, self.changes = self.of(self.leaves), self.of(changes)

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
    return eqx.combine(_once(what, numbers), rest)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _once(what, numbers):
    return numbers


def _once_rule(what, primals, tangents):
    return _no_more(what, *primals), tangents[0]


_once.defjvp(_once_rule, symbolic_zeros=True)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _no_more(what, numbers):
    return numbers


@_no_more.defjvp
def _no_more_rule(what, primals, tangents):
    raise TypeError(
        f"second derivatives of {what}: take differences of first ones, which jax.jacfwd, "
        "jax.jacrev and jax.grad give"
    )


def _solved(matrix, right):
    columns = right.reshape(right.shape[0], -1)
    return linalg.solve(matrix, columns).reshape(right.shape)


def _is_zero(leaf) -> bool:
    return isinstance(leaf, SymbolicZero)
