"""Energy balance of a motion: work, losses and stored energy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing.plottable import ResultRepr
from ..ensemble import Reason, raise_if_empty
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_range, result_field
from ..systems.base.law import force_of
from ..systems.base.system import System, equation_shape
from ..systems.conservative import energies
from ..systems.contacts.annular import annular
from ..systems.impact import EquationOfMotion
from .flow import checked_state
from .measure import Measure
from .measures import LostPowers, integrals


class EnergyBalance(ResultRepr):
    """Work, losses and change of the energy over a motion, J.

    `loads`, `belts`, `variations` and `surfaces` do work, all others consume it;
    `friction_losses` are a part of `contacts`, and `left` is the residual.

    >>> moved = jv.dynamics.energy_balance(stopped, stopped.rest(), 0.0, 2.0)
    >>> bool(abs(moved.left) < 1e-9)
    True
    """

    state: Float[Array, " state"] = result_field("state at the end", "", ("state",))
    loads: Float[Array, " load"] = result_field("work of each load", "J", ("load",))
    belts: Float[Array, " friction"] = result_field(
        "work of each friction's belt", "J", ("friction",)
    )
    damping: Float[Array, ""] = result_field("energy lost in linear dampers", "J")
    springs: Float[Array, " spring"] = result_field(
        "work done against each nonlinear spring", "J", ("spring",)
    )
    contacts: Float[Array, " contact"] = result_field(
        "energy lost in each contact", "J", ("contact",)
    )
    frictions: Float[Array, " friction"] = result_field(
        "energy lost in each friction", "J", ("friction",)
    )
    variations: Float[Array, " contact"] = result_field(
        "work of each contact's variation", "J", ("contact",)
    )
    friction_losses: Float[Array, " contact"] = result_field(
        "energy lost to each contact's own friction", "J", ("contact",)
    )
    surfaces: Float[Array, " contact"] = result_field(
        "work of what moves each contact's surface", "J", ("contact",)
    )
    kinetic: Float[Array, ""] = result_field("change of the kinetic energy", "J")
    potential: Float[Array, ""] = result_field(
        "change of the energy in linear springs and contacts", "J"
    )
    left: Float[Array, ""] = result_field("residual of the balance", "J")
    result: Int[Array, ""] = result_field("reason code")


def energy_balance(
    system: System,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    throw: bool = True,
) -> EnergyBalance:
    r"""Return the work of loads and all losses of a motion from `t0` to `t1` (s).

    $$\sum_l \int f_l\, r_l^T \dot q\, dt - \sum_f \int R_f v_f\, dt
      + \sum_c (W_c + S_c) = \Delta T + \Delta V + \int \dot q^T D\, \dot q\, dt
      + \sum_s \int F_s\, \dot e_s\, dt + \sum_c E_c + \sum_f \int R_f w_f\, dt$$

    with forces R, sliding speeds w and belt speeds v as in `CoulombFriction`: a
    sticking friction loses nothing, though its belt may do work. $E_c$: for a hard stop
    the kinetic energy lost in its impacts, for a damped contact the work of its force
    minus its elastic part, for an annular contact also the loss to its friction. $W_c$:
    the work done on the energy stored in a contact by its variation in time, $\int
    \dot v U dt$. $S_c$: the work of what turns the body of an annular contact, $\int
    \mu F_n s(v) v_s dt$. Energy in nonlinear springs is stored, lost or supplied by a
    variation, depending on their law; where C is not symmetric, the work of its
    antisymmetric part counts as damping. Motion and integrals are computed
    by the engine that "auto" selects for one motion: event-driven with Gauss quadratures
    on each step, or by time stepping under its error control. Works under `jit`, `vmap`
    and differentiation by the state, the times and all parameters.

    **Raises:** `ValueError` for a state of the wrong shape, a tolerance out of range, or
    a system with elements or without bodies; `RuntimeError` with the reason where a
    single call fails, unless `throw=False`.

    >>> pad = jv.CoulombFriction([1.0, 0.0], force=2.0, name="pad")
    >>> rubbing = jv.ImpactSystem(tower, loads=stopped.loads, frictions=(pad,))
    >>> bool(jv.dynamics.energy_balance(rubbing, rubbing.rest(), 0.0, 2.0).frictions[0] > 0)
    True
    """
    require_float64()
    equation = equation_shape(system)
    if not isinstance(equation, EquationOfMotion):
        raise ValueError(f"energy_balance: {type(equation).__name__} is not that of bodies "
                         "alone; allowed: a system without elements")  # fmt: skip
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    found = _found(system, checked_state(system, state), t0, t1, rtol)
    raise_if_empty("energy_balance", throw, found.result, found.state)
    return found


@eqx.filter_jit
def _found(system, state, t0, t1, rtol) -> EnergyBalance:
    times = jnp.stack([jnp.asarray(time, float) for time in (t0, t1)])
    states, sums, result = integrals(system, EnergyPowers, state, times, rtol)
    backwards = t1 < t0
    result = jnp.where(backwards, Reason.BAD_PARAMETER, result).astype(jnp.int32)
    last, sums = (jnp.where(backwards, jnp.nan, row) for row in (states[-1], sums[-1]))
    powers = Powers.of(sums, system.equation())
    before, after = (energies(system, *at) for at in ((t0, state), (t1, last)))
    kinetic, linear, *stored = after - before
    stored = jnp.stack(stored) if stored else jnp.zeros(0)
    varying = np.asarray(system.equation().varying_contacts(), bool)
    pumped = jnp.where(varying, stored - powers.elastic, 0.0)
    potential = linear + jnp.sum(stored)
    contacts = powers.damped_contacts + powers.rubbed
    losses = powers.springs, contacts, powers.frictions
    lost = powers.damping + sum(jnp.sum(row) for row in losses)
    works = powers.loads, powers.belts, pumped, powers.surfaces
    left = sum(jnp.sum(row) for row in works) - lost - kinetic - potential
    known = last, powers.loads, powers.belts, powers.damping, *losses, pumped
    rest = powers.rubbed, powers.surfaces, kinetic, potential, left, result
    return EnergyBalance(*known, *rest)


class Powers(NamedTuple):
    """The power of each work and loss, W, or their integrals, J; `elastic`: of contacts."""

    loads: Array
    belts: Array
    damping: Array
    springs: Array
    damped_contacts: Array
    frictions: Array
    rubbed: Array
    surfaces: Array
    elastic: Array

    @classmethod
    def of(cls, values: Array, equation: EquationOfMotion) -> "Powers":
        """Return the parts of one row, those of a motion's equation."""
        parts = equation.loads, equation.frictions, equation.springs, equation.contacts
        loads, frictions, springs, contacts = map(len, parts)
        counts = loads, frictions, 1, springs, contacts, frictions, contacts, contacts
        found = cls(*jnp.split(values, np.cumsum(counts)))
        return found._replace(damping=found.damping[0])


