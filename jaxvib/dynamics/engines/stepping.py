"""The engine that steps many samples of any vector field at once."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PyTree

from ...foundation.arrays import combine_arrays
from ...foundation.quantity import Range, check_range
from ...foundation.types import Number
from ...systems.system import System
from ...systems.variation import variations_of
from ..lanes import step_lanes
from ..single_precision import in_float32
from ..solve import Problem, Steps, Tolerance
from ..step_limits import PROBES_OF_A_LANE
from .stepped import SteppedEngine

PRECISIONS = ("float32", "float64")
_OF_FLOAT32 = Range(at_least=1e-6, at_most=0.1)


class SteppingEngine(SteppedEngine):
    """Many lanes under `vmap`, one array per component, see `dynamics.lanes`.

    **Fields:** `precision`: with `"float32"` the rates of a system without contacts are
    evaluated in float32 and steps are accumulated in float64, mainly for GPUs with few
    float64 units; parameters then have seven digits.
    """

    precision: str = eqx.field(static=True, default="float64")

    probes = PROBES_OF_A_LANE

    def __check_init__(self):
        check_precision(self.precision)

    def check(self, system: System, rtol: Number) -> None:
        """Raise `ValueError` for a system or tolerance not supported in float32."""
        if self.precision != "float32":
            return
        acting = [*system.loads, *variations_of(system)]
        broken = any(getattr(part.law, "breaks", False) for part in acting)
        if system.has_contacts or len(system.loads) > 1 or broken:
            raise ValueError(
                "precision = 'float32' of a system with contacts, several loads or a "
                "load with breaks; allowed: 'float64' (float32 cannot resolve "
                "penetrations, nor times beyond one period)"
            )
        check_range("rtol", rtol, "in float32", _OF_FLOAT32)

    def steps(
        self,
        problem: Problem,
        state: PyTree,
        prepared: PyTree,
        t0: Number,
        t1: Number,
        tolerance: Tolerance,
        observer: tuple[Any, Callable] | None = None,
    ) -> Steps:
        """Return the result of the steps of a problem."""
        kind = jnp.float32 if self.precision == "float32" else None
        return step_lanes(problem, state, prepared, t0, t1, tolerance, observer, kind)

    def problem(self, static: PyTree) -> Problem:
        """Return the initial value problem of systems with the same `static` part."""
        problem = super().problem(static)
        if self.precision == "float64":
            return problem

        def period(parameters):
            return combine_arrays(parameters, static).period()

        return in_float32(problem, period)


def check_precision(precision: str) -> None:
    """Raise `ValueError` for an unknown precision."""
    if precision not in PRECISIONS:
        allowed = ", ".join(PRECISIONS)
        raise ValueError(f"precision = {precision!r}; allowed: {allowed}")
