"""Time-periodic systems from user-defined vector fields."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..foundation.arrays import combine_arrays, has_tangents, is_concrete, partition_arrays
from ..foundation.quantity import Range, check_count, check_range
from .drift import Drift
from .equation import Equation, Time
from .parameters import as_given, named_values
from .system import System

Field = Callable[[Any, Any, dict[str, Any]], Any]


class ForcedEquation(Equation):
    """A vector field with its parameters, ready to be evaluated."""

    field: Field = eqx.field(static=True)
    named: dict[str, Any]
    period: Float[Array, ""]
    largest_step: float | None = eqx.field(static=True, default=None)

    def vector_field(self, time: Time, state: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the state's rate of change at a time, s."""
        rate = self.field(time, state, self.named)
        return jnp.asarray(rate, state.dtype)

    def repeats_in(self, span: Time) -> Time:
        """Return the period, s."""
        return self.period


class ForcedSystem(System):
    r"""A time-periodic system $\dot x = f(t, x, p)$, $f(t + T, x, p) = f(t, x, p)$.

    **Fields:** `values` of the parameters, whose `names` are their paths; `field`: $f$,
    of a time, a state of shape (`dimension`,) and a dict of parameters; `repeats`: the
    period $T$ as a function of that dict. Built by `forced_system`.

    >>> turning = jv.forced_system(
    ...     lambda t, x, p: [p["rate"] * jnp.sin(t)],
    ...     parameters={"rate": 2.0},
    ...     period=2 * np.pi,
    ...     dimension=1,
    ... )
    >>> turning.names
    ('rate',)
    """

    values: tuple[Any, ...] = eqx.field(metadata={"named_by": "names"})
    names: tuple[str, ...] = eqx.field(static=True)
    field: Field = eqx.field(static=True)
    repeats: Callable[[dict[str, Any]], Any] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    largest_step: float | None = eqx.field(static=True, default=None)
    states: tuple[str, ...] = eqx.field(static=True, default=())
    drift: Drift | None = eqx.field(static=True, default=None)

    period_is_declared = True

    def equation(self) -> ForcedEquation:
        """Return the equation of motion."""
        return ForcedEquation(self.field, self._named(), self.period(), self.largest_step)

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

    def period(self) -> Float[Array, ""]:
        """Return the period T."""
        return jnp.asarray(self.repeats(self._named()), float)

    def _named(self) -> dict[str, Any]:
        return as_given(self.names, self.values)


def forced_system(
    field: Field,
    *,
    parameters: Mapping[str, Any],
    period: Callable[[dict[str, Any]], Any] | Real[Array, ""] | float,
    dimension: int,
    largest_step: float | None = None,
    states: Sequence[str] = (),
) -> ForcedSystem:
    r"""Build a system $\dot x = f(t, x, p)$ from a time-periodic vector field.

        jv.forced_system(
            lambda t, x, p: [x[1], jnp.cos(p["w"] * t) - x[0] - x[0] ** 3 - 0.1 * x[1]],
            parameters={"w": 1.0},
            period=lambda p: 2 * jnp.pi / p["w"],
            dimension=2,
        )

    It supports what impacting systems support: `simulate`, `periodic_orbit`,
    `continue_orbit`, `bifurcation_point`, sweeps and derivatives.

    **Arguments:** `field`: $f$, in JAX, of a time, a state of shape (`dimension`,) and
    a dict of parameters; it must be smooth in the state. `parameters`: real numbers or
    arrays by name, or pytrees of them such as a network; see `jv.parameters` for their
    paths. Values that the field captures are constants: derivatives require parameters.
    `period`: $T$, or a function of the parameters' dict. `largest_step`: of the solver,
    as a fraction of the period. By default the step size is limited by the field's
    variation at 512 times of the period (2048 for orbits): a pulse shorter than 1/340
    of the period needs it. `states`: names of the components, for pictures and tables.

    **Raises:** `ValueError` for a parameter that is not real or not finite, a name with
    a dot, `states` that are not `dimension` different names, a period that is not
    positive, or a field of another shape or that captures a value under differentiation.

    >>> duffing = jv.forced_system(
    ...     lambda t, x, p: [x[1], jnp.cos(p["w"] * t) - x[0] - x[0] ** 3 - 0.1 * x[1]],
    ...     parameters={"w": 3.0},
    ...     period=lambda p: 2 * jnp.pi / p["w"],
    ...     dimension=2,
    ... )
    >>> round(float(jv.periodic_orbit(duffing).amplitude[0]), 4)
    0.1251
    """
    check_count("dimension", dimension, 1)
    values = named_values(parameters)
    if not is_concrete(period):
        raise ValueError(
            "period is traced; allowed: a number, or a function of the parameters: "
            "period=lambda p: 2 * jnp.pi / p['w']"
        )
    repeats = period if callable(period) else _Constant(float(period))
    system = ForcedSystem(
        tuple(values.values()),
        tuple(values),
        field,
        repeats,
        int(dimension),
        largest_step,
        checked_state_names(states, dimension),
    )
    if largest_step is not None:
        check_range("largest_step", largest_step, "periods", Range(above=0.0, at_most=1.0))
    check_range("period", system.period(), "", Range(above=0.0))
    check_field(system, system.dimension)
    return system


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


class _Constant(eqx.Module):
    """A constant period."""

    value: float

    def __call__(self, values) -> float:
        return self.value
