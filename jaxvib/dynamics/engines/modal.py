"""The engine of large systems in modal form."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.equation import Equation
from ..modal import modal_flow
from ..observables import Observables, init_observables
from ..solve import Solution
from .engine import Engine, Observation, Segment


class ModalEngine(Engine):
    """Exact flights of a `ModalForm` system, and steps in contact by collocation.

    **Fields:** `watches`: whether `observe` updates observables, which takes steps that
    resolve all displacements; otherwise they are those of the start.
    """

    watches: bool = True

    def refusal(self, equation: Equation) -> str:
        """Return "": construction of a modal form checks the system."""
        return ""

    def end(
        self, system: Any, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> Solution:
        """Return the end of a motion."""
        found = modal_flow(system, state, t0, t1, rtol)
        return Solution(found.state, found.result, found.steps)

    def observe(
        self, system: Any, segment: Segment, watched: Observables | None = None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and observables."""
        if watched is None:
            time = jnp.asarray(segment.t0, float)
            watched = init_observables(time, segment.state, system.motion)
        found = modal_flow(
            system,
            *segment[:4],
            grazing=segment.grazing if self.watches else None,
            watched=watched if self.watches else None,
            sensitivities=True,
        )
        seen = found.watched if self.watches else watched
        return Observation(found.state, found.sensitivities, seen, found.result)

    def watch(
        self, system: Any, segment: Segment, watched: Observables | None = None
    ) -> tuple[Array, Observables, Array]:
        """Return the end of a motion, its observables, and a reason code."""
        found = modal_flow(system, *segment[:4], grazing=segment.grazing, watched=watched)
        return found.state, found.watched, found.result
