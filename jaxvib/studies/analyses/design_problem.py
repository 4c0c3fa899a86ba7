"""Bounds, settings and constraints of a design search, from its options."""

from typing import Any

import numpy as np

from ...design import Limit, SearchSettings
from ..store.fields import Variable
from .design_options import SearchOptions
from .measure_options import build_measure


def scaled(options: Any) -> dict[str, tuple[float, float, str]]:
    """Return the bounds of all `variables` by path, with the scale of each."""
    return {
        path: (low, high, "log" if path in options.log else "linear")
        for path, (low, high) in options.variables.items()
    }


def settings_of(options: Any, run: Any) -> SearchSettings:
    """Return the settings of a search."""
    return SearchSettings(options.starts, options.steps, options.tolerance, run.seed)


def limits(options: SearchOptions, run: Any, system: Any) -> dict:
    """Return the constraints by name."""
    return {
        name: Limit(
            build_measure(limit, run, system, options.variables),
            -np.inf if limit.at_least is None else limit.at_least,
            np.inf if limit.at_most is None else limit.at_most,
        )
        for name, limit in options.constraints.items()
    }


def without(fields: dict[str, Variable], axis: str) -> dict[str, Variable]:
    """Return fields without an axis of length one."""
    found = {}
    for name, field in fields.items():
        if axis in field.axes:
            place = field.axes.index(axis)
            axes = (*field.axes[:place], *field.axes[place + 1 :])
            values = np.asarray(np.take(field.values, 0, axis=place))
            field = Variable(axes, values, field.unit, field.description)
        found[name] = field
    return found
