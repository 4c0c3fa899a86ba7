"""Forward-mode tangents along several directions, generated with the primal values.

Tangents do not affect control flow. Between two loops all primal equations are
therefore emitted first, and then their tangents, once, in a loop over the directions:
the code hardly grows with their number, and the bits are those of unrolled code.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr

from ..ir.assembler import Value, kind_of
from .control import Table, counted, loop_inputs, loop_jaxprs, repeat
from .jvp_rules import (
    called,
    has_zero_tangents,
    is_real,
    jvp_of,
    opened,
    results_with_tangents,
)
from .primitives import each

# Directions per iteration of that loop. Two share their loads, which saves a twentieth
# of the time with four directions; with many the shorter program compiles sooner, and a
# thread of a GPU lacks the registers for two.
_AT_ONCE, _FEW = 2, 4


class Tangent:
    """The tangent of an array along the directions of one iteration.

    Its values, of the array's shape with a leading axis `together` if that is above 1,
    are available in the pass that emitted them, and read from a table in others. If it
    has neither, the tangent is zero.
    """

    def __init__(self, shape, kind: str):
        self.shape, self.kind = shape, kind
        self.table: Table | None = None
        self.values: np.ndarray | None = None
        self.pass_: _Pass | None = None

    @property
    def moves(self) -> bool:
        """Whether the tangent is non-zero."""
        return self.values is not None or self.table is not None


class _Pass:
    """A loop over directions: its index, and a reserved line at its end."""

    def __init__(self, iterate: str):
        self.iterate, self.end = iterate, -1
        self.read: dict[int, np.ndarray] = {}


class ForwardMode:
    """Lowers the equations of a jaxpr and their tangents."""

    def __init__(self, lowering, directions: int):
        self.lowering, self.directions = lowering, directions
        several = directions <= _FEW and not lowering.threads
        self.together = min(directions, _AT_ONCE if several else 1)
        self.turns = -(-directions // self.together)
        self._leading = () if self.together == 1 else (self.together,)
        self._waiting: list[Callable[[], None]] = []
        self._now = _Pass("")

    # Passing tangents from one loop over directions to another.

    def given(self, rows: np.ndarray, variable: Any) -> Tangent:
        """Return the tangent of a variable, given for all directions (first axis)."""
        change = self._in_table(variable)
        whole = np.full((self.turns * self.together, *change.shape), None, object)
        whole[:] = self.lowering.assembler.constant(0.0, change.kind)
        whole[: self.directions] = rows
        for iterate, part in enumerate(np.split(whole, self.turns)):
            self._tangent_table(change).write(str(iterate), part)
        return change

    def whole(self, change: Tangent | None, variable: Any) -> np.ndarray:
        """Return a variable's tangents along all directions."""
        if change is None or not change.moves:
            zero = self.lowering.assembler.constant(0.0, kind_of(variable.aval.dtype))
            return np.full((self.directions, *variable.aval.shape), zero, object)
        rows = self._tangent_table(change).whole()
        return rows.reshape(-1, *change.shape)[: self.directions]

    def flush(self) -> None:
        """Emit the pending tangents, in a loop over the directions."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        with counted(self.lowering, self.turns) as iterate:
            self._now = _Pass(iterate)
            for write in waiting:
                write()
            self._now.end = self.lowering.assembler.reserve_line()
        self._now = _Pass("")

    def _in_table(self, variable) -> Tangent:
        """Return a tangent of a variable that is stored in a table."""
        change = _tangent_of(variable)
        change.table = self._table(change)
        return change

    def _table(self, change: Tangent) -> Table:
        shape = self.turns, *self._leading, *change.shape
        return Table(self.lowering, change.kind, shape)

    def _zero_tangent(self, change: Tangent) -> np.ndarray:
        """Return a zero tangent."""
        zero = self.lowering.assembler.constant(0.0, change.kind)
        return np.full((*self._leading, *change.shape), zero, object)

    def _tangent_table(self, change: Tangent) -> Table:
        """Return a tangent's table, creating and filling it if necessary."""
        if change.table is None:
            a, pass_ = self.lowering.assembler, change.pass_
            assert pass_ is not None  # the tangent is not zero
            assert change.values is not None
            change.table = self._table(change)
            lines, a.lines = a.lines, []
            change.table.write(pass_.iterate, change.values)
            written, a.lines = a.lines, lines
            a.lines[pass_.end] += "".join(f"{line}\n" for line in written)
        return change.table

    def _read(self, change: Tangent | None) -> np.ndarray | None:
        """Return a tangent along the current directions, `None` if it is zero."""
        if change is None or not change.moves:
            return None
        if change.pass_ is self._now:
            return change.values
        if id(change) not in self._now.read:
            table = self._tangent_table(change)
            self._now.read[id(change)] = table.read(self._now.iterate)
        return self._now.read[id(change)]

    # Equations of a jaxpr.

    def closed(
        self, closed: ClosedJaxpr, arguments: Sequence, changes: Sequence
    ) -> tuple[list, list]:
        """Lower a closed jaxpr with tangents."""
        jaxpr, constants = opened(closed)
        known = [(v, self.lowering.array(c), None) for v, c in
                 zip(jaxpr.constvars, constants, strict=True)]  # fmt: skip
        return self.evaluate(
            jaxpr, [*known, *zip(jaxpr.invars, arguments, changes, strict=True)]
        )

    def evaluate(self, jaxpr: Any, known: Sequence) -> tuple[list, list]:
        """Lower a jaxpr, given `known` (variable, value, tangent) of its inputs."""
        environment: dict[Any, tuple] = {v: (value, change) for v, value, change in known}

        def read(variable):
            if isinstance(variable, core.Literal):
                number = np.asarray(variable.val, variable.aval.dtype)
                return self.lowering.array(number), None
            return environment[variable]

        for equation in jaxpr.eqns:
            given = [read(variable) for variable in equation.invars]
            inputs, moves = [value for value, _ in given], [move for _, move in given]
            results, changes = self._equation(jaxpr, equation, inputs, moves)
            self.lowering.check_length()
            environment.update(
                zip(equation.outvars, zip(results, changes, strict=True), strict=True)
            )
        found = [read(variable) for variable in jaxpr.outvars]
        return [value for value, _ in found], [change for _, change in found]

    def _equation(self, jaxpr, equation, inputs, changes):
        """Lower one equation and queue its tangents."""
        if all(change is None for change in changes):
            return self.lowering.equation(equation, inputs), [None] * len(equation.outvars)
        if (inner := called(equation)) is not None:
            return self.closed(inner, inputs, changes)
        if equation.primitive.name == "while":
            return self._loop(equation, inputs, changes)
        results = self.lowering.equation(equation, inputs)
        if has_zero_tangents(equation):
            return results, [None] * len(results)
        return results, self._changes(jaxpr, equation, inputs, changes)

    def _changes(self, jaxpr, equation, inputs, changes):
        """Queue the JVP of an equation and return the tangents of its results."""
        variables, arguments = [], []
        for variable, value, change in zip(equation.invars, inputs, changes, strict=True):
            if not isinstance(variable, core.Literal) and variable not in variables:
                variables.append(variable)
                arguments.append((value, change))
        results = [_tangent_of(v) if is_real(v) else None for v in equation.outvars]

        def write():
            along = [self._read(change) for _, change in arguments]
            moving = [change for change in along if change is not None]
            if not moving or not any(results):
                return
            moves = tuple(change is not None for change in along)
            derivative = jvp_of(jaxpr, equation, tuple(variables), moves, self.together)
            values = [value for value, _ in arguments]
            found = iter(self.lowering.closed(derivative, [*values, *moving]))
            for change in filter(None, results):
                change.values, change.pass_ = self._unless_zero(next(found)), self._now
            self.lowering.check_length()

        self._waiting.append(write)
        return results

    def _unless_zero(self, change: np.ndarray) -> np.ndarray | None:
        """Return a tangent, `None` if it is known to be 0."""
        constant = self.lowering.assembler.constant
        zero = all(value.name == constant(0.0, value.kind).name for value in change.flat)
        return None if zero else change

    def _loop(self, equation, inputs, changes):
        """Lower a `while` with loop-carried tangents, kept in memory."""
        self.flush()
        a = self.lowering.assembler
        condition, body = loop_jaxprs(equation)
        condition_consts, body_consts, begun = loop_inputs(equation, inputs)
        _, pushes, starts = loop_inputs(equation, changes)
        pushed = [change is not None and change.moves for change in pushes]
        moves = [change is not None and change.moves for change in starts]
        while True:  # fixed point of which carried values have tangents
            after = results_with_tangents(body.jaxpr, [*pushed, *moves])
            grown = [one or other for one, other in zip(moves, after, strict=True)]
            if grown == moves:
                break
            moves = grown
        carried = [
            self._in_table(variable) if move else None
            for move, variable in zip(moves, equation.outvars, strict=True)
        ]

        def go(values):
            (go,) = self.lowering.closed(condition, [*condition_consts, *values])
            return go[()]

        def iterate(values):
            new, after = self.closed(body, [*body_consts, *values], [*pushes, *carried])
            self._store_carried(after, carried, self.lowering.mask if a.width > 1 else None)
            return new

        self._store_carried(starts, carried, None)
        return repeat(self.lowering, begun, go, iterate), carried

    def _store_carried(self, new, carried, active: Value | None) -> None:
        """Store the new loop-carried tangents of the `active` lanes, all at once."""
        a = self.lowering.assembler

        def write():
            found = []
            for change, old in zip(new, carried, strict=True):
                if old is None:
                    continue
                row, before = self._read(change), self._read(old)
                row = self._zero_tangent(old) if row is None else row
                if active is not None and before is not None:
                    row = each(lambda x, y: a.select(active, x, y), row, before)
                found.append((self._tangent_table(old), row))
            for table, row in found:
                table.write(self._now.iterate, row)

        self._waiting.append(write)
        self.flush()


def _tangent_of(variable) -> Tangent:
    return Tangent(variable.aval.shape, kind_of(variable.aval.dtype))
