"""Drifts in a config: coordinates along which motions repeat but for a shift."""

from typing import Any

from ..config.tables import Table, flattened, option
from ..resources import library
from .places import AT


class DriftTable(Table):
    """A coordinate along which motions repeat but for a shift, see `drifting`."""

    at: AT = option(
        "what shifts: a degree of freedom, or several with coefficients, of which the "
        "first measures the progress"
    )
    step: float | None = option(
        "the smallest shift that leaves the system as it is, if not all do: a number in "
        "the unit of the coordinate, such as 6.283185307179586 for an angle", None, gt=0.0,
        allowed="a number in (0, inf), m or rad",
    )  # fmt: skip


def drifting(system: Any, drift: DriftTable) -> Any:
    """Return a system with a drift. **Raises:** `ValueError` if something holds it."""
    along = flattened(drift.at) if isinstance(drift.at, dict) else drift.at
    try:
        return library("systems").drifting(system, along, drift.step)
    except ValueError as error:
        raise ValueError(f"drift.at: {error}") from None
