"""An equation of motion as scalars: what the series of a motion are made of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...systems.contact import HertzContact, LinearContact, RestitutionContact
from ...systems.impact import EquationOfMotion
from ...systems.load import HarmonicLoad
from ..barrier import Barrier
from .series import Series, combination

_POWERS = 17
_HALF_PI = 1.57079632673412561417, 6.07710050650619224932e-11  # high and low part
_SINE = tuple((-1) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(8))
_COSINE = tuple((-1) ** k / float(np.prod(np.arange(1.0, 2 * k + 1))) for k in range(9))


class Touch(NamedTuple):
    """One contact: z = direction . q - gap, and the acceleration by a unit force.

    A hard one has a restitution and no stiffness.
    """

    direction: list
    gap: Any
    stiffness: Any
    restitution: Any
    response: list
    hertz: bool

    @property
    def hard(self) -> bool:
        """Whether it acts by impulses."""
        return self.restitution is not None

    @property
    def linear(self) -> bool:
        """Whether its force is proportional to the penetration."""
        return not (self.hertz or self.hard)


class Drive(NamedTuple):
    """One harmonic load, the acceleration by a unit force, and w^k / k!."""

    amplitude: Any
    frequency: Any
    phase: Any
    response: list
    powers: list


class Motion(NamedTuple):
    """Matrices by rows, contacts and loads, all of scalars; and a barrier.

    `steady`: whether the pace of contacts has no derivatives, see `engine.travel`.
    """

    damping: list
    stiffness: list
    contacts: list
    loads: list
    once: Barrier
    steady: bool

    def still(self, tree):
        """Return values without derivatives, where contacts have a steady pace."""
        return jax.lax.stop_gradient(tree) if self.steady else tree

    @property
    def hertz(self) -> list[int]:
        """The positions of the contacts that follow Hertz's law."""
        return [j for j, contact in enumerate(self.contacts) if contact.hertz]

    @property
    def hard(self) -> list[int]:
        """The positions of the contacts that act by impulses."""
        return [j for j, contact in enumerate(self.contacts) if contact.hard]


def why_not(equation) -> str:
    """Return why an equation cannot be solved from event to event; "" if it can."""
    if not isinstance(equation, EquationOfMotion):
        return f"{type(equation).__name__} is not a linear system with contacts"
    for contact in equation.contacts:
        if not isinstance(contact.law, HertzContact | LinearContact | RestitutionContact):
            return f"contact law {type(contact.law).__name__} has no event-driven form"
    for load in equation.loads:
        if not isinstance(load.law, HarmonicLoad):
            return f"load law {type(load.law).__name__} has no event-driven form"
    return ""


def why_only(equation) -> str:
    """Return why an equation can be solved from event to event only; "" if by steps too."""
    if any(equation.hard_contacts()):
        return "contact law RestitutionContact acts by impulses, at events"
    return ""


def motion_of(equation: EquationOfMotion, once: Barrier, steady: bool) -> Motion:
    """Return an equation of motion as scalars."""
    contacts = [
        _touch(contact.direction, contact.gap, contact.law, response)
        for contact, response in zip(
            equation.contacts, equation.contact_responses, strict=True
        )
    ]
    loads = [
        _drive(load.law, response)
        for load, response in zip(equation.loads, equation.load_responses, strict=True)
    ]
    rows = [[list(row) for row in m] for m in (equation.damping, equation.stiffness)]
    return Motion(*once((*rows, contacts, loads)), once, steady)


def _touch(direction, gap, law, response) -> Touch:
    hard, hertz = isinstance(law, RestitutionContact), isinstance(law, HertzContact)
    stiffness, restitution = (None, law.restitution) if hard else (law.stiffness, None)
    return Touch(list(direction), gap, stiffness, restitution, list(response), hertz)


def _drive(law, response) -> Drive:
    powers = [jnp.ones_like(law.frequency)]
    for k in range(1, _POWERS):
        powers.append(powers[-1] * law.frequency * (1 / k))
    return Drive(law.amplitude, law.frequency, law.phase, list(response), powers)


def gap_series(contact: Touch, position: Sequence[Series]) -> list:
    """Return the series of a contact's penetration z, m."""
    first, *others = combination(contact.direction, position)
    return [first - contact.gap, *others]


def gap(contact: Touch, position: list):
    """Return a contact's penetration z, m."""
    return along(contact, position) - contact.gap


def along(contact: Touch, vector: list):
    """Return the component of a vector along a contact's direction."""
    return sum(d * x for d, x in zip(contact.direction, vector, strict=True))


def acceleration_term(motion: Motion, position, velocity, forces, loads) -> list:
    """Return the accelerations' coefficients of an order from all others of that order.

    `forces`: of each contact, `loads`: cosine of each load.
    """
    terms = []
    for i in range(len(position)):
        total = 0.0
        for j in range(len(position)):
            total = total - motion.stiffness[i][j] * position[j]
            total = total - motion.damping[i][j] * velocity[j]
        for contact, force in zip(motion.contacts, forces, strict=True):
            if not isinstance(force, float):  # 0 of a contact that does not act
                total = total - contact.response[i] * force
        for load, force in zip(motion.loads, loads, strict=True):
            total = total + load.response[i] * load.amplitude * force
        terms.append(total)
    return terms


@jax.custom_jvp
def cosine_and_sine(angle):
    """Return both to the last digits; XLA's own take ten times as long on a CPU."""
    turns = jnp.round(angle / (np.pi / 2))
    rest = (angle - turns * _HALF_PI[0]) - turns * _HALF_PI[1]
    square = rest * rest
    sine, cosine = _SINE[-1], _COSINE[-1]
    for coefficient in reversed(_SINE[:-1]):
        sine = sine * square + coefficient
    for coefficient in reversed(_COSINE[:-1]):
        cosine = cosine * square + coefficient
    sine = sine * rest
    quadrant = turns - 4 * jnp.floor(turns / 4)
    odd = (quadrant == 1) | (quadrant == 3)
    cosine, sine = jnp.where(odd, sine, cosine), jnp.where(odd, cosine, sine)
    cosine = jnp.where((quadrant == 1) | (quadrant == 2), -cosine, cosine)
    return cosine, jnp.where(quadrant >= 2, -sine, sine)


@cosine_and_sine.defjvp
def _turn(primals, tangents):
    cosine, sine = cosine_and_sine(*primals)
    return (cosine, sine), (-sine * tangents[0], cosine * tangents[0])
