"""The noise, the limits and the motions that studies of random loads have in common."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from ..config.tables import Table, flattened, option, shown
from ..library import library

_MOST_SEEDS = 1_000_000  # a probability of a half is then known to 0.1 % of itself


class Noise(Table):
    """Filtered white noise, each seed a sample of it."""

    filter: Literal["low_pass", "kanai_tajimi"] = option(
        "what the white noise passes: S falls as w^-4 above the frequency, or "
        "is that of the soil over shaken rock"
    )
    density: float = option(
        "one-sided density of the white noise, of base motions in (m/s^2)^2 s/rad", gt=0.0,
        unit="N^2 s/rad",
    )  # fmt: skip
    frequency: float = option("angular frequency of the filter", gt=0.0, unit="rad/s")
    damping_ratio: float = option("damping ratio of the filter", gt=0.0)
    highest: float = option(
        "highest angular frequency that the samples hold", gt=0.0, unit="rad/s"
    )

    def process(self):
        """Return the noise as the library knows it."""
        noise = library("systems").FilteredNoise
        return getattr(noise, self.filter)(self.density, self.frequency, self.damping_ratio)


def _place(given: object) -> object:
    coefficients = flattened(given) if isinstance(given, dict) else {}
    numbers = all(isinstance(value, int | float) for value in coefficients.values())
    if not (isinstance(given, str) and given) and not (coefficients and numbers):
        raise ValueError(
            f"{shown(given)} is no place; allowed: a degree of freedom's name, or a table "
            "of such names with their coefficients"
        )
    return given


class Level(Table):
    """A level that a displacement, or a sum of several, is not to reach."""

    at: Annotated[
        Any,
        pydantic.BeforeValidator(_place),
        Field(description="a degree of freedom, or degrees of freedom with coefficients"),
    ]
    level: float = option("from rest", gt=0.0, unit="m")
    both: bool = option("whether on both sides of rest", True)

    def limit(self, system):
        """Return the limit of a system. **Raises:** `ValueError` for another's freedom."""
        place = self.at if isinstance(self.at, str) else flattened(self.at)
        direction = system.linear_part().direction(place)
        return library("transients").Limit(direction, self.level, self.both)


class Shaken(Table):
    """Options of all studies in which one load of a system is noise."""

    load: str = option(
        "the load that is noise instead of its own law", "load", allowed="a load's name"
    )
    noise: Noise = option("the noise")
    duration: float = option("of each motion, from rest", gt=0.0, unit="s")
    seeds: int = option("samples of the noise", 1000, ge=2, le=_MOST_SEEDS)
    first_seed: int = option("the first seed", 0, ge=0, lt=1 << 31)
    engine: Literal["auto", "event", "diffrax", "stepping"] = option(
        "how motions are computed", "auto"
    )


def check_shaken(options, system) -> None:
    """Raise `ValueError` for noise without a harmonic, or a load that it cannot be."""
    lowest = 6.283185307179586 / options.duration
    if options.noise.highest < lowest:
        raise ValueError(
            f"noise.highest = {options.noise.highest:g} rad/s is below the lowest "
            f"frequency of the duration, {lowest:g} rad/s"
        )
    if system is None:
        return
    load = system.loads[library("transients.ensemble").load_place(system, options.load)]
    given = getattr(load, "given", "acceleration")  # of base motions alone
    if given != "acceleration":
        raise ValueError(
            f"load = {options.load!r} is a base motion given as {given}; allowed: one "
            "given as acceleration, which the noise is then, or a force"
        )


def check_levels(levels: Mapping[str, Level], system) -> None:
    """Raise `ValueError` for a limit on what is no freedom of a system."""
    for name, level in levels.items():
        try:
            level.limit(system)
        except ValueError as error:
            raise ValueError(f"limits.{name}: {error}") from None
