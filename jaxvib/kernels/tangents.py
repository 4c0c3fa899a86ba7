"""Columns: derivatives along several directions, written down beside the values.

JAX takes the derivative of a loop, and maps it over directions, by tracing the loop's body
over and over until it knows what moves: of loops in loops that is most of what a first
call takes. Here what moves is told by looking, and each equation of the one traced program
is written down with its own derivatives, as JAX has them, next to it.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend import core

from .assembler import is_float, kind_of
from .control import repeat

_PRINTING = jax.make_user_context(False)
_CALLS = ("jit", "pjit", "closed_call", "core_call", "custom_vmap_call")
# What has floats that never move, whatever it is given.
_STILL = ("stop_gradient", "sign", "floor", "ceil", "round")


def printing() -> bool:
    """Return whether a program is traced for a kernel just now."""
    return bool(_PRINTING.value)


def traced_for_printing(function: Callable) -> Callable:
    """Return a function that runs where `printing` is true."""

    @functools.wraps(function)
    def traced(*arguments):
        with _PRINTING(True):
            return function(*arguments)

    return traced


def side_by_side(function: Callable, moving, rows):
    """Return what a function gives, and the columns of its value, where it is printed.

    `function(moving)` returns a value and more; `rows` are changes of `moving`, each leaf
    with a leading axis of directions. **Returns:** the value, its columns with a leading
    axis of directions, and the rest.
    """
    leaves, tree = jax.tree.flatten(moving)

    def flat(*leaves):
        return function(jax.tree.unflatten(tree, leaves))

    closed, shapes = jax.make_jaxpr(flat, return_shape=True)(*leaves)
    values = len(jax.tree.leaves(shapes[0]))
    found = _COLUMNS.bind(
        *closed.consts, *leaves, *jax.tree.leaves(rows),
        jaxpr=closed.jaxpr, moving=len(leaves), values=values,
    )  # fmt: skip
    columns, results = found[:values], found[values:]
    value, rest = jax.tree.unflatten(jax.tree.structure(shapes), results)
    return value, jax.tree.unflatten(jax.tree.structure(value), columns), rest


_COLUMNS = core.Primitive("columns")
_COLUMNS.multiple_results = True


@_COLUMNS.def_abstract_eval
def _shapes(*arguments, jaxpr, moving, values):
    directions = arguments[-1].shape[0]
    results = [variable.aval for variable in jaxpr.outvars]
    columns = [r.update(shape=(directions, *r.shape)) for r in results[:values]]
    return [*columns, *results]


def _columns(printer, equation, inputs):
    """Write down a jaxpr with its columns along rows."""
    jaxpr, moving = equation.params["jaxpr"], equation.params["moving"]
    arguments, rows = inputs[:-moving], inputs[-moving:]
    constants = len(jaxpr.constvars)
    duals = _Duals(printer, rows[0].shape[0])
    still = [None] * constants
    environment = zip(
        [*jaxpr.constvars, *jaxpr.invars], arguments, [*still, *rows], strict=True
    )
    results, changes = duals.evaluate(jaxpr, list(environment))
    values = equation.params["values"]
    columns = [
        duals.whole(change, result)
        for change, result in zip(changes[:values], results[:values], strict=True)
    ]
    return [*columns, *results]


class _Duals:
    """Writes down a jaxpr's equations, and their changes along several directions.

    The change of an array has a leading axis of `directions`, or is `None` where nothing
    moves.
    """

    def __init__(self, printer, directions: int):
        self.printer, self.directions = printer, directions

    def whole(self, change, value: np.ndarray) -> np.ndarray:
        """Return a change as an array, zeros where nothing moves."""
        if change is not None:
            return change
        zero = self.printer.assembler.constant(0.0, value.flat[0].kind)
        return np.full((self.directions, *value.shape), zero, object)

    def closed(self, closed, arguments, changes):
        """Write down a jaxpr that brings its constants."""
        jaxpr, constants = closed, ()
        if hasattr(closed, "consts"):
            jaxpr, constants = closed.jaxpr, closed.consts
        known = [(v, self.printer.array(c), None) for v, c in
                 zip(jaxpr.constvars, constants, strict=True)]  # fmt: skip
        return self.evaluate(
            jaxpr, [*known, *zip(jaxpr.invars, arguments, changes, strict=True)]
        )

    def evaluate(self, jaxpr, known):
        """Write down a jaxpr, `known` (variable, value, change) of all it is given."""
        environment: dict[Any, tuple] = {v: (value, change) for v, value, change in known}

        def read(variable):
            if isinstance(variable, core.Literal):
                number = np.asarray(variable.val, variable.aval.dtype)
                return self.printer.array(number), None
            return environment[variable]

        for equation in jaxpr.eqns:
            given = [read(variable) for variable in equation.invars]
            inputs, moves = [value for value, _ in given], [move for _, move in given]
            results, changes = self.equation(jaxpr, equation, inputs, moves)
            self.printer.check_length()
            environment.update(
                zip(equation.outvars, zip(results, changes, strict=True), strict=True)
            )
        found = [read(variable) for variable in jaxpr.outvars]
        return [value for value, _ in found], [change for _, change in found]

    def equation(self, jaxpr, equation, inputs, changes):
        """Write down one equation of a jaxpr and its changes."""
        name = equation.primitive.name
        if all(change is None for change in changes):
            return self.printer.equation(equation, inputs), [None] * len(equation.outvars)
        if name in _CALLS:
            inner = next(
                equation.params[key]
                for key in ("jaxpr", "call_jaxpr", "call")
                if key in equation.params
            )
            return self.closed(inner, inputs, changes)
        if name == "while":
            return self.loop(equation, inputs, changes)
        results = self.printer.equation(equation, inputs)
        if name in _STILL:
            return results, [None] * len(results)
        return results, self.changes(jaxpr, equation, inputs, changes)

    def changes(self, jaxpr, equation, inputs, changes):
        """Write down the changes of an equation's results, as JAX has them."""
        variables, arguments = [], []
        for variable, value, change in zip(equation.invars, inputs, changes, strict=True):
            if not isinstance(variable, core.Literal) and variable not in variables:
                variables.append(variable)
                arguments.append((value, change))
        moves = tuple(change is not None for _, change in arguments)
        derivative = _derivative(jaxpr, equation, tuple(variables), moves, self.directions)
        if derivative is None:
            return [None] * len(equation.outvars)
        moving = [change for _, change in arguments if change is not None]
        found = iter(
            self.printer.closed(derivative, [*(value for value, _ in arguments), *moving])
        )
        return [
            self._moving(next(found)) if _is_float(variable) else None
            for variable in equation.outvars
        ]

    def _moving(self, change: np.ndarray):
        """Return a change, `None` where it is known to be 0."""
        zero = self.printer.assembler.constant(0.0, change.flat[0].kind).name
        return None if all(value.name == zero for value in change.flat) else change

    def loop(self, equation, inputs, changes):
        """Write down a `while` whose changes go round with its values."""
        parameters = equation.params
        first, second = parameters["cond_nconsts"], parameters["body_nconsts"]
        asked, used = inputs[:first], inputs[first : first + second]
        begun, pushes = inputs[first + second :], changes[first : first + second]
        starts = changes[first + second :]
        body = parameters["body_jaxpr"]
        moves = [change is not None for change in starts]
        pushed = [change is not None for change in pushes]
        while True:  # what moves once moves in all turns
            after = _moves(body.jaxpr, [*pushed, *moves])
            grown = [one or other for one, other in zip(moves, after, strict=True)]
            if grown == moves:
                break
            moves = grown
        places = [k for k, move in enumerate(moves) if move]
        number = len(begun)

        def go(values):
            (go,) = self.printer.closed(
                parameters["cond_jaxpr"], [*asked, *values[:number]]
            )
            return go[()]

        def turn(values):
            now = [None] * number
            for place, change in zip(places, values[number:], strict=True):
                now[place] = change
            new, after = self.closed(body, [*used, *values[:number]], [*pushes, *now])
            return [*new, *(self.whole(after[k], new[k]) for k in places)]

        start = [*begun, *(self.whole(starts[k], begun[k]) for k in places)]
        values = repeat(self.printer, start, go, turn)
        ends = [None] * number
        for place, change in zip(places, values[number:], strict=True):
            ends[place] = change
        return values[:number], ends


