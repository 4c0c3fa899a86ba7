"""Lowering of a jaxpr of one lane to an LLVM function over many lanes."""

import hashlib
import zlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from ..ir.argument_reduction import large_angle_text
from ..ir.assembler import Assembler, kind_of
from ..ir.float_remainder import remainder_text
from . import tangents
from .equations import WORK, Lowering, check_kind

# Functions of one lane that numbers call, where a program does.
_FUNCTIONS = {"far_angle": large_angle_text, "remainder": remainder_text}


class Signature(NamedTuple):
    """The inputs and outputs of a program, as (shape, dtype name) pairs."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    outputs: tuple[tuple[tuple[int, ...], str], ...]


class Program(NamedTuple):
    """The LLVM IR of a function over lanes, with its signature.

    It defines `lanes(n, from, to, inputs, outputs)`: lanes `from` to `to`, both
    multiples of the width, out of n. `inputs` and `outputs` point to one pointer per
    array; arrays are stored element by element, each for all n lanes.

    `packed`: the IR, compressed to a sixth, since a program that XLA may call stays in
    memory for the life of the process. `workspace`: the bytes of memory that it needs
    while it runs, 0 for most; a pointer to them follows those of `inputs`. `key`: a
    hash of the IR, so that its machine code is found without the IR.
    """

    packed: bytes
    width: int
    signature: Signature
    workspace: int
    key: str

    @classmethod
    def of(
        cls, text: str, width: int, signature: Signature, workspace: int = 0
    ) -> "Program":
        """Return a program from its IR."""
        whole = text.encode()
        key = hashlib.sha256(whole).hexdigest()[:32]
        return cls(zlib.compress(whole, 1), width, signature, workspace, key)

    @property
    def text(self) -> str:
        """The IR, decompressed."""
        return zlib.decompress(self.packed).decode()


class Traced(NamedTuple):
    """A traced function: its lowered program and the shapes of its results.

    `program` is `None` if the function cannot be lowered, for the `reason`.
    """

    program: Program | None
    results: Any
    reason: str


def trace(function: Callable, arguments: Sequence) -> tuple[Any, Any]:
    """Return a function's jaxpr for arguments or shapes, and its results' shapes."""
    traced = tangents.traced_for_lowering(function)
    return jax.make_jaxpr(traced, return_shape=True)(*arguments)


def lower_lanes(
    closed: ClosedJaxpr, width: int, short: int | None = None, shared: Collection[int] = ()
) -> Program:
    """Lower the jaxpr of one lane to a function over lanes, `width` at a time.

    `short`: arrays of more numbers are in memory, and the lanes follow each other, with
    `width` numbers of an array at a time. The `shared` arguments, long ones, have no
    axis of lanes then: all read the same.

    **Raises:** `LoweringError` for unsupported operations.
    """
    lowering = Lowering(width, short, {f"%in{k}" for k in shared})
    signature = lower_lane(lowering, closed)
    text, lanes = _module(lowering, signature), lowering.assembler.width
    return Program.of(text, lanes, signature, lowering.workspace)


def lower_lane(lowering: Lowering, closed: ClosedJaxpr) -> Signature:
    """Lower a jaxpr with loads and stores of its arrays; return its signature.

    Lanes begin at `%i` of `%n`; arrays are at `%in0`, `%in1`, ..., `%out0`, ...
    """
    signature = Signature(_signature(closed.jaxpr.invars), _signature(closed.jaxpr.outvars))
    pointers = [f"%in{k}" for k in range(len(signature.inputs))]
    # A CPU's arrays may be views that begin anywhere.
    align = _bytes if lowering.threads else (lambda kind: 1)
    arguments = [
        lowering.load(pointer, *entry, align(entry[1]))
        for pointer, entry in zip(pointers, signature.inputs, strict=True)
    ]
    results = lowering.closed(closed, arguments)
    for k, (values, (_, kind)) in enumerate(zip(results, signature.outputs, strict=True)):
        lowering.store(f"%out{k}", values, kind, align(kind))
    return signature


def _signature(variables) -> tuple:
    entries = [(tuple(v.aval.shape), kind_of(v.aval.dtype)) for v in variables]
    for _, kind in entries:
        check_kind(kind)
    return tuple(entries)


def _bytes(kind: str) -> int:
    return np.dtype(kind).itemsize


def helpers(a: Assembler) -> tuple[str, str]:
    """Return the IR of the helper functions and the declarations of intrinsics."""
    own = sorted(a.declared - _FUNCTIONS.keys())
    helper = "".join(text() for name, text in _FUNCTIONS.items() if name in a.declared)
    return helper, "\n".join(line for line in own if line not in helper)


def _module(lowering: Lowering, signature: Signature) -> str:
    """Return the IR of the module: a group of lanes, and the loop over groups."""
    a = lowering.assembler
    helper, declared = helpers(a)
    declared = "\n".join([declared, *lowering.tables])
    inputs = [f"ptr noalias %in{k}" for k in range(len(signature.inputs))]
    outputs = [f"ptr noalias %out{k}" for k in range(len(signature.outputs))]
    parameters = ", ".join(["i64 %n", "i64 %i", *inputs, *outputs])
    fetched, passed = [], ["i64 %n", "i64 %i"]
    for side, entries in (("in", signature.inputs), ("out", signature.outputs)):
        for k in range(len(entries)):
            fetched += [
                f"%{side}a{k} = getelementptr ptr, ptr %{side}puts, i64 {k}",
                f"%{side}{k} = load ptr, ptr %{side}a{k}",
            ]
            passed.append(f"ptr %{side}{k}")
    if lowering.workspace:
        parameters += f", ptr noalias {WORK}"
        passed.append(f"ptr {WORK}")
        fetched += [
            f"{WORK}a = getelementptr ptr, ptr %inputs, i64 {len(signature.inputs)}",
            f"{WORK} = load ptr, ptr {WORK}a",
        ]
    body, gathered = "\n".join([*a.entries, *a.lines]), "\n".join(fetched)
    return f"""{declared}
{helper}
define internal void @group({parameters}) {{
entry:
{body}
ret void
}}

define void @lanes(i64 %n, i64 %from, i64 %to, ptr %inputs, ptr %outputs) {{
entry:
{gathered}
br label %next
next:
%i = phi i64 [ %from, %entry ], [ %after, %one ]
%more = icmp slt i64 %i, %to
br i1 %more, label %one, label %end
one:
call void @group({", ".join(passed)})
%after = add i64 %i, {a.width}
br label %next
end:
ret void
}}
"""
