"""Bodies with jumping forces and no varying load, sampled at a fixed time interval."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..drawing.labels import Labels
from .equation import Equation
from .system import Mechanical, System
from .unforced import UnforcedSystem


class SampledBodies(Mechanical):
    """Bodies with hard stops or friction under constant loads, sampled every `span`.

    The span, s, acts as the period: stroboscopic methods for periodically forced
    systems apply. Unlike an `UnforcedSystem` they keep their equation of motion, of
    which the event-driven engine knows what sticks and what bears.
    """

    moved: System
    span: Float[Array, ""]

    held = None  # as in `UnforcedSystem`: a drift of any length is left to `drift`

    def equation(self) -> Equation:
        """Return the equation of motion."""
        return self.moved.equation()

    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest of the bodies."""
        return self.moved.rest()

    def period(self) -> Float[Array, ""]:
        """Return the span, s."""
        return self.span

    def within(self, reach: Any) -> "SampledBodies":
        """Return the bodies themselves: their motions are not slowed down."""
        return self

    @property
    def contacts(self) -> tuple:
        """The contacts of the bodies."""
        return self.moved.contacts

    @property
    def loads(self) -> tuple:
        """The constant loads of the bodies."""
        return self.moved.loads

    @property
    def frictions(self) -> tuple:
        """The frictions of the bodies."""
        return self.moved.frictions

    @property
    def springs(self) -> tuple:
        """The nonlinear springs of the bodies."""
        return self.moved.springs

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom."""
        return self.moved.freedom_names

    @property
    def labels(self) -> Labels:
        """Labels and units of the components of a state."""
        return self.moved.labels


# Systems without a varying load, of which a span acts as the period.
SampledSystem = UnforcedSystem | SampledBodies


def sampled_bodies(system: System, span: Any) -> SampledBodies:
    """Return bodies under constant loads, sampled every `span`, s."""
    return SampledBodies(system, jnp.asarray(span, float), drift=system.drift)
