"""Kernels of one motion, shared by single orbits and by many: no flow is XLA's in them."""

import functools
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._arrays import on_host, parted, rejoined
from ..dynamics.observables import largest_forces, times_of_largest_forces
from ..kernels import Kernel
from ..kernels.library import library_kernel
from ..systems.equation import Equation
from .settling import GRAZING, TRANSIENT_RTOL, recurrences, strobe
from .shooting import Shot, scales, shoot


class ShotDetails(NamedTuple):
    """What a system says of a shot's motion.

    `units`: what each component of the state is measured in; `start_units`: those of the
    guess; `period`: that of the load, s; the largest `forces`, N, and their `times`, s;
    `determinant`: what that of M should be, NaN where it underflows.
    """

    units: Float[Array, " n"]
    start_units: Float[Array, " n"]
    period: Float[Array, ""]
    forces: Float[Array, " contacts"]
    times: Float[Array, " contacts"]
    determinant: Float[Array, ""]


def details_of(system, shot: Shot, guess, periods) -> ShotDetails:
    """Return what a system says of a shot's motion, and of its guess."""
    equation, watched = system.equation(), shot.revolution.watched
    period = system.period()
    span = periods.astype(float) * period
    expected = jnp.exp(equation.divergence() * span) * equation.contraction(watched.onsets)
    held = expected > jnp.finfo(float).tiny  # a determinant that underflows says nothing
    return ShotDetails(
        scales(system, shot.state),
        scales(system, guess),
        period,
        largest_forces(equation, watched),
        times_of_largest_forces(equation, watched),
        jnp.where(held, expected, jnp.nan),
    )


@functools.lru_cache(maxsize=64)
def shot_kernel(static, engine) -> Kernel:
    """Return the kernel of lanes (leaves, guess, periods, rtol, factor) to `shot_of`."""

    def stage(lane):
        leaves, guess, periods, rtol, factor = lane
        system = rejoined(leaves, static)
        shot = shoot(system, guess, periods, rtol, rtol * factor, GRAZING, engine)
        return shot, details_of(system, shot, guess, periods)

    return library_kernel(stage, static, engine)


@functools.lru_cache(maxsize=64)
def strobe_kernel(static, count: int, longest: int, engine) -> Kernel:
    """Return the kernel of lanes (leaves, state) to what is `strobed` of them."""

    def stage(lane):
        leaves, state = lane
        return strobed(rejoined(leaves, static), state, count, longest, engine)

    return library_kernel(stage, static, count, longest, engine)


def strobed(system, state, count: int, longest: int, engine):
    """Return the state `count` periods later, its recurrences, and a reason code."""
    states, result = strobe(system, state, count, TRANSIENT_RTOL, engine)
    return states[-1], recurrences(system, states, longest), result


class Beginning(NamedTuple):
    """Where a system's motions begin: its equation, its state at rest and its period.

    Of the equation of a system that is known only numbers are left, no laws' functions.
    """

    equation: Equation
    rest: Float[Array, " n"]
    period: Float[Array, ""]


def beginning(system) -> Beginning:
    """Return where a system's motions begin, as numpy arrays of one that is known."""
    leaves, static = parted(system)
    return on_host(_beginning_stage(static)(leaves))


@functools.lru_cache(maxsize=64)
def _beginning_stage(static) -> Kernel:
    def stage(leaves):
        system = rejoined(leaves, static)
        equation = eqx.filter(system.equation(), eqx.is_array_like)
        return Beginning(equation, system.rest(), system.period())

    return library_kernel(stage, static)
