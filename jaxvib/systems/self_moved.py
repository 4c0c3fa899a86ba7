"""Systems that nothing moves but themselves, as fields of their states."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..drawing.labels import Labels
from .autonomous import is_autonomous
from .equation import Equation
from .loads import changing
from .system import System

# A power that polynomials of forces do not reach, and that is no part of a double's digits
# at a fiftieth of the reach.
_SLOWED = 10


class SelfMovedEquation(Equation):
    """The field of an equation in which the time does not matter.

    Beyond `reach` its time is slowed down: a motion that leaves in a finite time takes its
    path, and it can be told where it has gone to.
    """

    moved: Equation
    reach: Float[Array, " state"]

    def vector_field(self, time, state: Float[Array, " state"]) -> Float[Array, " state"]:
        """Return the state's rate of change, whatever the time."""
        beyond = jnp.sum((state / self.reach) ** 2) ** _SLOWED
        return self.moved.vector_field(jnp.zeros(()), state) / (1 + beyond)

    def may_pulse(self) -> bool:
        """Return False: the field changes with its state only."""
        return False


class SelfMoved(System):
    """An autonomous system, or bodies under constant loads, seen once in a `span`.

    It is one whose period is that span, s: what is asked of motions once a period of the
    load can be asked of it. `reach`: see `SelfMovedEquation`.
    """

    moved: System
    span: Float[Array, ""]
    reach: Float[Array, " state"]

    autonomous = True

    def equation(self) -> SelfMovedEquation:
        """Return the equation of motion, ready to be evaluated."""
        return SelfMovedEquation(self.moved.equation(), self.reach)

    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest of what moves."""
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
        """What the components of a state are called."""
        return self.moved.labels


def moves_itself(system: System) -> bool:
    """Return whether nothing moves a system but itself and constant loads."""
    return is_autonomous(system) or (system.mechanical and not changing(system.loads))


def self_moved(system: System, span: Real[Array, ""] | float, verb: str) -> SelfMoved:
    """Return a system that moves itself as a field of its state, seen once in a `span`.

    **Raises:** `ValueError` where bodies have forces that jump, of which a field has none.
    """
    equation = system.equation()
    jumps = equation.may_jump() or any(equation.hard_contacts())
    if jumps and not is_autonomous(system):
        raise ValueError(
            f"{verb} of bodies under constant loads with hard stops, friction or a law "
            "that may jump; allowed: contacts and springs whose forces are continuous"
        )
    nowhere = jnp.full(system.rest().shape, jnp.inf)
    return SelfMoved(system, jnp.asarray(span, float), nowhere)
