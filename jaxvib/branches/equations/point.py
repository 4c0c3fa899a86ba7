"""Evaluation of single points of a branch."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ... import linalg
from ...foundation.types import AnyArray, Number
from ...orbits.periodic_orbit import GRAZING, PeriodicOrbit, orbit_from_shooting
from ...orbits.shooting.motion_kernels import ShootingDetails, details_of
from ...orbits.shooting.orbit_shooting import ShootingResult, integrate_period, scales
from ...systems.base.system import System
from ...systems.parameters import replace


def at(system: System, path: str, value: Number) -> System:
    """Return the system with another value of a parameter."""
    return replace(system, {path: jnp.asarray(value, float)})


def orbit_at(
    system: System,
    state: AnyArray,
    found: tuple[ShootingResult, ShootingDetails],
    periods: AnyArray,
    rtol: Number,
    tight: Number,
) -> PeriodicOrbit:
    """Return the orbit from the result of `shooting_at`."""
    orbit = orbit_from_shooting(system, *found, periods, tight, tight < rtol)
    return eqx.tree_at(lambda orbit: orbit.state, orbit, state)


def shooting_at(
    system: System, state: Array, periods: AnyArray, rtol: Number, tight: Number
) -> tuple[ShootingResult, ShootingDetails]:
    """Return the motion from a state over its periods as a shooting result."""
    shallow = GRAZING * scales(system, state)[0]
    identity = jnp.eye(state.shape[0])

    def revolution(step, setting):
        tolerance, share = setting
        # At a fold the step is not finite.
        there = state + jnp.where(jnp.isfinite(step), share * step, 0.0)
        seen = integrate_period(system, there, periods, rtol=tolerance, grazing=shallow)
        step = linalg.solve_vector(identity - seen.monodromy, seen.state - there)
        return step, seen

    # The orbit at the coarser tolerance is one Newton step away; its M is evaluated
    # there. A scan compiles the revolution only once.
    rtol = jnp.asarray(rtol, float)
    settings = jnp.stack([rtol, rtol, tight]), jnp.array([0.0, 1.0, 0.0])
    _, every = jax.lax.scan(revolution, jnp.zeros_like(state), settings)
    first, coarse, seen = (jax.tree.map(lambda leaf, i=i: leaf[i], every) for i in range(3))
    correction = linalg.solve_vector(identity - first.monodromy, first.state - state)
    nothing, none = jnp.asarray(0.0), jnp.asarray(0, jnp.int32)
    missed = coarse.monodromy, correction, nothing, none
    drifted = None if coarse.progress is None else coarse.progress.value
    shooting = ShootingResult(state, seen, *missed, seen.result, drifted)
    return shooting, details_of(system, shooting, state, periods)
