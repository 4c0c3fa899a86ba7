"""Mean powers that elements with states take from bodies."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..systems.equation import Equation
from ..systems.impact import ImpactSystem
from ..systems.states import CoupledEquation
from ..systems.system import System
from .flow import flow


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
    `ValueError` for a system without elements, and as `flow`.

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
    start = jnp.asarray(state, float)
    count = len(system.elements)
    metered = _Metered(system)
    whole = jnp.concatenate([start, jnp.zeros(count)])
    end = flow(metered, whole, t0, t1, rtol=rtol, throw=throw)
    return end[start.shape[0] :] / (t1 - t0)


class _Metered(System):
    """A system with the work of its elements as further states."""

    system: ImpactSystem

    @property
    def has_contacts(self):
        return self.system.has_contacts

    def equation(self):
        equation = self.system.equation()
        assert isinstance(equation, CoupledEquation)
        return _MeteredEquation(equation, self.system.rest().shape[0])

    def rest(self):
        return jnp.concatenate([self.system.rest(), jnp.zeros(len(self.system.elements))])

    def period(self):
        return self.system.period()


class _MeteredEquation(Equation):
    equation: CoupledEquation
    size: int = eqx.field(static=True)

    def vector_field(self, time, state):
        moved = state[: self.size]
        powers = self.equation.element_powers(time, moved)
        return jnp.concatenate([self.equation.vector_field(time, moved), powers])

    def penetrations(self, state):
        return self.equation.penetrations(state[: self.size])

    def closing_rates(self, state):
        return self.equation.closing_rates(state[: self.size])

    def contact_forces(self, penetrations, rates):
        return self.equation.contact_forces(penetrations, rates)

    def contact_motion(self, state, rate):
        return self.equation.contact_motion(state[: self.size], rate[: self.size])

    def contact_reach(self, sizes):
        return self.equation.contact_reach(sizes[: self.size])

    def damped_contacts(self):
        return self.equation.damped_contacts()

    def may_pulse(self):
        return self.equation.may_pulse()

    def may_jump(self):
        return self.equation.may_jump()

    def next_breakpoint(self, time):
        return self.equation.next_breakpoint(time)

    def repeats_in(self, span):
        return self.equation.repeats_in(span)
