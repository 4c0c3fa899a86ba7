"""The interface of engines, which integrate the motions of a system."""

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...ensemble import Reason
from ...foundation.types import Number
from ...systems.base.equation import Equation
from ...systems.base.system import System
from ..integrated_system import IntegratedSystem
from ..motion import Motion, Want, in_succession


class Engine(eqx.Module):
    """A method of computing the motions of a system.

    To add one, write a module with `refusal` and `integrate`, its settings as static
    fields, and name it in the table of `choice`. A time-stepping engine is a
    `SteppedEngine`, and implements `steps` only. Results carry a reason code; nothing is
    raised. Ends can be differentiated to any order, under their own error control.

    `at_once`: the number of periods that one motion with a change `along` may have.
    """

    at_once: ClassVar[int] = 1

    @abc.abstractmethod
    def refusal(self, equation: Equation) -> str:
        """Return why an equation is not supported, "" if it is."""

    @abc.abstractmethod
    def integrate(
        self, system: System, state: Array, t0: Number, t1: Number, want: Want
    ) -> Motion:
        """Return the motion in `state` at `t0` until `t1`, with what is wanted of it.

        Samples at times, consecutive periods, and the effect of a change follow from
        simpler motions: an engine without a way of its own returns `in_parts`.
        """

    def in_parts(
        self, system: System, state: Array, t0: Number, t1: Number, want: Want
    ) -> Motion:
        """Return a motion with `times`, `along` or `periods`, from motions without.

        The effect of a change is that on a neighbouring motion: two states cost steps
        less than one with its sensitivity. A failed motion is not continued; its states
        are NaN from there on.
        """
        part = dataclasses.replace(want, times=None, along=None, periods=None)

        def go(state: Array, t0: Number, t1: Number) -> Motion:
            return self.integrate(system, state, t0, t1, part)

        if want.measure is not None and want.times is not None:
            size = state.shape[0]

            def summed(state: Array, t0: Number, t1: Number) -> Motion:
                found = go(state[:size], t0, t1)
                sums = state[size:] + found.integral
                return found._replace(state=jnp.concatenate([found.state, sums]))

            metered = IntegratedSystem(system, want.measure)
            states, result = states_at(want.times, metered.begun(state), summed)
            return metered.parted(Motion(states[-1], result, states=states))
        if want.times is not None:
            states, result = states_at(want.times, state, go)
            forces = jax.vmap(forces_in(system.equation()))(want.times, states)
            return Motion(states[-1], result, states=states, forces=forces)
        if want.along is not None:
            alone = Want(want.rtol)
            there = self.integrate(system, state + want.along, t0, t1, alone).state
            found = go(state, t0, t1)
            return in_periods(found._replace(along=there - found.state), want)

        def period(state: Array, going: Array) -> Motion:
            found = go(state, 0.0, going * t1)
            return found._replace(states=found.state[None])

        assert want.periods is not None
        return in_succession(period, state, want.periods)


def in_periods(found: Motion, want: Want) -> Motion:
    """Return a motion with the effect of a change as that of one period, if so wanted.

    **Raises:** `ValueError` for more periods.
    """
    if want.periods is None:
        return found
    if want.periods != 1:
        raise ValueError(f"periods = {want.periods}; allowed with a change: 1")
    return found._replace(states=found.state[None], along=found.along[None])


def forces_in(equation: Equation) -> Callable[[Array, Array], Array]:
    """Return the function from a time and a state to each contact's force, N."""
    return lambda time, state: equation.at(time).forces_at(state)


def states_at(times: Array, state: Array, go: Callable[..., Motion]) -> tuple[Array, Array]:
    """Return states at ascending times by `go(state, t0, t1)`, and a reason code."""

    def step(last, span):
        state, result = last
        found = go(state, *span)
        result = jnp.where(result == Reason.SUCCESS, found.result, result)
        return (found.state, result), found.state

    if times.shape[0] == 2:
        found = go(state, *times)
        return jnp.stack([state, found.state]), found.result
    spans = jnp.stack([times[:-1], times[1:]], axis=1)
    begun = state, jnp.asarray(Reason.SUCCESS, jnp.int32)
    (_, result), later = jax.lax.scan(step, begun, spans)
    return jnp.concatenate([state[None], later]), result
