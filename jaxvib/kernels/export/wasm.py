"""`web_assembly`: a function of one lane as a WebAssembly module."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ..ir.assembler import LoweringError
from ..lower.lowering import Program, Signature
from .emission import check_length, emitted, lowered, traced_for
from .fused_multiply_add import with_multiply_add
from .missing_functions import library_text
from .wasm_object import module_of

_TRIPLE = "wasm32-unknown-unknown"
_FEATURES = "+bulk-memory,+bulk-memory-opt,+mutable-globals,+nontrapping-fptoint,+sign-ext"
# Bytes of the stack, on which only the reduction of large angles puts some dozens.
_STACK = 16384
_ALIGNMENT = 16  # bytes of a vector
# Lines of LLVM IR up to which LLVM chooses what stays on WebAssembly's stack, in a time
# that grows with their square. Longer programs keep all in locals: 64,000 lines, ten
# storeys with two hard stops, take 0.7 s instead of 9 s, in 296 kB instead of 187 kB. They
# run as fast once the browser has optimised them, and before that start in 0.3 s.
_MANY = 20_000
# Longer modules load slowly: one of 70,000 lines adds 0.3 MB to a page.
_LONGEST = 100_000
# Bytes of memory: addresses are signed constants in LLVM's code.
_MOST_MEMORY = 2**31


class _InstructionSet(NamedTuple):
    """Numbers of a vector, features in LLVM's notation, and whether it has relaxed SIMD."""

    width: int
    features: str
    relaxed: bool = False


_INSTRUCTION_SETS = {
    "scalar": _InstructionSet(1, ""),
    "simd": _InstructionSet(2, ",+simd128"),
    "relaxed-simd": _InstructionSet(2, ",+simd128,+relaxed-simd", relaxed=True),
}


class WebAssembly(NamedTuple):
    """A WebAssembly module and where its arrays are in its memory.

    **Fields:** `code`: the module's bytes; `layout`: the number of `lanes`, and the
    `name`, `shape`, `dtype` and `offset` of each array of `inputs` and `outputs`, for
    `json.dumps`. Number k of an array, in row-major order, of lane i is entry
    `k * lanes + i` from the byte `offset` on. Booleans are bytes.

    >>> jv.kernels.web_assembly(jnp.exp, 1.0, lanes=2).layout["inputs"]
    [{'name': '0', 'shape': [], 'dtype': 'float64', 'offset': 16384}]
    """

    code: bytes
    layout: dict[str, Any]


def web_assembly(
    function: Callable, *arguments: Any, lanes: int = 1, instructions: str = "simd"
) -> WebAssembly:
    r"""Compile a function of one lane to a WebAssembly module, for browsers.

    `function` is a `Kernel` or a function that `kernel` accepts; `arguments` are examples
    for one lane: numbers and arrays become arguments of the module, of which only shapes
    and dtypes matter; other values are constants. Names in the layout are paths in the
    arguments, such as "0.load.frequency", and in the results.

    The module imports nothing, and exports its `memory` and `run(count)`, which computes
    the first `count` lanes. There is room for `lanes`, rounded up to whole vectors; a
    greater `count` ends in a `WebAssembly.RuntimeError`. What the memory holds for lanes
    from `count` on may be overwritten.

    `instructions`: "scalar", one lane at a time; "simd", two at a time by SIMD of 128
    bits, which all browsers have had since 2023; "relaxed-simd", with the multiply-add
    of relaxed SIMD, which gives the bits of the kernel where the browser fuses it.
    Programs with long arrays run one lane at a time, with vectors along the arrays.
    WebAssembly has no other fused multiply-add: the first two forms round each product
    before it is added. Their results have the same bits in every browser and differ from
    the kernel's by rounding: elementary functions by two units in the last place, powers
    by some dozens, and sines and cosines of |x| < 2^17 by the rounding of x.

    **Raises:** `ValueError` if the function cannot be compiled, with the reason, for a
    number of lanes below 1 or more than fit into 2 GiB, or for other `instructions`.

    >>> decay = jv.kernels.web_assembly(lambda t: jnp.exp(-0.1 * t), 1.0, lanes=99)
    >>> decay.code[:4], decay.layout["lanes"]
    (b'\x00asm', 100)
    """
    chosen = _INSTRUCTION_SETS.get(instructions)
    if chosen is None:
        allowed = ", ".join(_INSTRUCTION_SETS)
        raise ValueError(f"instructions = {instructions!r}; allowed: {allowed}")
    if lanes < 1:
        raise ValueError(f"lanes = {lanes}; allowed: at least 1")
    try:
        return _compiled(function, arguments, lanes, chosen)
    except LoweringError as error:
        name = getattr(function, "__qualname__", repr(function))
        raise ValueError(f"{name} cannot be compiled to WebAssembly: {error}") from None


