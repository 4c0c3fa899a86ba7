"""User-defined events along a branch, such as a contact force that reaches a value."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...foundation.quantity import Range, check_range
from ...foundation.suggestions import unknown_key
from ...orbits.periodic_orbit import PeriodicOrbit
from ..equations.defining_equations import KINDS

QUANTITIES = (
    "max_contact_force",
    "contact_duration",
    "contacts_per_period",
    "largest_multiplier",
    "grazing_margin",
)
_TAKEN = (*KINDS, "branch_point")


class OrbitEvents(NamedTuple):
    """Event functions of an orbit by name, and the names of terminal events."""

    events: Mapping[str, Callable[[PeriodicOrbit], float]]
    stop_at: tuple[str, ...]


def orbit_events(
    events: Mapping[str, float | Callable] | None, stop_at: Sequence[str] = ()
) -> OrbitEvents:
    """Return the event functions for values of an orbit's quantities, or functions.

    **Raises:** `ValueError` for an unknown quantity, a reserved name, or an event to
    stop at that is not among the events.
    """
    functions: dict[str, Callable] = {}
    for name, what in (events or {}).items():
        if name in _TAKEN:
            raise ValueError(f"event {name!r}; allowed: names other than bifurcations")
        if callable(what):
            functions[name] = what
        elif name in QUANTITIES:
            check_range(f"event {name}", what, "", Range())
            functions[name] = _difference(name, what)
        else:
            raise ValueError(unknown_key("quantity", name, QUANTITIES))
    for name in stop_at:
        if name not in functions:
            raise ValueError(unknown_key("event to stop at", name, functions))
    return OrbitEvents(functions, tuple(stop_at))


def _difference(name: str, value) -> Callable[[PeriodicOrbit], float]:
    return lambda orbit: float(np.asarray(getattr(orbit, name)) - value)
