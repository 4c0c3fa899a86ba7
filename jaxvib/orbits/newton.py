"""Newton's method as a loop: what a step is, and when it is enough, its users say.

Shooting damps its steps and goes on at a tighter tolerance, a point of a branch lies in a
plane, a bifurcation is sought by steps of bounded length: each has a named state, a
function to the next one, and a test that tells whether it goes on.
"""

from collections.abc import Callable
from typing import TypeVar

import jax

State = TypeVar("State")


def newton(
    step: Callable[[State], State], first: State, goes_on: Callable[[State], jax.Array]
) -> State:
    """Return the first state of an iteration that does not go on. Works under `vmap`."""
    return jax.lax.while_loop(goes_on, step, first)