def _compiled(
    function: Callable, arguments: tuple, lanes: int, chosen: _InstructionSet
) -> WebAssembly:
    shapes, closed, results = traced_for(function, arguments)
    program = lowered(closed, chosen.width)
    check_length(program, _LONGEST)
    reserved = -(-lanes // program.width) * program.width
    inputs, work = _arrays(shapes, program.signature.inputs, reserved, _STACK)
    outputs, work = _arrays(results, program.signature.outputs, reserved, work)
    layout = {"lanes": reserved, "inputs": inputs, "outputs": outputs}
    end = _aligned(work + program.workspace)
    if end > _MOST_MEMORY:
        raise ValueError(f"{lanes} lanes need {end} bytes; allowed: {_MOST_MEMORY}")
    code = _object(program.text, _run_text(program, layout, work), chosen)
    return WebAssembly(module_of(code, "run", _STACK, end), layout)


def _arrays(
    tree: Any, entries: tuple, lanes: int, start: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the layout of arrays from an address on, and where the next one begins.

    The arrays are the leaves of a pytree, with the shapes and dtypes of `entries`.
    """
    paths, found = [path for path, _ in jax.tree_util.tree_leaves_with_path(tree)], []
    for path, (shape, kind) in zip(paths, entries, strict=True):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        about = {"name": name, "shape": list(shape), "dtype": kind, "offset": start}
        found.append(about)
        start = _aligned(start + math.prod(shape) * np.dtype(kind).itemsize * lanes)
    return found, start


def _aligned(address: int) -> int:
    return -(-address // _ALIGNMENT) * _ALIGNMENT


def _run_text(program: Program, layout: dict[str, Any], work: int) -> str:
    """Return the function `run(count)`, which calls `lanes` with the module's arrays.

    Those of long arrays are from `work` on. A last vector that is not full gets the
    arguments of its last lane in the next one.
    """
    inputs, outputs = (
        [array["offset"] for array in layout[side]] for side in ("inputs", "outputs")
    )
    lanes = layout["lanes"]
    return f"""
{_pointers("inputs", inputs + [work] * (program.workspace > 0))}
{_pointers("outputs", outputs)}
{_REPEAT}
declare void @llvm.trap()
define void @run(i32 %count) {{
entry:
%more = icmp ugt i32 %count, {lanes}
br i1 %more, label %stop, label %go
stop:
call void @llvm.trap()
unreachable
go:
%rest = urem i32 %count, {program.width}
%partly = icmp ne i32 %rest, 0
br i1 %partly, label %fill, label %compute
fill:
{_repetitions(program.signature, inputs, lanes)}
br label %compute
compute:
%to = zext i32 %count to i64
call void @lanes(i64 {lanes}, i64 0, i64 %to, ptr @inputs, ptr @outputs)
ret void
}}
"""


def _pointer(address: int) -> str:
    return f"ptr inttoptr (i32 {address} to ptr)"


def _pointers(name: str, addresses: list[int]) -> str:
    entries = ", ".join(map(_pointer, addresses))
    return f"@{name} = private constant [{len(addresses)} x ptr] [{entries}]"


def _repetitions(signature: Signature, addresses: list[int], lanes: int) -> str:
    """Return the calls that repeat the last lane of each argument."""
    return "\n".join(
        f"call void @repeat({_pointer(address)}, i32 {math.prod(shape)}, i32 {lanes}, "
        f"i32 {np.dtype(kind).itemsize}, i32 %count)"
        for address, (shape, kind) in zip(addresses, signature.inputs, strict=True)
    )


# Copies lane `count - 1` of an array to the next lane, byte by byte.
_REPEAT = """
define internal void @repeat(ptr %array, i32 %numbers, i32 %lanes, i32 %size, i32 %count) {
entry:
%before = sub i32 %count, 1
%bytes = mul i32 %numbers, %size
br label %next
next:
%k = phi i32 [ 0, %entry ], [ %after, %one ]
%more = icmp ult i32 %k, %bytes
br i1 %more, label %one, label %end
one:
%number = udiv i32 %k, %size
%byte = urem i32 %k, %size
%row = mul i32 %number, %lanes
%old = add i32 %row, %before
%new = add i32 %row, %count
%oldstart = mul i32 %old, %size
%newstart = mul i32 %new, %size
%oldplace = add i32 %oldstart, %byte
%newplace = add i32 %newstart, %byte
%from = getelementptr i8, ptr %array, i32 %oldplace
%to = getelementptr i8, ptr %array, i32 %newplace
%value = load i8, ptr %from
store i8 %value, ptr %to
%after = add i32 %k, 1
br label %next
end:
ret void
}
"""


def _object(text: str, run: str, chosen: _InstructionSet) -> bytes:
    """Return LLVM's object file of an IR text and, as its last function, `run`."""
    module = library_text(text) + with_multiply_add(text, chosen.relaxed) + run
    features, level = _FEATURES + chosen.features, 2 if text.count("\n") < _MANY else 0
    return emitted([module], _TRIPLE, opt=level, features=features)
