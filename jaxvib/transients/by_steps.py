"""Computation of responses by time stepping, for any laws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..dynamics.engines.choice import ENGINES
from ..dynamics.engines.stepped import SteppedEngine
from ..dynamics.flow import solve_system
from ..dynamics.motion import Motion
from ..dynamics.observables import init_observables, update_observables
from ..dynamics.solve import Tolerance
from ..dynamics.step_polynomial import step_polynomial
from ..foundation.arrays import partition_arrays
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel
from ..systems.around import AroundSystem
from ..systems.system import System
from .limits import Limit, Moving, freedoms_of, with_limits

# Gauss nodes and weights on a step, where a path is a polynomial of order 5.
_NODES, _WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(6))


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
    """Return a motion with its observables and the integral of `squares`."""
    chosen = ENGINES[engine]
    assert isinstance(chosen, SteppedEngine)
    observing = system.has_contacts or bool(limits)
    parameters, static = partition_arrays(_Limited(system, limits) if observing else system)
    return _observe_kernel(chosen, static)(state, parameters, t0, t1, rtol)


@functools.lru_cache(maxsize=64)
def _observe_kernel(engine: SteppedEngine, static) -> Kernel:
    """Return the kernel of `observe_by_steps`."""
    problem = engine.problem(static)

    def observe(state, parameters, t0, t1, rtol):
        equation = problem.prepare(parameters)
        size = equation.offset.shape[0]

        def update(seen, t0, t1, first, last):
            observables, total = seen
            observables = update_observables(
                observables, 0.0, t0, t1, first, last, equation
            )
            return observables, total + _step_integral(equation, t0, t1, first, last)

        seen = init_observables(t0, state, equation), jnp.zeros(3 * size)
        run = problem, state, equation, t0, t1, Tolerance(rtol), (seen, update)
        found = engine.steps(*run)
        observables, total = found.observables
        return found._replace(observables=observables, integral=total)

    return cached_kernel(observe, engine, static)


def states_by_steps(
    system: System,
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    stops: Array,
    engine: str,
) -> tuple[Array, Array, Array]:
    """Like `states_by_events`, but the integral is NaN, as it has no derivatives."""
    order = jnp.argsort(stops)
    times = jnp.clip(stops[order], t0, t1)

    def go(carry, time):
        begin, state = carry
        solution = solve_system(system, state, begin, time, rtol=rtol, engine=engine)
        return (time, solution.state), solution.state

    (last, state), states = jax.lax.scan(go, (t0, state), times)
    seen = jnp.zeros_like(states).at[order].set(states)
    end = solve_system(system, state, last, t1, rtol=rtol, engine=engine).state
    return seen, end, jnp.full(3 * freedoms_of(system), jnp.nan)


def _step_integral(equation, t0, t1, first, last):
    """Return the integral of `by_events.squares` over a step."""
    length = t1 - t0
    sides = (equation.displacements(t, *end) for t, end in ((t0, first), (t1, last)))
    path = step_polynomial(length, *sides).shifted(-equation.offset)
    pace = jnp.where(length == 0, 1.0, length)

    def at(tau):
        place, speed = path.value(tau), path.slope(tau) / pace
        return jnp.concatenate([place, place**2, speed**2])

    values = jax.vmap(at)(jnp.asarray(_NODES + 0.5))
    return length * jnp.tensordot(jnp.asarray(_WEIGHTS), values, 1)
