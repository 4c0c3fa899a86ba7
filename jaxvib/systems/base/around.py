"""Systems and equations that wrap others and hand on what they do not change."""

from typing import Any

import equinox as eqx

from ...foundation.types import Number
from .equation import Equation
from .system import System

# Methods of `Equation` without an argument that is a state, and of a state alone.
_OF_TIMES_AND_FORCES = (
    "factors", "contact_forces", "damping_powers", "damping_energies", "hard_contacts",
    "damped_contacts", "varying_contacts", "may_pulse", "may_jump", "next_breakpoint",
    "repeats_in",
)  # fmt: skip
_OF_STATES = (
    "displaced", "penetrations", "closing_rates", "rubbing_powers", "contact_motion",
    "contact_reach",
)  # fmt: skip


def _handed_on(name: str, times: int | None = None) -> Any:
    """Return the method of `moved`; all arguments behind its `times` are states."""

    def method(self, *arguments):
        states = [] if times is None else arguments[times:]
        others = arguments[: len(arguments) - len(states)]
        return getattr(self.moved, name)(*others, *(each[: self.size] for each in states))

    method.__name__ = name
    method.__doc__ = getattr(Equation, name).__doc__
    return method


class AroundEquation(Equation):
    """An equation with further states behind the `size` of another, `moved`."""

    moved: Any

    # By name, so that type checkers keep the arguments that `Equation` declares.
    vars().update({name: _handed_on(name) for name in _OF_TIMES_AND_FORCES})
    vars().update({name: _handed_on(name, times=0) for name in _OF_STATES})
    vars()["displacements"] = _handed_on("displacements", times=1)

    def at(self, time: Number) -> Equation:
        """Return the equation with the coefficients of its forces at a time, s."""
        return eqx.tree_at(lambda one: one.moved, self, self.moved.at(time))


def part(name: str, of: str = "moved") -> Any:
    """Return an attribute that is the one of another attribute."""
    return property(lambda self: getattr(getattr(self, of), name))


class AroundSystem(System):
    """A system with the parts, the state at rest and the period of another, `moved`."""

    moved: Any

    has_contacts = part("has_contacts")
    contacts = part("contacts")
    loads = part("loads")
    frictions = part("frictions")
    springs = part("springs")
    freedom_names = part("freedom_names")
    labels = part("labels")
    equation = part("equation")
    rest = part("rest")
    period = part("period")
