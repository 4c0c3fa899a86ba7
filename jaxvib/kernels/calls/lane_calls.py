"""Calls of a program inside JAX programs, over lanes that may share long arrays.

`jax.vmap` over some arguments would repeat the others for each lane: long tables take
longer to copy than the program takes to run.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..cpu.machine_code import MANY, Native, host_width
from ..lower.cost_estimate import SHORT
from ..lower.lowering import Program, trace
from ..lower.memory_lowering import lower_lanes_in_memory
from .call import Callee, kernel_call
from .lane_axes import filled, transposed


class Form(Callee, Protocol):
    """A callee with its program, and the programs whose lanes share arguments."""

    @property
    def program(self) -> Program:
        """The program without shared arguments."""
        ...

    def optimise(self) -> None:
        """Compile the optimised code."""
        ...

    def sharing(self, shared: tuple[int, ...]) -> "SharingCallee":
        """Return the program whose lanes share some arguments, its last ones."""
        ...


def called_in_jax(form: Form, leaves: Sequence[Array]) -> tuple[Array, ...]:
    """Return the results of one lane, which `jax.vmap` turns into many."""
    results = _over_lanes(form, ())(*(leaf[None] for leaf in leaves))
    return tuple(result[0] for result in results)


def _over_lanes(form: Form, shared: tuple[int, ...]) -> Callable:
    """Return the program as a function of arrays with the lanes as first axis.

    The `shared` ones have no such axis.
    """
    batched = jax.custom_batching.custom_vmap(lambda *arrays: _run(form, shared, arrays))

    @batched.def_vmap
    def rule(size, is_batched, *arrays):
        mapped = next(k for k in range(len(arrays)) if k not in shared)
        inner = arrays[mapped].shape[1 if is_batched[mapped] else 0]
        first = inner == 1 and not shared
        kept = tuple(
            k for k, one in enumerate(is_batched)
            if not one and (k in shared or (first and _may_share(form, k)))
        )  # fmt: skip
        given = []
        for k, (array, one) in enumerate(zip(arrays, is_batched, strict=True)):
            if k in kept:
                given.append(array if k in shared else array[0])
                continue
            if k in shared:
                array = jnp.broadcast_to(array[:, None], (size, inner, *array.shape[1:]))
            elif not one:
                array = jnp.broadcast_to(array, (size, *array.shape))
            # Nested lanes are flattened; empty arrays do not allow -1 in `reshape`.
            given.append(array.reshape(size * inner, *array.shape[2:]))
        results = _over_lanes(form, kept)(*given)
        results = tuple(r.reshape(size, inner, *r.shape[1:]) for r in results)
        return results, (True,) * len(results)

    return batched


def _may_share(form: Form, k: int) -> bool:
    """Return whether lanes can read an argument in common: a long array in memory."""
    program = form.program
    shape, _ = program.signature.inputs[k]
    return program.workspace > 0 and math.prod(shape) > SHORT


def _run(form: Form, shared: tuple[int, ...], arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Call the program on arrays with the lanes as first axis, but for the `shared`."""
    width = form.program.width
    mapped = [array for k, array in enumerate(arrays) if k not in shared]
    lanes = mapped[0].shape[0]
    padded = -(-lanes // width) * width
    if lanes > MANY:
        form.optimise()
    turned = [filled(transposed(array, 1), padded) for array in mapped]
    callee = form.sharing(shared) if shared else form
    results = kernel_call(callee, [*turned, *(arrays[k] for k in shared)])
    turned = (transposed(result, -1) for result in results)
    return tuple(jax.lax.slice_in_dim(result, 0, lanes) for result in turned)


class SharingCallee:
    """A program with arrays in memory whose last arguments are shared by all lanes."""

    def __init__(
        self,
        flat: Callable,
        shapes: Sequence[jax.ShapeDtypeStruct],
        shared: tuple[int, ...],
    ):
        """Trace and compile a function of arrays, the `shared` of which come last."""
        mapped = [k for k in range(len(shapes)) if k not in shared]
        order = [*mapped, *shared]

        def ordered(*arrays):
            places = dict(zip(order, arrays, strict=True))
            return jax.tree.leaves(flat(*(places[k] for k in range(len(arrays)))))

        self._function, self._shared = ordered, len(shared)
        closed, _ = trace(ordered, [shapes[k] for k in order])
        program = lower_lanes_in_memory(closed, host_width(), shared=len(shared))
        self._native = Native(program, at_once=True)

    def target(self) -> str:
        """Return the FFI target name of the program, registered."""
        return registered(self._native)

    def shapes(self, lanes: int) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes of the program's results over lanes."""
        return shapes_of(self._native.program, lanes)

    def by_xla(self, *arrays: Array) -> list:
        """Return the results over lanes, the last axes, by JAX operations."""
        mapped = len(arrays) - self._shared
        axes = [-1] * mapped + [None] * self._shared
        return jax.vmap(self._function, in_axes=axes, out_axes=-1)(*arrays)

    def on_cuda(self, *arrays: Array) -> list:
        """Return the same: loops over arrays in memory are not for GPUs."""
        return self.by_xla(*arrays)

    def is_launched(self) -> bool:
        """Return whether `on_cuda` launches the program: it never does."""
        return False


def shapes_of(program: Program, lanes: int) -> list[jax.ShapeDtypeStruct]:
    """Return the shapes of a program's results over lanes."""
    return [
        jax.ShapeDtypeStruct((*shape, lanes), kind)
        for shape, kind in program.signature.outputs
    ]


_REGISTERED: dict[str, Any] = {}


def registered(native: Native) -> str:
    """Return the FFI target name of a program, registered once for the process.

    XLA cannot remove a target, and does not report when no program calls it any more.
    """
    name = f"jaxvib_{native.program.key}"
    if name not in _REGISTERED:
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        handler = capsule(native.handler, None, None)
        jax.ffi.register_ffi_target(name, handler, platform="cpu")
        _REGISTERED[name] = native
    return name
