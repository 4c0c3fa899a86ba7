"""What systems of user-defined vector fields have in common."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.arrays import combine_arrays, has_tangents, partition_arrays
from .drift import Drift
from .parameters import as_given
from .system import System


class FieldSystem(System):
    """A system with a vector field of a user.

    **Fields:** `values` of the parameters, whose `names` are their paths; `field`: of a
    state of shape (`dimension`,) and a dict of parameters; `states`: names of the
    components.
    """

    values: tuple[Any, ...] = eqx.field(metadata={"named_by": "names"})
    names: tuple[str, ...] = eqx.field(static=True)
    field: Callable = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    states: tuple[str, ...] = eqx.field(static=True, default=())
    drift: Drift | None = eqx.field(static=True, default=None)

    @property
    def named(self) -> dict[str, Any]:
        """The parameters as the field takes them."""
        return as_given(self.names, self.values)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of a state's components, by default their numbers."""
        return self.states or super().state_names

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The same names: each component of a field has an amplitude."""
        return self.state_names

    def rest(self) -> Float[Array, " n"]:
        """Return the state 0, the default initial state."""
        return jnp.zeros(self.dimension)


def checked_state_names(states: Sequence[str], dimension: int) -> tuple[str, ...]:
    """Return the names of a state's components; none if they are not named."""
    names = tuple(map(str, states))
    if names and (
        isinstance(states, str) or not len(set(names)) == len(names) == dimension
    ):
        raise ValueError(f"states = {states!r}; allowed: {dimension} different names")
    return names


def check_field(system: System, dimension: int) -> None:
    """Raise `ValueError` for a wrong shape or for captured values with tangents."""
    numbers, static = partition_arrays(system)

    def rates(numbers, time, state):
        return combine_arrays(numbers, static).equation().vector_field(time, state)

    given = numbers, jnp.zeros(()), system.rest()
    closed, shape = jax.make_jaxpr(rates, return_shape=True)(*given)
    if shape.shape != (dimension,):
        raise ValueError(f"field has shape {shape.shape}; allowed: ({dimension},)")
    if has_tangents(closed.consts):
        raise ValueError(
            "field captures a value that is being differentiated; allowed: such a value "
            "among its parameters: field(..., p) with p['w'] and "
            "parameters={'w': w}, a number, an array or a pytree of them"
        )
