"""Batched map over samples: chunks in order of cost, on all cores and devices."""

import concurrent.futures
import contextlib
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import ArrayLike

from ..foundation.arrays import concatenate_lanes, gather_lanes
from ..foundation.environment import keep_programs, require_float64
from ..foundation.machine import map_in_threads, usable_cores
from ..kernels import Kernel
from ..kernels.calls.call import kernels_called
from ..kernels.gpu.device_choice import by_xla
from .blas import one_blas_thread
from .checkpoint import current_checkpoint
from .remote import ChunkExecutor, current_executor

PyTree = Any

# Extra lanes at the end of every chunk, filled with copies. From JAX 0.11 on, the
# remainder of a loop over lanes has separate code with other fused operations: at most
# the last 8 lanes of float32, and 4 of float64.
SPARE_LANES = 8
# Fewer chunks of a kernel leave cores idle at the end.
_CHUNKS_PER_CORE = 4
# Parts of a kernel's map, at most, that are stored or reported one after the other.
_PARTS = 64
# Number of samples from which a kernel is compiled at the highest level.
_MANY = 1024

# Samples per call of `finish`: enough to amortise NumPy's overhead.
_BLOCK = 1024

keep_programs()
_COMPILER = concurrent.futures.ThreadPoolExecutor(1)
_DONE: concurrent.futures.Future = concurrent.futures.Future()
_DONE.set_result(None)


class TwoStageFunction(NamedTuple):
    """A function of one sample, and a NumPy function that finishes all results.

    `finish(samples, found)`: from NumPy arrays, lanes first, to the final results. It
    costs 0.1 ms a sample, and no compilation.
    """

    function: Callable[[PyTree], PyTree]
    finish: Callable[[PyTree, PyTree], PyTree]

    def finished(self, samples: PyTree, found: PyTree) -> PyTree:
        """Return the final results of all samples."""
        both = samples, found

        def block(start: int) -> PyTree:
            # Contiguous, which fixes the order of summation.
            some = jax.tree.map(
                lambda leaf: np.ascontiguousarray(leaf[start : start + _BLOCK]), both
            )
            return self.finish(*some)

        starts = range(0, len(jax.tree.leaves(found)[0]), _BLOCK)
        with one_blas_thread() if len(starts) > 1 else contextlib.nullcontext():
            blocks = map_in_threads(block, starts)
        return concatenate_lanes(blocks)


def map_samples(
    function: Callable[[PyTree], PyTree] | TwoStageFunction,
    samples: PyTree,
    cost: ArrayLike | None = None,
    *,
    chunk: int = 64,
    progress: Callable[[int], None] | None = None,
    in_order: bool = True,
) -> PyTree:
    """Map a function of one sample over the leading axis of all samples.

    Chunks of up to `chunk` samples run as one `vmap` each, on all cores and devices. A
    sample waits for the slowest one of its chunk, so samples of similar `cost` (shape
    (samples,), any unit) are grouped. Short chunks are padded with copies: a result
    depends on the sample, the function and `chunk` alone, to the last bit, and not on
    other samples, their order or number, or the number of cores. Results of kernels do
    not depend on `chunk` either: without `progress` and a checkpoint threads share all
    samples, and if there are GPUs that compute them faster, these are launched there
    together.

    **Arguments:** `function`: of one sample, jittable or a kernel; pass the same object
    again to reuse its compiled form. `chunk`: smaller ones suit calls with few samples.
    `progress`: called with the number of samples finished since the last call.
    `in_order`: whether results are in C order; a kernel's are written with samples last.
    **Returns:** the results, stacked along a leading axis, as NumPy arrays. **Raises:**
    `ValueError` for no samples, arrays of unequal lengths or a chunk below 1.

    >>> jv.map_samples(lambda x: x**2, jnp.arange(3.0)).tolist()
    [0.0, 1.0, 4.0]
    """
    if isinstance(function, TwoStageFunction):
        how = {"chunk": chunk, "progress": progress, "in_order": False}
        run = functools.partial(map_samples, **how)
        return function.finished(samples, run(function.function, samples, cost))
    require_float64()
    leaves = jax.tree.leaves(samples)
    if not all(isinstance(leaf, np.ndarray | jax.Array) for leaf in leaves):
        samples, others = eqx.partition(samples, eqx.is_array_like)
        leaves = jax.tree.leaves(samples)
        if jax.tree.leaves(others):
            function = _OfArrays(function, others)
    number = _number(leaves, cost)
    if chunk < 1:
        raise ValueError(f"chunk = {chunk} is not in [1, inf)")
    order = None if cost is None else np.argsort(cost, kind="stable")
    if order is not None:
        samples = gather_lanes(samples, order)
    work = _Work(function, samples, number, chunk, progress)
    others = current_executor() if len(work.starts) > 1 else None
    others = others or work.gpus()
    parts = work.here() if others is None else work.by(others)
    found = parts[0] if len(parts) == 1 and not in_order else concatenate_lanes(parts)
    return found if order is None else gather_lanes(found, np.argsort(order, kind="stable"))


