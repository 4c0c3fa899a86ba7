"""Engines that follow the rates of a state, step by step."""

import abc
from typing import Any

import jax.numpy as jnp

from ..._arrays import parted, rejoined
from ..._environment import require_float64
from ..breaks import crossed
from ..events import why_only
from ..observables import start_watching, steps_over_contact, watch_step
from ..scales import scales_of
from ..solve import Problem, Steps, Tolerance, augmented, solve
from ..step_limits import PROBES, has_jump, longest_step
from .engine import Engine, Observation


class SteppedEngine(Engine):
    """An engine of any vector field, which is evaluated in each of its steps.

    To add one, write `steps`; sensitivities, what is watched and derivatives follow.
    """

    probes = PROBES  # evaluations in one period, for what a step could pass

    @abc.abstractmethod
    def steps(
        self, problem: Problem, state, prepared, t0, t1, tolerance: Tolerance, watch=None
    ) -> Steps:
        """Return where the steps of a problem from `t0` to `t1` end.

        `watch`: a pair (what is known at the start, its `update(watched, t0, t1, start,
        end)` by a step between two pairs (state, rate)).
        """

    def refusal(self, equation) -> str:
        """Return which contact acts by impulses, at events."""
        return why_only(equation)

    def problem(self, system) -> tuple[Problem, Any]:
        """Return a system's initial value problem, and its parameters."""
        require_float64()
        parameters, static = parted(system)

        def prepare(parameters):
            return rejoined(parameters, static).equation()

        def field(time, state, equation):
            return equation.vector_field(time, state)

        def scales(t0, t1, state, equation):
            return scales_of(equation, equation.vector_field, t0, t1, state)

        def longest(t0, t1, state, equation):
            return longest_step(equation, equation.vector_field, t0, t1, state, self.probes)

        def jumps(scales, time, first, last, equation):
            if not equation.may_jump():
                return None
            return has_jump(lambda y: equation.vector_field(time, y), scales, first, last)

        def next_break(time, equation):
            return equation.next_break(time)

        def behind(time, state, equation):
            return crossed(equation.vector_field, equation.next_break, time, state)

        problem = Problem(
            prepare,
            field,
            scales,
            self.steps,
            skips=steps_over_contact if system.has_contacts else None,
            longest=longest,
            jumps=jumps,
            next_break=next_break,
            crossed=behind,
        )
        return problem, parameters

    def end(self, system, state, t0, t1, rtol):
        """Return the end of a motion, differentiable to any order."""
        problem, parameters = self.problem(system)
        return solve(problem, state, parameters, t0, t1, Tolerance(rtol))

    def observe(
        self, system, state, t0, t1, *, rtol, grazing, watched=None, longest=None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and what was watched."""
        problem, parameters = self.problem(system)
        whole = augmented(problem, None)
        start = state, jnp.eye(state.shape[0])
        prepared = whole.prepare(parameters)
        if watched is None:
            watched = start_watching(t0, state, prepared[0])
        watch = watched, _updating(prepared[0], grazing, lambda y: y[0])
        tolerance = Tolerance(rtol, longest)
        found = self.steps(whole, start, prepared, t0, t1, tolerance, watch)
        final, sensitivities = found.state
        return Observation(final, sensitivities.T, found.watched, found.result)

    def watch(self, system, state, t0, t1, *, rtol, grazing):
        """Return the end of a motion, what was watched, and a reason code."""
        problem, parameters = self.problem(system)
        equation = problem.prepare(parameters)
        watched = start_watching(t0, state, equation)
        watch = watched, _updating(equation, grazing, lambda y: y)
        found = self.steps(problem, state, equation, t0, t1, Tolerance(rtol), watch)
        return found.state, found.watched, found.result


def _updating(equation, grazing, state_of):
    """Return how what is watched goes on by a step; `state_of`: without sensitivities."""

    def update(watched, t0, t1, first, last):
        first, last = (tuple(map(state_of, pair)) for pair in (first, last))
        return watch_step(watched, grazing, t0, t1, first, last, equation)

    return update
