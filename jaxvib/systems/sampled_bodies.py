"""Bodies with jumping forces and no varying load, sampled at a fixed time interval."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .base.around import AroundSystem
from .base.system import Mechanical, System
from .unforced import UnforcedSystem


class SampledBodies(AroundSystem, Mechanical):
    """Bodies with hard stops or friction under constant loads, sampled every `span`.

    The span, s, acts as the period: stroboscopic methods for periodically forced
    systems apply. Unlike an `UnforcedSystem` they keep their equation of motion, of
    which the event-driven engine knows what sticks and what bears.
    """

    span: Float[Array, ""]

    held = None  # as in `UnforcedSystem`: a drift of any length is left to `drift`

    def period(self) -> Float[Array, ""]:
        """Return the span, s."""
        return self.span

    def within(self, reach: Any) -> "SampledBodies":
        """Return the bodies themselves: their motions are not slowed down."""
        return self


# Systems without a varying load, of which a span acts as the period.
SampledSystem = UnforcedSystem | SampledBodies


def sampled_bodies(system: System, span: Any) -> SampledBodies:
    """Return bodies under constant loads, sampled every `span`, s."""
    return SampledBodies(system, jnp.asarray(span, float), drift=system.drift)
