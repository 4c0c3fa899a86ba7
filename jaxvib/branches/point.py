"""What continuation needs of one point of a branch."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import linalg
from ..dynamics.flow import flow
from ..orbits.motion_kernels import ShotDetails, details_of
from ..orbits.periodic_orbit import GRAZING, PeriodicOrbit, orbit_of_shot
from ..orbits.shooting import Shot, revolve, scales
from ..systems.parameters import replace


class Linearised(NamedTuple):
    """Of the period map at a state: residual r, matrix M - I and column dr/dp."""

    residual: Float[Array, " n"]
    matrix: Float[Array, "n n"]
    column: Float[Array, " n"]


class Point(NamedTuple):
    """A periodic motion of a branch, and how far its predictor missed it."""

    value: float
    orbit: PeriodicOrbit
    predictor_error: float


@eqx.filter_jit
def linearised(system, path: str, value, state, periods, rtol) -> Linearised:
    """Return residual, M - I and parameter column of the period map, in one solve."""

    def residual(state, value):
        there = at(system, path, value)
        image = flow(there, state, 0.0, periods.astype(float) * there.period(), rtol=rtol)
        return image - state, image - state

    value = jnp.asarray(value, float)
    (matrix, column), rest = jax.jacfwd(residual, (0, 1), has_aux=True)(state, value)
    return Linearised(rest, matrix, column)


def at(system, path, value):
    """Return the system with another value of a parameter."""
    return replace(system, {path: jnp.asarray(value, float)})


@eqx.filter_jit
def evaluate_state(system, state, periods, rtol, tight) -> PeriodicOrbit:
    """Return what a state does in its periods, as an orbit that is not corrected.

    Its errors are the differences between two tolerances.
    """
    found = shot_at(system, state, periods, rtol, tight)
    return orbit_at(system, state, found, periods, rtol, tight)


def orbit_at(system, state, found, periods, rtol, tight) -> PeriodicOrbit:
    """Return the orbit of what was found by `shot_at` a state."""
    orbit = orbit_of_shot(system, *found, periods, tight, tight < rtol)
    return eqx.tree_at(lambda orbit: orbit.state, orbit, state)


def shot_at(system, state, periods, rtol, tight) -> tuple[Shot, ShotDetails]:
    """Return what a state does in its periods, as a shot that hits where it began."""
    shallow = GRAZING * scales(system, state)[0]
    identity = jnp.eye(state.shape[0])

    def revolution(step, setting):
        tolerance, share = setting
        # At a fold no step leads to another orbit.
        there = state + jnp.where(jnp.isfinite(step), share * step, 0.0)
        seen = revolve(system, there, periods, rtol=tolerance, grazing=shallow)
        step = linalg.solve_vector(identity - seen.monodromy, seen.state - there)
        return step, seen

    # The coarser tolerance's own orbit is one step away, where its M is taken. One after
    # the other, so that the revolution is compiled once.
    rtol = jnp.asarray(rtol, float)
    settings = jnp.stack([rtol, rtol, tight]), jnp.array([0.0, 1.0, 0.0])
    _, every = jax.lax.scan(revolution, jnp.zeros_like(state), settings)
    first, coarse, seen = (jax.tree.map(lambda leaf, i=i: leaf[i], every) for i in range(3))
    correction = linalg.solve_vector(identity - first.monodromy, first.state - state)
    nothing, none = jnp.asarray(0.0), jnp.asarray(0, jnp.int32)
    missed = coarse.monodromy, correction, nothing, none
    shot = Shot(state, seen, *missed, seen.result)
    return shot, details_of(system, shot, state, periods)
