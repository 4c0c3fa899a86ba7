"""One map over samples: chunks of lanes in order of their cost, on all that computes."""

import concurrent.futures
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .._environment import require_float64
from .._machine import usable_cores
from .blas import one_blas_thread

PyTree = Any

# Rounds of narrower chunks that take less time than compiling a wider one.
_ROUNDS = 4

_COMPILER = concurrent.futures.ThreadPoolExecutor(1)
_DONE: concurrent.futures.Future = concurrent.futures.Future()
_DONE.set_result(None)


def map_samples(
    function: Callable[[PyTree], PyTree],
    samples: PyTree,
    cost=None,
    *,
    chunk: int = 64,
    least: int = 2,
    progress: Callable[[int], None] | None = None,
) -> PyTree:
    """Map a function of one sample over the leading axis of all samples.

    Chunks of up to `chunk` samples run as one `vmap`, with one host thread per core,
    since XLA runs a chunk's loops on a single core. Where there are several devices, each
    runs a chunk of its own, all at the same time. Each lane of a chunk waits for its
    slowest neighbour, so samples of similar `cost` (shape (samples,), any unit) are
    put together. A chunk is never narrower than `least` lanes (short ones are padded),
    so that calls with few samples and with some more share one compiled form. What its
    neighbours are changes no bit of a sample's result; its place in a chunk may change
    the last ones from JAX 0.11 on, so that the same samples in the same order give the
    same bits.

    **Arguments:** `function`: of one sample, jittable; keep the same function object
    between calls and its compiled form is kept too. `progress`: is called with the
    number of samples done since the last call. **Returns:** the results, stacked
    along a leading axis, as numpy arrays. **Raises:** `ValueError` for no samples,
    arrays of unequal lengths, a chunk below 1 or `least` below 2.
    """
    require_float64()
    number = _number(samples, cost)
    if chunk < 1:
        raise ValueError(f"chunk = {chunk} is not in [1, inf)")
    if least < 2:
        raise ValueError(f"least = {least} is not in [2, inf)")
    order = np.arange(number) if cost is None else np.argsort(cost, kind="stable")
    compiled, widths = _compiled(function)
    available = _workers()
    rounds = -(-number // (available * chunk))
    share = -(-number // (available * rounds))  # every core gets as much as the others
    needed = max(least, min(chunk, share))
    devices = len(jax.local_devices())
    # A width that is compiled already costs less than a new one that fits better.
    enough = [w for w in widths if w >= needed or number <= _ROUNDS * available * w]
    width = min(enough, key=lambda w: (w < needed, abs(w - needed)), default=needed)
    ready = widths.get(width)
    if ready is not None:
        ready.result()

    stride = width * devices

    def run(start: int) -> PyTree:
        lanes = order[start : start + stride]
        padded = np.resize(lanes, stride)
        result = compiled(jax.tree.map(lambda leaf: np.asarray(leaf)[padded], samples))
        result = jax.tree.map(lambda leaf: np.asarray(leaf)[: len(lanes)], result)
        if progress is not None:
            progress(len(lanes))
        return result

    starts = range(0, number, stride)
    parts = []
    workers = 1 if devices > 1 else available
    with one_blas_thread(), concurrent.futures.ThreadPoolExecutor(workers) as pool:
        if ready is None:  # alone, so that one thread compiles
            parts.append(run(0))
            widths[width] = _DONE
        # The costliest chunks last would leave cores idle at the end.
        rest = list(pool.map(run, reversed(starts[len(parts) :])))[::-1]
    inverse = np.argsort(order, kind="stable")
    return jax.tree.map(lambda *all: np.concatenate(all)[inverse], *parts, *rest)


def compile_ahead(
    function: Callable[[PyTree], PyTree], sample: PyTree, number: int, *, chunk: int = 64
) -> None:
    """Start to compile a function for maps over up to `number` samples, beside other work.

    `sample`: one of them, or its shapes. `map_samples` waits for what has begun.
    """
    compiled, widths = _compiled(function)
    width = max(2, min(chunk, -(-number // _workers())))
    if any(known >= width for known in widths):
        return

    def widened(leaf):
        lanes = width * len(jax.local_devices())
        return jax.ShapeDtypeStruct((lanes, *np.shape(leaf)), leaf.dtype)

    def prepare() -> None:
        compiled.lower(jax.tree.map(widened, sample)).compile()

    widths[width] = _COMPILER.submit(prepare)


def _number(samples, cost) -> int:
    leaves = [*jax.tree.leaves(samples), *([] if cost is None else [cost])]
    lengths = sorted({np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in leaves})
    if len(lengths) != 1 or lengths[0] == 0:
        raise ValueError(
            f"samples (and cost) have leading lengths {lengths}; allowed: one length "
            "above 0 for all of them"
        )
    return lengths[0]


@functools.lru_cache(maxsize=64)
def _compiled(function) -> tuple[Any, dict[int, concurrent.futures.Future]]:
    devices = jax.local_devices()
    mapped = jax.vmap(function)
    if len(devices) == 1:
        return jax.jit(mapped), {}
    # Each device runs loops of its own; a sharded loop would wait for all at each turn.
    lanes = jax.sharding.PartitionSpec("lanes")
    mesh = jax.sharding.Mesh(np.asarray(devices), ("lanes",))
    spread = jax.shard_map(
        mapped, mesh=mesh, in_specs=lanes, out_specs=lanes, check_vma=False
    )
    return jax.jit(spread), {}


def _workers() -> int:
    """Return how many chunks run at the same time."""
    devices = len(jax.local_devices())
    return devices if devices > 1 else usable_cores()
