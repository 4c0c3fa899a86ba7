"""Vibro-impact systems: linear systems with contacts, friction and loads."""

from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ..foundation.quantity import Quantity, check_shape, quantity
from ..foundation.types import Number
from ..linalg import positive_inverse
from .base.equation import Equation, Time
from .base.freedoms import component
from .base.law import LoadLaw, force_of, is_damped, is_impulsive, trait
from .base.part import Part
from .base.roles import Linear
from .base.system import Mechanical
from .base_motion import BaseMotion, StopMotion, pushes
from .contacts.annular import AnnularContact, annular
from .contacts.unilateral import Contact
from .frictions.contact_friction import pressing_contacts
from .frictions.friction import Friction, friction_forces
from .loads import never_repeats, time_varying
from .periods import check_period, period_of_loads
from .springs import NonlinearSpring
from .states import (
    CoupledEquation,
    StateElement,
    check_elements,
    named_states,
)
from .symmetry import check_mass, lacks_mass
from .variation import at_time, factor_at, known_laws, variations_of

AnyContact = Contact | AnnularContact


class LinearSystem(Linear):
    """A linear system of mass, damping and stiffness matrices, (n, n), in SI units.

    **Raises:** `ValueError` for unequal shapes, or a mass that is not symmetric and
    positive definite.

    >>> jv.natural_frequencies(jv.LinearSystem([[2.0]], [[0.1]], [[8.0]])).tolist()
    [2]
    """

    mass: Float[Quantity, "n n"] = quantity("mass", "", "mass matrix")
    damping: Float[Quantity, "n n"] = quantity("damping", "", "damping matrix")
    stiffness: Float[Quantity, "n n"] = quantity("stiffness", "", "stiffness matrix")

    def __check_init__(self) -> None:
        shapes = [jnp.shape(m) for m in (self.mass, self.damping, self.stiffness)]
        square = len(shapes[0]) == 2 and shapes[0][0] == shapes[0][1]
        if not square or len(set(shapes)) > 1:
            raise ValueError(f"mass, damping, stiffness have shapes {shapes}; allowed: "
                             "one square shape for all three")  # fmt: skip
        check_mass(self.mass)

    def contradicts(self) -> np.ndarray:
        """Return whether a mass matrix is not positive definite, of a batch."""
        return lacks_mass(np.asarray(self.mass))

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""
        return self.mass, self.damping, self.stiffness