def _is_float(variable) -> bool:
    return is_float(kind_of(variable.aval.dtype))


def _moves(jaxpr, moving) -> list[bool]:
    """Return which results move at most, where some of the arguments do."""
    known = dict(zip(jaxpr.invars, moving, strict=True))

    def read(variable) -> bool:
        return not isinstance(variable, core.Literal) and known.get(variable, False)

    for equation in jaxpr.eqns:
        given, name = list(map(read, equation.invars)), equation.primitive.name
        inner = next(
            (equation.params[k] for k in ("jaxpr", "call_jaxpr", "call")
             if name in _CALLS and k in equation.params), None,
        )  # fmt: skip
        if not any(given) or name in _STILL:
            found = [False] * len(equation.outvars)
        elif inner is not None:
            found = _moves(getattr(inner, "jaxpr", inner), given)
        elif name == "while":
            first = equation.params["cond_nconsts"]
            used = first + equation.params["body_nconsts"]
            found, last = given[used:], None
            while found != last:
                last = found
                after = _moves(
                    equation.params["body_jaxpr"].jaxpr, [*given[first:used], *last]
                )
                found = [one or other for one, other in zip(last, after, strict=True)]
        else:
            found = [_is_float(variable) for variable in equation.outvars]
        known.update(zip(equation.outvars, found, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _derivative(jaxpr, equation, variables, moves, directions: int):
    """Return a jaxpr of an equation's changes: of its values, then of the changes given."""
    described = [(v.aval.shape, v.aval.dtype) for v in variables]
    floats = [_is_float(variable) for variable in equation.outvars]
    if not any(floats):
        return None
    try:
        places = tuple(
            (np.asarray(v.val).tobytes(), v.aval) if isinstance(v, core.Literal)
            else variables.index(v)
            for v in equation.invars
        )  # fmt: skip
        parameters = tuple(sorted(equation.params.items()))
        key = equation.primitive, parameters, tuple(described), places, moves, directions
        hash(key)
    except TypeError:
        key = None
    if key is not None and key in _DERIVATIVES:
        return _DERIVATIVES[key]
    alone = core.jaxpr_as_fun(
        core.ClosedJaxpr(
            jaxpr.replace(
                constvars=[],
                invars=list(variables),
                outvars=equation.outvars,
                eqns=[equation],
                effects=equation.effects,
                debug_info=jaxpr.debug_info.with_unknown_names(),
            ),
            (),
        )
    )

    def changes(*arguments):
        values, along = arguments[: len(variables)], arguments[len(variables) :]
        moving = [value for value, move in zip(values, moves, strict=True) if move]

        def of(*moving):
            some = iter(moving)
            whole = [next(some) if m else v for v, m in zip(values, moves, strict=True)]
            results = alone(*whole)
            return [r for r, keep in zip(results, floats, strict=True) if keep]

        def one(*change):
            return jax.jvp(of, tuple(moving), change)[1]

        return jax.vmap(one)(*along)

    shapes = [jax.ShapeDtypeStruct(*each) for each in described]
    along = [
        jax.ShapeDtypeStruct((directions, *shape), kind)
        for (shape, kind), move in zip(described, moves, strict=True)
        if move
    ]
    found = jax.make_jaxpr(changes)(*shapes, *along)
    if key is not None:
        _DERIVATIVES[key] = found
    return found


_DERIVATIVES: dict[Any, Any] = {}

TABLE = {"columns": _columns}
