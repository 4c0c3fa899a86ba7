"""The JAX primitive of a kernel's call: machine code on CPUs, PTX or XLA's program on GPUs.

The platform is chosen where a program is lowered, not where it is traced: one `jax.jit`
serves several devices, and a host with a GPU keeps the kernels of its CPU.
"""

import functools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import jax
from jax.extend import core
from jax.interpreters import mlir
from jaxtyping import Array

from .derivative_rule import function_of
from .mesh_axes import aligned, typed_like


@runtime_checkable
class Callee(Protocol):
    """A program over lanes, the last axis of every array; compared by identity."""

    def target(self) -> str:
        """Return the name of the FFI target on CPUs, registered."""
        ...

    def shapes(self, lanes: int) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes of the results."""
        ...

    def by_xla(self, *arrays: Array) -> list:
        """Return the results, computed by JAX operations."""
        ...

    def on_cuda(self, *arrays: Array) -> list:
        """Return the results, computed by a launch on a GPU where it may be used."""
        ...

    def is_launched(self) -> bool:
        """Return whether `on_cuda` launches the program."""
        ...


def kernel_call(callee: Callee, arrays: Sequence[Array]) -> list:
    """Call a program on arrays, concrete or traced."""
    return _CALL.bind(*aligned(arrays), callee=callee)


def kernels_called(jaxpr: Any) -> Iterator[Callee]:
    """Yield the kernels that a jaxpr calls, also within its loops and branches."""
    for equation in jaxpr.eqns:
        if equation.primitive is _CALL:
            yield equation.params["callee"]
        ruled = function_of(equation)
        if ruled is not None:
            yield from kernels_called(ruled)
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_jaxpr):
            if _is_jaxpr(value):
                yield from kernels_called(getattr(value, "jaxpr", value))


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, core.Jaxpr | core.ClosedJaxpr)


_CALL = core.Primitive("kernel_call")
_CALL.multiple_results = True


@_CALL.def_abstract_eval
def _shapes(*arrays, callee):
    return typed_like(callee.shapes(arrays[0].shape[-1]), arrays)


@_CALL.def_impl
def _called(*arrays, callee):
    with jax.disable_jit(False):  # its program is the call of this primitive
        return _jitted(callee)(*arrays)


@functools.lru_cache(maxsize=64)
def _jitted(callee):
    return jax.jit(lambda *arrays: _CALL.bind(*arrays, callee=callee))


def _on_cpu(context, *operands, callee):
    module = context.module_context
    if module.lowering_parameters.for_export:  # machine code is not portable
        return _by_xla(context, *operands, callee=callee)
    devices = getattr(module.axis_context, "num_devices", 1)
    if devices > 1:
        warnings.warn(
            f"a kernel is computed whole on each of {devices} devices; jax.shard_map "
            "computes the part of each",
            stacklevel=2,
        )
    return jax.ffi.ffi_lowering(callee.target())(context, *operands)


def _on_cuda(*arrays, callee):
    return callee.on_cuda(*arrays)


def _on_other_platforms(*arrays, callee):
    return callee.by_xla(*arrays)


mlir.register_lowering(_CALL, _on_cpu, platform="cpu")
mlir.register_lowering(
    _CALL, mlir.lower_fun(_on_cuda, multiple_results=True), platform="cuda"
)
_by_xla = mlir.lower_fun(_on_other_platforms, multiple_results=True)
mlir.register_lowering(_CALL, _by_xla)
