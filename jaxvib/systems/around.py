"""Systems and equations that wrap others and hand on what they do not change."""

from typing import Any

import equinox as eqx

from ..foundation.types import Number
from .equation import Equation
from .system import System


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

    factors = _handed_on("factors")
    contact_forces = _handed_on("contact_forces")
    damping_powers = _handed_on("damping_powers")
    damping_energies = _handed_on("damping_energies")
    hard_contacts = _handed_on("hard_contacts")
    damped_contacts = _handed_on("damped_contacts")
    varying_contacts = _handed_on("varying_contacts")
    may_pulse = _handed_on("may_pulse")
    may_jump = _handed_on("may_jump")
    next_breakpoint = _handed_on("next_breakpoint")
    repeats_in = _handed_on("repeats_in")
    displaced = _handed_on("displaced", times=0)
    penetrations = _handed_on("penetrations", times=0)
    closing_rates = _handed_on("closing_rates", times=0)
    rubbing_powers = _handed_on("rubbing_powers", times=0)
    contact_motion = _handed_on("contact_motion", times=0)
    contact_reach = _handed_on("contact_reach", times=0)
    displacements = _handed_on("displacements", times=1)

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
