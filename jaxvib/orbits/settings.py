"""How motions are run out until they settle, for the verbs that follow many of them."""

import dataclasses
from typing import Any

from .._nearest import refuse_unknown
from .._quantity import Range, check_range
from .evidence import evidence_factor
from .periodic_orbit import LONGEST_PERIOD

# Periods that one call may ask for: more are a slip, and no array holds what is kept of
# each.
MOST_PERIODS = 10_000_000
# What watched motions tell: they recur within a half of 512 periods.
_LONGEST = 248


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of several verbs, of which one may have no use for some."""

    def __new__(cls, *given, **named):
        """Return settings to be filled. **Raises:** `TypeError` for a misspelt one."""
        refuse_unknown(cls, named)
        return super().__new__(cls)

    def refuse(self, verb: str, *names: str) -> None:
        """Raise `ValueError` if a setting is given that a verb has no use for."""
        for field in dataclasses.fields(self):
            value: Any = getattr(self, field.name)
            usual = field.default
            if not isinstance(field.default_factory, type(dataclasses.MISSING)):
                usual = field.default_factory()
            if field.name in names and value != usual and (value or usual):
                raise ValueError(f"{field.name} = {value!r}; {verb} has no use for it")


@dataclasses.dataclass(frozen=True)
class SettlingSettings(Settings):
    """How `regimes`, `basins` and `bifurcation_diagram` find where motions settle.

        quick = jv.orbits.SettlingSettings(transient=64, engine="event")
        jv.bifurcation_diagram(system, "load.frequency", values, settings=quick)

    **Fields:** `transient`: periods of the load for which a motion runs at the most, or
    before it is strobed for a diagram; unless given 384 of `regimes`, 512 of `basins` and
    256 of a diagram. `max_periods`: longest motion looked for, in periods of the load.
    `rtol`: of every motion. `evidence`: of each orbit of `regimes`, see `periodic_orbit`.
    `engine`: a name, see `engine_for`. `chunk`: lanes that run together.

    **Raises:** `ValueError` for a number out of its range or an unknown level of evidence.

    >>> jv.orbits.SettlingSettings(transient=128, evidence="quick").transient
    128
    """

    transient: int | None = None
    max_periods: int = LONGEST_PERIOD
    rtol: float = 1e-8
    evidence: str = "checked"
    engine: str = "auto"
    chunk: int = 64

    def __post_init__(self):
        if self.transient is not None:
            within = Range(at_least=1, at_most=MOST_PERIODS)
            check_range("transient", self.transient, "", within)
        within = Range(at_least=1, at_most=_LONGEST)
        check_range("max_periods", self.max_periods, "", within)
        check_range("rtol", self.rtol, "", Range(above=0.0, at_most=1e-2))
        evidence_factor(self.evidence)
        check_range("chunk", self.chunk, "", Range(at_least=2, at_most=1_000_000))

    def transient_or(self, usual: int) -> int:
        """Return the periods of a transient, `usual` unless others are given."""
        return usual if self.transient is None else self.transient


USUAL = SettlingSettings()
