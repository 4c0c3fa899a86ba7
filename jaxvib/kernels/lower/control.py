"""Lowering of control flow: loops, branches and calls."""

import contextlib
import itertools
from collections.abc import Callable, Generator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.extend.core import JaxprEqn

from ..ir.assembler import Assembler, Value
from .primitives import as_array, each


def called(lowering: Any, equation: JaxprEqn, inputs: Sequence) -> list:
    """Inline a called jaxpr; custom derivative rules are ignored."""
    parameters = equation.params
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr", "call"):
        if name in parameters:
            return lowering.closed(parameters[name], inputs)
    raise KeyError(f"{equation.primitive.name} has no jaxpr")


def loop_inputs(equation: JaxprEqn, inputs: Sequence) -> tuple[list, list, list]:
    """Return the constants of a `while`'s condition and body, and the carried values."""
    first = equation.params["cond_nconsts"]
    last = first + equation.params["body_nconsts"]
    mapped = equation.params["cond_jaxpr"].out_avals[0].shape
    begin = 0 if mapped else first  # the body of a mapped loop evaluates the condition
    return list(inputs[:first]), list(inputs[begin:last]), list(inputs[last:])


def loop_jaxprs(equation: JaxprEqn) -> tuple[Any, Any]:
    """Return a `while`'s condition and body.

    A loop that `jax.vmap` has mapped has a condition for each element: it goes on while
    any holds, and the others keep their values.
    """
    parameters = equation.params
    first, second = parameters["cond_nconsts"], parameters["body_nconsts"]
    condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
    if not condition.out_avals[0].shape:
        return condition, body

    def any_holds(*arguments):
        return jnp.any(core.jaxpr_as_fun(condition)(*arguments)[0])

    def iterate(*arguments):
        condition_consts, rest = arguments[:first], arguments[first:]
        values = rest[second:]
        (go,) = core.jaxpr_as_fun(condition)(*condition_consts, *values)
        new = core.jaxpr_as_fun(body)(*rest)
        return [
            jnp.where(go.reshape(go.shape + (1,) * (x.ndim - go.ndim)), x, old)
            for x, old in zip(new, values, strict=True)
        ]

    one = jax.make_jaxpr(any_holds)(*condition.in_avals)
    return one, jax.make_jaxpr(iterate)(*condition.in_avals[:first], *body.in_avals)


def repeat(lowering: Any, start: Sequence, go_on: Callable, iterate: Callable) -> list:
    """Emit a loop from `start`: `iterate(values)` while `go_on(values)`."""
    a = lowering.assembler
    carry = Carried(lowering, start)
    carry.begin()
    go = go_on(carry.values)
    outer = lowering.mask
    if outer is not None:
        go = a.bitwise_and(go, outer)
    body, done = a.label(), a.label()
    a.branch(a.any(go), body, done)
    a.begin(body)
    lowering.mask = go
    new = iterate(carry.values)
    lowering.mask = outer
    carry.end(new, go if a.width > 1 else None)
    a.begin(done)
    return carry.values


@contextlib.contextmanager
def counted(lowering: Any, length: int | str, carry: Any = None) -> Generator[str]:
    """Emit a loop around what the context emits; yield its index.

    `length`: a number, or the name of an i64. The caller sets the new values of `carry`,
    if given, as its `following`.
    """
    a, carry = lowering.assembler, carry or Carried(lowering, ())
    iterate = carry.begin(counted=True)
    body, done = a.label(), a.label()
    a.branch(a.assign(f"icmp slt i64 {iterate}, {length}"), body, done)
    a.begin(body)
    yield iterate
    carry.end(carry.following, None)
    a.begin(done)


def joined(
    a: Assembler,
    condition: Value,
    found: Sequence[np.ndarray],
    others: Sequence[np.ndarray],
    blocks: tuple[str, str],
    met_first: Callable = lambda start, end: None,
) -> list[np.ndarray]:
    """End a branch, taken in the lanes `condition`; return its results and the others'.

    `blocks`: the one before the branch, and the one after it, which begins here with what
    `met_first(before the branch, its end)` emits.
    """
    end, (start, after) = a.block, blocks
    a.jump(after)
    a.begin(after)
    met_first(start, end)

    def met(value):
        absent = a.constant(0, value.kind).name
        text = a.phi(a.type(value.kind), (value.name, end), (absent, start))
        return a.value(value.kind, text)

    found = [each(met, array) for array in found]
    if not others:
        return found
    return [
        each(lambda new, old: a.select(condition, new, old), new, old)
        for new, old in zip(found, others, strict=True)
    ]


