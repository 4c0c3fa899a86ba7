"""`kernel`: compilation of scalar functions by LLVM for many lanes."""

import functools
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...foundation.arrays import has_tangents, is_concrete
from ...foundation.gc_pause import gc_paused
from ...foundation.machine import usable_cores
from ..cpu.machine_code import MANY, Native, host_width
from ..gpu.device_choice import DeviceChoice, by_xla
from ..gpu.ptx import DeviceProgram
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import LONGEST, SHORT, estimate_instructions, needs_memory
from ..lower.lowering import Program, Traced, lower_lanes, trace
from ..lower.tangents import is_lowering
from .call import kernel_call

LOWERING_EVENT = "/jaxvib/kernels/print_duration"  # named as JAX's own events
_ENCLOSES = "it captures traced values"
_DERIVED = "it captures values that are being differentiated"
_LOG = logging.getLogger(__name__)


class Kernel:
    """A scalar function compiled to machine code; see `kernel`.

    >>> square = jv.kernel(lambda x: x * x)
    >>> square.map(np.array([1.0, 3.0])).tolist()
    [1.0, 9.0]
    """

    def __init__(
        self,
        function: Callable,
        kept: Any = None,
        in_memory: bool = False,
    ):
        """Compile a function; `kept`: its cache on disk, see `kernel_cache`."""
        functools.update_wrapper(self, function)
        self._function, self._kept, self._in_memory = function, kept, in_memory
        self._forms: dict[Any, _Form] = {}
        self._times = 0  # number of changes of captured variables

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code is not pickled: another process may have another processor.
        return Kernel, (self._function, self._kept, self._in_memory)

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result, for one lane or under JAX's transformations."""
        if is_lowering():  # inlined in another kernel and traced once
            leaves, rest = _flattened(arguments)
            self._renew()
            return self._part(rest, self._times)(*leaves)
        leaves, form = self._form_of(arguments)
        return jax.tree.unflatten(form.tree, form.call(leaves))

    @functools.lru_cache(maxsize=8)  # noqa: B019 - kernels live as long as the process
    def _part(self, rest, times):
        return jax.jit(self._flat(rest))

    def _renew(self) -> None:
        """Drop the traces if a captured variable has changed."""
        if self._kept is not None and not self._kept.is_current():
            self._forms.clear()
            self._times += 1

    def _flat(self, rest):
        """Return the function of its array arguments, with `rest` bound."""

        def flat(*leaves):
            return self._function(*_unflattened(leaves, rest))

        return flat

    def on_host(self, *arguments: Any) -> Any:
        """Return the results of one lane of concrete values as NumPy arrays.

        JAX arrays of the results, as a call returns, take longer than a short program.
        """
        leaves, form = self._form_of(arguments)
        return jax.tree.unflatten(form.tree, form.on_host(leaves))

    def map(self, *arguments: Any, threads: int | None = None) -> Any:
        """Return the results of many lanes as NumPy arrays, without JAX and XLA.

        Every array has the lanes as its first axis. They are distributed over
        `threads` of the CPU, by default one per core, or if `threads` is not given over
        the GPUs of this machine; see `docs/gpu.md`.

        **Raises:** `ValueError` for arrays of different lengths, for none, or for a
        function that cannot be lowered to LLVM.
        """
        leaves, form = self._form_of_lanes(arguments)
        if form.reason:
            raise ValueError(f"{self._name()} cannot be lowered to LLVM: {form.reason}")
        return jax.tree.unflatten(form.tree, form.map(leaves, threads))

    def uses_gpus(self, *arguments: Any) -> bool:
        """Return whether `map` computes such arrays on GPUs, after a check if it is due."""
        leaves, form = self._form_of_lanes(arguments)
        return not form.reason and form.uses_gpus(leaves)

    def optimise(self, *arguments: Any) -> None:
        """Compile optimised code for such arguments now, for long runs."""
        form = self._form_of(arguments)[1]
        if not form.reason:
            form.optimise()

    def unsupported_reason(self, *arguments: Any, device: str = "cpu") -> str:
        """Return why XLA compiles the function for such arguments; "" if LLVM does.

        `device`: "cpu", or "gpu" for why `map` does not launch it on the machine's GPUs.
        """
        form = self._form_of(arguments)[1]
        if device not in ("cpu", "gpu"):
            raise ValueError(f"device = {device!r}; allowed: cpu, gpu")
        return form.gpu_reason() if device == "gpu" else form.reason

    def shapes(self, *arguments: Any) -> Any:
        """Return the results' shapes for such arguments, like `jax.eval_shape`."""
        return self._form_of(arguments)[1].results

    def _form_of(self, arguments):
        leaves, rest = _flattened(arguments)
        return leaves, self._form(tuple((leaf.shape, leaf.dtype) for leaf in leaves), rest)

    def _form_of_lanes(self, arguments):
        leaves, rest = _flattened(arguments)
        lengths = sorted({leaf.shape[0] if leaf.shape else 0 for leaf in leaves})
        if len(lengths) != 1 or lengths[0] == 0:
            raise ValueError(
                f"arrays have leading lengths {lengths}; allowed: one above 0 for all"
            )
        shapes = tuple((leaf.shape[1:], leaf.dtype) for leaf in leaves)
        return leaves, self._form(shapes, rest)

    def _form(self, signature, rest) -> "_Form":
        self._renew()
        key = signature, rest
        form = self._forms.get(key)
        if form is None:
            shapes = [jax.ShapeDtypeStruct(*each) for each in signature]
            flat = self._flat(rest)
            traced = self._traced(flat, shapes, rest)
            form = _Form(self._name(), flat, shapes, traced, self._in_memory)
            self._forms[key] = form
            if form.reason:
                _LOG.debug("%s is compiled by XLA: %s", self._name(), form.reason)
        return form

    def _traced(self, flat, shapes, rest) -> Traced:
        """Return the cached trace for such arguments, or trace the function."""
        if self._kept is None:
            return _traced(flat, shapes, self._in_memory)
        signature = [(shape.shape, shape.dtype.name) for shape in shapes]
        arguments = _unflattened(signature, rest)
        traced = self._kept.get(arguments)
        if traced is None:
            traced = _traced(flat, shapes, self._in_memory)
            if traced.reason == _DERIVED:  # never by the library itself
                raise ValueError(
                    "a law or a vector field captures a value that is being "
                    "differentiated; allowed: such a value among its parameters"
                )
            self._kept.put(arguments, traced)
        return traced

    def _name(self) -> str:
        return getattr(self._function, "__qualname__", repr(self._function))


