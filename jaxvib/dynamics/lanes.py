"""Many smooth motions at once: an adaptive pair on arrays, one of them per component."""

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from ..ensemble import Reason
from .barrier import Barrier
from .breaks import just_after, just_before
from .looks import longest_of
from .scales import base, begun
from .solve import Steps

_TABLEAU = diffrax.Dopri8.tableau
_ORDER = 8  # of the tableau
# Steps per turn of the loop: what a turn costs is shared by them.
_UNROLLED = 2
# What the next step is of the one that the error asks for, and of this one at least and at
# most: an error is an estimate. Customary, as in Hairer, Norsett and Wanner (1993), II.4.
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 5.0
# Steps below this part of the time span are none.
_UNDERFLOW = 1e-13


class _Lane(NamedTuple):
    """Where a lane is: the state and its rate by components, and the step it tries."""

    time: Any
    length: Any
    parts: tuple
    rate: tuple
    steps: Any
    jumped: Any
    watched: Any


def step_lanes(problem, state, prepared, t0, t1, tolerance, watch=None, kind=None) -> Steps:
    """Return the state at t1, a reason code, the number of steps, and what was watched.

    Dormand and Prince's 8(7) pair with all in scalar components: mapped over samples
    each is one array, and a step is a few kernels, while a small array per sample is
    many small copies. `watch`: as for `solve.integrate`. It has no derivatives of its
    own; `solve` integrates columns with the state. `kind`: the type of the stages, that of
    the state unless given; what the steps add up to keeps the state's.
    """
    flat, rebuilt = ravel_pytree(state)
    numbers = [x for x in jax.tree.leaves((prepared, t0, t1)) if _real(x)]
    numbers = [jnp.ravel(x).astype(flat.dtype) for x in map(jnp.asarray, numbers)]
    finite = jnp.all(jnp.isfinite(jnp.concatenate([flat, *numbers]))) & (t1 >= t0)
    once = Barrier(jnp.where(finite, 1.0, jnp.nan))
    t0, t1 = jnp.asarray(t0, float), jnp.asarray(t1, float)
    # A lane that cannot be integrated takes no step, so that it holds up no other.
    end = jnp.where(finite, t1, t0)
    least = _UNDERFLOW * jnp.abs(end - t0)

    kind = flat.dtype if kind is None else kind

    def tree(parts):
        return rebuilt(jnp.stack([x.astype(flat.dtype) for x in parts]))

    def rates(time, parts):
        parts = _parts_of(problem.field(time, tree(parts), prepared), kind)
        return Barrier(once.one.astype(kind))(parts)

    scales = problem.scales(t0, end, base(state), prepared)
    sizes, length = begun(
        lambda time, state: problem.field(time, state, prepared),
        scales, t0, end, state, tolerance.rtol,
    )  # fmt: skip
    sizes = tuple(ravel_pytree(sizes)[0])

    def scaled(errors, first, last):
        allowed = scales.allowed_parts(tolerance.rtol, sizes, first, last)
        pairs = zip(errors, allowed, strict=True)
        return problem.norm(tree([e.astype(size.dtype) / size for e, size in pairs]))

    longest = longest_of(problem, tolerance, t0, end, state, prepared)
    longest = jnp.inf if longest is None else longest
    length = jnp.minimum(length, longest)

    def jumps(time, first, last):
        found = problem.jumps(scales, time, base(tree(first)), base(tree(last)), prepared)
        return False if found is None else found

    def behind(there, parts):
        time = jnp.minimum(just_after(there), end)
        across = _parts_of(problem.crossed(just_before(there), tree(parts), prepared))
        parts = _chosen(time < end, across, parts)
        return time, parts, rates(time, parts)

    def step(lane: _Lane) -> _Lane:
        time, wanted, parts, rate, steps, jumped, watched = lane
        active = (time < end) & (steps < tolerance.max_steps) & (wanted > least)
        there = problem.next_break(time, prepared)
        stop = end if there is None else jnp.minimum(end, just_before(there))
        length = wanted if there is None else jnp.minimum(wanted, stop - time)
        near, reach = tuple(x.astype(kind) for x in parts), length.astype(kind)
        stages, change = [rate], parts
        for row, node in zip(_TABLEAU.a_lower, _TABLEAU.c, strict=True):
            change = _change(reach, row, stages)
            new = _sums(near, change)
            stages.append(rates(time + float(node) * length, new))
        new = _sums(parts, change)
        ratio = scaled(_change(reach, _TABLEAU.b_error, stages), parts, new)
        first, last = (tree(parts), tree(rate)), (tree(new), tree(stages[-1]))
        if problem.skips is not None:
            slack = scales.slack(tolerance.rtol, base(first[0]), base(last[0]))
            again = problem.skips(length, slack, first, last, prepared)
            ratio = jnp.where(again, jnp.inf, ratio)
        good = ratio <= 1  # false for NaN too
        ratio = jnp.where(jnp.isnan(ratio), jnp.inf, jnp.maximum(ratio, 1e-10))
        factor = _next_part(ratio, good)
        moved = jnp.where(length >= stop - time, stop, time + length)
        if watch is not None:
            seen = watch[1](watched, time, moved, first, last)
            watched = _chosen(active & good, seen, watched)
        good = active & good
        if problem.has_columns:
            jumped = jumped | (good & jumps(moved, parts, new))
        new = _chosen(good, (moved, new, stages[-1]), (time, parts, rate))
        if there is not None:
            factor = jnp.where(good, jnp.maximum(factor, wanted / length), factor)
            new = _chosen(good & (moved == stop), behind(there, new[1]), new)
        longer = jnp.minimum(jnp.minimum(length * factor, longest), end - new[0])
        length = jnp.where(active, longer, wanted)
        length = jnp.where(new[0] < end, length, jnp.inf)
        steps = steps + active.astype(steps.dtype)
        return once(_Lane(new[0], length, *new[1:], steps, jumped, watched))

    def unfinished(lane: _Lane):
        going = (lane.time < end) & (lane.steps < tolerance.max_steps)
        return going & (lane.length > least)

    def turn(lane: _Lane) -> _Lane:
        for _ in range(_UNROLLED):
            lane = step(lane)
        return lane

    parts = tuple(flat)
    rate = rates(t0, parts)
    steps = jnp.asarray(0, jnp.int32)
    watched = None if watch is None else watch[0]
    first = _Lane(t0, length, parts, rate, steps, jnp.asarray(False), watched)
    last = jax.lax.while_loop(unfinished, turn, first)
    time, length, parts, _, steps, jumped, watched = last
    code = jnp.where(length > least, Reason.SUCCESS, Reason.STEP_UNDERFLOW)
    code = jnp.where(steps < tolerance.max_steps, code, Reason.STEP_LIMIT)
    code = jnp.where(time < end, code, Reason.SUCCESS)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    count = base(state).shape[0]
    good = code == Reason.SUCCESS
    known = [good if i < count else good & ~jumped for i in range(len(parts))]
    final = tree([jnp.where(k, x, jnp.nan) for k, x in zip(known, parts, strict=True)])
    code = jnp.where(good & jumped, Reason.FIELD_JUMPS, code).astype(jnp.int32)
    return Steps(final, code, steps, watched)


def _parts_of(tree, kind=None) -> tuple:
    """Return the components of a state or a rate."""
    flat, _ = ravel_pytree(tree)
    return tuple(flat if kind is None else flat.astype(kind))


def _next_part(ratio, good):
    """Return what part of a step the next one is, by the ratio of its error."""
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


def _real(leaf) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
