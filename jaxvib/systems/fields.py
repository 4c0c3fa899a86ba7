"""Systems of user-defined vector fields, time-periodic or autonomous."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..foundation.arrays import combine_arrays, has_tangents, is_concrete, partition_arrays
from ..foundation.quantity import Range, check_count, check_range
from .base.equation import Equation, Time
from .base.system import System
from .drift import Drift
from .parameters import as_given, named_values


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


ForcedField = Callable[[Any, Any, dict[str, Any]], Any]


class ForcedSystem(FieldSystem):
    r"""A time-periodic system $\dot x = f(t, x, p)$, $f(t + T, x, p) = f(t, x, p)$.

    **Fields:** those of `FieldSystem`, with `field` $f$ of a time first; `repeats`: the
    period $T$ as a function of the parameters' dict. Built by `forced_system`.

    >>> turning = jv.forced_system(
    ...     lambda t, x, p: [p["rate"] * jnp.sin(t)],
    ...     parameters={"rate": 2.0},
    ...     period=2 * np.pi,
    ...     dimension=1,
    ... )
    >>> turning.names
    ('rate',)
    """

    repeats: Callable[[dict[str, Any]], Any] = eqx.field(static=True, kw_only=True)
    largest_step: float | None = eqx.field(static=True, kw_only=True, default=None)

    period_is_declared = True

    def equation(self) -> FieldEquation:
        """Return the equation of motion."""
        return FieldEquation(self.field, self.named, self.period(), self.largest_step)

    def period(self) -> Float[Array, ""]:
        """Return the period T."""
        return jnp.asarray(self.repeats(self.named), float)


def forced_system(
    field: ForcedField,
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
    if not is_concrete(period):
        raise ValueError(
            "period is traced; allowed: a number, or a function of the parameters: "
            "period=lambda p: 2 * jnp.pi / p['w']"
        )
    repeats = period if callable(period) else _Constant(float(period))
    own = field_parts(field, parameters, dimension, states)
    system = ForcedSystem(*own, repeats=repeats, largest_step=largest_step)
    if largest_step is not None:
        check_range("largest_step", largest_step, "periods", Range(above=0.0, at_most=1.0))
    check_range("period", system.period(), "", Range(above=0.0))
    check_field(system, system.dimension)
    return system


class _Constant(eqx.Module):
    """A constant period."""

    value: float

    def __call__(self, values) -> float:
        return self.value


Field = Callable[[Any, dict[str, Any]], Any]


class AutonomousSystem(FieldSystem):
    r"""An autonomous system $\dot x = f(x, p)$.

    **Fields:** those of `FieldSystem`. Its state at rest, 0, need not be an equilibrium.
    Built by `autonomous_system`.

    >>> decay = jv.autonomous_system(
    ...     lambda x, p: [-p["rate"] * x[0]], parameters={"rate": 2.0}, dimension=1
    ... )
    >>> list(jv.parameters(decay))
    ['rate']
    """

    autonomous = True

    def equation(self) -> FieldEquation:
        """Return the equation of motion."""
        return FieldEquation(self.field, self.named)

    def period(self) -> Float[Array, ""]:
        """Return NaN: there is no forcing period."""
        return jnp.asarray(jnp.nan)


def autonomous_system(
    field: Field,
    *,
    parameters: Mapping[str, Any],
    dimension: int,
    states: Sequence[str] = (),
) -> AutonomousSystem:
    r"""Build an autonomous system $\dot x = f(x, p)$ from a vector field.

        jv.autonomous_system(
            lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
            parameters={"mu": 1.0},
            dimension=2,
        )

    It has equilibria (`equilibrium`, `continue_equilibrium`) and limit cycles
    (`periodic_orbit` with a guess of the period, `continue_orbit`); `simulate` and
    `flow` accept it like any other system.

    **Arguments:** `field`: $f$, in JAX, of a state of shape (`dimension`,) and a dict of
    parameters; it must be smooth in the state. `parameters`: real numbers or arrays by
    name, or pytrees of them such as a network, see `forced_system`.
    `states`: names of the components, for pictures and tables.

    **Raises:** `ValueError` for a parameter that is not real or not finite, a name with
    a dot, `states` that are not `dimension` different names, or a field of another
    shape or that captures a value under differentiation.

    >>> oscillator = jv.autonomous_system(
    ...     lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
    ...     parameters={"mu": 1.0},
    ...     dimension=2,
    ... )
    >>> jv.equilibrium(oscillator, [0.1, 0.1]).eigenvalues.round(4).tolist()
    [(0.5+0.866j), (0.5-0.866j)]
    """
    system = AutonomousSystem(*field_parts(field, parameters, dimension, states))
    check_field(system, system.dimension)
    return system


def is_autonomous(system: object) -> bool:
    """Return whether a system is autonomous."""
    return getattr(system, "autonomous", False)


def check_autonomous(system: object, verb: str) -> None:
    """Raise `ValueError`, naming the function, unless a system is autonomous."""
    if not is_autonomous(system):
        raise ValueError(
            f"{verb} of {type(system).__name__}, which is not autonomous; allowed: "
            "an autonomous_system"
        )


def state_size(system: System) -> int:
    """Return the number of components of a state."""
    return jax.eval_shape(system.rest).shape[0]