def kernel(function: Callable) -> Kernel:
    r"""Compile a scalar function by LLVM, for SIMD lanes and all cores.

    `function` takes and returns pytrees of small arrays of floats, integers and
    booleans, and is written in JAX: arithmetic, elementary functions, `where`,
    `while_loop`, `fori_loop`, `scan`, `cond`, small matrix products. It compiles in a
    fraction of XLA's time, and a lane with many loop iterations delays only the few
    lanes of its vector.

    The result is called like the function, under `jit`, `vmap`, `jacfwd`, `jvp`, `grad`
    and `jacrev` of any order; its Jacobians are kernels too. `.map(*arrays)` is the
    fastest call for arrays of lanes; long calls run on GPUs, after a check that these
    give the same bits as the CPU. Other concrete arguments are computed on the host's
    CPU, whatever JAX's default device is; inside `jit` the platform decides where the
    program is lowered. Other platforms and unsupported functions are left to XLA;
    `.unsupported_reason(*arguments)` returns the reason. Results have the same bits for
    every vector width, at every lane, and on every processor with IEEE arithmetic:
    products in sums are fused multiply-adds, and elementary functions are those of
    `kernels.elementary`. Compiled code is cached per user.

        oscillation = jv.kernel(lambda t, w: jnp.exp(-0.1 * t) * jnp.cos(w * t))
        oscillation.map(np.linspace(0.0, 9.0, 1000), np.full(1000, 2.0))

    **Raises:** `TypeError` from the function itself if it cannot be traced.

    >>> oscillation = jv.kernel(lambda t, w: jnp.exp(-0.1 * t) * jnp.cos(w * t))
    >>> oscillation.map(np.array([0.0, 1.0]), np.array([2.0, 2.0])).round(4).tolist()
    [1.0, -0.3765]
    """
    return Kernel(function)


def _traced(flat: Callable, shapes: Sequence, in_memory: bool = False) -> Traced:
    began = time.monotonic()
    with gc_paused():
        traced = _lowered(flat, shapes, in_memory)
    jax.monitoring.record_event_duration_secs(LOWERING_EVENT, time.monotonic() - began)
    return traced


