"""What systems of user-defined vector fields have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.arrays import combine_arrays, has_tangents, partition_arrays
from ..foundation.quantity import check_count
from .drift import Drift
from .equation import Equation, Time
from .parameters import as_given, named_values
from .system import System


class FieldEquation(Equation):
    """A vector field of a user with its parameters, ready to be evaluated.

    `field`: of a time, a state and the parameters with a `period`, s; without one it is
    autonomous: of a state and the parameters.
    """

    field: Callable = eqx.field(static=True)
    named: dict[str, Any]
    period: Float[Array, ""] | None = None
    largest_step: float | None = eqx.field(static=True, default=None)

    def vector_field(self, time: Time, state: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the state's rate of change at a time, s."""
        given = (state,) if self.period is None else (time, state)
        return jnp.asarray(self.field(*given, self.named), state.dtype)

    def may_pulse(self) -> bool:
        """Return whether the field depends on the time."""
        return self.period is not None

    def repeats_in(self, span: Time) -> Time:
        """Return the period of the field, s; `span` if it has none."""
        return span if self.period is None else self.period


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


def field_parts(
    field: Callable, parameters: Mapping[str, Any], dimension: int, states: Sequence[str]
) -> tuple:
    """Return the fields of a `FieldSystem`. **Raises:** `ValueError` for invalid ones."""
    check_count("dimension", dimension, 1)
    values, names = named_values(parameters), tuple(map(str, states))
    if names and (
        isinstance(states, str) or not len(set(names)) == len(names) == dimension
    ):
        raise ValueError(f"states = {states!r}; allowed: {dimension} different names")
    return tuple(values.values()), tuple(values), field, int(dimension), names


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
