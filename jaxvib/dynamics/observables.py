"""What is watched along a motion, step by step and without storing it."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .step_polynomial import crossings, cubic_defect, step_polynomial


class Watched(NamedTuple):
    """What happened at the contacts and freedoms since the start of a motion.

    `deepest` penetration (contacts,), m, and its time; `touching` now; `onsets`;
    `duration` of all contact, s; `nearest` to grazing, m: the smallest |z| of all
    local maxima of z; `excursion`: the deepest penetration since the last onset;
    `impulse`: the largest one of a hard stop, N s, and the energy `lost` at all of
    its impacts, J (0 of other contacts);
    `highest` and `lowest` displacement (n,), m, and their times.
    """

    deepest: Float[Array, " contacts"]
    deepest_time: Float[Array, " contacts"]
    touching: Bool[Array, " contacts"]
    onsets: Int[Array, " contacts"]
    duration: Float[Array, " contacts"]
    nearest: Float[Array, " contacts"]
    excursion: Float[Array, " contacts"]
    impulse: Float[Array, " contacts"]
    lost: Float[Array, " contacts"]
    highest: Float[Array, " n"]
    highest_time: Float[Array, " n"]
    lowest: Float[Array, " n"]
    lowest_time: Float[Array, " n"]


def start_watching(time, state, equation) -> Watched:
    """Return what is known before the first step."""
    depth = equation.penetrations(state)
    position = equation.displaced(state)
    at_depth, at_position = jnp.full_like(depth, time), jnp.full_like(position, time)
    touching = depth > 0
    return Watched(
        depth,
        at_depth,
        touching,
        jnp.zeros(depth.shape, jnp.int32),
        jnp.zeros_like(depth),
        jnp.full_like(depth, jnp.inf),
        # A contact under way at the start has been counted where it began.
        jnp.where(touching, -jnp.inf, 0.0),
        jnp.zeros_like(depth),
        jnp.zeros_like(depth),
        position,
        at_position,
        position,
        at_position,
    )


def watch_step(watched: Watched, grazing, t0, t1, start, end, equation) -> Watched:
    """Return what is known after a step from (state, rate) `start` to `end`."""
    length = t1 - t0
    before, after = equation.contact_motion(*start), equation.contact_motion(*end)
    first = equation.displacements(t0, *start)
    last = equation.displacements(t1, *end)
    return watch_path(
        watched,
        grazing,
        length,
        lambda tau: t0 + tau * length,
        (step_polynomial(length, before, after), before[:2], after[:2]),
        (step_polynomial(length, first, last), first[:2], last[:2]),
    )


def watch_path(
    watched: Watched, grazing, length, time_at, depth, displacement, closed=None
) -> Watched:
    """Return what is known after a step that took `length` seconds.

    `depth`, `displacement`: polynomials of all contacts and of all freedoms, with
    their (value, slope) at the start and at the end; `time_at`: the time at a fraction
    of the step; `closed`: which contacts are so all the step long, where steps end as
    contacts begin and end. An onset is counted when its contact ends, or at the step that
    reaches more than the `grazing` depth, m, whichever comes first: shallower ones are
    not contacts.
    """
    path, left, right = displacement
    depth, before, after = depth
    turning, crossing, path_turning = crossings([depth.rate(), depth, path.rate()])
    turns = (before[1] > 0) & (after[1] <= 0)
    tau = jnp.where(turns, turning, 1.0)
    peak = jnp.where(turns, depth.value(tau), jnp.maximum(before[0], after[0]))
    crosses = (before[0] > 0) != (after[0] > 0)
    hops = turns & (before[0] <= 0) & (after[0] <= 0) & (peak > 0)
    inside = jnp.where(after[0] > 0, 1 - crossing, crossing)
    share = jnp.where(crosses, inside, (before[0] > 0).astype(length.dtype))
    share = share if closed is None else closed.astype(length.dtype)

    entered = ((before[0] <= 0) & (after[0] > 0)) | hops
    previous = jnp.where(entered, 0.0, watched.excursion)
    touched = (before[0] > 0) | (after[0] > 0) | hops
    excursion = jnp.where(touched & (previous >= 0), jnp.maximum(previous, peak), previous)
    counted = touched & (excursion > grazing) & ~(previous > grazing)

    better = peak > watched.deepest
    at_peak = jnp.where(turns, tau, (after[0] > before[0]).astype(tau.dtype))
    nearest = jnp.where(turns, jnp.minimum(watched.nearest, jnp.abs(peak)), watched.nearest)
    high, at_high, low, at_low = _displacements(path, path_turning, left, right)
    higher, lower = high > watched.highest, low < watched.lowest
    return Watched(
        jnp.where(better, peak, watched.deepest),
        jnp.where(better, time_at(at_peak), watched.deepest_time),
        after[0] > 0,
        watched.onsets + counted.astype(jnp.int32),
        watched.duration + share * length,
        nearest,
        excursion,
        watched.impulse,
        watched.lost,
        jnp.where(higher, high, watched.highest),
        jnp.where(higher, time_at(at_high), watched.highest_time),
        jnp.where(lower, low, watched.lowest),
        jnp.where(lower, time_at(at_low), watched.lowest_time),
    )


def steps_over_contact(length, slack, start, end, equation):
    """Return whether a step may have passed a contact deeper than what is none.

    Both ends are apart and the gap closes and opens again in between: its quintic's
    peak, and what the quintic cannot know, must stay below the depth that displacements
    of the sizes `slack` reach.
    """
    before, after = equation.contact_motion(*start), equation.contact_motion(*end)
    apart = (before[0] < 0) & (after[0] < 0) & (before[1] > 0) & (after[1] < 0)
    depth = step_polynomial(length, before, after)
    tau = depth.extremum()
    peak = depth.value(tau) + cubic_defect(length, before, after, tau)
    return jnp.any(apart & (peak > equation.contact_reach(slack)))


def _displacements(path, turning, before, after):
    """Return the highest and lowest displacement of a step and where on it they are."""
    turns = (before[1] > 0) != (after[1] > 0)
    tau = jnp.where(turns, turning, 1.0)
    turning = jnp.where(turns, path.value(tau), after[0])
    above, below = after[0] > turning, after[0] < turning
    return (
        jnp.where(above, after[0], turning),
        jnp.where(above, 1.0, tau),
        jnp.where(below, after[0], turning),
        jnp.where(below, 1.0, tau),
    )
