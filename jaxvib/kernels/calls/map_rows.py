"""`vmap`, replaced by a loop when lowering to LLVM."""

from collections.abc import Callable
from typing import Any

import jax

from ..lower.tangents import is_lowering


def map_rows(function: Callable, *rows: Any) -> Any:
    """Return `jax.vmap(function)(*rows)`; in a kernel, a loop over the rows.

    A lowered array has a name for each number, so that `vmap` over many rows would
    repeat the same lines as many times.
    """
    if is_lowering():
        return jax.lax.map(lambda row: function(*row), rows)
    return jax.vmap(function)(*rows)
