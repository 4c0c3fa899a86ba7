"""Formulas that define parameters by other parameters."""

import functools
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from ..foundation.expression import FUNCTIONS, Expression

VARIABLES = "variables."
_OWN = {
    "abs": jnp.abs, "atan2": jnp.arctan2, "min": jnp.minimum, "max": jnp.maximum,
}  # fmt: skip
ARRAY_FUNCTIONS = {name: _OWN.get(name) or getattr(jnp, name) for name in FUNCTIONS}
expression = functools.lru_cache(Expression)


def ordered(
    formulas: Mapping[str, str], known: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """Sort formulas topologically: each uses only earlier ones.

    `known`: all paths. **Raises:** `ValueError` for cyclic formulas.
    """
    left, found = dict(formulas), []
    while left:
        free = [
            path
            for path, text in left.items()
            if not {_path_of(n, known) for n in expression(text).names} & set(left)
        ]
        if not free:
            ring = ", ".join(f"{path} = {text!r}" for path, text in left.items())
            raise ValueError(f"formulas form a cycle: {ring}")
        found += [(path, left.pop(path)) for path in free]
    return tuple(found)


def formula_values(formulas: Mapping[str, str], known: Mapping[str, Any]) -> dict:
    """Evaluate sorted formulas, by path; `known`: the values of all parameters."""
    values, found = named(known), {}
    for path, text in formulas.items():
        found[path] = jnp.asarray(expression(text).value(values, ARRAY_FUNCTIONS), float)
        values |= named({path: found[path]})
    return found


def named(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by path, and variables also by name."""
    short = {
        path.removeprefix(VARIABLES): value
        for path, value in values.items()
        if path.startswith(VARIABLES)
    }
    return {**values, **short}


def _path_of(name: str, known: Mapping[str, Any]) -> str:
    long = VARIABLES + name
    return long if long in known else name
