"""Lowering of a jaxpr of one lane to an LLVM function over many lanes."""

import functools
import hashlib
import sysconfig
import zlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr

from ...foundation.types import AnyArray
from ..ir.argument_reduction import large_angle_text
from ..ir.assembler import (
    Assembler,
    LoweringError,
    Value,
    kind_of,
    known,
    storage,
    vector,
)
from ..ir.float_remainder import remainder_text
from . import (
    axes,
    control,
    in_place,
    indexing,
    linear,
    memory_control,
    ordering,
    primitives,
    tangents,
)
from .control import Argument
from .memory_arrays import Named
from .memory_primitives import VIEWS

# Each number of a lane is an LLVM value. This many take LLVM 10 s, and XLA minutes.
_MAX_LINES = 300_000
WORK = "%work"  # the pointer to the workspace
_TABLE = {
    **primitives.TABLE,
    **axes.TABLE,
    **ordering.TABLE,
    **indexing.TABLE,
    **linear.TABLE,
    **control.TABLE,
    **memory_control.SHARED,
    **tangents.TABLE,
    **in_place.TABLE,
}


# Folders of Python, of installed packages and of this library.
_NOT_THE_USERS = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    str(Path(__file__).parents[2]),
)
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


class Lowering:
    """Lowers the equations of a jaxpr, number by number.

    Arrays are NumPy arrays of `Value`; rearranging them emits nothing. `mask`: the
    lanes that are active in the current loop or branch, `None` for all; `threads`:
    whether the target is a GPU, with one lane per thread and few registers; `tables`:
    definitions of constants that all lanes read; `workspace`: the bytes of memory that
    the program needs; `unrolls`: whether arrays are names of numbers now, and loops over
    them unrolled.
    """

    workspace: int = 0
    unrolls: bool = True

    def __init__(self, width: int, threads: bool = False):
        self.assembler, self.threads = Assembler(width), threads
        self.mask: Value | None = None
        self.tables: list[str] = []

    def array(self, numbers: AnyArray) -> np.ndarray:
        """Return constants as an array of values."""
        numbers = np.asarray(numbers)
        check_kind(numbers.dtype.name)
        values = np.empty(numbers.shape, object)
        for place in np.ndindex(numbers.shape):
            values[place] = self.assembler.constant(numbers[place], numbers.dtype.name)
        return values

    def evaluate(self, jaxpr: Jaxpr, constants: Sequence, arguments: Sequence) -> list:
        """Lower a jaxpr and return its results."""
        shared, last = self.uses(jaxpr)
        environment: dict[Any, Any] = {}

        def put(variables, arrays):
            for variable, array in zip(variables, arrays, strict=True):
                environment[variable] = self.kept(array) if variable in shared else array

        def read(variable):
            if isinstance(variable, core.Literal):
                return self.array(np.asarray(variable.val, variable.aval.dtype))
            return environment[variable]

        put(jaxpr.constvars, map(self.array, constants))
        put(jaxpr.invars, arguments)
        for number, equation in enumerate(jaxpr.eqns):
            inputs = [read(variable) for variable in equation.invars]
            put(equation.outvars, self.equation(equation, inputs))
            self.check_length()
            # Releases the memory of what is not used any more.
            for variable in last.get(number, ()):
                environment.pop(variable, None)
        return [read(variable) for variable in jaxpr.outvars]

    def uses(self, jaxpr: Jaxpr) -> tuple[Collection, dict[int, list]]:
        """Return variables to be kept, and those to be dropped after each equation."""
        return (), {}

    def kept(self, array: Any) -> Any:
        """Return an array that may be read several times."""
        return array

    def is_long(self, shape: Sequence[int]) -> bool:
        """Return whether arrays of a shape are in memory."""
        return False

    def check_length(self) -> None:
        """Raise `LoweringError` if the program is too long."""
        if len(self.assembler.lines) > _MAX_LINES:
            raise LoweringError(f"more than {_MAX_LINES} instructions")

    def short_array(self, array: Any) -> np.ndarray:
        """Return a long array as names of its numbers."""
        if isinstance(array, np.ndarray):
            return array
        if isinstance(array, Argument):
            return array.whole()
        if isinstance(array, Named):
            return array.layout
        values = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            values[place] = array.at(self.assembler, place)
        return values

    def fill(self, target: Any, source: Any) -> None:
        """Set the numbers of an array to those of another of the same shape."""
        target.layout[...] = source.layout

    def load(self, pointer: str, shape: tuple[int, ...], kind: str, align: int) -> Any:
        """Load an argument, or prepare to load the rows of a long one."""
        a, places = self.assembler, np.arange(int(np.prod(shape))).reshape(shape)

        def load(pointer: str, number: int | str) -> Value:
            return loaded(a, pointer, number, kind, align)

        whole = Argument(places, (pointer,), max(places.size, 1), load, a)
        return whole.view(places)

    def store(self, pointer: str, values: Any, kind: str, align: int) -> None:
        """Store a result."""
        values = self.short_array(values)
        for number, place in enumerate(np.ndindex(values.shape)):
            store(self.assembler, pointer, number, values[place], kind, align)

    def closed(self, closed: ClosedJaxpr, arguments: Sequence) -> list:
        """Lower a closed jaxpr."""
        if hasattr(closed, "consts"):
            return self.evaluate(closed.jaxpr, closed.consts, arguments)
        return self.evaluate(closed, (), arguments)

    def equation(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation."""
        try:
            return self.lowered(equation, inputs)
        except LoweringError as error:
            error.place = error.place or _line_of(equation)
            raise

    def lowered(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation by its primitive's function."""
        name = equation.primitive.name
        write = _TABLE.get(name)
        for variable in (*equation.invars, *equation.outvars):
            check_kind(kind_of(variable.aval.dtype))
        if write is None:
            raise LoweringError(f"JAX's {name} is not supported")
        if name in VIEWS and isinstance(inputs[0], Argument):
            (places,) = write(self, equation, [inputs[0].places])
            return [inputs[0].view(places)]
        first_axis = name == "concatenate" and equation.params["dimension"] == 0
        if first_axis and control.are_whole(inputs):
            return [inputs[0].joined(inputs[1:])]
        # A scan reads the rows of its arrays, and what is called its arguments.
        later = len(inputs) if name in control.CALLS else 0
        if name == "scan":
            later = len(inputs) - sum(control.scan_counts(equation.params))
        named = len(inputs) - later
        inputs = [*map(self.short_array, inputs[:named]), *inputs[named:]]
        results = write(self, equation, inputs)
        return [x if isinstance(x, Argument) else self.short_array(x) for x in results]


@functools.cache
def check_kind(kind: str) -> None:
    """Raise `LoweringError` for unsupported dtypes; cached, as every variable has one."""
    if not known(kind):
        raise LoweringError(f"dtype {kind} is not supported")


def _line_of(equation: Any) -> str:
    """Return the line of the user's code that an equation comes from, "" if unknown."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        if not frame.file_name.startswith(_NOT_THE_USERS):
            return f" ({frame.file_name}:{frame.line_num})"
    return ""


def trace(function: Callable, arguments: Sequence) -> tuple[Any, Any]:
    """Return a function's jaxpr for arguments or shapes, and its results' shapes."""
    traced = tangents.traced_for_lowering(function)
    return jax.make_jaxpr(traced, return_shape=True)(*arguments)


def lower_lanes(closed: ClosedJaxpr, width: int) -> Program:
    """Lower the jaxpr of one lane to a function over lanes, `width` at a time.

    **Raises:** `LoweringError` for unsupported operations.
    """
    return program_of(Lowering(width), closed)


def program_of(lowering: Lowering, closed: ClosedJaxpr) -> Program:
    """Lower the jaxpr of one lane by a new `lowering`, to a function over lanes."""
    width, signature = lowering.assembler.width, lower_lane(lowering, closed)
    return Program.of(_module(lowering, signature), width, signature, lowering.workspace)


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


def _place(a: Assembler, pointer: str, number: int | str, kind: str) -> str:
    offset = a.assign(f"mul i64 %n, {number}")
    offset = a.assign(f"add i64 {offset}, %i")
    return a.assign(f"getelementptr {storage(kind)}, ptr {pointer}, i64 {offset}")


def loaded(a: Assembler, pointer: str, number: int | str, kind: str, align: int) -> Value:
    """Load a number of an argument, by its index or the name of that."""
    stored, address = vector(storage(kind), a.width), _place(a, pointer, number, kind)
    return a.loaded(kind, a.assign(f"load {stored}, ptr {address}, align {align}"))


def store(
    a: Assembler, pointer: str, number: int | str, value: Value, kind: str, align: int
) -> None:
    """Store a number of a result."""
    stored, name = vector(storage(kind), a.width), a.storable(value)
    address = _place(a, pointer, number, kind)
    a.line(f"store {stored} {name}, ptr {address}, align {align}")


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
