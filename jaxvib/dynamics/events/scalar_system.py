"""The equation of motion in scalars, for power series of a motion."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ...foundation.types import Number
from ...systems.base.equation import Equation
from ...systems.base.event_form import ContactForm, has_event_form
from ...systems.base.law import trait
from ...systems.contacts.annular import annular
from ...systems.impact import EquationOfMotion
from ...systems.loads import ConstantLoad, Load, as_load
from ...systems.variation import variations_of
from .factors import Acting, acting_parts
from .parallel_frictions import parallel_frictions
from .rows import dot
from .series import Series, combination
from .sliding import DryFriction, frictions_of
from .springs import springs_of

ORDER = 18  # default order of the series in flight
_HALF_PI = 1.57079632673412561417, 6.07710050650619224932e-11  # high and low part
_SINE = tuple((-1) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(8))
_COSINE = tuple((-1) ** k / float(np.prod(np.arange(1.0, 2 * k + 1))) for k in range(9))


class ContactTerm(NamedTuple):
    """One contact: z = direction . q - gap, and the acceleration per unit force.

    A hard one has a restitution and no stiffness; `damping` is None if there is none;
    `factor`: the position of the force's factor, None if it does not vary in time.
    """

    direction: list
    gap: Any
    stiffness: Any
    restitution: Any
    response: list
    hertz: bool
    damping: Any = None
    factor: int | None = None

    @property
    def damped(self) -> bool:
        """Whether its force depends on the penetration's rate."""
        return self.damping is not None

    @property
    def hard(self) -> bool:
        """Whether it acts by impulses."""
        return self.restitution is not None

    @property
    def linear(self) -> bool:
        """Whether its force is proportional to the penetration."""
        return not (self.hertz or self.hard)

    def depth(self, position: list, order: int = 0) -> Any:
        """Return the coefficient of an order of its penetration z, m."""
        moved = dot(self.direction, position)
        return moved - self.gap if order == 0 else moved

    def linear_force(self, position: list, velocity: list, order: int = 0) -> Any:
        """Return the coefficient of an order of its force K z + c dz/dt, N."""
        force = self.stiffness * self.depth(position, order)
        if not self.damped:
            return force
        return force + self.damping * dot(self.direction, velocity)


class HarmonicForcing(NamedTuple):
    """A harmonic load component, the acceleration per unit force, and w^k / k!."""

    amplitude: Any
    frequency: Any
    phase: Any
    response: list
    powers: list


class LoadTerm(NamedTuple):
    """A load of another law, its largest force, and the acceleration per unit force."""

    law: Load
    size: Any
    response: list


class ScalarSystem(NamedTuple):
    """Matrices by rows, contacts and loads, all in scalars.

    `contacts`: those of the equation, followed by those of `_pieces`; `pushed`: the
    series of each push in the time from now, see `restart_loads`; `steady`: whether the
    pace of contacts has no derivatives, see `Request`; `senses`: of parallel
    frictions; `factors`: of forces that vary in time, `varied` their series like
    `pushed`; `order`: of the series in flight.
    """

    damping: list
    stiffness: list
    contacts: list
    loads: list
    pushes: list
    pushed: list
    steady: bool
    frictions: list
    springs: list
    senses: list
    factors: list
    varied: list
    order: int = ORDER

    def still(self, tree: PyTree) -> Any:
        """Return values without derivatives if the pace of contacts is steady."""
        return jax.lax.stop_gradient(tree) if self.steady else tree

    @property
    def order_in_contact(self) -> int:
        """The order of the series in contact, whose steps are shorter."""
        return 2 * self.order // 3

    @property
    def hertz(self) -> list[int]:
        """The positions of the contacts that follow Hertz's law."""
        return [j for j, contact in enumerate(self.contacts) if contact.hertz]

    @property
    def hard(self) -> list[int]:
        """The positions of the contacts that act by impulses."""
        return [j for j, contact in enumerate(self.contacts) if contact.hard]

    @property
    def holders(self) -> list:
        """Elements that can hold a speed at 0: hard contacts, then frictions."""
        return [*(self.contacts[j] for j in self.hard), *self.frictions]


