"""Energy balance of a motion: work, losses and stored energy."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..ensemble import Reason, raise_if_empty
from ..foundation.arrays import partition_arrays
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_range, result_field
from ..foundation.result_repr import ResultRepr
from ..systems.annular import annular
from ..systems.impact import EquationOfMotion
from ..systems.law import force_of
from ..systems.system import System, equation_shape
from .events import Integrand, event_problem, unsupported_reason
from .flow import checked_state, solve_system
from .integrated_system import IntegratedSystem


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
    state: Real[ArrayLike, " state"] | Sequence,
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
    antisymmetric part counts as damping. The motion is event-driven, integrals are Gauss
    quadratures on each step; with annular contacts both are integrated by time stepping
    with error control. Works under `jit`, `vmap` and differentiation by the state, the
    times and all parameters.

    **Raises:** `ValueError` for a state of the wrong shape, a tolerance out of range,
    or a system that has neither an event-driven form nor annular contacts, or annular
    contacts beside elements with states; `RuntimeError` with the reason where a single
    call fails, unless `throw=False`.

    >>> pad = jv.CoulombFriction([1.0, 0.0], force=2.0, name="pad")
    >>> rubbing = jv.ImpactSystem(tower, loads=stopped.loads, frictions=(pad,))
    >>> bool(jv.dynamics.energy_balance(rubbing, rubbing.rest(), 0.0, 2.0).frictions[0] > 0)
    True
    """
    require_float64()
    equation = equation_shape(system)
    round_ = isinstance(equation, EquationOfMotion) and bool(annular(equation.contacts))
    reason = "" if round_ else unsupported_reason(equation)
    if reason:
        raise ValueError(f"energy_balance: {reason}; allowed: a system supported by "
                         "engine = 'event', or with annular contacts")  # fmt: skip
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    found = _found(system, checked_state(system, state), t0, t1, rtol)
    raise_if_empty("energy_balance", throw, found.result, found.state)
    return found


@eqx.filter_jit
def _found(system, state, t0, t1, rtol) -> EnergyBalance:
    round_ = annular(system.contacts)
    integrated = _by_steps if round_ else _by_events
    end, result = integrated(system, state, t0, t1, rtol)
    counts = [state.shape[0], *_counts(system), len(round_), len(round_)]
    *parts, rubbed, driven, elastic = jnp.split(end, np.cumsum(counts))
    last, loads, belts, (damping,), springs, contacts, frictions = parts
    before, after = (_energies(system, *at) for at in ((t0, state), (t1, last)))
    kinetic, linear, *stored = after - before
    stored = jnp.stack(stored) if stored else jnp.zeros(0)
    varying = np.flatnonzero(np.asarray(system.equation().varying_contacts(), bool))
    none = jnp.zeros_like(stored)
    pumped = none.at[varying].set(stored[varying] - elastic)
    rubbed, driven = (none.at[np.array(round_, int)].set(x) for x in (rubbed, driven))
    contacts = contacts + rubbed if round_ else contacts
    potential = linear + jnp.sum(stored)
    losses = springs, contacts, frictions
    lost = damping + sum(jnp.sum(row) for row in losses)
    done = jnp.sum(loads) + jnp.sum(belts) + jnp.sum(pumped) + jnp.sum(driven)
    left = done - lost - kinetic - potential
    known = last, loads, belts, damping, *losses, pumped, rubbed, driven
    return EnergyBalance(*known, kinetic, potential, left, result)


def _counts(system) -> list[int]:
    """Return the numbers of works and losses in the order of `EnergyBalance`."""
    parts = system.loads, system.frictions, system.springs, system.contacts
    loads, frictions, springs, contacts = map(len, parts)
    return [loads, frictions, 1, springs, contacts, frictions]


def _by_events(system, state, t0, t1, rtol) -> tuple[Array, Array]:
    """Return the state and the integrals of the powers at the end, and a reason code."""
    parameters, static = partition_arrays(system)
    given = static, state, parameters, t0, t1, rtol
    end = event_problem(*given, integrand=_integrand)
    return end.state, end.result


