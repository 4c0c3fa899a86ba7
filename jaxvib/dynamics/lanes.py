"""An adaptive Runge-Kutta solver for many smooth motions, one array per component."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from ..ensemble import Reason
from ..foundation.types import Number
from .barrier import Barrier
from .breakpoints import just_after, just_before
from .scales import base, initial_scales
from .solve import Problem, Steps, Tolerance
from .step_limits import longest_of
from .tableau import dormand_prince_tableau

_ORDER = 8  # of the pair: errors grow with this power of the step
# Steps per loop iteration, which share its overhead.
_UNROLLED = 2
# Safety factor and bounds of the change of the step size.
# Customary, as in Hairer, Norsett and Wanner (1993), II.4.
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 5.0
# Smallest step, relative to the time span.
_UNDERFLOW = 1e-13


class _Lane(NamedTuple):
    """State of a lane: components, their rates, and the next step size."""

    time: Any
    length: Any
    parts: tuple
    rate: tuple
    steps: Any
    jumped: Any
    observables: Any


def step_lanes(
    problem: Problem,
    state: PyTree,
    prepared: PyTree,
    t0: Number,
    t1: Number,
    tolerance: Tolerance,
    observer: tuple[Any, Callable] | None = None,
    kind: type | None = None,
) -> Steps:
    """Return the state at t1, a reason code, the number of steps, and observables.

    Dormand and Prince's 8(7) pair in scalar components: mapped over samples each is one
    array, and a step is a few kernels, while a small array per sample means many small
    copies. `observer`: as for `integration.steps`. It has no derivative rule; `solve`
    integrates sensitivities with the state. `kind`: dtype of the stages, by default
    that of the state; sums of steps keep the state's.
    """
    flat, _ = ravel_pytree(state)
    numbers = jax.tree.leaves(eqx.filter((prepared, t0, t1), eqx.is_inexact_array))
    numbers = [jnp.ravel(x).astype(flat.dtype) for x in map(jnp.asarray, numbers)]
    finite = jnp.all(jnp.isfinite(jnp.concatenate([flat, *numbers]))) & (t1 >= t0)
    once = Barrier(jnp.where(finite, 1.0, jnp.nan))
    t0, t1 = jnp.asarray(t0, float), jnp.asarray(t1, float)
    # A lane with invalid input takes no step, so that it delays no other.
    end = jnp.where(finite, t1, t0)
    stepping = _Stepping(problem, prepared, state, (t0, end), tolerance, once, kind)
    update = None if observer is None else observer[1]

    def turn(lane: _Lane) -> _Lane:
        for _ in range(_UNROLLED):
            lane = stepping.step(lane, update)
        return lane

    parts, steps = tuple(flat), jnp.asarray(0, jnp.int32)
    rate = stepping.rates(t0, parts)
    observables = None if observer is None else observer[0]
    length, jumped = stepping.first, jnp.asarray(False)
    first = _Lane(t0, length, parts, rate, steps, jumped, observables)
    return stepping.ended(jax.lax.while_loop(stepping.goes_on, turn, first), finite)


class _Stepping:
    """Data common to all steps of a lane, and the step itself."""

    def __init__(self, problem, prepared, state, span, tolerance, once, kind):
        self.problem, self.prepared, self.once = problem, prepared, once
        self.tolerance, (t0, self.end) = tolerance, span
        flat, self.rebuilt = ravel_pytree(state)
        self.dtype, self.kind = flat.dtype, flat.dtype if kind is None else kind
        self.states = base(state).shape[0]
        self.least = _UNDERFLOW * jnp.abs(self.end - t0)
        self.scales = problem.scales(t0, self.end, base(state), prepared)
        sizes, first = initial_scales(
            lambda time, state: problem.field(time, state, prepared),
            self.scales, t0, self.end, state, tolerance.rtol,
        )  # fmt: skip
        self.sizes = tuple(ravel_pytree(sizes)[0])
        longest = longest_of(problem, tolerance, t0, self.end, state, prepared)
        self.longest = jnp.inf if longest is None else longest
        self.first = jnp.minimum(first, self.longest)

    def tree(self, parts):
        """Rebuild a state from components."""
        return self.rebuilt(jnp.stack([x.astype(self.dtype) for x in parts]))

    def rates(self, time, parts) -> tuple:
        """Return the rate of each component."""
        rate = self.problem.field(time, self.tree(parts), self.prepared)
        return Barrier(self.once.one.astype(self.kind))(_parts_of(rate, self.kind))

    def goes_on(self, lane: _Lane):
        """Return whether a lane has not ended and can take a step."""
        going = (lane.time < self.end) & (lane.steps < self.tolerance.max_steps)
        return going & (lane.length > self.least)

    def step(self, lane: _Lane, update) -> _Lane:
        """Take a step if a lane has not ended; `update`: of the observables."""
        time, target, parts, rate, steps, jumped, observables = lane
        problem, end, active = self.problem, self.end, self.goes_on(lane)
        there = problem.next_breakpoint(time, self.prepared)
        stop = end if there is None else jnp.minimum(end, just_before(there))
        length = target if there is None else jnp.minimum(target, stop - time)
        moved = jnp.where(length >= stop - time, stop, time + length)
        # The length between rounded times: at late times the rounding of many steps
        # would add up.
        length = jnp.where(moved > time, moved - time, length)
        new, stages, ratio = self._attempt(time, length, parts, rate)
        first, last = (self.tree(parts), self.tree(rate)), (
            self.tree(new), self.tree(stages[-1])
        )  # fmt: skip
        if problem.skips is not None:
            rtol = self.tolerance.rtol
            slack = self.scales.slack(rtol, base(first[0]), base(last[0]))
            again = problem.skips(length, slack, first, last, self.prepared)
            ratio = jnp.where(again, jnp.inf, ratio)
        good = ratio <= 1  # false for NaN too
        ratio = jnp.where(jnp.isnan(ratio), jnp.inf, jnp.maximum(ratio, 1e-10))
        factor = _next_part(ratio, good)
        if update is not None:
            seen = update(observables, time, moved, first, last)
            observables = _chosen(active & good, seen, observables)
        good = active & good
        if problem.has_sensitivities:
            jumped = jumped | (good & self._jumps(moved, parts, new))
        new = _chosen(good, (moved, new, stages[-1]), (time, parts, rate))
        if there is not None:
            factor = jnp.where(good, jnp.maximum(factor, target / length), factor)
            new = _chosen(good & (moved == stop), self._after_break(there, new[1]), new)
        longer = jnp.minimum(jnp.minimum(length * factor, self.longest), end - new[0])
        length = jnp.where(active, longer, target)
        length = jnp.where(new[0] < end, length, jnp.inf)
        steps = steps + active.astype(steps.dtype)
        return self.once(_Lane(new[0], length, *new[1:], steps, jumped, observables))

    def ended(self, lane: _Lane, finite) -> Steps:
        """Return the `Steps` of a finished lane; `finite`: whether its input was."""
        code = jnp.where(lane.length > self.least, Reason.SUCCESS, Reason.STEP_UNDERFLOW)
        inside = lane.steps < self.tolerance.max_steps
        code = jnp.where(inside, code, Reason.STEP_LIMIT)
        code = jnp.where(lane.time < self.end, code, Reason.SUCCESS)
        code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
        good, parts = code == Reason.SUCCESS, lane.parts
        known = [
            good if i < self.states else good & ~lane.jumped for i in range(len(parts))
        ]
        final = [jnp.where(k, x, jnp.nan) for k, x in zip(known, parts, strict=True)]
        code = jnp.where(good & lane.jumped, Reason.FIELD_JUMPS, code).astype(jnp.int32)
        return Steps(self.tree(final), code, lane.steps, lane.observables)

    def _attempt(self, time, length, parts, rate):
        """Return the end of a step, its stages, and the ratio of error to tolerance."""
        near, reach = tuple(x.astype(self.kind) for x in parts), length.astype(self.kind)
        stages, change = [rate], parts
        nodes, rows, weights = dormand_prince_tableau()
        for row, node in zip(rows[1:], nodes[1:], strict=True):
            change = _change(reach, row[: len(stages)], stages)
            stages.append(self.rates(time + float(node) * length, _sums(near, change)))
        new = _sums(parts, change)
        errors = _change(reach, weights, stages)
        allowed = self.scales.allowed_parts(self.tolerance.rtol, self.sizes, parts, new)
        pairs = zip(errors, allowed, strict=True)
        scaled = self.tree([e.astype(size.dtype) / size for e, size in pairs])
        return new, stages, self.problem.norm(scaled)

    def _jumps(self, time, first, last):
        states = (base(self.tree(parts)) for parts in (first, last))
        found = self.problem.jumps(self.scales, time, *states, self.prepared)
        return False if found is None else found

    def _after_break(self, there, parts):
        """Return the time, components and rates after a break."""
        time = jnp.minimum(just_after(there), self.end)
        before = just_before(there)
        across = self.problem.crossed(before, self.tree(parts), self.prepared)
        parts = _chosen(time < self.end, _parts_of(across), parts)
        return time, parts, self.rates(time, parts)


def _parts_of(tree, kind=None) -> tuple:
    """Return the components of a state or a rate."""
    flat, _ = ravel_pytree(tree)
    return tuple(flat if kind is None else flat.astype(kind))


def _next_part(ratio, good):
    """Return the ratio of the next step size to this one, from the error ratio."""
    factor = _SAFETY * jnp.exp(-jnp.log(ratio) / _ORDER)
    return jnp.clip(factor, _LEAST, jnp.where(good, _MOST, 1.0))


def _change(length, weights, stages):
    used = [(float(w), k) for w, k in zip(weights, stages, strict=True) if w != 0]
    return tuple(
        length * sum(w * rate[d] for w, rate in used) for d in range(len(stages[0]))
    )


def _sums(parts, changes):
    return tuple(
        x + change.astype(x.dtype) for x, change in zip(parts, changes, strict=True)
    )


def _chosen(yes, new, old):
    return jax.tree.map(lambda n, o: jnp.where(yes, n, o), new, old)
