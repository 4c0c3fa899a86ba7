"""Positions in a config: degrees of freedom with coefficients."""

from typing import Annotated, Any

import pydantic
from pydantic import Field

from ..config.tables import flattened, shown


def _place(given: object) -> object:
    coefficients = flattened(given) if isinstance(given, dict) else {}
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in coefficients.values()
    )
    if not (isinstance(given, str) and given) and not (coefficients and numbers):
        raise ValueError(
            f"{shown(given)} is not a position; allowed: a degree of freedom or "
            "a table of several with their coefficients"
        )
    return given


At = Annotated[
    Any,
    pydantic.BeforeValidator(_place),
    Field(description="where it acts: a degree of freedom, or several with coefficients"),
]
