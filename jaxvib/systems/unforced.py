"""Autonomous systems sampled at a fixed time interval."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..drawing.labels import Labels
from .autonomous import is_autonomous
from .equation import Equation, Time
from .loads import time_varying
from .system import System
from .variation import varies

# An exponent above the degree of polynomial forces, which has no effect within a
# double's digits at a fiftieth of the reach.
_SLOWED = 10
_NOWHERE = 1e100  # a finite reach, as parameters are, whose square does not overflow


class UnforcedEquation(Equation):
    """An autonomous vector field, slowed down beyond `reach`.

    Time is rescaled there, so that a motion that escapes in finite time follows the
    same path, and its destination can be determined.
    """

    moved: Equation
    reach: Float[Array, " state"]

    def vector_field(
        self, time: Time, state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        """Return the state's rate of change, independent of the time."""
        beyond = jnp.sum((state / self.reach) ** 2) ** _SLOWED
        return self.moved.vector_field(jnp.zeros(()), state) / (1 + beyond)

    def may_pulse(self) -> bool:
        """Return False: the field depends on the state only."""
        return False


class UnforcedSystem(System):
    """An autonomous system, or bodies under constant loads, sampled every `span`.

    The span, s, acts as the period: stroboscopic methods for periodically forced
    systems apply. `reach`: see `UnforcedEquation`.
    """

    moved: System
    span: Float[Array, ""]
    reach: Float[Array, " state"]

    autonomous = True

    def equation(self) -> UnforcedEquation:
        """Return the equation of motion."""
        return UnforcedEquation(self.moved.equation(), self.reach)

    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest of the wrapped system."""
        return self.moved.rest()

    def period(self) -> Float[Array, ""]:
        """Return the span, s."""
        return self.span

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of a state's components."""
        return self.moved.state_names

    @property
    def labels(self) -> Labels:
        """Labels of the components of a state."""
        return self.moved.labels


def is_unforced(system: System) -> bool:
    """Return whether a system is autonomous or has constant loads only."""
    still = not (time_varying(system.loads) or varies(system))
    return is_autonomous(system) or (system.mechanical and still)


def unforced_system(
    system: System, span: Real[Array, ""] | float, verb: str
) -> UnforcedSystem:
    """Return a system with autonomous motion, sampled every `span`.

    **Raises:** `ValueError` for bodies with discontinuous forces.
    """
    equation = system.equation()
    jumps = equation.may_jump() or any(equation.hard_contacts())
    if jumps and not is_autonomous(system):
        raise ValueError(
            f"{verb} of bodies under constant loads with hard stops, friction or a law "
            "that may jump; allowed: contacts and springs with continuous forces"
        )
    nowhere = jnp.full(system.rest().shape, _NOWHERE)
    return UnforcedSystem(system, jnp.asarray(span, float), nowhere)
