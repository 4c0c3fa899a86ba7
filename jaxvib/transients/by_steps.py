"""Computation of responses by time stepping, for any laws."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..dynamics.engines.choice import ENGINES
from ..dynamics.engines.engine import Segment
from ..dynamics.flow import solve_system
from ..dynamics.integrated_system import IntegratedSystem
from ..dynamics.measures import Squares
from ..dynamics.observables import Observables
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
) -> tuple[Array, Observables, Array, Array]:
    """Return final state, observables, the integral of `Squares`, reason code."""
    observing = system.has_contacts or bool(limits)
    limited = _Limited(system, limits) if observing else system
    metered: Any = IntegratedSystem(limited, Squares)
    segment = Segment(metered.begun(state), t0, t1, rtol, 0.0)
    end, observables, code = ENGINES[engine].observe(metered, segment)
    return end[: state.shape[0]], observables, end[state.shape[0] :], code


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
    times = jnp.clip(stops[order], t0, t1)
    metered: Any = IntegratedSystem(system, Squares)

    def go(carry, time):
        begin, state = carry
        solution = solve_system(metered, state, begin, time, rtol=rtol, engine=engine)
        return (time, solution.state), solution.state

    size = state.shape[0]
    (last, state), states = jax.lax.scan(go, (t0, metered.begun(state)), times)
    seen = jnp.zeros_like(states).at[order].set(states)[:, :size]
    end = solve_system(metered, state, last, t1, rtol=rtol, engine=engine).state
    return seen, end[:size], end[size:]
