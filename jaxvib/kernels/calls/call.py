"""The JAX primitive of a kernel's call: machine code on CPUs, PTX or XLA's program on GPUs.

Its arguments are those of a `form`, a function traced for one lane, `mapped` ones with the
lanes as first axis: `jax.vmap` adds that axis, and arguments without it are repeated for
each lane where the program is lowered, or read by all lanes if they are long arrays in
memory. The tables of many numbers take longer to copy than the program takes to run.

The platform is chosen where a program is lowered, not where it is traced: one `jax.jit`
serves several devices, and a host with a GPU keeps the kernels of its CPU.
"""

import ctypes
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from ..cpu.machine_code import MANY, Native
from ..gpu.ptx import launched
from ..lower.cost_estimate import SHORT
from ..lower.jvp_rules import opened
from .derivative_rule import aligned, function_of, is_none, typed_like


def kernel_call(form: Any, leaves: Sequence[Any], mapped: Sequence[bool] = ()) -> list:
    """Call a form on one lane, or on lanes, concrete or traced; XLA's, if it has no other.

    `mapped`: which arguments have the lanes as first axis, by default none.
    """
    mapped = tuple(mapped) or (False,) * len(leaves)
    if not form.reason:
        return _CALL.bind(*aligned(leaves), form=form, mapped=mapped)
    if not any(mapped):
        return jax.tree.leaves(form.by_xla(*leaves))
    axes = [0 if one else None for one in mapped]
    return jax.tree.leaves(jax.vmap(form.flat, axes)(*leaves))


def kernels_called(jaxpr: Any) -> Iterator[Any]:
    """Yield the forms that a jaxpr calls, also within its loops and branches."""
    for equation in jaxpr.eqns:
        if equation.primitive is _CALL:
            yield equation.params["form"]
        ruled = function_of(equation)
        if ruled is not None:
            yield from kernels_called(ruled)
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_jaxpr):
            if _is_jaxpr(value):
                yield from kernels_called(opened(value)[0])


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, core.Jaxpr | core.ClosedJaxpr)


_CALL = core.Primitive("kernel_call")
_CALL.multiple_results = True


def _lanes(arrays: Sequence, mapped: Sequence[bool]) -> tuple[int, ...]:
    """Return the number of lanes, () if no argument is mapped."""
    return tuple(a.shape[0] for a, one in zip(arrays, mapped, strict=True) if one)[:1]


@_CALL.def_abstract_eval
def _shapes(*arrays, form, mapped):
    lanes = _lanes(arrays, mapped)
    results = [
        jax.ShapeDtypeStruct((*lanes, *shape), kind)
        for shape, kind in form.program.signature.outputs
    ]
    return typed_like(results, arrays)


@_CALL.def_impl
def _called(*arrays, form, mapped):
    if not any(mapped):
        return jax.device_put(form.on_host(arrays))
    with jax.disable_jit(False):  # its program is the call of this primitive
        return _jitted(form, mapped)(*arrays)


@functools.lru_cache(maxsize=64)
def _jitted(form, mapped):
    return jax.jit(lambda *arrays: _CALL.bind(*arrays, form=form, mapped=mapped))


def _slope(primals, tangents, *, form, mapped):
    values = kernel_call(form, primals, mapped)
    changes = [ad.Zero(jax.typeof(value).to_tangent_aval()) for value in values]
    moving = tuple(k for k, change in enumerate(tangents) if not is_none(change))
    floats = [k for k, value in enumerate(values)
              if jnp.issubdtype(value.dtype, jnp.inexact)]  # fmt: skip
    if not moving or not floats:
        return values, changes
    jacobians = kernel_call(form.jacobian(moving), primals, mapped)

    def along(jacobians, tangents):
        some = iter(jacobians)
        return [
            sum(jnp.tensordot(next(some), each, each.ndim) for each in tangents)
            for _ in floats
        ]

    if any(mapped):
        along = jax.vmap(along, (0, [0 if mapped[k] else None for k in moving]))
    found = along(jacobians, [tangents[k] for k in moving])
    for k, change in zip(floats, found, strict=True):
        changes[k] = change
    return values, changes