class _OfArrays(NamedTuple):
    """A function of arrays, with the static parts of samples bound, such as a law."""

    function: Callable[[PyTree], PyTree]
    others: PyTree

    def __call__(self, arrays: PyTree) -> PyTree:
        return self.function(eqx.combine(arrays, self.others))


class _Work:
    """A map split into chunks, identified by their starts."""

    def __init__(self, function, samples: PyTree, number: int, chunk: int, progress):
        self._function, self._samples, self._number = function, samples, number
        self._chunk, self._progress = chunk, progress
        self._compiled = _compiled(function)
        self._devices = len(self._compiled.devices(self._first_sample))
        self._stride = chunk * self._devices
        self.starts = range(0, number, self._stride)
        self._checkpoint = current_checkpoint()
        self._name = self._checkpoint.begin() if self._checkpoint else ""

    def here(self) -> list[PyTree]:
        """Compute all chunks on the cores and devices of this process."""
        compiled = self._compiled
        ahead, one = compiled.ahead, self._first_sample
        ready = ahead.get(self._chunk)
        if ready is not None:
            ready.result()
        native = _native(self._function, one, self._number)
        if native is not None and self._checkpoint is None and self._progress is None:
            return [native.map(self._samples)]
        if native is not None:  # whose results do not depend on chunks
            self._stride = max(self._stride, -(-self._number // _PARTS))
            self.starts = range(0, self._number, self._stride)
        # Vectors of few chunks are distributed to all cores.
        few = len(self.starts) < _CHUNKS_PER_CORE * usable_cores()
        threads = usable_cores() if few else 1

        def compute(lanes: PyTree) -> PyTree:
            if native is not None:
                return native.map(lanes, threads=threads)
            return _filled_up(compiled, lanes, self._devices, self._chunk)

        def run(start: int) -> PyTree:
            result = self._checkpointed(start, compute)
            self._report(result)
            return result

        parts = []
        with one_blas_thread() if native is None else contextlib.nullcontext():
            if ready is None:  # first alone, so that one thread compiles
                parts.append(run(0))
                ahead[self._chunk] = _DONE
            # The costliest chunks first, so that no core idles at the end.
            rest = self.starts[len(parts) :][::-1]
            # XLA's chunks take all devices, a kernel's one core.
            alone = native is None and self._devices > 1
            found = map_in_threads(run, rest, 1 if alone else usable_cores())
        return parts + found[::-1]

    def gpus(self) -> "_Gpus | None":
        """Return the GPUs of this machine if they compute the chunks of these samples."""
        function, number = self._function, self._number
        if self._checkpoint is None and self._progress is None:
            return None  # there are none: a kernel's `map` takes all samples
        if not isinstance(function, Kernel) or number <= _MANY:
            return None
        return _Gpus(function) if function.uses_gpus(self._samples) else None

    def by(self, others: ChunkExecutor) -> list[PyTree]:
        """Return the results of all chunks; `others` compute those not stored."""
        recall, parts, keys = self._checkpoint, {}, {}
        if recall is not None:
            for start in self.starts:
                keys[start] = recall.key(self._place(start), self._lanes(start))
                kept = recall.get(keys[start], self._structure)
                if kept is not None:
                    parts[start] = kept
                    self._report(kept)
        missing = [start for start in self.starts if start not in parts]

        def accept(place: int, result: PyTree) -> None:
            start = missing[place]
            parts[start] = result
            if recall is not None:
                recall.put(keys[start], result)
            self._report(result)

        if missing:
            lanes = [self._lanes(start) for start in missing]
            others.map(self._function, lanes, self._chunk, accept)
        return [parts[start] for start in self.starts]

    def _checkpointed(self, start: int, compute: Callable[[PyTree], PyTree]) -> PyTree:
        lanes = self._lanes(start)
        if self._checkpoint is None:
            return compute(lanes)
        return self._checkpoint.evaluate(
            self._place(start), compute, lanes, structure=self._structure
        )

    def _place(self, start: int) -> str:
        return f"{self._name}/{start}"

    def _lanes(self, start: int) -> PyTree:
        return gather_lanes(self._samples, slice(start, start + self._stride))

    @functools.cached_property
    def _first_sample(self) -> PyTree:
        return jax.tree.map(lambda leaf: np.asarray(leaf)[0], self._samples)

    def _structure(self):
        function, one = self._function, self._first_sample
        if isinstance(function, Kernel):
            return jax.tree.structure(function.shapes(one))
        return jax.tree.structure(jax.eval_shape(function, one))

    def _report(self, result: PyTree) -> None:
        if self._progress is not None:
            self._progress(len(jax.tree.leaves(result)[0]))


class _Gpus(NamedTuple):
    """Computes chunks of a kernel together, in as few launches as memory allows."""

    kernel: Kernel

    def map(self, function, chunks, chunk: int, accept) -> None:
        """Compute all chunks and pass on their results."""
        lanes = concatenate_lanes(chunks)
        found, start = self.kernel.map(lanes), 0
        for place, each in enumerate(chunks):
            part = slice(start, start + len(jax.tree.leaves(each)[0]))
            accept(place, jax.tree.map(lambda leaf, part=part: leaf[part], found))
            start = part.stop


def _filled_up(compiled, lanes: PyTree, devices: int, chunk: int) -> PyTree:
    """Compute lanes padded with copies to a chunk for each device."""
    number = len(jax.tree.leaves(lanes)[0])
    filled = np.resize(np.arange(number), devices * chunk).reshape(devices, chunk)
    filled = filled[:, np.arange(chunk + SPARE_LANES) % chunk].ravel()

    def kept(leaf):
        each = np.asarray(leaf).reshape(devices, chunk + SPARE_LANES, *leaf.shape[1:])
        return each[:, :chunk].reshape(devices * chunk, *leaf.shape[1:])[:number]

    return jax.tree.map(kept, compiled(jax.tree.map(lambda leaf: leaf[filled], lanes)))


def compile_ahead(
    function: Callable[[PyTree], PyTree] | TwoStageFunction,
    sample: PyTree,
    *,
    chunk: int = 64,
) -> None:
    """Start compiling a function for maps with such chunks, in the background.

    `sample`: one of them, or its shapes. `map_samples` waits for a started compilation.

    >>> jv.ensemble.compile_ahead(lambda x: x**2, jnp.zeros(()))
    """
    function = function.function if isinstance(function, TwoStageFunction) else function
    compiled = _compiled(function)
    if chunk in compiled.ahead:
        return

    def widened(leaf):
        lanes = (chunk + SPARE_LANES) * len(compiled.devices(sample))
        return jax.ShapeDtypeStruct((lanes, *np.shape(leaf)), leaf.dtype)

    def prepare() -> None:
        if _native(function, sample, 1) is not None:
            return
        compiled.compile(jax.tree.map(widened, sample))

    compiled.ahead[chunk] = _COMPILER.submit(prepare)


def _native(function, sample, number: int) -> Kernel | None:
    """Return a function if it is a kernel supported by LLVM, compiled, else `None`."""
    if not isinstance(function, Kernel) or function.unsupported_reason(sample) or by_xla():
        return None
    if number > _MANY:
        function.optimise(sample)
    return function


def _number(leaves, cost) -> int:
    leaves = [*leaves, *([] if cost is None else [cost])]
    lengths = sorted({np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in leaves})
    if len(lengths) != 1 or lengths[0] == 0:
        raise ValueError(
            f"samples (and cost) have leading lengths {lengths}; allowed: one length "
            "above 0 for all of them"
        )
    return lengths[0]


class _Compiled:
    """A function of one sample, compiled by XLA for lanes on all its devices.

    **Fields:** `ahead`: compilations in the background, by chunk.
    """

    def __init__(self, function):
        self._function = function
        self._devices: list[jax.Device] = []
        self.ahead: dict[int, concurrent.futures.Future] = {}

    def devices(self, sample: PyTree) -> list[jax.Device]:
        """Return the devices that compute such samples."""
        if not self._devices:
            accelerated = jax.default_backend() != "cpu"
            self._devices = devices_for(self._function, sample, accelerated)
        return self._devices

    def __call__(self, lanes: PyTree) -> PyTree:
        with jax.default_device(self._devices[0]):
            return self._jitted(lanes)

    def compile(self, shapes: PyTree) -> None:
        """Compile the program for lanes of these shapes."""
        with jax.default_device(self._devices[0]):
            self._jitted.lower(shapes).compile()

    @functools.cached_property
    def _jitted(self):
        mapped = jax.vmap(self._function)
        if len(self._devices) == 1:
            return jax.jit(mapped)
        # Each device runs its own loops; a sharded loop would synchronise every iteration.
        lanes = jax.sharding.PartitionSpec("lanes")
        mesh = jax.sharding.Mesh(np.asarray(self._devices), ("lanes",))
        spread = jax.shard_map(
            mapped, mesh=mesh, in_specs=lanes, out_specs=lanes, check_vma=False
        )
        return jax.jit(spread)


@functools.lru_cache(maxsize=64)
def _compiled(function) -> _Compiled:
    return _Compiled(function)


def devices_for(function, sample: PyTree, accelerated: bool) -> list[jax.Device]:
    """Return the devices that compute samples of a function by XLA.

    `accelerated`: whether JAX has a GPU. A function that calls kernels is then computed
    on the CPU, unless they are launched in XLA's programs: loops under `vmap` in their
    place took 24 times as long on an H200 as the CPU's 16 cores.
    """
    if not accelerated or isinstance(function, Kernel):
        return jax.local_devices()
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), sample)
    called = kernels_called(jax.make_jaxpr(function)(shapes).jaxpr)
    if any(not callee.is_launched() for callee in called):
        with contextlib.suppress(RuntimeError):  # where JAX_PLATFORMS leaves it out
            return jax.local_devices(backend="cpu")
    return jax.local_devices()
