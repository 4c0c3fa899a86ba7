r"""Phases of a motion that certainly set no new extremes, by bounds.

After some periods hardly any phase does, and these need no observation in small steps. A
polynomial lies between its least and its largest Bernstein coefficient, and its mean is
theirs. The part of a mode in a displacement, of amplitude $|a|$ and pace $|\lambda|$, is
away from the line between its ends by $|a| \min(2, |\lambda h|^2 / 8)$ at most.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...foundation.types import Number
from ..observables import Observables, observe_displacements
from ..step_polynomial import step_polynomial
from .collocation import turn_less_one, turned
from .displaced import Displaced
from .modal_form import ModalForm
from .one_phase import Flight, Phase, flown_until
from .phases import TERMS, Phases

# From coefficients of powers of a step's share to Bernstein coefficients.
_BERNSTEIN = np.array(
    [
        [math.comb(place, k) / math.comb(TERMS - 1, k) for place in range(TERMS)]
        for k in range(TERMS)
    ]
)


class Depths(NamedTuple):
    """The largest depth of each contact in a phase: at least `least`, at most `most`, m."""

    least: Float[Array, " c"]
    most: Float[Array, " c"]


def depths_of_step(
    series: Float[Array, "k c"], error: Float[Array, " c"], length: Number
) -> Depths:
    """Return the largest depths in a step from their series in time, exact up to errors."""
    powers = [jnp.ones(())]
    for _ in range(1, TERMS):
        powers.append(powers[-1] * length)
    found = jnp.asarray(_BERNSTEIN.T) @ (series * jnp.stack(powers)[:, None])
    return Depths(jnp.mean(found, axis=0) - error, jnp.max(found, axis=0) + error)


class Parts(NamedTuple):
    """Parts of modes, `sizes` (p, n) per unit amplitude, and of loads in displacements.

    `loads` (waves, n), m. `paces` (p,) and `frequency` (waves,): their rates, 1/s.
    """

    sizes: Float[Array, "p n"]
    paces: Float[Array, " p"]
    loads: Float[Array, "waves n"]
    frequency: Float[Array, " waves"]

    def away(self, amplitudes: Float[Array, " p"], length: Number) -> Float[Array, " n"]:
        """Return bounds of the distances from lines between the ends of a step, m."""
        bent, by_loads = (
            jnp.minimum((pace * length) ** 2 / 8, 2.0)
            for pace in (self.paces, self.frequency)
        )
        return (amplitudes * bent) @ self.sizes + by_loads @ self.loads


def parts_of(system: ModalForm, phase: Phases) -> Parts:
    """Return the parts of a phase's modes and of the loads in displacements."""
    half = phase.modes.shapes.shape[1] // 2
    sizes = jnp.hypot(*jnp.split(phase.modes.shapes[:, :half], 2))
    loads = jnp.hypot(*phase.forced[..., :half])
    return Parts(sizes, phase.modes.eigenvalues.paces(), loads, system.frequency)


def sounded(
    phase: Phase, flight: Flight, until: Array, most: int, closed: Bool[Array, " c"]
) -> tuple[Flight, Depths]:
    """Return `flown_until`, with bounds of the largest depths of closed contacts."""

    def step(now):
        last, depths = now
        new = phase.flown(last, until)
        length = new.time - last.time
        error = phase.bound(last.y, TERMS) * length**TERMS
        more = depths_of_step(-last.levels, error, length)
        return new, Depths(*map(jnp.maximum, depths, more))

    def goes_on(now):
        last, _ = now
        going = (last.time < until) & (last.steps < most) & ~jnp.any(last.flips)
        return going & jnp.any(closed)

    nothing = jnp.zeros(closed.shape)
    first = flight, Depths(nothing, nothing)
    flight, depths = jax.lax.while_loop(goes_on, step, first)
    return flown_until(phase, flight, until, most), depths


def contacts_after(
    observables: Observables,
    grazing: Number,
    closed: Bool[Array, " c"],
    enters: Bool[Array, " c"],
    depths: Depths,
    length: Array,
) -> tuple[Observables, Bool[Array, ""]]:
    """Return the observables after a phase, and whether those of contacts are certain.

    `closed`: the contacts that act in it, `enters`: those of them that begin with it.
    """
    before = jnp.where(enters, 0.0, observables.excursion)
    deeper = jnp.maximum(before, depths.least)
    after = jnp.where(closed & (before >= 0), deeper, before)
    counted = closed & (after > grazing) & ~(before > grazing)
    known = (after > grazing) | (depths.most <= grazing) | (after < 0) | ~closed
    shallow = jnp.where(closed, depths.most, 0.0) <= observables.deepest
    new = observables._replace(
        onsets=observables.onsets + counted.astype(jnp.int32),
        duration=observables.duration + jnp.where(closed, length, 0.0),
        excursion=after,
    )
    return new, jnp.all(known & shallow)


class _Piece(NamedTuple):
    """A time in a phase, amplitudes and state there, and the observables so far."""

    time: Any
    y: Any
    state: Any
    observables: Observables


def displacements_after(
    phase: Phase,
    known: Displaced,
    parts: Parts,
    begin: tuple[Array, Array, Array],
    end: tuple[Array, Array],
    observables: Observables,
) -> Observables:
    """Return the observables with the extreme displacements of a phase.

    From `begin`, (time, amplitudes, state), to `end`, (time, state).
    """
    values, motion = phase.linear.modes.eigenvalues, phase.system.motion

    def sizes_in(y, length):
        return jnp.hypot(*jnp.split(y, 2)) * phase.growth_in(length)

    def inside(observables, lowest, highest):
        above = jnp.all(highest <= observables.highest)
        return above & jnp.all(lowest >= observables.lowest)

    def limits(y, length, *states):
        ends = [motion.displaced(state) for state in states]
        away = parts.away(sizes_in(y, length), length)
        return jnp.minimum(*ends) - away, jnp.maximum(*ends) + away

    def observed(before: _Piece, after: _Piece) -> Observables:
        length = after.time - before.time
        ends = [
            motion.displacements(0.0, each.state, phase.rate(each.y, each.time))
            for each in (before, after)
        ]
        path = step_polynomial(length, *ends), ends[0][:2], ends[1][:2]
        return observe_displacements(
            before.observables, lambda share: before.time + share * length, path
        )

    def further(before: _Piece) -> _Piece:
        longest = known.longest(jnp.hypot(*jnp.split(before.y, 2)), phase.lengths)
        time = jnp.minimum(before.time + longest, end[0])
        length = time - before.time
        y = turned(turn_less_one(values, length), before.y)
        after = _Piece(time, y, phase.state(y, time), before.observables)
        sure = inside(
            after.observables, *limits(before.y, length, before.state, after.state)
        )

        def looked(_):
            return observed(before, after), jnp.asarray(False)

        # A conditional would copy the tables.
        found = jax.lax.while_loop(lambda now: now[1], looked, (after.observables, ~sure))
        return after._replace(observables=found[0])

    time, y, state = begin
    length = end[0] - time
    lowest, highest = limits(y, length, state, end[1])
    middle = motion.displaced(phase.linear.still)
    around = sizes_in(y, length) @ parts.sizes + jnp.sum(parts.loads, axis=0)
    lowest = jnp.maximum(lowest, middle - around)
    highest = jnp.minimum(highest, middle + around)
    sure = inside(observables, lowest, highest)
    first = _Piece(time, y, state, observables)
    last = jax.lax.while_loop(lambda now: (now.time < end[0]) & ~sure, further, first)
    return last.observables
