"""Functions of many small matrices, by kernels of one matrix."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import threadpoolctl

from ..foundation.arrays import HOST, array_namespace
from ..foundation.types import AnyArray
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel

# A kernel is unrolled over the entries: an eigensystem of 16 rows has 0.1 million
# instructions, which LLVM compiles in four seconds, once.
MOST_ROWS = 16


def is_small(*matrices: AnyArray) -> bool:
    """Return whether matrices are small enough for kernels, and not empty."""
    sizes = [size for matrix in matrices for size in np.shape(matrix)[-2:]]
    return min(sizes) > 0 and max(sizes) <= MOST_ROWS


def of_many(lane: Callable, ranks: tuple[int, ...], *arrays: AnyArray) -> Any:
    """Apply a function of one lane, by its kernel, over any leading axes of arrays.

    `ranks`: the number of axes of each array in one lane; leading axes are broadcast.
    NumPy arrays give NumPy arrays.
    """
    xp = array_namespace(*arrays)
    lanes = np.broadcast_shapes(
        *(np.shape(a)[: np.ndim(a) - rank] for a, rank in zip(arrays, ranks, strict=True))
    )
    if xp is not HOST and not lanes:
        return kernel_of(lane)(*arrays)
    number = int(np.prod(lanes))

    def flat(array, rank):
        shape = np.shape(array)[np.ndim(array) - rank :]
        whole = xp.broadcast_to(xp.asarray(array, float), (*lanes, *shape))
        return xp.reshape(whole, (number, *shape))

    flats = [flat(array, rank) for array, rank in zip(arrays, ranks, strict=True)]
    if number == 0:
        one = kernel_of(lane).shapes(*(np.zeros(f.shape[1:]) for f in flats))
        found = jax.tree.map(lambda shape: xp.zeros((0, *shape.shape)), one)
    elif xp is HOST:
        found = kernel_of(lane).map(*flats)
    else:
        found = jax.vmap(kernel_of(lane))(*flats)
    return jax.tree.map(lambda part: part.reshape((*lanes, *part.shape[1:])), found)


@functools.cache
def kernel_of(lane: Callable) -> Kernel:
    """Return the kernel of a function without captured variables."""
    return cached_kernel(lane)


@functools.cache
def implementation() -> str:
    """Return the linear algebra in use: kernels, and NumPy's BLAS for larger matrices.

    SciPy's BLAS, which XLA calls, is of the same kind and selects by the same
    processor; whether it is loaded depends on what was computed before.
    """
    every = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    found = [one for one in every if "numpy" in one["filepath"]] or every
    keys = ("internal_api", "version", "architecture")
    names = {" ".join(str(one[key]) for key in keys if one.get(key)) for one in found}
    larger = ", ".join(sorted(names)) or "another library"
    return f"kernels up to {MOST_ROWS} rows, {larger} beyond"
