"""Drifts in a config: coordinates in which motions are periodic up to a shift."""

from typing import Any

from ..config.tables import Table, flattened, option
from ..resources import library
from .places import AT


class DriftTable(Table):
    """A coordinate in which motions are periodic up to a shift, see `drifting`."""

    at: AT = option(
        "the drifting degree of freedom, or several with coefficients; the first one "
        "measures the progress"
    )
    step: float | None = option(
        "the period of the equations in this coordinate, if they are not invariant under "
        "every shift: such as 6.283185307179586 for an angle", None, gt=0.0,
        unit="m or rad", allowed="(0, inf) m or rad",
    )  # fmt: skip


def drifting(system: Any, drift: DriftTable) -> Any:
    """Return a system with a drift. **Raises:** `ValueError` if it is restrained."""
    along = flattened(drift.at) if isinstance(drift.at, dict) else drift.at
    try:
        return library("systems").drifting(system, along, drift.step)
    except ValueError as error:
        raise ValueError(f"drift.at: {error}") from None
