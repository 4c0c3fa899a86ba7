"""The measures of contacts, elements and bodies, and their integrals along a motion."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..ensemble import raise_if_empty
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range
from ..foundation.types import Number
from ..systems.base.equation import Equation
from ..systems.base.system import System
from ..systems.contacts.annular import annular
from ..systems.impact import ImpactSystem
from .engines.choice import ENGINES, engine_for
from .flow import checked_state
from .measure import Measure, bodies_of, velocities_in
from .motion import Motion, Want


class ElementPowers(Measure):
    """The power that each element takes from the bodies, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        return equation.element_powers(time, state)


class FrictionPowers(Measure):
    """The power lost to each contact's own friction, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        return equation.at(time).rubbing_powers(state)


class LostPowers(Measure):
    """The power lost in each contact, to damping and to its own friction, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        motion = equation.penetrations(state), equation.closing_rates(state)
        rubbed = equation.at(time).rubbing_powers(state)
        return equation.damping_powers(time, *motion) + rubbed

    def stored(self, equation: Any, state):
        """Return the energies of damped contacts."""
        return equation.damping_energies(equation.penetrations(state))


class ContactForces(Measure):
    """The force of each contact, N."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the forces."""
        return equation.at(time).forces_at(state)

    def sizes(self, equation: Equation, start, pace, time):
        """Return the impulses that change velocities by their sizes, N s."""
        bodies = bodies_of(equation)
        weights = jnp.sqrt(bodies.inertia)
        momentum = jnp.max(weights * velocities_in(bodies, start))
        reaches = [
            jnp.max(jnp.abs(jnp.atleast_2d(contact.response)) * weights[None])
            for contact in bodies.contacts
        ]
        return momentum / jnp.stack(reaches) if reaches else jnp.zeros(0)


class ContactSums(Measure):
    """Of each contact: force, time times force, lost power and that lost to friction."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the four rates of all contacts, one after the other."""
        force = ContactForces().rates(equation, time, state)
        lost = LostPowers().rates(equation, time, state)
        rubbed = FrictionPowers().rates(equation, time, state)
        return jnp.concatenate([force, time * force, lost, rubbed])

    def stored(self, equation: Any, state):
        """Return the energies of damped contacts in the place of their losses."""
        energies = LostPowers().stored(equation, state)
        return jnp.pad(energies, (2 * energies.shape[0], energies.shape[0]))

    def sizes(self, equation: Equation, start, pace, time):
        """Return the sizes of their integrals."""
        of_motion = equation, start, pace, time
        impulse, energy = ContactForces().sizes(*of_motion), super().sizes(*of_motion)
        energies = jnp.broadcast_to(energy, (2 * impulse.shape[0],))
        return jnp.concatenate([impulse, time * impulse, energies])


class Squares(Measure):
    """Displacements from rest, their squares, and the squares of velocities."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the values of all bodies, one after the other."""
        size = equation.offset.shape[0]
        position, velocity = state[:size] - equation.offset, state[size : 2 * size]
        return jnp.concatenate([position, position**2, velocity**2])

    def sizes(self, equation: Equation, start, pace, time):
        """Return the sizes of their integrals."""
        bodies = bodies_of(equation)
        place, speed = start[: bodies.inertia.shape[0]], velocities_in(bodies, start)
        return pace * jnp.concatenate([place, place**2, speed**2])


def integrals(
    system: System, measure: type[Measure], state: Array, times: Array, rtol: Number
) -> tuple[Array, Array, Array]:
    """Return states at ascending times, integrals since the first one, and a reason code.

    By the engine that "auto" selects for one motion; differentiable.
    """
    engine, _ = engine_for(system, "auto", lanes=1)
    # The kernels of time stepping run on the host for concrete values.
    run = _compiled if engine == "event" else _motion
    found = run(engine, system, state, Want(rtol, times, measure=measure))
    states, sums = found.states, found.integral
    known, equation = measure.of(system), system.equation()
    stored = jax.vmap(functools.partial(known.stored, equation))(states)
    if stored is not None:
        sums = sums - stored + stored[:1]
    return states, sums, found.result


def _motion(engine: str, system, state, want: Want) -> Motion:
    return ENGINES[engine].integrate(system, state, want.times[0], want.times[-1], want)