def _by_steps(system, state, t0, t1, rtol) -> tuple[Array, Array]:
    """Return the same, all integrated together by time stepping."""
    equation = system.equation()
    round_, varying = len(annular(system.contacts)), sum(equation.varying_contacts())
    count = sum(_counts(system)) + 2 * round_ + varying
    metered: Any = IntegratedSystem(system, _powers, count, _dissipation(system))
    extended = jnp.concatenate([state, jnp.zeros(count)])
    solution = solve_system(metered, extended, t0, t1, rtol=rtol)
    backwards = t1 < t0
    code = jnp.where(backwards, Reason.BAD_PARAMETER, solution.result)
    return jnp.where(backwards, jnp.nan, solution.state), code


def _dissipation(system) -> tuple[Array, Array]:
    """Return D and the antisymmetric part of C."""
    mass, _, stiffness = system.linear_part().matrices()
    return mass @ system.equation().damping, (stiffness - stiffness.T) / 2


def _integrand(system) -> Integrand:
    equation, matrices = system.equation(), _dissipation(system)
    counts = _counts(system)

    def rate(time, state, borne):
        forces = borne() if equation.frictions else ()
        return _powers(equation, time, state, *matrices, forces)

    def at_impacts(losses):
        behind = counts[-1] + sum(equation.varying_contacts())
        return jnp.pad(jnp.stack(losses), (sum(counts[:-2]), behind))

    return Integrand(rate, at_impacts)


def _powers(equation, time, state, damping, turning, borne=()) -> Array:
    """Return the power of each work and loss, W, in the order of `EnergyBalance`.

    Then those of the friction and of the surface of annular contacts, and the elastic
    power of each contact with a variation. `borne`: the forces of the frictions.
    """
    now = equation.at(time)
    position, velocity = jnp.split(state, 2)
    position = position - equation.offset
    loads = [each.law.force(time) * _dot(each, velocity) for each in equation.loads]
    belts, rubs = [], []
    for friction, force in zip(equation.frictions, borne, strict=True):
        belts.append(-force * friction.speed)
        rubs.append(force * (_dot(friction, velocity) - friction.speed))
    damped = velocity @ (damping @ velocity + turning @ position)
    springs = []
    for spring in now.springs:
        motion = _dot(spring, position), _dot(spring, velocity)
        springs.append(force_of(spring.law, *motion) * motion[1])
    depths, closing = equation.penetrations(state), equation.closing_rates(state)
    lost = list(now.lost_powers(depths, closing))
    rubbed, driven = [], []
    for j in annular(now.contacts):
        contact = now.contacts[j]
        force = force_of(contact.law, depths[j], closing[j])
        pull = contact.tangential_force(force, position, velocity)
        rubbed.append(pull * contact.sliding_speed(position, velocity))
        driven.append(pull * contact.surface_speed)
    elastic = [
        jax.grad(now.contacts[j].law.energy)(depths[j]) * closing[j]
        for j, varies in enumerate(equation.varying_contacts())
        if varies
    ]
    parts = *loads, *belts, damped, *springs, *lost, *rubs, *rubbed, *driven, *elastic
    return jnp.stack(parts)


def _dot(part, vector):
    return part.direction @ vector


def _energies(system, time, state) -> Float[Array, " energies"]:
    """Return the energies of motion, of linear springs and of each contact, J."""
    equation = system.equation().at(time)
    mass, _, stiffness = system.linear_part().matrices()
    position, velocity = jnp.split(state, 2)
    position = position - equation.offset
    found = [velocity @ mass @ velocity / 2, position @ stiffness @ position / 2]
    for contact, depth in zip(equation.contacts, equation.penetrations(state), strict=True):
        found.append(contact.law.energy(depth))
    return jnp.stack(found)
