"""JVPs of the equations of a jaxpr, and which variables have tangents."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from ..ir.assembler import is_float, kind_of

_CALLS = ("jit", "pjit", "closed_call", "core_call", "custom_vmap_call")
# Operations with floating results but zero derivatives.
_ZERO_TANGENTS = ("stop_gradient", "sign", "floor", "ceil", "round")
_KNOWN: dict[Any, Any] = {}


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """Return the jaxpr of a call equation, `None` for other equations."""
    names = ("jaxpr", "call_jaxpr", "call") if equation.primitive.name in _CALLS else ()
    return next((equation.params[n] for n in names if n in equation.params), None)


def opened(closed: Any) -> tuple[Jaxpr, Sequence]:
    """Return a jaxpr, closed or not, and its constants."""
    if isinstance(closed, ClosedJaxpr):
        return closed.jaxpr, closed.consts
    return closed, ()


def has_zero_tangents(equation: JaxprEqn) -> bool:
    """Return whether the tangents of an equation's results are always zero."""
    return equation.primitive.name in _ZERO_TANGENTS


def is_real(variable: Any) -> bool:
    """Return whether a variable has a floating dtype."""
    return is_float(kind_of(variable.aval.dtype))


def results_with_tangents(jaxpr: Any, moving: Sequence[bool]) -> list[bool]:
    """Return which results may have tangents, given which arguments have."""
    known = dict(zip(jaxpr.invars, moving, strict=True))

    def read(variable):
        return not isinstance(variable, core.Literal) and known.get(variable, False)

    for equation in jaxpr.eqns:
        given = list(map(read, equation.invars))
        if not any(given) or has_zero_tangents(equation):
            found = [False] * len(equation.outvars)
        elif (inner := called(equation)) is not None:
            found = results_with_tangents(opened(inner)[0], given)
        elif equation.primitive.name == "while":
            first = equation.params["cond_nconsts"]
            used = first + equation.params["body_nconsts"]
            found, last = given[used:], None
            while found != last:
                last = found
                after = results_with_tangents(
                    equation.params["body_jaxpr"].jaxpr, [*given[first:used], *last]
                )
                found = [one or other for one, other in zip(last, after, strict=True)]
        else:
            found = [is_real(variable) for variable in equation.outvars]
        known.update(zip(equation.outvars, found, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def jvp_of(
    jaxpr: Jaxpr,
    equation: JaxprEqn,
    variables: Sequence,
    moves: Sequence[bool],
    directions: int,
) -> ClosedJaxpr | None:
    """Return a jaxpr of an equation's JVP, with values and tangents as arguments.

    Tangents have a leading axis of directions, unless there is only one.
    """
    signature = [(v.aval.shape, v.aval.dtype) for v in variables]
    floats = [is_real(variable) for variable in equation.outvars]
    if not any(floats):
        return None
    try:
        places = tuple(
            (np.asarray(v.val).tobytes(), v.aval) if isinstance(v, core.Literal)
            else variables.index(v)
            for v in equation.invars
        )  # fmt: skip
        parameters = tuple(sorted(equation.params.items()))
        key = equation.primitive, parameters, tuple(signature), places, moves, directions
        hash(key)
    except TypeError:
        key = None
    if key is not None and key in _KNOWN:
        return _KNOWN[key]
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

        return one(*along) if directions == 1 else jax.vmap(one)(*along)

    shapes = [jax.ShapeDtypeStruct(*each) for each in signature]
    leading = () if directions == 1 else (directions,)
    along = [
        jax.ShapeDtypeStruct((*leading, *shape), kind)
        for (shape, kind), move in zip(signature, moves, strict=True)
        if move
    ]
    found = jax.make_jaxpr(changes)(*shapes, *along)
    if key is not None:
        _KNOWN[key] = found
    return found
