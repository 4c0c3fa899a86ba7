"""Initial states in configs: displacements and velocities by degree of freedom."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config.quantities import Asked, ByKey, Places
from ..config.tables import option
from ..resources import lazily, library

jnp, freedoms = lazily("jax.numpy"), library("systems.base.freedoms")

_PLACES = "a table of degrees of freedom with numbers"


def displacement() -> Any:
    """Return the key of the displacements at t = 0, by degree of freedom."""
    return option("displacements at t = 0, m or rad", {}, allowed=_PLACES)


def velocity() -> Any:
    """Return the key of the velocities at t = 0, by degree of freedom."""
    return option("velocities at t = 0, m/s or rad/s", {}, allowed=_PLACES)


def _displaced(given: Mapping, places: Places) -> ByKey:
    return places.freedom


def _moving(given: Mapping, places: Places) -> ByKey:
    return lambda name: places.state(f"rate of {name}")


UNITS: Mapping[str, Callable[[Mapping, Places], Asked | ByKey | None]] = {
    "displacement": _displaced,
    "velocity": _moving,
}


def named(options: Any) -> Sequence[str]:
    """Return the degrees of freedom that the initial state of options names."""
    return [*options.displacement, *options.velocity]


def beside_rest(system: Any, options: Any) -> Any:
    """Return the initial displacements and velocities of all degrees of freedom."""
    names, both = system.freedom_names, (options.displacement, options.velocity)
    return jnp.concatenate([freedoms.direction(names, place) for place in both])
