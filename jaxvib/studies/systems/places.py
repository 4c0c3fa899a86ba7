"""Where the parts of a system act, in a config."""

from typing import Annotated, Any

import pydantic
from pydantic import Field

from ..config.quantities import is_number
from ..config.tables import flattened, shown


def is_place(given: object) -> bool:
    """Return whether it is a name, or a table of names with coefficients."""
    if isinstance(given, dict):
        return bool(given) and all(map(is_number, flattened(given).values()))
    return isinstance(given, str) and bool(given)


def checked_place(given: object) -> object:
    """Return a degree of freedom, or several with coefficients; raise `ValueError`."""
    if not is_place(given):
        raise ValueError(
            f"{shown(given)} is not a position; allowed: a degree of freedom or "
            "a table of several with their coefficients"
        )
    return given


def _plane(given: object) -> object:
    if not isinstance(given, list) or len(given) != 2:
        raise ValueError(
            f"{shown(given)} is not a plane; allowed: a list of two positions, such as "
            '["disc.x", "disc.y"]'
        )
    if given[0] == given[1]:
        raise ValueError(
            f"{shown(given)} is a line; allowed: two independent directions, such as "
            '["disc.x", "disc.y"]'
        )
    return [checked_place(place) for place in given]


AT = Annotated[
    Any,
    pydantic.BeforeValidator(checked_place),
    Field(description="where it acts: a degree of freedom, or several with coefficients"),
]
# Keys of an annular contact besides its numbers.
ANNULAR: dict[str, Any] = {
    "at": (
        Annotated[Any, pydantic.BeforeValidator(_plane)],
        Field(description="where it acts in x and in y: two degrees of freedom"),
    ),
    "offset": (
        list[float],
        Field(
            default=[0.0, 0.0],
            description="position of the hole's centre",
            min_length=2,
            max_length=2,
            json_schema_extra={"unit": "m", "allowed": "two numbers"},
        ),
    ),
}
