"""Time-periodic systems from user-defined vector fields."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range
from .fields import FieldEquation, FieldSystem, check_field, field_parts

Field = Callable[[Any, Any, dict[str, Any]], Any]


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
