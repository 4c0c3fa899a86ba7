"""The parameters of a system as one array of numbers, for programs in other languages."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..foundation.range import Range
from ..systems import parameters, replace
from ..systems.system import System

# Numbers of an array parameter; longer ones, such as those of a measured record, are
# data, and would fill the table of names.
_MOST = 64


class Number(NamedTuple):
    """A number of the array: its path in the system and its declaration."""

    path: str
    unit: str
    description: str
    value: float
    allowed: Range


class ParameterVector:
    """The parameters of a system as one array of float64.

    **Fields:** `numbers`: one per entry; entries of arrays have paths such as
    `linear.mass.0.1`; `constants`: paths of longer arrays, which keep their values;
    `derived`: paths of parameters that a formula of the system defines.
    """

    def __init__(self, system: System):
        self._system, known = system, parameters(system)
        self.derived = tuple(path for path, _ in system.formulas)
        given = {path: each for path, each in known.items() if path not in self.derived}
        self.constants = tuple(p for p, e in given.items() if np.size(e.value) > _MOST)
        self._shapes = {
            path: np.shape(each.value)
            for path, each in given.items()
            if path not in self.constants
        }
        self.numbers = [
            Number(
                ".".join([path, *map(str, place)]),
                given[path].unit,
                given[path].description,
                float(np.asarray(given[path].value)[place]),
                given[path].allowed,
            )
            for path, shape in self._shapes.items()
            for place in np.ndindex(shape)
        ]

    @property
    def values(self) -> np.ndarray:
        """The system's own values."""
        return np.array([number.value for number in self.numbers])

    def system(self, vector: Float[Array, " numbers"]) -> System:
        """Return the system with the values of an array."""
        values, start = {}, 0
        for path, shape in self._shapes.items():
            end = start + int(np.prod(shape))
            values[path] = vector[start:end].reshape(shape)
            start = end
        return replace(self._system, values)

    def allowed(self, vector: Float[Array, " numbers"]) -> Bool[Array, ""]:
        """Return whether all values are in their ranges."""
        inside = [
            number.allowed.contains(vector[place])
            for place, number in enumerate(self.numbers)
            if number.allowed != Range()
        ]
        return jnp.all(jnp.isfinite(vector)) & jnp.all(jnp.asarray([True, *inside]))


def unique_names(texts: Sequence[str]) -> list[str]:
    """Return an identifier of C for each text, all different."""
    found: list[str] = []
    for text in texts:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
        name, number = plain or "_", 2
        while name in found:
            name, number = f"{plain}_{number}", number + 1
        found.append(name)
    return found
