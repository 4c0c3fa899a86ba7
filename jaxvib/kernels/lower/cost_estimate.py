"""Estimate of the code size of a program from its jaxpr."""

import math
from typing import Any

from .jvp_rules import called, opened

# Instructions per operation on a number, measured on programs of this library: an
# elementary function takes twenty, a sum one or none.
_LINES = 2
# Tangents repeat each equation, next to its value.
_WITH_TANGENTS = 3
# Estimated instructions that take LLVM 10 s: a field of 16 states with all sensitivities.
LONGEST = 400_000
# Those from which arrays in memory compile in a tenth of the time and run as fast, and
# the share of short arrays: memory's programs run one lane after the other.
_MANY, _SHARE = 100_000, 0.1
# Numbers of an array that has a name for each: as many as are solved for by name.
SHORT = 16
# Instructions of a loop over a longer array.
_LOOP = 10


def needs_memory(jaxpr: Any) -> bool:
    """Return whether a program is long for its long arrays, which memory would hold."""
    length = estimate_instructions(jaxpr)
    return length > _MANY and _estimate(jaxpr, SHORT) < min(_SHARE * length, _MANY)


def estimate_instructions(jaxpr: Any) -> int:
    """Estimate the instructions of a jaxpr, within a factor of two or so."""
    return _estimate(jaxpr)


def _estimate(jaxpr: Any, short: float = math.inf, directions: int = 1) -> int:
    """Estimate the instructions, with arrays of more than `short` numbers in loops.

    `directions`: of tangents, an axis of each array.
    """
    equations = opened(jaxpr)[0].eqns
    return sum(_instructions(equation, short, directions) for equation in equations)


def _instructions(equation, short: float, directions: int) -> int:
    name, parameters = equation.primitive.name, equation.params
    inner = called(equation)
    if inner is not None:
        return _estimate(inner, short, directions)
    if name == "columns":
        inner = parameters["jaxpr"]
        if short == math.inf:
            return _WITH_TANGENTS * _estimate(inner)
        directions = equation.invars[-1].aval.shape[0]
        tangents = _estimate(inner, short, directions)
        return _estimate(inner, short) + (_WITH_TANGENTS - 1) * tangents
    if name == "cond":
        return sum(
            _estimate(branch, short, directions) for branch in parameters["branches"]
        )
    loops = [parameters[key] for key in _BODIES if key in parameters]
    if loops:
        return sum(_estimate(loop, short, directions) for loop in loops)
    sizes = [directions * math.prod(v.aval.shape) for v in equation.outvars]
    if name == "dot_general":
        (left, _), _ = parameters["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        sizes = [size * math.prod(shape[axis] for axis in left) for size in sizes]
    if name.startswith("reduce"):
        sizes = [directions * math.prod(v.aval.shape) for v in equation.invars]
    if name in _MOVES and short == math.inf:
        return 0
    return _LINES * sum(size if size <= short else _LOOP for size in sizes)


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
