"""The interface of engines, which integrate the motions of a system."""

import abc
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ...foundation.types import Number
from ...systems.equation import Equation
from ...systems.system import System
from ..observables import Observables
from ..solve import Solution


class Observation(NamedTuple):
    """End of a motion: state, monodromy matrix, observables and reason code."""

    state: Float[Array, " 2n"]
    monodromy: Float[Array, "2n 2n"]
    observables: Observables
    result: Int[Array, ""]


class Segment(NamedTuple):
    """A motion to integrate with observables: from `state` at `t0` to `t1`.

    `rtol`: the relative tolerance; `grazing`: the depth (m) up to which a touch is not
    counted as a contact; `longest`: the longest step, s, determined automatically if
    None.
    """

    state: Array
    t0: Number
    t1: Number
    rtol: Number
    grazing: Number
    longest: Number | None = None

    def settings(self) -> list[Array]:
        """Return the times, the tolerance and the depth of grazing as arrays.

        As arrays, other values do not cause recompilation.
        """
        return [jnp.asarray(number, float) for number in self[1:5]]


class Engine(eqx.Module):
    """A method of computing the motions of a system.

    To add one, write a module with `refusal`, `end`, `observe` and
    `observe_with_monodromy`, its settings as static fields, and name it in the table of
    `choice`. A time-stepping engine is a `SteppedEngine`, and implements `steps` only.
    Results carry a reason code; nothing is raised. `end` can be differentiated to any
    order, under its own error control; observables have no derivatives.

    `at_once`: the number of periods that one call of `periods_along` may integrate.
    """

    at_once: ClassVar[int] = 1

    @abc.abstractmethod
    def refusal(self, equation: Equation) -> str:
        """Return why an equation is not supported, "" if it is."""

    @abc.abstractmethod
    def end(
        self, system: System, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> Solution:
        """Return the state at `t1` of the motion in `state` at `t0`."""

    @abc.abstractmethod
    def observe_with_monodromy(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and its observables.

        `observables`: those from before the segment.
        """

    @abc.abstractmethod
    def observe(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> tuple[Array, Observables, Array]:
        """Return the end of a motion, its observables, and a reason code.

        `observables`: those from before the segment.
        """

    def end_with_forces(
        self, system: System, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> tuple[Array, Array, Array]:
        """Return state and contact forces at `t1`, and a reason code.

        Forces include holding forces of hard stops. They have no derivatives.
        """
        found = self.end(system, state, t0, t1, rtol)
        forces = forces_in(system.equation())(jnp.asarray(t1, float), found.state)
        return found.state, forces, found.result

    def periods_along(
        self,
        system: System,
        segment: Segment,
        change: Array,
        count: int,
        observables: Observables | None = None,
    ) -> tuple[Array, Array, Observables, Array]:
        """Return `observe` over `count` periods of the loads, and a perturbation's effect.

        **Arguments:** `segment`: the first period, from 0; `change`: of its state;
        `count`: at most `at_once`.
        **Returns:** the states at the ends of the periods, (count, n), the changes of
        these, the observables, and a reason code. Here by a neighbouring motion: two
        states cost steps less than one with its sensitivity.
        """
        state, t0, t1, rtol = segment[:4]
        there = self.end(system, state + change, t0, t1, rtol).state
        end, observables, code = self.observe(system, segment, observables)
        return end[None], (there - end)[None], observables, code

    def periods(
        self, system: System, state: Array, period: Number, count: int, rtol: Number
    ) -> tuple[Array, Array]:
        """Return the state after each of `count` periods of the loads, and a reason code.

        A failed motion is not continued; its states are NaN from there on.
        """

        def step(last, _):
            state, result = last
            end = jnp.where(result == Reason.SUCCESS, period, 0.0)
            found = self.end(system, state, 0.0, end, rtol)
            result = jnp.where(result == Reason.SUCCESS, found.result, result)
            return (found.state, result), found.state

        begun = jnp.asarray(state, float), jnp.asarray(Reason.SUCCESS, jnp.int32)
        (_, result), states = jax.lax.scan(step, begun, length=count)
        return states, result

    def sampled(
        self, system: System, state: Array, times: Array, rtol: Number
    ) -> tuple[Array, Array, Array]:
        """Return states and contact forces at ascending times, and a reason code."""
        states, result = self.through(system, state, times, rtol)
        forces = jax.vmap(forces_in(system.equation()))(times, states)
        return states, forces, result

    def through(
        self, system: System, state: Array, times: Array, rtol: Number
    ) -> tuple[Array, Array]:
        """Return states at ascending times, differentiable, and a reason code."""
        return states_at(
            times, state, lambda state, t0, t1: self.end(system, state, t0, t1, rtol)
        )


def forces_in(equation: Equation) -> Callable[[Array, Array], Array]:
    """Return the function from a time and a state to each contact's force, N."""
    return lambda time, state: equation.at(time).forces_at(state)


def states_at(
    times: Array, state: Array, go: Callable[..., Solution]
) -> tuple[Array, Array]:
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