def unsupported_reason(equation: Equation) -> str:
    """Return why an equation has no event-driven form; "" if it has."""
    if not isinstance(equation, EquationOfMotion):
        return f"{type(equation).__name__} is not a linear system with contacts"
    if annular(equation.contacts):
        return "AnnularContact has a gap that is nonlinear in the displacements"
    laws: list[tuple[str, Any]] = [
        ("contact", contact.law) for contact in equation.contacts
    ]
    laws += [("spring", spring.law) for spring in equation.springs]
    for kind, law in laws:
        if not has_event_form(law):
            with_fields = " with these fields" if trait(law, "event_form") else ""
            name = f"{kind} law {type(law).__name__}{with_fields}"
            return f"{name} has no event-driven form"
    for load in equation.loads:
        if as_load(load.law) is None:
            return f"load law {type(load.law).__name__} has no event-driven form"
    for variation in variations_of(equation):
        if as_load(variation.law) is None:
            kind = type(variation.law).__name__
            return f"{variation.name} = {kind} has no event-driven form"
    return ""


def requires_events_reason(equation: Equation) -> str:
    """Return why an equation requires event-driven integration; "" if it does not."""
    if any(equation.hard_contacts()):
        return "contact law RestitutionContact acts by impulses, at events"
    if equation.frictions:
        return f"{type(equation.frictions[0]).__name__} sticks and slips at events"
    return ""


def is_smooth(equation: Equation) -> bool:
    """Return whether accelerations are continuous at events and depend on z only."""
    other = any(equation.damped_contacts()) or variations_of(equation)
    return not (requires_events_reason(equation) or other)


def scalar_system(
    equation: EquationOfMotion, steady: bool, order: int = ORDER
) -> ScalarSystem:
    """Return an equation of motion in scalars."""
    acting, bent, factors = acting_parts(equation)
    contacts = [_contact_term(*each) for each in acting]
    waves, pushes = [], []
    for load in equation.loads:
        law, response = as_load(load.law), list(load.response)
        assert law is not None  # checked by `unsupported_reason`
        if (wave := law.harmonic()) is not None:
            waves.append(_drive(wave, response, order))
        else:
            pushes.append(LoadTerm(law, law.largest(), response))
    pieces, constants = _pieces(acting, bent)
    contacts, pushes = [*contacts, *pieces], [*pushes, *constants]
    rows = [[list(row) for row in m] for m in (equation.damping, equation.stiffness)]
    frictions, springs = (
        frictions_of(equation, _presses(equation, acting)),
        springs_of(bent),
    )
    parts = frictions, springs, parallel_frictions(frictions), factors, []
    return ScalarSystem(*rows, contacts, waves, pushes, [], steady, *parts, order)


def _pieces(
    contacts: Sequence[Acting], springs: Sequence[Acting]
) -> tuple[list[ContactTerm], list[LoadTerm]]:
    """Return the additional stops of piecewise linear laws after the first line.

    A spring adds the constant force that its stops have at rest; one that varies has it
    among its own terms. They have no observables: they follow all contacts of the
    equation.
    """
    pieces, constants = [], []
    for contact, form, factor in contacts:
        for depth, stiffness in form.stops:
            piece = ContactForm(stiffness)
            pieces.append(_contact_term(contact, piece, factor, contact.gap + depth))
    for spring, form, factor in springs:
        for place, change in form.stops:
            pieces.append(_contact_term(spring, ContactForm(change), factor, place))
            if factor is None:
                force = ConstantLoad(change * jnp.maximum(-place, 0.0))
                constants.append(LoadTerm(force, force.largest(), list(spring.response)))
    return pieces, constants


def _presses(
    equation: EquationOfMotion, contacts: Sequence[Acting]
) -> list[tuple[int, ...]]:
    """Return for each friction the contact of its normal force, with its pieces."""
    behind, parts = len(contacts), []
    for j, contact in enumerate(contacts):
        count = len(contact.form.stops)
        parts.append((j, *range(behind, behind + count)))
        behind += count
    return [() if j is None else parts[j] for j in equation.pressing_contacts()]


