"""Autonomous systems sampled at a fixed time interval."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from .base.around import part
from .base.equation import Equation, Time
from .base.system import System
from .drift import Drift
from .fields import is_autonomous
from .loads import time_varying
from .variation import varies

# An exponent above the degree of polynomial forces, which has no effect within a
# double's digits at a fiftieth of the reach.
_SLOWED = 10
_NOWHERE = 1e100  # a finite reach, as parameters are, whose square does not overflow


class UnforcedEquation(Equation):
    """An autonomous vector field, slowed down beyond `reach`.

    Time is rescaled there, so that a motion that escapes in finite time follows the
    same path, and its destination can be determined. Along a drift `held` the state
    returns to a coordinate of zero in a `span`, s: as shifts of any length leave the
    field as it is, the other components move as without.
    """

    moved: Equation
    reach: Float[Array, " state"]
    span: Float[Array, ""]
    held: Drift | None = eqx.field(static=True)

    def vector_field(
        self, time: Time, state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        """Return the state's rate of change, independent of the time."""
        beyond = jnp.sum((state / self.reach) ** 2) ** _SLOWED
        rate = self.moved.vector_field(jnp.zeros(()), state)
        if self.held is not None:
            away = self.held.coordinate(rate) + self.held.coordinate(state) / self.span
            rate = self.held.shifted_back(rate, away)
        return rate / (1 + beyond)

    def may_pulse(self) -> bool:
        """Return False: the field depends on the state only."""
        return False


class UnforcedSystem(System):
    """An autonomous system, or bodies under constant loads, sampled every `span`.

    The span, s, acts as the period: stroboscopic methods for periodically forced
    systems apply. `reach`, `held`: see `UnforcedEquation`. `drift`: with a step.
    """

    moved: System
    span: Float[Array, ""]
    reach: Float[Array, " state"]
    drift: Any = eqx.field(static=True, default=None)
    held: Drift | None = eqx.field(static=True, default=None)

    autonomous = True
    rest = part("rest")
    state_names = part("state_names")
    labels = part("labels")

    def equation(self) -> UnforcedEquation:
        """Return the equation of motion."""
        return UnforcedEquation(self.moved.equation(), self.reach, self.span, self.held)

    def within(self, reach: np.ndarray) -> "UnforcedSystem":
        """Return the system with another reach, without one along a drift with a step."""
        if self.drift is not None:
            reach = np.where(np.asarray(self.drift.direction) != 0, _NOWHERE, reach)
        return eqx.tree_at(lambda system: system.reach, self, jnp.asarray(reach))

    def period(self) -> Float[Array, ""]:
        """Return the span, s."""
        return self.span


def is_unforced(system: System) -> bool:
    """Return whether a system is autonomous or has constant loads only."""
    still = not (time_varying(system.loads) or varies(system))
    return is_autonomous(system) or (system.mechanical and still)


def refuse_period(system: System, period: Any, allowed: str = "None") -> None:
    """Raise `ValueError` for the period of motions of a system that is not unforced."""
    what = "a non-autonomous system"
    if system.elements:
        what = "bodies with elements, whose laws may depend on time"
        allowed = "systems of bodies alone, or an autonomous_system"
    raise ValueError(f"period = {period} of {what}; allowed: {allowed}")


def unforced_system(
    system: System,
    span: Real[Array, ""] | float,
    verb: str,
    modulo_drift: bool = False,
) -> UnforcedSystem:
    """Return a system with autonomous motion, sampled every `span`.

    `modulo_drift`: whether motions that differ by a shift along its drift are equal.
    **Raises:** `ValueError` for bodies with discontinuous forces.
    """
    if may_stick_or_hit(system):
        raise ValueError(
            f"{verb} of bodies under constant loads with hard stops, friction or a law "
            "that may jump; allowed: contacts and springs with continuous forces; "
            "continue_orbit and basins find cycles of such bodies"
        )
    return field_in_spans(system, span, modulo_drift)


def field_in_spans(
    system: System, span: Real[Array, ""] | float, modulo_drift: bool
) -> UnforcedSystem:
    """Return the field of a system as `unforced_system`, also where it jumps."""
    drift = {}
    if modulo_drift and system.drift is not None:
        drift = {"held" if system.drift.step is None else "drift": system.drift}
    nowhere = jnp.full(system.rest().shape, _NOWHERE)
    return UnforcedSystem(system, jnp.asarray(span, float), nowhere, **drift)


def may_stick_or_hit(system: System) -> bool:
    """Return whether a system has bodies under constant loads with forces that jump."""
    if is_autonomous(system):
        return False
    equation = system.equation()
    return equation.may_jump() or any(equation.hard_contacts())
