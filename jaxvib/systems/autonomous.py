"""Autonomous systems from user-defined vector fields."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .fields import FieldEquation, FieldSystem, check_field, field_parts
from .system import System

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
