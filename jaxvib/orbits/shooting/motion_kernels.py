"""Kernels for transients and shooting, shared by single orbits and batches."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...dynamics.engines.modal import ModalEngine
from ...dynamics.flow import observe
from ...dynamics.modal import ModalForm
from ...dynamics.observables import largest_forces, times_of_largest_forces
from ...ensemble import Reason
from ...foundation.arrays import combine_arrays
from ...foundation.types import AnyArray, Number
from ...systems.base.system import System
from ...systems.lane_kernel import lane_kernel
from .linear_steady_state import (
    LinearSteadyState,
    linear_but_for_contacts,
    linear_steady_state,
)
from .orbit_shooting import ShootingResult, scales, scaling, shoot
from .settling import GRAZING, TRANSIENT_RTOL, poincare_map, recurrences


class ShootingDetails(NamedTuple):
    """Data of a shooting result that the system provides.

    `units`: the scale of each component of the state; `start_units`: those of the
    guess; `period`: that of the load, s; the largest `forces`, N, and their `times`, s;
    `determinant`: the expected value of det M, NaN if it underflows.
    """

    units: Float[Array, " n"]
    start_units: Float[Array, " n"]
    period: Float[Array, ""]
    forces: Float[Array, " contacts"]
    times: Float[Array, " contacts"]
    determinant: Float[Array, ""]


def details_of(
    system: System, shooting: ShootingResult, guess: Array, periods: AnyArray
) -> ShootingDetails:
    """Return the data of a shooting result that the system provides."""
    equation, observables = system.equation(), shooting.revolution.observables
    period = system.period()
    span = periods.astype(float) * period
    expected = jnp.exp(equation.divergence() * span) * equation.contraction(
        observables.onsets
    )
    representable = (
        expected > jnp.finfo(float).tiny
    )  # no check if the determinant underflows
    scales_at = scaling(system)
    return ShootingDetails(
        scales_at(shooting.state),
        scales_at(guess),
        period,
        largest_forces(equation, observables),
        times_of_largest_forces(equation, observables),
        jnp.where(representable, expected, jnp.nan),
    )


@lane_kernel
def shooting_kernel(lane: Any, static: System, engine: str) -> Any:
    """Return the kernel from (leaves, guess, periods, rtol, factor) to shooting results."""
    leaves, guess, periods, rtol, factor = lane
    system = combine_arrays(leaves, static)
    if isinstance(system, ModalForm):
        return shoot_in_modes(system, guess, periods, rtol, rtol * factor)
    shooting = shoot(system, guess, periods, rtol, rtol * factor, GRAZING, engine)
    return shooting, details_of(system, shooting, guess, periods)


def shoot_in_modes(
    system: ModalForm, guess: Array, periods: AnyArray, rtol: Number, tight: Number
) -> tuple[ShootingResult, ShootingDetails]:
    """Return the shooting result of a large system in its modes, and its details."""
    # The iteration needs no observables, which take shorter steps.
    engine = ModalEngine(observing=False)
    shooting = shoot(system, guess, periods, rtol, tight, GRAZING, engine, chord=True)
    seen = shooting.revolution
    span = jnp.where(
        seen.result == Reason.SUCCESS, periods.astype(float) * system.period(), 0.0
    )
    depth = GRAZING * scales(system, shooting.state)[0]
    _, observables, _ = observe(
        system, shooting.state, 0.0, span, rtol=tight, grazing=depth, engine="auto"
    )
    shooting = shooting._replace(revolution=seen._replace(observables=observables))
    return shooting, details_of(system, shooting, guess, periods)


@lane_kernel
def poincare_kernel(
    lane: Any, static: System, count: int, longest: int, engine: str
) -> Any:
    """Return the kernel of lanes (leaves, state) to the results of `poincare_samples`."""
    leaves, state = lane
    return poincare_samples(combine_arrays(leaves, static), state, count, longest, engine)


def poincare_samples(
    system: System, state: AnyArray, count: int, longest: int, engine: str
) -> tuple[Array, Array, Array]:
    """Return the state `count` periods later, its recurrences, and a reason code."""
    states, result = poincare_map(system, state, count, TRANSIENT_RTOL, engine)
    return states[-1], recurrences(system, states, longest), result


class Beginning(NamedTuple):
    """Start of a system's motions: state at rest, period, linear steady state.

    `end` is `None` for systems that have none, see `linear_but_for_contacts`.
    """

    rest: Float[Array, " n"]
    period: Float[Array, ""]
    end: LinearSteadyState | None


def beginning(system: System) -> Beginning:
    """Return the start of a system's motions."""
    end = linear_steady_state(system) if linear_but_for_contacts(system) else None
    return Beginning(system.rest(), system.period(), end)


@lane_kernel
def beginning_kernel(leaves: Any, static: System) -> Beginning:
    """Return the kernel of leaves to the `beginning` of their system."""
    return beginning(combine_arrays(leaves, static))