def expanded(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower an operation that JAX expands late, from 0.12 on."""
    variables = equation.invars
    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in variables]
    closed = jax.make_jaxpr(equation.params["_prim"].expand)(*shapes)
    return lowering.closed(closed, inputs)


def of_this_platform(lowering: Any, equation: JaxprEqn, inputs: Sequence) -> list:
    """Lower `platform_index`: the index of the CPU's branch."""
    for number, platforms in enumerate(equation.params["platforms"]):
        if platforms is None or "cpu" in platforms:
            return [lowering.array(np.asarray(number, np.int32))]
    raise KeyError("no branch for the platform cpu")


class Carried:
    """The loop-carried values, as phi nodes."""

    def __init__(self, lowering, start):
        self.lowering, self.start = lowering, start
        self.following: list[np.ndarray] = []

    def begin(self, counted: bool = False) -> str:
        """Begin the loop header; return the name of its index if it is `counted`."""
        a = self.lowering.assembler
        self.before, self.head = a.block, a.label()
        a.jump(self.head)
        a.begin(self.head)
        self.iterate, self.turn_line = (a.name(), a.reserve_line()) if counted else ("", -1)
        self.lines: list[tuple[int, str]] = []
        self.values = []
        for array in self.start:
            values = np.empty(array.shape, object)
            for place in np.ndindex(array.shape):
                name = a.name()
                self.lines.append((a.reserve_line(), name))
                values[place] = Value(name, array[place].kind)
            self.values.append(values)
        return self.iterate

    def end(self, new, active: Value | None) -> None:
        """End the loop body; only the `active` lanes take the new values."""
        a = self.lowering.assembler
        olds = itertools.chain.from_iterable(array.flat for array in self.values)
        news = itertools.chain.from_iterable(as_array(array).flat for array in new)
        kept = [
            value if active is None or value.name == old.name
            else a.select(active, value, old)
            for old, value in zip(olds, news, strict=True)
        ]  # fmt: skip
        end = a.block
        if self.iterate:
            following = a.assign(f"add i64 {self.iterate}, 1")
            text = a.phi("i64", ("0", self.before), (following, end))
            a.lines[self.turn_line] = f"{self.iterate} = {text}"
        a.jump(self.head)
        first = itertools.chain.from_iterable(array.flat for array in self.start)
        for (line, name), begun, value in zip(self.lines, first, kept, strict=True):
            text = a.phi(a.type(value.kind), (begun.name, self.before), (value.name, end))
            a.lines[line] = f"{name} = {text}"


class Table:
    """Rows of named numbers in memory, for indices known only at run time."""

    def __init__(self, lowering, kind: str, shape: Sequence[int]):
        """Take memory for an array of a shape, its numbers unset."""
        self.lowering, self.kind, self.shape = lowering, kind, tuple(shape)
        a, width = lowering.assembler, max(int(np.prod(shape[1:])), 1)
        self.row = f"[{width} x {a.type(kind)}]"
        self.pointer = a.entry(f"alloca [{max(shape[0], 1)} x {self.row}]")

    def write(self, row: str, values: np.ndarray) -> None:
        """Store a row."""
        a = self.lowering.assembler
        for k, value in enumerate(values.flat):
            place = self._place(row, k)
            a.line(f"store {a.type(self.kind)} {value.name}, ptr {place}")

    def read(self, row: str) -> np.ndarray:
        """Return a row."""
        a = self.lowering.assembler
        values = np.empty(self.shape[1:], object)
        for k, place in enumerate(np.ndindex(values.shape)):
            name = a.assign(f"load {a.type(self.kind)}, ptr {self._place(row, k)}")
            values[place] = Value(name, self.kind)
        return values

    def whole(self) -> np.ndarray:
        """Return all rows."""
        values = np.empty(self.shape, object)
        for k in range(self.shape[0]):
            values[k, ...] = self.read(str(k))
        return values

    def _place(self, row: str, k: int) -> str:
        return self.lowering.assembler.assign(
            f"getelementptr {self.row}, ptr {self.pointer}, i64 {row}, i64 {k}"
        )


def scan_counts(parameters) -> tuple[int, int]:
    """Return the numbers of constants and of carried values of a `scan`."""
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constants, carried, _ = parameters["ft_in"].unpack()  # from JAX 0.12 on
    return len(constants), len(carried)


CALLS = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "custom_vmap_call",
    "remat",
    "checkpoint",
    "remat2",
)
TABLE = {
    "platform_index": of_this_platform,
    "call_hi_primitive": expanded,
    **dict.fromkeys(CALLS, called),
}
