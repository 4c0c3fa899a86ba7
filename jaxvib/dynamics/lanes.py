"""Many smooth motions at once: an adaptive pair on arrays, one of them per component."""

import diffrax
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from ..ensemble import Reason
from .events.series import settled

_TABLEAU = diffrax.Dopri8.tableau
_ORDER = 8
# Steps per turn of the loop: what a turn costs is shared by them.
_UNROLLED = 2
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 5.0
# Steps below this part of the time span are none.
_UNDERFLOW = 1e-13


def step_lanes(problem, state, prepared, t0, t1, tolerance, watch=None):
    """Return the state at t1, a reason code, the number of steps, and what was watched.

    Dormand and Prince's 8(7) pair with all in scalar components: mapped over samples
    each is one array, and a step is a few kernels, while a small array per sample is
    many small copies. `watch`: as for `solve.integrate`. It has no derivatives of its
    own; `solve` integrates columns with the state. Stages of a `single` problem are in
    float32; what the steps add up to is in float64.
    """
    flat, rebuilt = ravel_pytree(state)
    numbers = [x for x in jax.tree.leaves((prepared, t0, t1)) if _real(x)]
    numbers = [jnp.ravel(x).astype(flat.dtype) for x in map(jnp.asarray, numbers)]
    finite = jnp.all(jnp.isfinite(jnp.concatenate([flat, *numbers]))) & (t1 >= t0)
    one = jnp.where(finite, 1.0, jnp.nan)
    t0, t1 = jnp.asarray(t0, float), jnp.asarray(t1, float)
    # A lane that cannot be integrated takes no step, so that it holds up no other.
    end = jnp.where(finite, t1, t0)
    least = _UNDERFLOW * jnp.abs(end - t0)

    kind = jnp.float32 if problem.single else flat.dtype

    def tree(parts):
        return rebuilt(jnp.stack([x.astype(flat.dtype) for x in parts]))

    def rates(time, parts):
        rate, _ = ravel_pytree(problem.field(time, tree(parts), prepared))
        return settled(tuple(rate.astype(kind)), one.astype(kind))

    def scaled(errors, first, last):
        sizes = [
            jnp.maximum(jnp.abs(a), jnp.abs(b)) for a, b in zip(first, last, strict=True)
        ]
        allowed = [tolerance.atol + tolerance.rtol * size for size in sizes]
        pairs = zip(errors, allowed, strict=True)
        relative = [e.astype(size.dtype) / size for e, size in pairs]
        return problem.norm(tree(relative))

    def step(carry):
        time, length, parts, rate, steps, watched = carry
        active = (time < end) & (steps < tolerance.max_steps) & (length > least)
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
            again = problem.skips(length, tolerance.atol, first, last, prepared)
            ratio = jnp.where(again, jnp.inf, ratio)
        good = ratio <= 1  # false for NaN too
        ratio = jnp.where(jnp.isnan(ratio), jnp.inf, jnp.maximum(ratio, 1e-10))
        factor = _SAFETY * jnp.exp(-jnp.log(ratio) / _ORDER)
        factor = jnp.clip(factor, _LEAST, jnp.where(good, _MOST, 1.0))
        moved = jnp.where(length >= end - time, end, time + length)
        if watch is not None:
            seen = watch[1](watched, time, moved, first, last)
            watched = _chosen(active & good, seen, watched)
        good = active & good
        time = jnp.where(good, moved, time)
        length = jnp.where(active, jnp.minimum(length * factor, end - time), length)
        length = jnp.where(time < end, length, jnp.inf)
        return settled(
            (
                time,
                length,
                _chosen(good, new, parts),
                _chosen(good, stages[-1], rate),
                steps + active.astype(steps.dtype),
                watched,
            ),
            one,
        )

    def unfinished(carry):
        time, length, _, _, steps, _ = carry
        return (time < end) & (steps < tolerance.max_steps) & (length > least)

    def turn(carry):
        for _ in range(_UNROLLED):
            carry = step(carry)
        return carry

    parts = tuple(flat)
    rate = rates(t0, parts)
    sizes = scaled(parts, parts, parts), scaled(rate, parts, parts)
    length = 0.01 * jnp.maximum(sizes[0], 1e-3) / jnp.maximum(sizes[1], 1e-6)
    length = jnp.clip(length, 10 * least, end - t0)
    steps = jnp.asarray(0, jnp.int32)
    watched = None if watch is None else watch[0]
    first = t0, length, parts, rate, steps, watched
    time, length, parts, _, steps, watched = jax.lax.while_loop(unfinished, turn, first)
    code = jnp.where(length > least, Reason.SUCCESS, Reason.STEP_UNDERFLOW)
    code = jnp.where(steps < tolerance.max_steps, code, Reason.STEP_LIMIT)
    code = jnp.where(time < end, code, Reason.SUCCESS)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    final = tree([jnp.where(code == Reason.SUCCESS, x, jnp.nan) for x in parts])
    return final, code, steps, watched


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