def _lowered(flat: Callable, shapes: Sequence, in_memory: bool) -> Traced:
    closed, results = trace(flat, shapes)
    if not shapes:
        return Traced(None, results, "it takes no arrays")
    if not closed.jaxpr.outvars:
        return Traced(None, results, "it returns no arrays")
    if not is_concrete(closed.consts):
        derived = has_tangents(closed.consts)
        return Traced(None, results, _DERIVED if derived else _ENCLOSES)
    in_memory = in_memory or needs_memory(closed)
    length = estimate_instructions(closed)
    if length > LONGEST and not in_memory:  # before minutes are spent on lowering
        return Traced(None, results, f"it would have about {length} instructions")
    try:
        program = lower_lanes(closed, host_width(), SHORT if in_memory else None)
        return Traced(program, results, "")
    except LoweringError as error:
        return Traced(None, results, str(error))


class _Form:
    """A function traced for arguments of one structure, and compiled if possible.

    **Fields:** `results`: their shapes; `tree`: their structure; `reason`: why XLA
    compiles it, "" if LLVM does.
    """

    def __init__(
        self,
        name: str,
        flat: Callable,
        shapes: Sequence[jax.ShapeDtypeStruct],
        traced: Traced,
        at_once: bool = False,
    ):
        """Compile a traced function; `at_once`: optimised from the start."""
        self._at_once = at_once
        self._name, self.flat, self._shapes = name, flat, shapes
        self._printed, self.results, self.reason = traced
        self.tree = jax.tree.structure(self.results)
        if not self.reason:
            self.native  # noqa: B018 - compiled where it is requested
        self._jacobians: dict[tuple[int, ...], _Form] = {}
        self._sharing: dict[tuple[int, ...], Native] = {}

    @functools.cached_property
    def native(self) -> Native:
        """The machine code."""
        if self._printed is None:
            raise ValueError(f"not lowered to LLVM: {self.reason}")
        return Native(self._printed, at_once=self._at_once)

    @functools.cached_property
    def _devices(self) -> DeviceChoice:
        def jaxpr():
            return trace(self.flat, self._shapes)[0]

        name = self._name.replace(".<locals>", "")
        return DeviceChoice(name, self.program, jaxpr)

    @property
    def program(self) -> Program:
        """The lowered program."""
        return self.native.program

    def optimise(self) -> None:
        """Compile the optimised code."""
        self.native.best()

    def call(self, leaves) -> list:
        """Return the results of one lane, concrete or traced."""
        if self.reason or not is_concrete(leaves):
            return kernel_call(self, list(map(jnp.asarray, leaves)))
        return jax.device_put(self.on_host(leaves))

    def on_host(self, leaves) -> list[np.ndarray]:
        """Return the results of one lane of concrete values, as NumPy arrays."""
        if self.reason:
            with jax.ensure_compile_time_eval():  # also inside another function's trace
                return [np.asarray(x) for x in jax.tree.leaves(self.by_xla(*leaves))]
        results = self._on_cpu([np.asarray(leaf)[..., None] for leaf in leaves], 1)
        return [result[..., 0] for result in results]

    @functools.cached_property
    def by_xla(self) -> Callable:
        """The function of one lane, compiled by XLA."""
        return jax.jit(self.flat)

    def map(self, leaves, threads: int | None) -> list[np.ndarray]:
        """Return the results of lanes on the first axis, as NumPy arrays.

        `threads`: of the CPU; `None` also allows GPUs.
        """
        arrays = [_lanes_last(np.asarray(leaf)) for leaf in leaves]
        lanes = arrays[0].shape[-1]
        if threads is None and lanes > MANY:
            results = self._on_gpus(arrays)
            if results is not None:
                return [_lanes_first(result) for result in results]
        results = self._on_cpu(arrays, threads or usable_cores())
        return [_lanes_first(result)[:lanes] for result in results]

    def _on_cpu(self, arrays, threads: int) -> list[np.ndarray]:
        """Return the results of lanes on the last axis, padded to vectors."""
        width = self.native.program.width
        if arrays[0].shape[-1] <= width and not self.native.program.workspace:
            return self.native.one_vector(arrays)
        lanes = -(-arrays[0].shape[-1] // width) * width
        return self.native([_padded(array, lanes) for array in arrays], threads)

    def _on_gpus(self, arrays) -> Sequence[np.ndarray] | None:
        """Return results computed on GPUs, the lanes last; `None` if on the CPU."""
        if by_xla():
            return [np.asarray(result) for result in jax.jit(self.lanes_by_xla)(arrays)]
        return self._devices.map(arrays, self._compared)

    def _compared(self, arrays) -> list[np.ndarray]:
        """Return the results of optimised code on one core."""
        self.optimise()
        return self._on_cpu(arrays, 1)

    def uses_gpus(self, leaves) -> bool:
        """Return whether `map` computes these lanes, the first axes, on GPUs."""
        arrays = [_lanes_last(np.asarray(leaf)) for leaf in leaves]
        many = arrays[0].shape[-1] > MANY
        return many and self._devices.uses_gpus(arrays, self._compared)

    def gpu_reason(self) -> str:
        """Return why `map` does not use GPUs; "" if it does."""
        return self.reason or self._devices.reason

    # Calls inside JAX programs, of lanes on the last axis.

    def sharing(self, shared: tuple[int, ...]) -> Native:
        """Return the machine code whose lanes share some arguments."""
        if shared not in self._sharing:
            closed, _ = trace(self.flat, self._shapes)
            program = lower_lanes(closed, host_width(), SHORT, shared)
            self._sharing[shared] = Native(program, at_once=True)
        return self._sharing[shared]

    def lanes_by_xla(self, arrays: Sequence, shared: tuple[int, ...] = ()) -> list:
        """Return the results by JAX operations; lanes share some arguments."""
        axes = [None if k in shared else -1 for k in range(len(arrays))]
        return jax.tree.leaves(jax.vmap(self.flat, axes, -1)(*arrays))

    def in_xla(self) -> DeviceProgram | None:
        """Return the program to launch inside XLA's programs for CUDA, if it may be."""
        return self._devices.in_xla()

    def is_launched(self) -> bool:
        """Return whether XLA's programs for CUDA launch it."""
        return self.in_xla() is not None

    def jacobian(self, moving: tuple[int, ...]) -> "_Form":
        """Return the form of the Jacobians with respect to the arguments `moving`."""
        if moving not in self._jacobians:

            def inexact(*leaves):
                results = jax.tree.leaves(self.flat(*leaves))
                return [r for r in results if jnp.issubdtype(r.dtype, jnp.inexact)]

            slopes = jax.jacfwd(inexact, moving)
            name, shapes = f"Jacobian of {self._name}", self._shapes
            self._jacobians[moving] = _Form(name, slopes, shapes, _traced(slopes, shapes))
        return self._jacobians[moving]


def _lanes_last(array: np.ndarray) -> np.ndarray:
    # In a tenth of the time of `moveaxis`.
    return array.transpose(*range(1, array.ndim), 0)


def _lanes_first(array: np.ndarray) -> np.ndarray:
    return array.transpose(-1, *range(array.ndim - 1))


def _padded(array: np.ndarray, lanes: int) -> np.ndarray:
    """Pad an array to a number of lanes by repeating the last one."""
    more = lanes - array.shape[-1]
    if not more:
        return array
    if array.shape[-1] == 1:
        return array.repeat(lanes, -1)
    return np.concatenate([array, np.repeat(array[..., -1:], more, -1)], -1)


_ARRAY = "an array"


def _flattened(arguments):
    """Return the arrays among arguments, and the rest needed to restore the pytree.

    A single pass: for one lane it takes most of a call's time.
    """
    leaves, tree = jax.tree.flatten(arguments)
    arrays = [_as_array(leaf) for leaf in leaves if eqx.is_array_like(leaf)]
    if len(arrays) == len(leaves):
        return arrays, (tree, None)
    others = (_ARRAY if eqx.is_array_like(leaf) else (leaf,) for leaf in leaves)
    return arrays, (tree, tuple(others))


def _unflattened(arrays, rest):
    """Restore the arguments from arrays and the rest."""
    tree, others = rest
    if others is None:
        return jax.tree.unflatten(tree, arrays)
    arrays = iter(arrays)
    leaves = [next(arrays) if other is _ARRAY else other[0] for other in others]
    return jax.tree.unflatten(tree, leaves)


def _as_array(leaf):
    """Convert to an array of JAX's canonical dtype."""
    if isinstance(leaf, jax.Array):
        return leaf
    array = np.asarray(leaf)
    kind = jax.dtypes.canonicalize_dtype(array.dtype)
    return array if kind is array.dtype else array.astype(kind, copy=False)
