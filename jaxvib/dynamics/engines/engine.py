"""What an engine is: how the motions of a system are computed."""

import abc
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ...systems.equation import Equation
from ...systems.system import System
from ..observables import Watched
from ..solve import Solution


class Observation(NamedTuple):
    """A motion's end: its state, its monodromy, what was watched, a reason code."""

    state: Float[Array, " 2n"]
    monodromy: Float[Array, "2n 2n"]
    watched: Watched
    result: Int[Array, ""]


class Engine(eqx.Module):
    """How the motions of a system are computed.

    To add one, write a module with `refusal`, `end`, `observe` and `watch`, its settings
    as static fields, and give it a name in the table of `choice`. An engine that follows
    rates step by step is a `SteppedEngine`, and writes `steps` alone. Results carry a
    reason code; nothing raises in them. `end` can be differentiated to any order, under
    an error control of its own; what is watched has no derivatives.
    """

    @abc.abstractmethod
    def refusal(self, equation: Equation) -> str:
        """Return why an equation cannot be solved by it, "" if it can."""

    @abc.abstractmethod
    def end(self, system: System, state, t0, t1, rtol) -> Solution:
        """Return the state at `t1` of the motion that is in `state` at `t0`."""

    @abc.abstractmethod
    def observe(
        self, system: System, state, t0, t1, *, rtol, grazing, watched=None, longest=None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and what was watched.

        `grazing`: the depth (m) up to which a touch is not counted as a contact;
        `watched`: what is known from before t0; `longest`: the longest step, s, unless
        one is to be looked for.
        """

    @abc.abstractmethod
    def watch(
        self, system: System, state, t0, t1, *, rtol, grazing
    ) -> tuple[Array, Watched, Array]:
        """Return `observe` without sensitivities: state, what was watched, reason code."""

    def watch_along(
        self, system: System, state, change, t0, t1, *, rtol, grazing
    ) -> tuple[Array, Array, Watched, Array]:
        """Return `watch` and, after the state, what becomes of a small change of it.

        A neighbour is followed: two states cost steps less than one with its sensitivity.
        """
        there = self.end(system, state + change, t0, t1, rtol).state
        seen = self.watch(system, state, t0, t1, rtol=rtol, grazing=grazing)
        end, watched, code = seen
        return end, there - end, watched, code

    def sampled(self, system: System, state, times, rtol) -> tuple[Array, Array, Array]:
        """Return states and contact forces at ascending times, and a reason code."""
        states, result = self.through(system, state, times, rtol)
        return states, jax.vmap(system.equation().forces_at)(states), result

    def through(self, system: System, state, times, rtol) -> tuple[Array, Array]:
        """Return states at ascending times, differentiable, and a reason code."""
        return states_at(
            times, state, lambda state, t0, t1: self.end(system, state, t0, t1, rtol)
        )


def states_at(times, state, go: Callable[..., Solution]) -> tuple[Array, Array]:
    """Return states at ascending times by `go(state, t0, t1)`, and why it failed first."""

    def step(last, span):
        state, result = last
        found = go(state, *span)
        result = jnp.where(result == Reason.SUCCESS, found.result, result)
        return (found.state, result), found.state

    spans = jnp.stack([times[:-1], times[1:]], axis=1)
    begun = state, jnp.asarray(Reason.SUCCESS, jnp.int32)
    (_, result), later = jax.lax.scan(step, begun, spans)
    return jnp.concatenate([state[None], later]), result


def floats_of(*numbers) -> list[Array]:
    """Return numbers as arrays: another value is not another program."""
    return [jnp.asarray(number, float) for number in numbers]
