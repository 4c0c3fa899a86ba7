"""Common options of studies with random loads: noise, limits, motions."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pydantic
from pydantic import Field

from ..config.quantities import Asked, Places
from ..config.tables import Table, flattened, option
from ..resources import library
from ..systems.places import checked_place

_MOST_SEEDS = 1_000_000  # relative standard error 0.1 % for a probability of 0.5


def _of_load(given: Mapping, places: Places) -> Asked:
    moved = given.get("load", "load") in places.moved
    return Asked("(m/s^2)^2 s/rad" if moved else "N^2 s/rad")


def _displaced(given: Mapping, places: Places) -> Asked:
    place = given.get("at")
    names = flattened(place) if isinstance(place, dict) else [place]
    units = {places.freedom(name).unit for name in names}
    return Asked(units.pop() if len(units) == 1 else "m or rad")


class Noise(Table):
    """Filtered white noise; each seed gives a sample."""

    units_of: ClassVar = {"density": _of_load}

    filter: Literal["low_pass", "kanai_tajimi"] = option(
        "filter of the white noise: low_pass, S falls as w^-4 above the frequency; "
        "kanai_tajimi, ground acceleration of soil over rock"
    )
    density: float = option(
        "one-sided density of the white noise; for base motions in (m/s^2)^2 s/rad", gt=0.0,
        unit="N^2 s/rad",
    )  # fmt: skip
    frequency: float = option("angular frequency of the filter", gt=0.0, unit="rad/s")
    damping_ratio: float = option("damping ratio of the filter", gt=0.0)
    highest: float = option(
        "highest angular frequency in the samples", gt=0.0, unit="rad/s"
    )

    def process(self) -> Any:
        """Build the noise process."""
        noise = library("systems").FilteredNoise
        return getattr(noise, self.filter)(self.density, self.frequency, self.damping_ratio)


class Level(Table):
    """A limit for a displacement, or for a sum of several."""

    units_of: ClassVar = {"level": _displaced}

    at: Annotated[
        Any,
        pydantic.BeforeValidator(checked_place),
        Field(description="a degree of freedom, or degrees of freedom with coefficients"),
    ]
    level: float = option("largest allowed distance from rest", gt=0.0, unit="m")
    both: bool = option("whether it applies on both sides", True)

    def limit(self, system: Any) -> Any:
        """Build the limit. **Raises:** `ValueError` for an unknown freedom."""
        place = self.at if isinstance(self.at, str) else flattened(self.at)
        direction = system.linear_part().direction(place)
        return library("transients").Limit(direction, self.level, self.both)


# Those of `dynamics.engines.choice`, which imports JAX.
EngineName = Literal["auto", "event", "diffrax"]


class Shaken(Table):
    """Common options of studies in which one load is noise."""

    load: str = option(
        "the load that is replaced by noise", "load", allowed="a load's name"
    )
    noise: Noise = option("the noise process")
    duration: float = option("duration of each motion, from rest", gt=0.0, unit="s")
    seeds: int = option("number of noise samples", 1000, ge=2, le=_MOST_SEEDS)
    first_seed: int = option("the first seed", 0, ge=0, lt=1 << 31)
    engine: EngineName = option("engine of the simulation", "auto")

    def laws(self, count: int) -> Any:
        """Return the loads of the first noise samples, along a leading axis."""
        return _laws(self.noise, self.duration, self.first_seed, count)


@functools.lru_cache(maxsize=2)
def _laws(noise: Noise, duration: float, first: int, count: int) -> Any:
    return noise.process().loads(noise.highest, duration, first + np.arange(count))


def check_shaken(options: Shaken, system: Any) -> None:
    """Raise `ValueError` for noise without harmonics, or an unsuitable load."""
    lowest = 6.283185307179586 / options.duration
    if options.noise.highest < lowest:
        raise ValueError(
            f"noise.highest = {options.noise.highest:g} rad/s is below the lowest "
            f"frequency of the duration, {lowest:g} rad/s"
        )
    if system is None:
        return
    load = system.loads[library("transients.ensemble").load_place(system, options.load)]
    if isinstance(load, library("systems").StopMotion):
        raise ValueError(
            f"load = {options.load!r} is a motion of stops; allowed: a force, or a base "
            "motion given as acceleration"
        )
    given = getattr(load, "given", "acceleration")  # of base motions only
    if given != "acceleration":
        raise ValueError(
            f"load = {options.load!r} is a base motion given as {given}; allowed: one "
            "given as acceleration, or a force"
        )


def check_levels(levels: Mapping[str, Level], system: Any) -> None:
    """Raise `ValueError` for a limit on an unknown degree of freedom, once built."""
    for name, level in levels.items() if system is not None else ():
        try:
            level.limit(system)
        except ValueError as error:
            raise ValueError(f"limits.{name}: {error}") from None
