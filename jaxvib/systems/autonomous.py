"""Any vector field that does not know the time, as a user writes it."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._quantity import Range, check_range
from .equation import Equation
from .forced import check_field
from .parameters import as_given, named_values
from .system import System

Field = Callable[[Any, dict[str, Any]], Any]


class AutonomousEquation(Equation):
    """A vector field of the state alone, with its parameters, ready to be evaluated."""

    field: Field = eqx.field(static=True)
    named: dict[str, Any]

    def vector_field(self, time, state: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the state's rate of change, whatever the time."""
        rate = self.field(state, self.named)
        return jnp.asarray(rate, state.dtype)

    def may_pulse(self) -> bool:
        """Return False: the field changes with its state only."""
        return False


class AutonomousSystem(System):
    r"""The system $\dot x = f(x, p)$, which nothing moves but itself.

    **Fields:** `values` of the parameters, whose `names` are their paths; `field`: $f$,
    of a state of shape (`dimension`,) and a dict of parameters. Built by
    `autonomous_system`.

    >>> decay = jv.autonomous_system(
    ...     lambda x, p: [-p["rate"] * x[0]], parameters={"rate": 2.0}, dimension=1
    ... )
    >>> list(jv.parameters(decay))
    ['rate']
    """

    values: tuple[Any, ...] = eqx.field(metadata={"named_by": "names"})
    names: tuple[str, ...] = eqx.field(static=True)
    field: Field = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    autonomous = True

    def equation(self) -> AutonomousEquation:
        """Return the equation of motion, ready to be evaluated."""
        return AutonomousEquation(self.field, as_given(self.names, self.values))

    def rest(self) -> Float[Array, " n"]:
        """Return the state 0, which need not be at rest."""
        return jnp.zeros(self.dimension)

    def period(self) -> Float[Array, ""]:
        """Return NaN: nothing moves it that repeats. A cycle has a period of its own."""
        return jnp.asarray(jnp.nan)


def autonomous_system(
    field: Field, *, parameters: Mapping[str, Any], dimension: int
) -> AutonomousSystem:
    r"""Build the system $\dot x = f(x, p)$ of a vector field that does not know the time.

        jv.autonomous_system(
            lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
            parameters={"mu": 1.0},
            dimension=2,
        )

    It has equilibria (`equilibrium`, `continue_equilibrium`) and cycles of a period of
    their own (`periodic_orbit` with a guess of the period, `continue_orbit`); `simulate`
    and `flow` take it as any other.

    **Arguments:** `field`: $f$, in JAX, of a state of shape (`dimension`,) and a dict of
    parameters; it must be smooth in the state. `parameters`: by name real numbers, arrays,
    or trees of them such as a network, see `forced_system`.

    **Raises:** `ValueError` for a parameter that is not real or not finite, a name with a
    dot, or a field whose value has another shape, or that takes a value from around
    it by which a derivative is taken.

    >>> oscillator = jv.autonomous_system(
    ...     lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
    ...     parameters={"mu": 1.0},
    ...     dimension=2,
    ... )
    >>> jv.equilibrium(oscillator, [0.1, 0.1]).eigenvalues.round(4).tolist()
    [(0.5+0.866j), (0.5-0.866j)]
    """
    check_range("dimension", dimension, "", Range(at_least=1))
    values = named_values(parameters)
    system = AutonomousSystem(tuple(values.values()), tuple(values), field, int(dimension))
    check_field(system, system.dimension)
    return system


def is_autonomous(system: object) -> bool:
    """Return whether nothing moves a system but itself."""
    return getattr(system, "autonomous", False)


def check_autonomous(system: object, verb: str) -> None:
    """Raise `ValueError`, naming the verb, unless nothing moves a system but itself."""
    if not is_autonomous(system):
        raise ValueError(
            f"{verb} of {type(system).__name__}, which is moved from outside; allowed: "
            "an autonomous_system"
        )


def state_size(system: System) -> int:
    """Return the number of components of a state."""
    return jax.eval_shape(system.rest).shape[0]