_compiled = eqx.filter_jit(_motion)


def mean_element_power(
    system: ImpactSystem,
    state: Real[ArrayLike, " state"],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    throw: bool = True,
) -> Float[Array, " elements"]:
    r"""Return the mean power that each element takes from the bodies, W.

    $$P_k = \frac{1}{t_1 - t_0} \int_{t_0}^{t_1} F_k\, n_k^T \dot q\, dt$$

    of the motion in `state` at `t0`; negative for an element that drives the bodies.
    Over a period of an orbit an element stores nothing: the power of a harvester is
    that of its resistor. Works under `jit`, `vmap` and differentiation. **Raises:**
    `ValueError` for a system without elements, a `t1` that is not after `t0`, and as
    `flow`.

    >>> patch = jv.PiezoelectricCircuit(1e-3, resistance=100.0, coupling=0.5)
    >>> circuit = jv.StateElement([0.0, 1.0], patch, "circuit")
    >>> parts = stopped.contacts, stopped.loads
    >>> harvester = jv.ImpactSystem(tower, *parts, elements=(circuit,))
    >>> orbit = jv.periodic_orbit(harvester)
    >>> power = jv.dynamics.mean_element_power(harvester, orbit.state, 0.0, orbit.period)
    >>> bool(power[0] > 0)
    True
    """
    if not system.elements:
        raise ValueError("elements = () is empty; allowed: a system with elements")
    return _mean(system, ElementPowers, state, (t0, t1), rtol, throw)


def mean_friction_power(
    system: ImpactSystem,
    state: Real[ArrayLike, " state"],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    throw: bool = True,
) -> Float[Array, " contacts"]:
    r"""Return the mean power lost to the friction of each annular contact, W.

    $$P_c = \frac{1}{t_1 - t_0} \int_{t_0}^{t_1} \mu\, |s(v)\, v|\, F_n\, dt$$

    of the motion in `state` at `t0`, with the sliding speed v of `AnnularContact`: the
    work rate by which wear is estimated (Archard: a worn volume proportional to the
    work). 0 for other contacts. Works under `jit`, `vmap` and differentiation.
    **Raises:** `ValueError` for a system without annular contacts, a `t1` that is not
    after `t0` (NaN under transformations), and as `flow`.

    >>> rotor = jv.LinearSystem(np.eye(2), 0.2 * np.eye(2), np.eye(2))
    >>> rub = {"friction_coefficient": 0.1, "surface_speed": 2.0}
    >>> stator = jv.AnnularContact(np.eye(2), 1.0, jv.LinearContact(5.0), **rub)
    >>> turning = jv.ImpactSystem(rotor, contacts=(stator,))
    >>> lost = jv.dynamics.mean_friction_power(turning, [1.5, 0.0, 0.0, 0.0], 0.0, 1.0)
    >>> bool(lost[0] > 0)
    True
    """
    if not annular(system.contacts):
        raise ValueError("contacts has no AnnularContact; allowed: one or more")
    return _mean(system, FrictionPowers, state, (t0, t1), rtol, throw)


def mean_lost_power(
    system: ImpactSystem,
    state: Float[Array, " state"],
    span: Float[Array, ""],
    rtol: Number,
) -> Float[Array, " contacts"]:
    """Return the mean power lost in each contact, W, to damping and to its friction.

    Of the motion in `state` at 0 until `span` (s); NaN if its solve failed.
    """
    return _mean(system, LostPowers, state, (0.0, span), rtol, throw=False)


def _mean(system: Any, measure: type[Measure], state, times, rtol, throw: bool):
    """Return the means of a measure's rates over `times` = (t0, t1), of a motion."""
    t0, t1 = times
    if is_concrete(times) and t1 <= t0:
        raise ValueError(f"t1 = {t1} s is not after t0 = {t0} s; allowed: later than t0")
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    times = jnp.stack([jnp.asarray(time, float) for time in times])
    _, sums, result = integrals(system, measure, checked_state(system, state), times, rtol)
    raise_if_empty("mean power", throw, result, sums[-1])
    return jnp.where(t1 < t0, jnp.nan, sums[-1]) / (t1 - t0)
