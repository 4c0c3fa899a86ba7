"""Validated parameter ranges and step sizes of branches."""

from typing import NamedTuple

import numpy as np

from ...foundation.types import Number
from ...systems.base.system import System
from ...systems.fields import is_autonomous
from ...systems.parameters import enclosing_bounds, parameter_at, replace
from ...systems.periods import check_period
from .settings import ContinuationSettings
from .tracer import Limits

# An irrational fraction of the range (sqrt(2) - 1), at which loads have no common
# period by coincidence.
_BETWEEN = 0.4142135623730951


class ParameterRange(NamedTuple):
    """Bounds of a parameter, in its unit, and scaled bounds and steps."""

    low: float
    high: float
    limits: Limits

    @property
    def span(self) -> float:
        """The length of the range."""
        return self.high - self.low


def parameter_range(
    system: System,
    path: str,
    bounds: tuple[float, float],
    values: Number,
    settings: ContinuationSettings,
    periodic: bool = True,
) -> ParameterRange:
    """Return the extent of branches that start at `values` of a parameter.

    `periodic`: whether the solutions have the period of the system, if it has one.

    **Raises:** `ValueError` for an unknown path, bounds out of the parameter's range or
    that do not enclose all values, or a system without a period between them.
    """
    low, high = enclosing_bounds(parameter_at(system, path), path, bounds, values)
    if periodic:
        check_periods_along(system, path, (low, high))
    span = high - low
    scaled = {name: step / span for name, step in settings.steps(span).items()}
    limits = Limits(
        ((low / span, high / span),),
        ((low, high),),
        **scaled,
        most_points=settings.most_points,
    )
    return ParameterRange(low, high, limits)


def check_periods_along(
    system: System, path: str, bounds: tuple[float, float] | np.ndarray
) -> None:
    """Raise `ValueError` if a forced system has no period at other values."""
    if is_autonomous(system):
        return
    check_period(system)
    low, high = (float(bound) for bound in bounds)
    value = low + _BETWEEN * (high - low)
    try:
        check_period(replace(system, {path: value}))
    except ValueError as error:
        raise ValueError(
            f"bounds of {path}: e.g. at {value:.6g}, {error}; choose a parameter that "
            "keeps the ratios of the load periods"
        ) from None
