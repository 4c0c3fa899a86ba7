"""How far branches go and in what steps, as a user gives it and checked."""

from collections.abc import Mapping

import numpy as np

from .._quantity import Range, check_range
from ..systems.parameters import parameters, replace, unknown_key
from ..systems.periods import check_period
from .one_way import Limits

_BETWEEN = 0.4142135623730951


def checked_steps(span: float, first, smallest, largest) -> dict[str, float]:
    """Return the steps in the parameter's unit; 1/50, 1e-7 and 1/20 of its range."""
    steps = {
        "first_step": span / 50 if first is None else first,
        "smallest_step": span * 1e-7 if smallest is None else smallest,
        "largest_step": span / 20 if largest is None else largest,
    }
    for name, value in steps.items():
        check_range(name, value, "", Range(above=0.0))
    return steps


def limits_of(low: float, high: float, steps: Mapping[str, float], most_points) -> Limits:
    """Return the limits of walks along branches, in scaled coordinates."""
    check_range("most_points", most_points, "", Range(at_least=2))
    span = high - low
    scaled = {name: step / span for name, step in steps.items()}
    return Limits(((low / span, high / span),), **scaled, most_points=most_points)


def known_parameter(system, path: str):
    """Return what is declared of a parameter; raise `ValueError` for an unknown one."""
    known = parameters(system)
    if path not in known:
        raise ValueError(unknown_key("parameter", path, known))
    return known[path]


def check_periods_along(system, path: str, bounds) -> None:
    """Raise `ValueError` if a system has no period at other values of a parameter."""
    check_period(system)
    low, high = (float(bound) for bound in bounds)
    # No value that a user would take: where loads repeat together by chance they do not.
    value = low + _BETWEEN * (high - low)
    try:
        check_period(replace(system, {path: value}))
    except ValueError as error:
        raise ValueError(
            f"bounds of {path}: at {value:.6g}, say, {error}; a parameter that moves all "
            "loads alike can be followed"
        ) from None


def enclosing(declared, path: str, bounds, values) -> tuple[float, float]:
    """Return the bounds; raise `ValueError` unless they enclose all values."""
    low, high = (float(bound) for bound in bounds)
    for bound in (low, high):
        check_range(f"bounds of {path}", bound, declared.unit, declared.allowed)
    values = np.atleast_1d(np.asarray(values))
    out = values[~((low <= values) & (values <= high))]
    if out.size or low == high:
        value = out[0] if out.size else values[0]
        raise ValueError(
            f"bounds = ({low:g}, {high:g}) {declared.unit} do not enclose the system's "
            f"{path} = {value:g} {declared.unit}"
        )
    return low, high
