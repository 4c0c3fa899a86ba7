"""The engine of large systems in modal form (2 x 2 blocks)."""

from typing import Any

from jaxtyping import Array

from ...foundation.types import Number
from ...systems.equation import Equation
from .. import exponential
from ..observables import Observables
from ..solve import Solution
from .engine import Engine, Observation, Segment


class BlocksEngine(Engine):
    """Exact flights of a `BlockForm` system, and time steps in contact."""

    def refusal(self, equation: Equation) -> str:
        """Return "": construction of a decoupled system checks it."""
        return ""

    def end(
        self, system: Any, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> Solution:
        """Return the end of a motion."""
        found = exponential.piecewise_exact_flow(system, state, t0, t1, rtol)
        return Solution(found.state, found.result, found.steps)

    def observe(
        self, system: Any, segment: Segment, watched: Observables | None = None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and observables."""
        found = exponential.piecewise_exact_flow(
            system,
            *segment[:4],
            grazing=segment.grazing,
            watched=watched,
            sensitivities=True,
        )
        return Observation(found.state, found.sensitivities, found.watched, found.result)

    def watch(
        self, system: Any, segment: Segment, watched: Observables | None = None
    ) -> tuple[Array, Observables, Array]:
        """Return the end of a motion, its observables, and a reason code."""
        found = exponential.piecewise_exact_flow(
            system, *segment[:4], grazing=segment.grazing, watched=watched
        )
        return found.state, found.watched, found.result
