"""Settings of transients and convergence, for functions that follow many motions."""

import dataclasses
from typing import Any

from ..dynamics.engines import check_engine
from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import CheckedArguments
from .crossings import FieldSection
from .periodic_orbit import LONGEST_PERIOD
from .shooting.error_estimates import error_factor

# Upper limit of the number of periods per call: more are a mistake, and would not fit
# into memory.
MOST_PERIODS = 10_000_000
# Recurrence can be detected up to half of the 512 observed periods.
_LONGEST = 248


@dataclasses.dataclass(frozen=True)
class Settings(CheckedArguments):
    """Settings shared by several functions, which may not use all of them."""

    def refuse(self, verb: str, *names: str) -> None:
        """Raise `ValueError` if a setting is given that a function does not use."""
        for field in dataclasses.fields(self):
            value: Any = getattr(self, field.name)
            usual = field.default
            if not isinstance(field.default_factory, type(dataclasses.MISSING)):
                usual = field.default_factory()
            if field.name in names and value != usual and (value or usual):
                raise ValueError(f"{field.name} = {value!r}; {verb} does not use it")


@dataclasses.dataclass(frozen=True)
class SettlingSettings(Settings):
    """Settings of `regimes`, `basins` and `bifurcation_diagram`.

        quick = jv.orbits.SettlingSettings(transient=64, engine="event")
        jv.bifurcation_diagram(system, "load.frequency", values, settings=quick)

    **Fields:** `transient`: maximum number of load periods of a motion, or the number
    before a diagram's samples; by default 384 for `regimes`, 512 for `basins` and 256
    for a diagram. `max_periods`: longest period of a motion, in periods of the load.
    `rtol`: of every motion. `evidence`: of each orbit of `regimes`, see
    `periodic_orbit`. `engine`: a name, see `engine_for`. `chunk`: samples that run
    together. `section`: of a diagram of an autonomous system, whose crossings replace
    periods of the load.

    **Raises:** `ValueError` for a number out of its range, an unknown level of evidence
    or an unknown engine.

    >>> jv.orbits.SettlingSettings(transient=128, evidence="quick").transient
    128
    """

    transient: int | None = None
    max_periods: int = LONGEST_PERIOD
    rtol: float = 1e-8
    evidence: str = "checked"
    engine: str = "auto"
    chunk: int = 64
    section: FieldSection | None = None

    def __post_init__(self) -> None:
        if self.transient is not None:
            within = Range(at_least=1, at_most=MOST_PERIODS)
            check_range("transient", self.transient, "", within)
        within = Range(at_least=1, at_most=_LONGEST)
        check_range("max_periods", self.max_periods, "", within)
        check_range("rtol", self.rtol, "", Range(above=0.0, at_most=1e-2))
        error_factor(self.evidence)
        check_engine(self.engine)
        check_range("chunk", self.chunk, "", Range(at_least=2, at_most=1_000_000))

    def transient_or(self, usual: int) -> int:
        """Return the periods of a transient, `usual` by default."""
        return usual if self.transient is None else self.transient


USUAL = SettlingSettings()
