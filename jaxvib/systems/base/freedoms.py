"""Names of degrees of freedom, and directions."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.arrays import host_namespace, is_concrete
from ...foundation.suggestions import unknown_key

GROUND = "ground"


def is_ground(freedom: str) -> bool:
    """Return whether a degree of freedom belongs to the ground."""
    return freedom.partition(".")[0] == GROUND


def direction(names: Sequence[str], place: str | Mapping[str, float]) -> Float[Array, " n"]:
    """Return the direction of a degree of freedom, or of a mapping to coefficients.

    The ground is ignored among others. **Raises:** `ValueError` for an unknown degree
    of freedom, with a suggestion, or for the ground alone.
    """
    found = np.zeros(len(names))
    given = {place: 1.0} if isinstance(place, str) else place
    if given and all(map(is_ground, given)):
        raise ValueError(f"{', '.join(given)} is fixed; allowed: {', '.join(names)}")
    for name, coefficient in given.items():
        if is_ground(name):
            continue
        if name not in names:
            raise ValueError(unknown_key("degree of freedom", name, names))
        found[names.index(name)] += coefficient
    return jnp.asarray(found)


def check_direction(
    whose: str, direction: Float[Array, " n"] | None, name: str = "direction"
) -> None:
    """Raise `ValueError` if the direction of a part is 0 everywhere."""
    if direction is None or not is_concrete(direction) or np.asarray(direction).any():
        return
    raise ValueError(
        f"{name} of {whose} = 0 everywhere; allowed: a direction in which the system can "
        "move"
    )


def is_nowhere(direction: Any) -> Any:
    """Return whether a direction is 0 everywhere, of one or of a batch, or traced."""
    xp = host_namespace(direction)
    return ~xp.any(xp.asarray(direction) != 0, axis=-1)


def component(direction: Float[Array, " n"], vector: Float[Array, " n"]) -> Any:
    """Return the component of a vector along a direction, term by term if it is short."""
    if vector.shape[0] > 8:
        return direction @ vector
    return sum(direction[j] * vector[j] for j in range(vector.shape[0]))
