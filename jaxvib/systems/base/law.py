"""Base classes of force laws, with the traits that a law declares about itself."""

import abc
import difflib
import functools
import inspect
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Real

from ...foundation.types import EMPTY
from .system_repr import SystemRepr


class Law(SystemRepr):
    """A force law: numbers declared by `quantity`, methods, and traits with defaults.

    To add one, derive an `equinox.Module` from one of the classes below. A module with
    their methods that is not derived is such a law too, with the traits that it declares
    itself. Arrays of any shape are mapped elementwise. Time-stepping engines accept any
    law, "event" those with a method `event_form`, see `systems.base.event_form`.
    """

    # Not annotated, as fields would precede those of a subclass.
    jumps = True  # whether the force may be discontinuous: detected jumps are rejected
    pulses = True  # whether it may have pulses in time that a step could miss
    impulsive = False  # whether it acts by impulses: a hard stop
    event_form = None  # or a method: the form of the force for engine "event"
    has_event_form = True  # whether its fields allow that form
    release_rate = None  # or a method: the rate, m/s, at which the force's slope jumps
    constant = False  # of a load, whether it is
    repeats = True  # whether a load is periodic
    units = EMPTY  # of the `states` of an element
    # By which a module that is not derived is such a law.
    methods: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        needed = vars(cls).get("methods", ())
        found = needed and all(hasattr(other, name) for name in needed)
        return True if found else NotImplemented


class ContactLaw(Law):
    """A contact force: `force` of a penetration, m, or of it and its rate, m/s, in N.

    `energy`: the stored energy, J, at a penetration. A law whose slope jumps at a rate
    has a method `release_rate`.
    """

    methods: ClassVar[tuple[str, ...]] = ("force", "energy")


class SpringLaw(Law):
    """A restoring `force`, N, of an elongation, m, or of it and its rate, m/s."""

    methods: ClassVar[tuple[str, ...]] = ("force",)


class LoadLaw(Law):
    """A force that depends on time alone; engine "event" needs a `Load`."""

    methods: ClassVar[tuple[str, ...]] = ("force", "period")

    @abc.abstractmethod
    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s; at a break its right-hand limit."""

    @abc.abstractmethod
    def period(self) -> Float[Array, ""]:
        """Return the period, s."""


class ScaledLaw(eqx.Module):
    """A contact or spring law with its force and energy multiplied by a factor."""

    scaled: Any
    factor: Float[Array, ""]

    def force(self, *motion: Array) -> Array:
        """Return the force, N, at a penetration or elongation (and its rate)."""
        return self.factor * self.scaled.force(*motion)

    def energy(self, penetration: Array) -> Array:
        """Return the stored energy, J, at a penetration, m."""
        return self.factor * self.scaled.energy(penetration)


def trait(law: Any, name: str) -> Any:
    """Return a trait of a law: its own, or the default."""
    return getattr(law, name, getattr(Law, name))


@functools.cache
def check_traits(law: type) -> None:
    """Raise `ValueError` for a flag or method of a law's class that is a misspelt trait."""
    for kind in law.__mro__:
        if kind.__module__.partition(".")[0] in ("jaxvib", "equinox", "builtins"):
            continue
        for name, value in vars(kind).items():
            known = _METHODS if inspect.isfunction(value) else _FLAGS
            if name in known or not (known is _METHODS or isinstance(value, bool)):
                continue
            if near := difflib.get_close_matches(name, known, 1, _SIMILAR):
                raise ValueError(
                    f"{kind.__name__}.{name} is no trait; did you mean {near[0]!r}?"
                )


_FLAGS = ("jumps", "pulses", "impulsive", "constant", "repeats", "breaks")
_METHODS = ("event_form", "release_rate", "next_breakpoint")
_SIMILAR = 0.8  # of names: "jump" and "jumps" are, "impulse" and "pulses" are not


def is_damped(law: Any) -> bool:
    """Return whether the force of a law depends on a rate."""
    law = law.scaled if isinstance(law, ScaledLaw) else law
    return len(inspect.signature(law.force).parameters) > 1


def is_impulsive(law: Any) -> bool:
    """Return whether a contact law acts by impulses: a hard stop."""
    return trait(law, "impulsive")


def force_of(law: Any, *motion: Array) -> Array:
    """Return the force, N, of a law at a penetration or elongation, m, and its rate."""
    return law.force(*(motion if is_damped(law) else motion[:1]))
