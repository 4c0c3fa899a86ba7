"""Bounds of parameters in a config and their validation."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated

import pydantic
from pydantic import Field

from ...foundation.suggestions import unknown_key
from .catalogue import Declared
from .quantities import Asked, ByKey, Places
from .tables import flattened

Bounds = Annotated[
    list[float],
    Field(min_length=2, max_length=2, json_schema_extra={"allowed": "[lowest, highest]"}),
]


def _flat(value):
    return flattened(value) if isinstance(value, dict) else value


# Bounds by path; dotted paths may be given as nested tables.
BoundsByPath = Annotated[dict[str, Bounds], pydantic.BeforeValidator(_flat)]


def by_path(given: Mapping, places: Places) -> ByKey:
    """Return what numbers in a table keyed by paths of parameters take."""
    return places.parameter


def of_path(key: str) -> Callable[[Mapping, Places], Asked | None]:
    """Return what numbers take that belong to the parameter named under a key."""
    return lambda given, places: places.parameter(given.get(key))


def check_bounds(
    path: str,
    bounds: Sequence[float],
    values: Mapping[str, float],
    declared: Mapping[str, Declared],
) -> None:
    """Raise `ValueError` unless a path is known and its value lies in the bounds.

    If the path has no entry in `values`, only the bounds are checked.
    """
    check_allowed(path, bounds, declared)
    low, high = bounds
    value = values.get(path, low)
    if not low <= value <= high:
        raise ValueError(
            f"bounds = [{low:g}, {high:g}] do not enclose {path} = {value:g}; allowed: "
            "bounds around the system's own value"
        )


def check_allowed(
    path: str, bounds: Sequence[float], declared: Mapping[str, Declared]
) -> None:
    """Raise `ValueError` unless a path is known, and bounds ascend within its range."""
    if path not in declared:
        raise ValueError(unknown_key("parameter", path, declared))
    for bound in bounds:
        if not declared[path].allowed.contains(bound):
            raise ValueError(
                f"bounds of {path} = {bound:g} are out of range; allowed: {declared[path]}"
            )
    low, high = bounds
    if not low < high:
        raise ValueError(
            f"bounds of {path} = [{low:g}, {high:g}] do not ascend; allowed: the lower "
            "bound first"
        )


def check_variables(
    variables: Mapping,
    logarithmic: Collection[str],
    values: Mapping,
    declared: Mapping[str, Declared],
) -> None:
    """Validate the bounds of variables; on a log scale they must be positive."""
    for path, bounds in variables.items():
        check_bounds(path, bounds, values, declared)
        if path in logarithmic and bounds[0] <= 0:
            raise ValueError(f"log: bounds of {path} are not above 0")
