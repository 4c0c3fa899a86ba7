"""Tuning: gradient descent on an objective of a periodic orbit."""

from collections.abc import Callable, Mapping

import equinox as eqx
import optax
from jaxtyping import Array, Float

from ..orbits import PeriodicOrbit
from .history import Design
from .measure import Measure
from .optimise import ADAM, optimise
from .orbit_measures import OrbitAnalysis
from .problem import Problem
from .settings import SearchSettings
from .variables import Bounds

Objective = Callable[[PeriodicOrbit], Float[Array, ""]]


def tune(
    objective: Objective,
    system: eqx.Module,
    bounds: Mapping[str, Bounds],
    *,
    steps: int = 20,
    optimiser: optax.GradientTransformation | None = None,
    periods: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Design:
    r"""Minimise an objective of a periodic orbit over parameters within bounds.

    Each parameter is $p = p_{low} + (p_{high} - p_{low}) / (1 + e^{-u})$ with an
    unbounded variable u, which `optimiser` (optax; default: Adam with rate 0.2) updates
    by the exact gradient: through the converged orbit by the implicit function theorem,
    through its peaks by the flow to their times. The first orbit follows from a
    transient; each later one is warm-started from the previous one. The history has
    `steps` + 1 entries including the start. `optimise` does the same for any `Problem`.

    **Raises:** `ValueError` for an unknown path, bounds that do not enclose the value,
    or if the first orbit is not found.

    >>> objective = jv.design.ResultObjective("amplitude")
    >>> design = jv.design.tune(
    ...     objective, system, {"attached.frequency": (4.0, 8.0)}, steps=1
    ... )
    >>> bool(design.objective[1] < design.objective[0])
    True
    """
    measure = Measure(OrbitAnalysis(periods), objective, getattr(objective, "unit", ""))
    problem = Problem(system, bounds, measure)
    return optimise(
        problem, optimiser or ADAM, settings=SearchSettings(steps=steps), progress=progress
    )
