"""Forward-mode tangents, generated together with the primal values.

JAX differentiates a loop, and maps it over directions, by tracing its body repeatedly
until it knows which values have tangents; for nested loops that is most of the time of
a first call. Here this is determined by inspection, and each equation of the one traced
program is lowered together with JAX's JVP of it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from .forward_mode import ForwardMode
from .jvp_rules import is_real

_LOWERING = jax.make_user_context(False)


def is_lowering() -> bool:
    """Return whether a program is being traced for a kernel."""
    return bool(_LOWERING.value)


def traced_for_lowering(function: Callable) -> Callable:
    """Wrap a function so that `is_lowering` is true in it."""

    @functools.wraps(function)
    def traced(*arguments):
        with _LOWERING(True):
            return function(*arguments)

    return traced


def map_rows(function: Callable, *rows: Any) -> Any:
    """Return `jax.vmap(function)(*rows)`; in a kernel, a loop over the rows.

    A lowered array has a name for each number, so that `vmap` over many rows would
    repeat the same lines as many times.
    """
    if is_lowering():
        return jax.lax.map(lambda row: function(*row), rows)
    return jax.vmap(function)(*rows)


def values_and_tangents(function: Callable, moving: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Return the value of a lowered function and its tangents along many directions.

    `function(moving)` returns a value and auxiliary data; `rows` are tangents of
    `moving`, each leaf with a leading axis of directions. **Returns:** the value, its
    tangents with a leading axis of directions, and the auxiliary data.
    """
    leaves, tree = jax.tree.flatten(moving)

    def flat(*leaves):
        return function(jax.tree.unflatten(tree, leaves))

    closed, shapes = jax.make_jaxpr(flat, return_shape=True)(*leaves)
    values = len(jax.tree.leaves(shapes[0]))
    found = _TANGENTS.bind(
        *closed.consts, *leaves, *jax.tree.leaves(rows),
        jaxpr=closed.jaxpr, moving=len(leaves), values=values,
    )  # fmt: skip
    columns, results = found[:values], found[values:]
    value, rest = jax.tree.unflatten(jax.tree.structure(shapes), results)
    return value, jax.tree.unflatten(jax.tree.structure(value), columns), rest


_TANGENTS = core.Primitive("columns")
_TANGENTS.multiple_results = True


@_TANGENTS.def_abstract_eval
def _shapes(*arguments, jaxpr, moving, values):
    directions = arguments[-1].shape[0]
    results = [variable.aval for variable in jaxpr.outvars]
    columns = [r.update(shape=(directions, *r.shape)) for r in results[:values]]
    return [*columns, *results]


def _tangents(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a jaxpr with its tangents along rows."""
    if not lowering.unrolls:
        return _in_memory(lowering, equation, inputs)
    jaxpr, moving = equation.params["jaxpr"], equation.params["moving"]
    arguments, rows = inputs[:-moving], inputs[-moving:]
    duals = ForwardMode(lowering, rows[0].shape[0])
    changes = [None] * len(jaxpr.constvars) + [
        duals.given(along, variable)
        for along, variable in zip(rows, jaxpr.invars, strict=True)
    ]
    known = zip([*jaxpr.constvars, *jaxpr.invars], arguments, changes, strict=True)
    results, found = duals.evaluate(jaxpr, list(known))
    duals.flush()
    values = equation.params["values"]
    columns = [
        duals.whole(change, variable)
        for change, variable in zip(found[:values], jaxpr.outvars[:values], strict=True)
    ]
    return [*columns, *results]


def _in_memory(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a jaxpr and its tangents along rows, which are an axis of long arrays."""
    parameters = equation.params
    jaxpr, count = parameters["jaxpr"], parameters["values"]
    constants = len(jaxpr.constvars)
    variables = [*jaxpr.constvars, *jaxpr.invars]
    directions = equation.invars[-1].aval.shape[0]
    real = [is_real(variable) for variable in jaxpr.outvars[:count]]

    def whole(*arguments):
        arrays, rows = arguments[: len(variables)], arguments[len(variables) :]

        def of(*moved):
            closed = core.ClosedJaxpr(jaxpr, arrays[:constants])
            results = core.jaxpr_as_fun(closed)(*moved)
            values = results[:count]
            return [v for v, one in zip(values, real, strict=True) if one], results

        def along(*row):
            return jax.jvp(of, tuple(arrays[constants:]), row, has_aux=True)[1:]

        columns, results = jax.vmap(along, out_axes=(0, None))(*rows)
        columns = iter(columns)
        return [
            *(
                next(columns)
                if one
                else np.zeros((directions, *v.aval.shape), v.aval.dtype)
                for one, v in zip(real, jaxpr.outvars, strict=False)
            ),
            *results,
        ]

    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return lowering.closed(jax.make_jaxpr(whole)(*shapes), inputs)


TABLE = {"columns": _tangents}
