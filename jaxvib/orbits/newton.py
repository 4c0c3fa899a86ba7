"""Newton iteration as a `while_loop`; users define the step and the stopping test.

Shooting damps its steps and continues at a tighter tolerance, a branch point is
constrained to a plane, bifurcations use steps of bounded length: each has a named
state, a function to the next state, and a test whether to continue.
"""

from collections.abc import Callable
from typing import TypeVar

import jax

State = TypeVar("State")


def newton(
    step: Callable[[State], State], first: State, goes_on: Callable[[State], jax.Array]
) -> State:
    """Return the first state where `goes_on` is false. Works under `vmap`."""
    return jax.lax.while_loop(goes_on, step, first)
