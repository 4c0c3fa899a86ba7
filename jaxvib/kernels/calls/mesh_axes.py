"""Types of the primitives' results under `jax.shard_map` and on sharded arrays."""

from collections.abc import Sequence
from typing import Any

import jax


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
