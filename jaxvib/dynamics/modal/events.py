"""Onsets, releases and kinks in a step in contact, and its part up to an onset."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .collocation import Collocation, cut_short, turned
from .contact import Forces
from .crossing import WITH_ENDS, bracket
from .gaps import Gaps
from .kinks import Kinks
from .modal_form import ModalForm

# Beyond this share of a step the polynomial of a gap is less exact than its end.
_AT_END = 1 - 1e-4
# Newton steps from the root of a gap's polynomial to that of the gap.
_CORRECTIONS = 4


class Event(NamedTuple):
    """The first onset, release or kink in a step: whether there is one, and its time in it.

    `at_start`: whether the contacts `flips` (c,) change at once; `crossed` (c,): whose
    gaps change sides; `bends`: whether the step has a release or a kink, at which the
    forces that it was solved with bend. `left` (c,): the smallest distance of each gap
    from its other side in the step, m, negative beyond.
    """

    inside: Any
    after: Any
    at_start: Any
    flips: Any
    crossed: Any
    bends: Any
    left: Any


def next_event(
    gaps: Gaps,
    closed: Bool[Array, " c"],
    path: Float[Array, "2 k d"],
    kinks: Kinks | None,
    converged: Bool[Array, ""],
    length: Array,
) -> Event:
    """Return the first place at which a gap or a kink has not the side it began with.

    `path`: displacements and rates in the step, with both ends.
    """
    depths, rates = gaps.levels(path)
    side = jnp.where(closed, 1.0, -1.0)
    depths = side[None] * depths  # negative on the wrong side
    found = bracket(depths, gaps.touch)
    # The gaps of forces that have not converged say nothing.
    crossed = found.found & converged
    place, far = found.place(depths), found.at_high
    rate = side * rates[-1] * length
    by_newton = 1 - far / jnp.where(rate < 0, rate, -1.0)
    at_end = (found.low == WITH_ENDS[-2]) & (found.high == 1) & (rate < 0)
    at_end = at_end & (by_newton > _AT_END) & (by_newton < 1)
    place = jnp.where(at_end, by_newton, place)
    place = jnp.where(crossed, place, jnp.inf) * length
    flips = place <= 4 * jnp.finfo(float).eps * length
    inside, first, bends = jnp.any(crossed), jnp.min(place), jnp.any(crossed & closed)
    if kinks is not None:
        kink = jnp.where(converged, kinks.first(), jnp.inf)
        bent = jnp.isfinite(kink)
        inside, bends = inside | bent, bends | bent
        first = jnp.minimum(first, kink * length)
    return Event(inside, first, jnp.any(flips), flips, crossed, bends, found.lowest)


def soon(
    closed: Bool[Array, " c"], after: Array, kinks: Kinks | None, length: Array
) -> Array:
    """Return when the next gap or kink changes sides by its rate, s; 0 if not soon."""
    nears = jnp.where(closed, after[1] < 0, after[1] > 0)
    rate = jnp.where(nears, after[1], 1.0)
    time = jnp.min(jnp.where(nears, jnp.abs(after[0] / rate), jnp.inf))
    if kinks is not None:
        time = jnp.minimum(time, kinks.soon(length))
    return jnp.where(time < length, time, 0.0)


class Part(NamedTuple):
    """A step, or its part up to its first onset: whether it is `cut`, and its length, s.

    `forces` at its nodes; `y` and `motion`, along the axes of contacts, at its end.
    """

    cut: Any
    length: Any
    forces: Forces
    y: Any
    motion: Any


def up_to_onset(
    system: ModalForm,
    gaps: Gaps,
    step: Collocation,
    start: tuple[Array, Array],
    whole: Part,
    event: Event,
    closed: Bool[Array, " c"],
    exact: Bool[Array, ""],
) -> Part:
    """Return the part of a `whole` step from `start`, (time, y), if its forces are `exact`.

    Up to an onset they are right although they ignore it, so that the step need not be
    solved again. A release or a kink inside the step bends them, also before it.
    """
    time, y = start
    forces = whole.forces

    def part(length):
        turn, push, shares = cut_short(
            system.modes.eigenvalues, system.pushes, step, length
        )
        pushed = forces.forces.reshape(-1) @ push.reshape(-1, y.size)
        end = turned(turn, y, less=pushed)
        motion = gaps.at(end, time + length)
        levels = gaps.levels(motion)[0]
        hit = jnp.any(event.crossed & (levels >= -gaps.touch))
        right = hit & ~jnp.any(~closed & (levels > gaps.touch))
        return Part(right, length, forces.at_shares(shares), end, motion)

    def nearer(last):
        known, tries = last
        depths, rates = gaps.levels(known.motion)
        nears = event.crossed & (rates > 0)
        roots = known.length - depths / jnp.where(nears, rates, 1.0)
        length = jnp.min(jnp.where(nears, roots, jnp.inf))
        return part(jnp.clip(length, 0.0, step.length)), tries + 1

    def misses(last):
        return ~last[0].cut & (last[1] < _CORRECTIONS)

    def cut(_):
        last = jax.lax.while_loop(misses, nearer, (part(event.after), jnp.asarray(0)))[0]
        return jax.tree.map(lambda n, o: jnp.where(last.cut, n, o), last, whole)

    cuts = exact & event.inside & ~event.bends & ~event.at_start
    return jax.lax.cond(cuts, cut, lambda _: whole, None)
