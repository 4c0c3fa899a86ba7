"""Computation of responses by time stepping, for any laws."""

import jax.numpy as jnp
from jaxtyping import Array

from ..dynamics.engines.choice import ENGINES
from ..dynamics.measures import Squares
from ..dynamics.motion import Motion, Want
from ..systems.around import AroundSystem
from ..systems.system import System
from .limits import Limit, Moving, with_limits


class _Limited(AroundSystem):
    """A system whose equation has limits as thresholds in addition to its contacts."""

    limits: tuple

    has_contacts = True

    def equation(self):
        """Return the equation of motion with the thresholds."""
        equation = self.moved.equation()
        assert isinstance(equation, Moving)
        return with_limits(equation, self.limits)


def observe_by_steps(
    system: System,
    limits: tuple[Limit, ...],
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    engine: str,
) -> Motion:
    """Return a motion with its observables and the integral of `Squares`."""
    observing = system.has_contacts or bool(limits)
    limited = _Limited(system, limits) if observing else system
    want = Want(rtol, grazing=0.0, measure=Squares)
    return ENGINES[engine].integrate(limited, state, t0, t1, want)


def states_by_steps(
    system: System,
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    stops: Array,
    engine: str,
) -> tuple[Array, Array, Array]:
    """Return the states at `stops`, the final state, and the integral of `Squares`.

    Stops outside of (`t0`, `t1`] give states at the nearer end.
    """
    order = jnp.argsort(stops)
    times = jnp.concatenate([t0[None], jnp.clip(stops[order], t0, t1), t1[None]])
    want = Want(rtol, times, measure=Squares)
    found = ENGINES[engine].integrate(system, state, t0, t1, want)
    states = found.states[1:-1]
    seen = jnp.zeros_like(states).at[order].set(states)
    return seen, found.states[-1], found.integral[-1]
