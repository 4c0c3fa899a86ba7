"""Estimate of the code size of a program from its jaxpr."""

import math
from typing import Any

from .jvp_rules import called

# Instructions per operation on a number, measured on programs of this library: an
# elementary function takes twenty, a sum one or none.
_LINES = 2
# Tangents repeat each equation, next to its value.
_WITH_TANGENTS = 3
# Estimated instructions that take LLVM 10 s: a field of 16 states with all sensitivities.
_LONGEST = 100_000


def is_long(jaxpr: Any) -> bool:
    """Return whether a name for each number of each array makes too long a program."""
    return estimate_instructions(jaxpr) > _LONGEST


def estimate_instructions(jaxpr: Any) -> int:
    """Estimate the instructions of a jaxpr, within a factor of two or so."""
    return sum(map(_instructions, getattr(jaxpr, "jaxpr", jaxpr).eqns))


def _instructions(equation) -> int:
    name, parameters = equation.primitive.name, equation.params
    inner = called(equation)
    if inner is not None:
        return estimate_instructions(inner)
    if name == "columns":
        return _WITH_TANGENTS * estimate_instructions(parameters["jaxpr"])
    if name == "cond":
        return sum(map(estimate_instructions, parameters["branches"]))
    loops = [parameters[key] for key in _BODIES if key in parameters]
    if loops:
        return sum(map(estimate_instructions, loops))
    numbers = sum(math.prod(v.aval.shape) for v in equation.outvars)
    if name == "dot_general":
        (left, _), _ = parameters["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return _LINES * numbers * math.prod(shape[axis] for axis in left)
    if name.startswith("reduce"):
        numbers = sum(math.prod(v.aval.shape) for v in equation.invars)
    return 0 if name in _MOVES else _LINES * numbers


_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "cond_jaxpr", "body_jaxpr")
# Operations that only rearrange numbers emit nothing.
_MOVES = (
    "broadcast_in_dim",
    "concatenate",
    "expand_dims",
    "reshape",
    "slice",
    "split",
    "squeeze",
    "stop_gradient",
    "transpose",
)
