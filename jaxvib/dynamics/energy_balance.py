"""Energy balance of a motion: work, losses and stored energy."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..ensemble import raise_if_empty
from ..foundation.arrays import partition_arrays
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_range, result_field
from ..foundation.result_repr import ResultRepr
from ..systems.roles import force_of
from ..systems.system import System, equation_shape
from .events import Integrand, event_problem, unsupported_reason
from .flow import checked_state


class EnergyBalance(ResultRepr):
    """Work, losses and change of the energy over a motion, J.

    `loads`, `belts` and `variations` do work, all others consume it; `left` is the
    residual.

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

    $$\sum_l \int f_l\, r_l^T \dot q\, dt - \sum_f \int R_f v_f\, dt + \sum_c W_c
      = \Delta T + \Delta V + \int \dot q^T D\, \dot q\, dt
      + \sum_s \int F_s\, \dot e_s\, dt + \sum_c E_c + \sum_f \int R_f w_f\, dt$$

    with forces R, sliding speeds w and belt speeds v as in `CoulombFriction`: a
    sticking friction loses nothing, though its belt may do work. $E_c$: for a hard stop
    the kinetic energy lost in its impacts, for a damped contact the work of its force
    minus its elastic part. $W_c$: the work done on the energy stored in a contact by its
    variation in time, $\int \dot v U dt$. Energy in nonlinear springs is stored, lost or
    supplied by a variation, depending on their law; where C is not symmetric, the work
    of its antisymmetric part counts as damping. The motion is event-driven, integrals
    are Gauss quadratures on each step. Works under `jit`, `vmap` and differentiation by
    the state, the times and all parameters.

    **Raises:** `ValueError` for a state of the wrong shape, a tolerance out of range,
    or a system that has no event-driven form; `RuntimeError` with the reason where a
    single call fails, unless `throw=False`.

    >>> pad = jv.CoulombFriction([1.0, 0.0], force=2.0, name="pad")
    >>> rubbing = jv.ImpactSystem(tower, loads=stopped.loads, frictions=(pad,))
    >>> bool(jv.dynamics.energy_balance(rubbing, rubbing.rest(), 0.0, 2.0).frictions[0] > 0)
    True
    """
    require_float64()
    reason = unsupported_reason(equation_shape(system))
    if reason:
        raise ValueError(f"energy_balance: {reason}; allowed: a system supported by "
                         "engine = 'event'")  # fmt: skip
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    found = _found(system, checked_state(system, state), t0, t1, rtol)
    raise_if_empty("energy_balance", throw, found.result, found.state)
    return found


@eqx.filter_jit
def _found(system, state, t0, t1, rtol) -> EnergyBalance:
    parameters, static = partition_arrays(system)
    given = static, state, parameters, t0, t1, rtol
    end = event_problem(*given, integrand=_powers)
    counts = [len(getattr(system, kind)) for kind in ("loads", "frictions")]
    kinds = ("springs", "contacts", "frictions")
    counts += [1, *(len(getattr(system, kind)) for kind in kinds)]
    ends = [state.shape[0]]
    for count in counts:
        ends.append(ends[-1] + count)
    last, loads, belts, (damping,), *taken, elastic = jnp.split(end.state, ends)
    before, after = (_energies(system, *at) for at in ((t0, state), (t1, last)))
    kinetic, linear, *stored = after - before
    stored = jnp.stack(stored) if stored else jnp.zeros(0)
    varying = np.flatnonzero(np.asarray(system.equation().varying_contacts(), bool))
    pumped = jnp.zeros_like(stored).at[varying].set(stored[varying] - elastic)
    potential = linear + jnp.sum(stored)
    lost = damping + sum(jnp.sum(row) for row in taken)
    done = jnp.sum(loads) + jnp.sum(belts) + jnp.sum(pumped)
    left = done - lost - kinetic - potential
    known = last, loads, belts, damping, *taken, pumped
    return EnergyBalance(*known, kinetic, potential, left, end.result)


def _powers(system) -> Integrand:
    """Return the power of each work and loss, W, in the order of `EnergyBalance`.

    Last, the elastic power of each contact with a variation.
    """
    equation = system.equation()
    mass, _, stiffness = system.linear_part().matrices()
    damping, turning = mass @ equation.damping, (stiffness - stiffness.T) / 2
    count = mass.shape[0]
    behind = len(equation.frictions)
    before = len(equation.loads) + behind + 1 + len(equation.springs)

    varying = [j for j, varies in enumerate(equation.varying_contacts()) if varies]

    def rate(time, state, borne):
        now = equation.at(time)
        position, velocity = state[:count] - equation.offset, state[count:]
        loads = [each.law.force(time) * _dot(each, velocity) for each in equation.loads]
        belts, rubs = [], []
        if equation.frictions:
            for friction, force in zip(equation.frictions, borne(), strict=True):
                belts.append(-force * friction.speed)
                rubs.append(force * (_dot(friction, velocity) - friction.speed))
        damped = velocity @ (damping @ velocity + turning @ position)
        springs = []
        for spring in now.springs:
            motion = _dot(spring, position), _dot(spring, velocity)
            springs.append(force_of(spring.law, *motion) * motion[1])
        depths, closing = equation.penetrations(state), equation.closing_rates(state)
        lost = list(now.lost_powers(depths, closing))
        elastic = [
            jax.grad(now.contacts[j].law.energy)(depths[j]) * closing[j] for j in varying
        ]
        return jnp.stack([*loads, *belts, damped, *springs, *lost, *rubs, *elastic])

    def at_impacts(losses):
        return jnp.pad(jnp.stack(losses), (before, behind + len(varying)))

    return Integrand(rate, at_impacts)


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