def _contact_term(part, form: ContactForm, factor: int | None, gap=None) -> ContactTerm:
    """Return the term of a contact, or of a spring's stop at a place `gap`."""
    at = list(part.direction), part.gap if gap is None else gap
    numbers = form.stiffness, form.restitution, list(part.response)
    return ContactTerm(*at, *numbers, form.hertz, form.damping, factor)


def _drive(wave, response, order: int) -> HarmonicForcing:
    powers = [jnp.ones_like(wave.frequency)]
    for k in range(1, order - 1):
        powers.append(powers[-1] * wave.frequency * (1 / k))
    return HarmonicForcing(
        wave.amplitude, wave.frequency, wave.phase, list(response), powers
    )


def restart_loads(
    motion: ScalarSystem, time: Number, end: Number
) -> tuple[ScalarSystem, Any]:
    """Return a motion with the series of loads and factors from a time on, and their end.

    That is the `end` of the motion or an earlier break of one of them.
    """
    found = []
    for part in (*motion.pushes, *motion.factors):
        inside, there = _piece(part.law, time)
        end = end if there is None else jnp.minimum(end, there)
        found.append(part.law.series(time, inside, motion.order - 1))
    count = len(motion.pushes)
    varied = [(1 + first, *others) for first, *others in found[count:]]
    return motion._replace(pushed=found[:count], varied=varied), end


def push_forces(motion: ScalarSystem, time: Number) -> list:
    """Return the force of each push at a time, N; at a break the value after it."""
    return [_value(push.law, time) for push in motion.pushes]


def factor_values(motion: ScalarSystem, time: Number) -> list:
    """Return the factors of all forces that vary, like `push_forces`."""
    return [1 + _value(factor.law, time) for factor in motion.factors]


def _value(law: Load, time):
    return law.series(time, _piece(law, time)[0], 1)[0]


def _piece(law: Load, time):
    """Return a time between a time and the next break, and that break."""
    if not law.breaks:
        return time, None
    there = law.next_breakpoint(time)
    return jax.lax.stop_gradient(time + jnp.minimum(there, time + 1.0)) / 2, there


def load_accelerations(motion: ScalarSystem) -> list:
    """Return magnitudes of all accelerations by loads, m/s^2."""
    waves = [jnp.abs(r * load.amplitude) for load in motion.loads for r in load.response]
    pushes = [jnp.abs(r * push.size) for push in motion.pushes for r in push.response]
    return waves + pushes


def gap_series(contact: ContactTerm, position: Sequence[Series]) -> list:
    """Return the series of a contact's penetration z, m."""
    first, *others = combination(contact.direction, position)
    return [first - contact.gap, *others]


def along(contact: ContactTerm | DryFriction, vector: list) -> Array:
    """Return the component of a vector along a contact's or a friction's direction."""
    return dot(contact.direction, vector)


def size_along(contact: ContactTerm | DryFriction, vector: list) -> Any:
    """Return the sum of the sizes of the terms of `along`."""
    return sum(abs(d * x) for d, x in zip(contact.direction, vector, strict=True))


def acceleration_term(
    motion: ScalarSystem, position: list, velocity: list, forces: list, loads: list
) -> list:
    """Return the acceleration coefficients of an order from all others of that order.

    `forces`: of each contact, `loads`: cosine of each wave, then each push's term.
    """
    waves, pushed = loads[: len(motion.loads)], loads[len(motion.loads) :]
    terms = []
    for i in range(len(position)):
        total = 0.0
        for j in range(len(position)):
            total = total - motion.stiffness[i][j] * position[j]
            total = total - motion.damping[i][j] * velocity[j]
        for contact, force in zip(motion.contacts, forces, strict=True):
            if not isinstance(force, float):  # 0 for a contact that does not act
                total = total - contact.response[i] * force
        for load, force in zip(motion.loads, waves, strict=True):
            total = total + load.response[i] * load.amplitude * force
        for push, force in zip(motion.pushes, pushed, strict=True):
            if not isinstance(force, float):  # 0 beyond the end of its series
                total = total + push.response[i] * force
        terms.append(total)
    return terms


@jax.custom_jvp
def cosine_and_sine(angle: Array) -> tuple[Array, Array]:
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
