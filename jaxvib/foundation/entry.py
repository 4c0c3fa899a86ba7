"""Calls of public functions: in float64, of parameters within their ranges."""

import dataclasses
import functools
import traceback
from pathlib import Path
from types import FunctionType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .arrays import is_concrete
from .environment import has_float64, require_float64

_PACKAGE = str(Path(__file__).parents[1])
_NARROW: dict[Any, type] = {
    jnp.dtype(name): complex if name == "complex64" else float
    for name in ("bfloat16", "float16", "float32", "complex64")
}


def call(function: FunctionType, given: tuple, named: dict[str, Any]) -> Any:
    """Call a public function.

    If there is a system or a part of one among its arguments, float32 numbers become
    float64 (so that their derivatives are float32), and traced parameters out of their
    range NaN. **Raises:** `ValueError` if float64 is disabled, for arguments sharded
    over explicit axes, and for traced values where concrete ones are needed.
    """
    given, named = _in_float64((given, named))
    # Programs are compiled under `jax.disable_jit` too: as Python, they would take
    # concrete values for values without derivatives.
    try:
        with jax.disable_jit(False):
            return function(*given, **named)
    except jax.errors.JAXTypeError as error:
        if is_concrete((given, named)) or not _is_ours(error):
            raise
        raise ValueError(
            f"{function.__name__} with these arguments decides on the host, but values are "
            "traced; allowed: concrete ones, outside of jit and vmap"
        ) from error


def _is_ours(error: Exception) -> bool:
    """Return whether code of jaxvib, not of its user, needs a concrete value."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    ours = [file for file in files if "site-packages" not in file or _PACKAGE in file]
    return _PACKAGE in ours[-1]


def _in_float64(arguments):
    leaves = jax.tree.leaves(arguments)
    if has_float64() and not any(map(_is_changed, leaves)):
        return arguments
    modules = jax.tree.leaves(arguments, is_leaf=_is_module)
    if not any(_is_module(each) and not _is_result(each) for each in modules):
        return arguments
    require_float64()
    _refuse_explicit_axes(leaves)
    return jax.tree.map(_entered, arguments, is_leaf=_is_module)


def within_ranges(module: PyTree) -> Any:
    """Return a module whose traced quantities are NaN where out of their range.

    Concrete ones are checked where the module is built.
    """
    if is_concrete(module):
        return module
    return jax.tree_util.tree_map_with_path(functools.partial(_within, module), module)


def _refuse_explicit_axes(leaves) -> None:
    for leaf in leaves:
        traced = isinstance(leaf, jax.core.Tracer)
        mesh = jax.typeof(leaf).sharding.mesh if traced else None
        if mesh is not None and jax.sharding.AxisType.Explicit in mesh.axis_types:
            raise ValueError(
                f"an argument is sharded over explicit axes {mesh.axis_names}; allowed: "
                "axis_types=jax.sharding.AxisType.Auto, or jax.shard_map"
            )


def _is_module(node) -> bool:
    return isinstance(node, eqx.Module)


def _is_changed(leaf) -> bool:
    return getattr(leaf, "dtype", None) in _NARROW or isinstance(leaf, jax.core.Tracer)


def _entered(node):
    if _is_result(node):
        return node
    return within_ranges(jax.tree.map(_widened, node, is_leaf=_is_result))


def _is_result(node) -> bool:
    return _has_results(type(node))


@functools.cache
def _has_results(kind: type) -> bool:
    """Return whether a class has fields declared by `result_field`."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return any("axes" in field.metadata for field in fields)


def _widened(leaf):
    wide = _NARROW.get(getattr(leaf, "dtype", None))
    return leaf if wide is None else jnp.asarray(leaf, wide)


def _within(module, path, leaf):
    if not (isinstance(leaf, jax.core.Tracer) and eqx.is_inexact_array(leaf)):
        return leaf
    node, allowed = module, None
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            allowed = _ranges(type(node)).get(key.name)
            node = getattr(node, key.name)
        else:
            allowed, node = None, node[getattr(key, "idx", getattr(key, "key", None))]
    if allowed is None:
        return leaf
    # A product where it is out of range: the derivative is NaN too. Not elsewhere:
    # kernels fuse products into sums, which would change last digits.
    inside = allowed.contains(leaf)
    return jnp.where(inside, leaf, leaf * jnp.where(inside, 1.0, jnp.nan))


@functools.cache
def _ranges(kind: type) -> dict:
    if not dataclasses.is_dataclass(kind):
        return {}
    fields = dataclasses.fields(kind)
    return {f.name: f.metadata["range"] for f in fields if "range" in f.metadata}
