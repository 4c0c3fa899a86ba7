"""Rows of arrays one after another where a program is printed."""

from collections.abc import Callable

import jax

from .tangents import printing


def in_turn(function: Callable, *rows):
    """Return `jax.vmap(function)(*rows)`; in a kernel, a loop over the rows.

    Every number of a printed array is a name of its own: of many rows XLA's arrays become
    as many copies of the same lines.
    """
    if printing():
        return jax.lax.map(lambda row: function(*row), rows)
    return jax.vmap(function)(*rows)