class AppliedLoad(Part):
    r"""A load along a direction: the force on the degrees of freedom is $n F(t)$.

    **Fields:** `direction` $n$, shape (n,); `law`: from time, s, to force, N; `name`:
    on parameter paths, instead of the position among the loads. **Raises:**
    `ValueError` for a direction that is not an array of numbers.

    >>> push = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(4.0, 12.0), name="push")
    >>> float(push.law.force(0.0))
    4.0
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of the load")
    law: LoadLaw
    name: str | None = eqx.field(default=None, static=True)

    kind = "a load"
    may_be_nowhere = True

    def push(self, mass: Float[ArrayLike, "n n"]) -> Float[Array, " n"]:
        """Return the forces of a unit load, N."""
        return self.direction


class EquationOfMotion(Equation):
    r"""The equation of motion of a vibro-impact system, solved for accelerations.

    $$\ddot q = -M^{-1} D \dot q - M^{-1} C q
                - \sum_c M^{-1} n_c F_c(n_c^T q - g_c, n_c^T \dot q, t)
                - \sum_s M^{-1} n_s F_s(n_s^T q, n_s^T \dot q, t)
                - \sum_f M^{-1} n_f R_f + \sum_l M^{-1} r_l f_l(t).$$

    States are $(q + o, \dot q)$ with `offset` $o$, shape (n,); `inertia`: diagonal of M.
    Parts have their `response` $M^{-1} n$.
    """

    damping: Float[Array, "n n"]
    stiffness: Float[Array, "n n"]
    contacts: tuple[Any, ...]  # of `AnyContact`: engines refuse those they do not know
    loads: tuple[AppliedLoad, ...]
    offset: Float[Array, " n"]
    inertia: Float[Array, " n"]
    frictions: tuple[Friction, ...] = ()
    springs: tuple[NonlinearSpring, ...] = ()

    def vector_field(
        self, time: Time, state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        """Return the state's rate of change at a time, s."""
        position, velocity = jnp.split(state, 2)
        position = position - self.offset
        acceleration = -_apply(self.stiffness, position) - _apply(self.damping, velocity)
        for load in self.loads:
            acceleration = acceleration + load.response * load.law.force(time)
        normal, now = [], self.at(time)
        for contact in now.contacts:
            penetration = contact.penetration(position)
            closing = contact.closing_rate(position, velocity)
            normal.append(force_of(contact.law, penetration, closing))
            acceleration = acceleration - contact.retarded(normal[-1], position, velocity)
        for spring in now.springs:
            along = [component(spring.direction, part) for part in (position, velocity)]
            acceleration = acceleration - spring.response * force_of(spring.law, *along)
        if self.frictions:
            pressed = [1.0 if j is None else normal[j] for j in self.pressing_contacts()]
            forces = friction_forces(self.frictions, pressed, velocity, acceleration)
            for friction, force in zip(self.frictions, forces, strict=True):
                acceleration = acceleration - friction.response * force
        return jnp.concatenate([velocity, acceleration])

    def at(self, time: Number) -> "EquationOfMotion":
        """Return the equation with the coefficients that its forces have at a time, s."""
        if not variations_of(self):
            return self
        parts = at_time(self.contacts, time), at_time(self.springs, time)
        return eqx.tree_at(lambda e: (e.contacts, e.springs), self, parts)

    def factors(self, time: Time) -> Float[Array, " varying"]:
        """Return the factors of all forces that vary in time."""
        parts = (*self.contacts, *self.springs)
        found = [factor_at(part, time) for part in parts if part.variation is not None]
        return jnp.stack(found) if found else jnp.zeros(0)

    def displacements(
        self, time: Time, state: Array, rate: Array
    ) -> tuple[Array, Array, Array]:
        """Return the displacements, m, and their first and second time derivatives."""
        position, velocity = jnp.split(state, 2)
        return position, velocity, jnp.split(rate, 2)[1]

    def displaced(self, state: Float[Array, " state"]) -> Float[Array, " n"]:
        """Return the displacements, m."""
        return jnp.split(state, 2)[0]

    def divergence(self) -> Float[Array, ""]:
        """Return the divergence of the vector field, 1/s: -tr(M^-1 D).

        NaN with damped or annular contacts, damped springs, or friction.
        """
        constant = -jnp.trace(self.damping)
        damped = any(self.damped_contacts()) or any(is_damped(s.law) for s in self.springs)
        rubs = self.frictions or annular(self.contacts)
        return constant * jnp.nan if damped or rubs else constant

    def contraction(self, onsets: Int[Array, " contacts"]) -> Float[Array, ""]:
        """Return the determinant of the impacts at hard stops, e^2 for each."""
        total = jnp.ones(())
        for contact, number in zip(self.contacts, onsets, strict=True):
            law: Any = contact.law
            if is_impulsive(law):
                total = total * law.restitution ** (2.0 * number.astype(float))
        return total

    def penetrations(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return each contact's penetration, m, negative if open."""
        position, _ = self._motion(state)
        gaps = [contact.penetration(position) for contact in self.contacts]
        return _stacked(gaps, state)

    def closing_rates(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the rate of each contact's penetration, m/s."""
        position, velocity = self._motion(state)
        rates = [contact.closing_rate(position, velocity) for contact in self.contacts]
        return _stacked(rates, state)

    def contact_forces(
        self, penetrations: Float[Array, " contacts"], rates: Float[Array, " contacts"]
    ) -> Float[Array, " contacts"]:
        """Return each contact's force, N, at penetrations, m, and their rates, m/s."""
        laws = [contact.law for contact in self.contacts]
        return _stacked(list(map(force_of, laws, penetrations, rates)), penetrations)

    def damping_powers(
        self,
        time: Time,
        penetrations: Float[Array, " contacts"],
        rates: Float[Array, " contacts"],
    ) -> Float[Array, " contacts"]:
        r"""Return powers P of damped contacts, W: these lose $\int P\,dt - \Delta U$.

        The power of its force; less that of the elastic part where this varies, with
        U = 0 then. A contact that opens while indented loses U without a force, at a
        rate of $z^{3/2}$, which quadratures on the steps of a motion would miss.
        """
        powers = jnp.zeros_like(penetrations)
        for j, law, depth in self.at(time)._damped(penetrations):
            force = force_of(law, depth, rates[j])
            if self.contacts[j].variation is not None:
                force = force - jax.grad(law.energy)(depth)
            powers = powers.at[j].set(force * rates[j])
        return powers

    def damping_energies(
        self, penetrations: Float[Array, " contacts"]
    ) -> Float[Array, " contacts"]:
        """Return the energy U stored in each damped contact, J, see `damping_powers`."""
        energies = jnp.zeros_like(penetrations)
        for j, law, depth in self._damped(penetrations):
            if self.contacts[j].variation is None:
                energies = energies.at[j].set(law.energy(depth))
        return energies

    def _damped(self, penetrations) -> Iterator[tuple]:
        """Yield the place, the law and the penetration of each damped contact."""
        for j, damped in enumerate(self.damped_contacts()):
            if damped:
                yield j, self.contacts[j].law, penetrations[j]

    def damped_contacts(self) -> tuple[bool, ...]:
        """Return which contacts are damped."""
        return tuple(is_damped(contact.law) for contact in self.contacts)

    def varying_contacts(self) -> tuple[bool, ...]:
        """Return which contacts have a variation."""
        return tuple(contact.variation is not None for contact in self.contacts)

    def contact_motion(
        self, state: Float[Array, " state"], rate: Float[Array, " state"]
    ) -> tuple[Array, Array, Array]:
        """Return z (m), dz/dt and d2z/dt2 of each contact from a state and its rate."""
        position, velocity = self._motion(state)
        motion = position, velocity, jnp.split(rate, 2)[1]
        third = [contact.closing_acceleration(*motion) for contact in self.contacts]
        return self.penetrations(state), self.closing_rates(state), _stacked(third, rate)

    def contact_reach(self, sizes: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the largest penetration change for displacements of given sizes, m."""
        size = jnp.split(sizes, 2)[0]
        reaches = [contact.reach(size) for contact in self.contacts]
        return _stacked(reaches, sizes)

    def pressing_contacts(self) -> tuple[int | None, ...]:
        """Return the position of each friction's contact, or None."""
        return pressing_contacts(self.frictions, self.contacts)

    def hard_contacts(self) -> tuple[bool, ...]:
        """Return which contacts are hard stops."""
        return tuple(map(is_hard, self.contacts))

    def may_pulse(self) -> bool:
        """Return whether a load or a variation may have pulses that a step could miss."""
        acting = [*self.loads, *variations_of(self)]
        return any(trait(part.law, "pulses") for part in acting)

    def may_jump(self) -> bool:
        """Return whether there is friction, or a law not declared continuous."""
        laws = [element.law for element in (*self.contacts, *self.springs)]
        rubs = bool(self.frictions) or any(contact.reverses for contact in self.contacts)
        return rubs or any(trait(law, "jumps") for law in laws)

    def rubbing_powers(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the power lost to each contact's own friction, W."""
        motion, forces = self._motion(state), self.forces_at(state)
        pairs = zip(self.contacts, forces, strict=True)
        powers = [contact.rubbing_power(force, *motion) for contact, force in pairs]
        return _stacked(powers, forces)

    def next_breakpoint(self, time: Time) -> Float[Array, ""] | None:
        """Return the next non-smooth time of a load or variation, s; None if none."""
        known = [law.next_breakpoint(time) for law in known_laws(self) if law.breaks]
        return jnp.min(jnp.stack(known)) if known else None

    def repeats_in(self, span: Time) -> Time:
        """Return the longest period of a load or variation, s; `span` without one."""
        acting = time_varying([*self.loads, *variations_of(self)])
        periods = [part.law.period() for part in acting]
        if not periods:
            return span
        longest = jnp.max(jnp.stack(periods))
        return jnp.where(jnp.isinf(longest), span, longest)

    def _motion(self, state: Float[Array, " state"]) -> tuple[Array, Array]:
        position, velocity = jnp.split(state, 2)
        return position - self.offset, velocity


def equation_of_motion(
    matrices: Sequence[Array],
    contacts: tuple[AnyContact, ...],
    loads: tuple,  # of `AppliedLoad`, or of others with its interface
    offset: Array | None = None,
    frictions: tuple = (),
    springs: tuple = (),
) -> EquationOfMotion:
    """Return the equation of motion from (M, D, C) and the acting elements."""
    mass, damping, stiffness = matrices
    inverse = positive_inverse(mass)
    acting = [
        AppliedLoad(push, law, load.name)
        for load in loads
        for push, law in pushes(load, matrices)
    ]
    return EquationOfMotion(
        inverse @ damping,
        inverse @ stiffness,
        tuple(contact.acting(inverse) for contact in contacts),
        tuple(load.acting(inverse) for load in acting),
        jnp.zeros(mass.shape[0]) if offset is None else offset,
        jnp.diagonal(mass),
        tuple(friction.acting(inverse) for friction in frictions),
        tuple(spring.acting(inverse) for spring in springs),
    )


class ImpactSystem(Mechanical, Linear):
    """A linear system with contacts, loads, friction elements and nonlinear springs.

    **Fields:** `linear`: a `LinearSystem` or an assembled one; `contacts`: each a
    `Contact` or an `AnnularContact`; `loads`;
    `frictions`: each a `CoulombFriction` or a `ContactFriction`; `springs`: each a
    `NonlinearSpring`; `elements`: each a `StateElement` with states of its own. States
    are (q, dq/dt) and those of elements at t = 0, relative to the unstrained position
    (static equilibrium without constant loads), as are gaps. Systems with elements are
    integrated by time stepping. **Raises:** `ValueError` for directions of another
    length than the system's, a friction whose contact is missing or a hard stop,
    elements or annular contacts beside hard stops or friction, or periodic loads and
    variations without a common period.

    >>> jv.ImpactSystem(tower, contacts=stopped.contacts).contacts[0].name
    'stop'
    """

    linear: Linear
    contacts: tuple[AnyContact, ...] = eqx.field(converter=tuple, default=())
    loads: tuple[AppliedLoad | BaseMotion | StopMotion, ...] = eqx.field(
        converter=tuple, default=()
    )
    frictions: tuple[Friction, ...] = eqx.field(converter=tuple, default=())
    springs: tuple[NonlinearSpring, ...] = eqx.field(converter=tuple, default=())
    elements: tuple[StateElement, ...] = eqx.field(converter=tuple, default=())

    def __check_init__(self) -> None:
        size = self.degrees_of_freedom
        for kind in ("contact", "load", "friction", "spring", "element"):
            for position, item in enumerate(getattr(self, f"{kind}s")):
                if not isinstance(item, Part):
                    raise TypeError(
                        f"{kind} {position} is of type {type(item).__name__}; allowed: a "
                        "part of the library, or a class derived from one"
                    )
                name = "directions" if isinstance(item, AnnularContact) else "direction"
                allowed = (size,) if name == "direction" else (2, size)
                check_shape(f"{kind} {position}: {name}", getattr(item, name), allowed)
        pressing_contacts(self.frictions, self.contacts)
        check_elements(self.elements, size)
        if self.elements and (self.frictions or any(map(is_hard, self.contacts))):
            raise ValueError(
                "elements with states cannot be combined with friction or hard stops, "
                "which need event-driven integration; allowed: contacts with a force"
            )
        if annular(self.contacts) and (self.frictions or any(map(is_hard, self.contacts))):
            raise ValueError(
                "annular contacts cannot be combined with dry friction elements or hard "
                "stops, which need event-driven integration; allowed: contacts with a force"
            )
        acting = [*self.loads, *variations_of(self)]
        if len(time_varying(acting)) > 1 and not never_repeats(acting):
            check_period(self)

    @property
    def degrees_of_freedom(self) -> int:
        """The number n of degrees of freedom; states have 2n components."""
        return self.linear.matrices()[0].shape[0]

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, or their positions."""
        return self.linear.freedom_names or super().freedom_names

    @property
    def mechanical(self) -> bool:
        """Whether states are displacements and velocities only."""
        return not self.elements

    @property
    def period_is_declared(self) -> bool:
        """Whether laws of elements, which may depend on time, are to be checked."""
        return bool(self.elements)

    def linear_part(self) -> Linear:
        """Return the linear system."""
        return self.linear

    def further_states(self) -> tuple[tuple[str, str], ...]:
        """Return names and units of the states of elements."""
        return tuple(named_states(self.elements))

    def scales(self, state: Float[Array, " state"]) -> Float[Array, " state"] | None:
        """Return scales of the components, see `Mechanical`; None with elements."""
        return None if self.elements else super().scales(state)

    def rotations(self) -> np.ndarray | None:
        """Return which degrees of freedom are rotations, None if none is."""
        return self.linear.rotations()

    def turned(self, part: Any) -> bool:
        """Return whether a contact, load, friction or spring acts on rotations only.

        Its values declared in N and m are then in N m and rad. A coefficient of 1 or -1
        at a rotation is the angle itself; other values are lever arms, m, through which
        the element acts in N and m.
        """
        rotations = self.rotations()
        direction = getattr(part, "direction", None)  # `Variables` have none
        if rotations is None or isinstance(direction, jax.core.Tracer):
            return False
        direction = np.asarray(direction)
        if direction.shape != rotations.shape:  # a batch of systems
            return False
        along = direction != 0
        return bool(np.all(rotations[along] & (np.abs(direction[along]) == 1)))

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""
        return self.linear.matrices()

    def equation(self) -> EquationOfMotion | CoupledEquation:
        """Return the equation of motion."""
        parts = self.contacts, self.loads, None, self.frictions, self.springs
        moved = equation_of_motion(self.matrices(), *parts)
        if not self.elements:
            return moved
        inverse = positive_inverse(self.matrices()[0])
        acting = tuple(element.acting(inverse) for element in self.elements)
        return CoupledEquation(moved, acting)

    def rest(self) -> Float[Array, " state"]:
        """Return the unstrained state at rest; states of elements are 0."""
        states = sum(len(element.law.states) for element in self.elements)
        return jnp.zeros(2 * self.degrees_of_freedom + states)

    def period(self) -> Float[Array, ""]:
        """Return the common period of loads and variations, s; NaN if there is none.

        **Raises:** `ValueError` if none of them changes, or one is not periodic.
        """
        return period_of_loads(self.loads, variations_of(self))

    def with_law(self, place: int, law: LoadLaw) -> "ImpactSystem":
        """Return the system with the law of one load replaced."""
        load = self.loads[place]
        field = "law" if isinstance(load, AppliedLoad) else "motion"
        other = eqx.tree_at(lambda each: getattr(each, field), load, law)
        return eqx.tree_at(lambda system: system.loads[place], self, other)


def is_hard(contact: AnyContact) -> bool:
    """Return whether a contact is a hard stop."""
    return is_impulsive(contact.law)


def _stacked(values: list, like: Array) -> Array:
    return jnp.stack(values) if values else jnp.zeros(0, like.dtype)


def _apply(matrix, vector):
    # Summed column by column: under `vmap` a small matrix product is one call per
    # sample, while these sums are fused with the surrounding operations.
    if vector.shape[0] > 8:
        return matrix @ vector
    return sum(matrix[:, j] * vector[j] for j in range(vector.shape[0]))