def _mapped(arrays, axes, *, form, mapped):
    moved = [
        array if axis is None else jnp.moveaxis(array, axis, 0)
        for array, axis in zip(arrays, axes, strict=True)
    ]
    outer = [axis is not None for axis in axes]
    if not any(mapped):
        found = _CALL.bind(*moved, form=form, mapped=tuple(outer))
        return found, [0] * len(found)
    (size,) = _lanes(moved, outer)
    inner = next(
        array.shape[int(out)]
        for array, out, one in zip(moved, outer, mapped, strict=True)
        if one
    )
    given = []  # nested lanes are flattened; empty arrays do not allow -1 in `reshape`
    for array, out, one in zip(moved, outer, mapped, strict=True):
        if out or one:
            shape = array.shape[out + one :]
            array = array if out else array[None]
            array = array if one else array[:, None]
            array = jnp.broadcast_to(array, (size, inner, *shape))
            array = array.reshape(size * inner, *shape)
        given.append(array)
    both = tuple(map(any, zip(outer, mapped, strict=True)))
    found = _CALL.bind(*given, form=form, mapped=both)
    return [r.reshape(size, inner, *r.shape[1:]) for r in found], [0] * len(found)


# Operations on axes of lanes, each a single one: `jnp` functions compile programs.


def _transposed(array: jax.Array, steps: int) -> jax.Array:
    """Rotate the axes of an array by `steps`."""
    axes = range(array.ndim)
    return jax.lax.transpose(array, [(axis + steps) % array.ndim for axis in axes])


def _filled(array: jax.Array, lanes: int) -> jax.Array:
    """Fill up an array to a number of lanes by repeating the last one."""
    more, last = lanes - array.shape[-1], array.ndim - 1
    if not more:
        return array
    one = jax.lax.slice_in_dim(array, -1, None, axis=last)
    repeated = jax.lax.broadcast_in_dim(one, (*array.shape[:-1], more), range(array.ndim))
    return jax.lax.concatenate([array, repeated], last)


def _lowered(run: Callable) -> Callable:
    """Return the lowering by `run(form, arrays, shared)`.

    `arrays` have the lanes as last axis, padded to whole vectors, but for those at the
    places `shared`, which all lanes read.
    """

    def function(*arrays, form, mapped):
        lanes, width = _lanes(arrays, mapped), form.program.width
        number = lanes[0] if lanes else 1
        shared = tuple(
            k for k, one in enumerate(mapped) if lanes and not one and _may_share(form, k)
        )
        given = []
        for k, (array, one) in enumerate(zip(arrays, mapped, strict=True)):
            if k not in shared:
                array = _transposed(array, 1) if one else array[..., None]
                array = _filled(array, -(-number // width) * width)
            given.append(array)
        if number > MANY:
            form.optimise()
        results = [_transposed(result, -1) for result in run(form, given, shared)]
        if not lanes:
            return [result[0] for result in results]
        return [jax.lax.slice_in_dim(result, 0, number) for result in results]

    return mlir.lower_fun(function, multiple_results=True)


def _may_share(form: Any, k: int) -> bool:
    """Return whether lanes can read an argument in common: a long array in memory."""
    shape, _ = form.program.signature.inputs[k]
    return form.program.workspace > 0 and math.prod(shape) > SHORT


def _machine_code(form, arrays, shared):
    native = form.sharing(shared) if shared else form.native
    mapped = next(k for k in range(len(arrays)) if k not in shared)
    shapes = [
        jax.ShapeDtypeStruct((*shape, arrays[mapped].shape[-1]), kind)
        for shape, kind in native.program.signature.outputs
    ]
    return jax.ffi.ffi_call(_registered(native), shapes)(*arrays)


def _launch(form, arrays, shared):
    # Loops over arrays in memory are not for GPUs.
    program = None if shared or not arrays[0].shape[-1] else form.in_xla()
    if program is None:
        return form.lanes_by_xla(arrays, shared)
    return launched(program, arrays)


def _on_cpu(context, *operands, **parameters):
    module = context.module_context
    if module.lowering_parameters.for_export:  # machine code is not portable
        return _by_xla(context, *operands, **parameters)
    devices = getattr(module.axis_context, "num_devices", 1)
    if devices > 1:
        warnings.warn(
            f"a kernel is computed whole on each of {devices} devices; jax.shard_map "
            "computes the part of each",
            stacklevel=2,
        )
    return _by_cpu(context, *operands, **parameters)


_REGISTERED: dict[str, Native] = {}


def _registered(native: Native) -> str:
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


ad.primitive_jvps[_CALL] = _slope
batching.primitive_batchers[_CALL] = _mapped
_by_cpu = _lowered(_machine_code)
_by_xla = _lowered(lambda form, arrays, shared: form.lanes_by_xla(arrays, shared))
mlir.register_lowering(_CALL, _on_cpu, platform="cpu")
mlir.register_lowering(_CALL, _lowered(_launch), platform="cuda")
mlir.register_lowering(_CALL, _by_xla)