class EnergyPowers(Measure):
    """The `Powers` in one row; fields: D and the antisymmetric part of C."""

    damping: Array
    turning: Array

    @classmethod
    def of(cls, system: Any) -> "EnergyPowers":
        """Return the measure of a system."""
        mass, _, stiffness = system.linear_part().matrices()
        return cls(mass @ system.equation().damping, (stiffness - stiffness.T) / 2)

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        now = equation.at(time)
        position, velocity = jnp.split(state, 2)
        position = position - equation.offset
        loads = [each.law.force(time) * _dot(each, velocity) for each in equation.loads]
        forces, belts, rubs = borne() if equation.frictions else (), [], []
        for friction, force in zip(equation.frictions, forces, strict=True):
            belts.append(-force * friction.speed)
            rubs.append(force * (_dot(friction, velocity) - friction.speed))
        damped = velocity @ (self.damping @ velocity + self.turning @ position)
        springs = []
        for spring in now.springs:
            motion = _dot(spring, position), _dot(spring, velocity)
            springs.append(force_of(spring.law, *motion) * motion[1])
        depths, closing = equation.penetrations(state), equation.closing_rates(state)
        lost = list(equation.damping_powers(time, depths, closing))
        none = [jnp.zeros_like(damped)] * len(lost)
        rubbed, driven, elastic = list(none), list(none), list(none)
        for j in annular(now.contacts):
            contact = now.contacts[j]
            force = force_of(contact.law, depths[j], closing[j])
            pull = contact.tangential_force(force, position, velocity)
            rubbed[j] = pull * contact.sliding_speed(position, velocity)
            driven[j] = pull * contact.surface_speed
        for j in np.flatnonzero(equation.varying_contacts()):
            elastic[j] = jax.grad(now.contacts[j].law.energy)(depths[j]) * closing[j]
        parts = *loads, *belts, damped, *springs, *lost, *rubs, *rubbed, *driven, *elastic
        return jnp.stack(parts)

    def stored(self, equation: Any, state) -> Array:
        """Return the energies of damped contacts in the place of their losses."""
        return _of_contacts(equation, LostPowers().stored(equation, state))

    def at_impacts(self, equation: Any, losses: Sequence) -> Array:
        """Return the energies that hard stops lose."""
        return _of_contacts(equation, jnp.stack(losses))


def _of_contacts(equation, energies):
    """Return a row of `Powers` with the energies that contacts lose."""
    before = len(equation.loads) + len(equation.frictions) + 1 + len(equation.springs)
    return jnp.pad(energies, (before, len(equation.frictions) + 3 * energies.shape[0]))


def _dot(part, vector):
    return part.direction @ vector
