"""Observables of a motion, updated step by step without storing the motion."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..foundation.types import Number
from ..systems.base.equation import Equation
from ..systems.contacts.annular import annular
from .stepping.step_polynomial import cubic_defect, sign_crossings, step_polynomial

# Gauss nodes and weights on a step, for the losses of damped contacts.
_NODES, _WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(8))
# The largest force of a step is searched on a grid of 9 points, refined 8 times.
_AMONG, _CLOSER = 9, 8
_ROUNDING = 1e-9  # of a gap at onset, relative to the depth of the step
# Largest defect of the step polynomial in a damped contact, relative to its depth.
_UNKNOWN = 0.1


class Observables(NamedTuple):
    """Observables of contacts and degrees of freedom since the start of a motion.

    `deepest` penetration (contacts,), m, and its time; `touching`: whether closed now;
    `first_touch`: time of the first contact, s, inf if none; `onsets`: their number;
    `duration` of all contact, s; `nearest` to grazing, m: the smallest |z| of all
    local maxima of z; `excursion`: the deepest penetration since the last onset;
    `impulse`: the largest one of a hard stop, N s, and the energy `lost` at all of
    its impacts, or in a damped contact, J (0 for other contacts; in modal form also that
    to the friction of annular ones); `strongest` force, N,
    of each tracked contact (tracked,), damped or with a variation, and its time (for
    others it is at the deepest penetration); `highest` and `lowest` displacement (n,),
    m, and their times.
    """

    deepest: Float[Array, " contacts"]
    deepest_time: Float[Array, " contacts"]
    touching: Bool[Array, " contacts"]
    first_touch: Float[Array, " contacts"]
    onsets: Int[Array, " contacts"]
    duration: Float[Array, " contacts"]
    nearest: Float[Array, " contacts"]
    excursion: Float[Array, " contacts"]
    impulse: Float[Array, " contacts"]
    lost: Float[Array, " contacts"]
    strongest: Float[Array, " tracked"]
    strongest_time: Float[Array, " tracked"]
    highest: Float[Array, " n"]
    highest_time: Float[Array, " n"]
    lowest: Float[Array, " n"]
    lowest_time: Float[Array, " n"]


def init_observables(time: Number, state: Array, equation: Equation) -> Observables:
    """Return the observables before the first step."""
    depth = equation.penetrations(state)
    position = equation.displaced(state)
    at_depth, at_position = jnp.full_like(depth, time), jnp.full_like(position, time)
    touching = depth > 0
    strongest = equation.at(time).forces_at(state)[_tracked(equation)]
    return Observables(
        depth,
        at_depth,
        touching,
        jnp.where(depth >= 0, at_depth, jnp.inf),
        jnp.zeros(depth.shape, jnp.int32),
        jnp.zeros_like(depth),
        jnp.full_like(depth, jnp.inf),
        # A contact closed at the start was counted when it began.
        jnp.where(touching, -jnp.inf, 0.0),
        jnp.zeros_like(depth),
        jnp.zeros_like(depth),
        strongest,
        jnp.full_like(strongest, time),
        position,
        at_position,
        position,
        at_position,
    )


def update_observables(
    observables: Observables,
    grazing: Number,
    t0: Array,
    t1: Array,
    start: Sequence[Array],
    end: Sequence[Array],
    equation: Equation,
    closed: Array | None = None,
) -> Observables:
    """Update the observables by a step from (state, rate) `start` to `end`.

    `closed`: see `observe_path`.
    """
    length = t1 - t0
    before, after = equation.contact_motion(*start), equation.contact_motion(*end)
    first = equation.displacements(t0, *start)
    last = equation.displacements(t1, *end)
    depth = step_polynomial(length, before, after)

    def time_at(tau):
        return t0 + tau * length

    observables = observe_path(
        observables,
        grazing,
        length,
        time_at,
        (depth, before[:2], after[:2]),
        (step_polynomial(length, first, last), first[:2], last[:2]),
        closed,
    )
    # A step of zero length has no rates.
    pace = jnp.where(length == 0, 1.0, length)
    if any(equation.damped_contacts()) and annular(getattr(equation, "contacts", ())):
        motion_at = _motion_of_places((t0, t1), start, end, equation)
        return observe_forces(observables, equation, time_at, motion_at)
    return observe_forces(
        observables,
        equation,
        time_at,
        lambda tau: (depth.value(tau), depth.slope(tau) / pace, length),
        each=not any(equation.varying_contacts()),
    )


def _motion_of_places(
    times: tuple[Array, Array], start: Sequence[Array], end: Sequence[Array], equation
) -> Callable:
    r"""Return the `motion_at` of `observe_forces` by septic polynomials of displacements.

    They are Hermite's quintics plus $s^3 (1 - s)^3 (a + b (1 - 2 s))$, which adds the third
    derivatives at both ends: steps are too long for quintics. Those of |r| in a round hole
    would be less exact, for it bends where r passes the centre.
    """
    length = times[1] - times[0]
    pace = jnp.where(length == 0, 1.0, length)
    ends = [(*jnp.split(state, 2), jnp.split(rate, 2)[1]) for state, rate in (start, end)]
    path = step_polynomial(length, *ends)
    third, fourth, fifth = path.coefficients[3:]
    known = 6 * third, 6 * third + 24 * fourth + 60 * fifth
    first, last = (
        (_jerk(equation, time, *side) * length**3 - own) / 6
        for time, side, own in zip(times, (start, end), known, strict=True)
    )
    mean, half = (first - last) / 2, (first + last) / 2

    def motion_at(tau):
        bump, tilt = (tau * (1 - tau)) ** 3, mean + half * (1 - 2 * tau)
        rise = 3 * (tau * (1 - tau)) ** 2 * (1 - 2 * tau)
        place = path.value(tau) + bump * tilt
        speed = (path.slope(tau) + rise * tilt - 2 * bump * half) / pace
        state = jnp.concatenate([place, speed])
        return equation.penetrations(state), equation.closing_rates(state), length

    return motion_at


def _jerk(equation, time: Array, state: Array, rate: Array) -> Array:
    """Return the third time derivatives of displacements, m/s^3."""
    tangents = jnp.ones_like(time), rate
    return jnp.split(jax.jvp(equation.vector_field, (time, state), tangents)[1], 2)[1]


def observe_forces(
    observables: Observables,
    equation: Equation,
    time_at: Callable,
    motion_at: Callable,
    each: bool = False,
) -> Observables:
    """Update the observables of tracked contacts, damped or varying, by a step.

    `motion_at(tau)`: penetrations (m), their rates (m/s) and dt/dtau (s) at a fraction
    of the step; `time_at`: the time there; `each`: whether they take a fraction for
    each contact too, which is less work.
    """
    places = _tracked(equation)
    if not places.size:
        return observables

    def now(tau):
        varying = any(equation.varying_contacts())
        return equation.at(time_at(tau)) if varying else equation

    def power(tau):
        depth, rate, pace = motion_at(tau)
        return equation.damping_powers(time_at(tau), depth, rate) * pace

    powers = jax.vmap(power)(jnp.asarray(_NODES + 0.5))
    before, after = (equation.damping_energies(motion_at(tau)[0]) for tau in (0.0, 1.0))
    lost = observables.lost + jnp.tensordot(jnp.asarray(_WEIGHTS), powers, 1)
    lost = lost + before - after

    middle = motion_at(0.5)[0]

    def force_at(tau):
        depth, rate, _ = motion_at(tau)
        # A contact is closed at its onset, where the gap is 0 up to rounding.
        begins = (depth <= 0) & (depth > -_ROUNDING * middle)
        depth = jnp.where(begins, jnp.finfo(float).tiny, depth)
        return now(tau).contact_forces(depth, rate)[places]

    shares = jnp.linspace(0.0, 1.0, _AMONG)[:, None]
    every = jnp.arange(places.size)

    def own_forces(taus):
        if not each:
            return jax.vmap(force_at)(taus)[every, every]
        return force_at(jnp.zeros(observables.deepest.shape).at[places].set(taus))

    def closer(_, ends):
        low, high, _, _ = ends
        taus = low[None] + (high - low)[None] * shares
        forces = jax.vmap(own_forces)(taus)
        best = jnp.argmax(forces, axis=0)

        def at(place):
            return taus[jnp.clip(place, 0, _AMONG - 1), every]

        return at(best - 1), at(best + 1), at(best), forces[best, every]

    begin = jnp.zeros(places.size)
    start = begin, begin + 1.0, begin, begin
    *_, tau, force = jax.lax.fori_loop(0, _CLOSER, closer, start)
    more = force > observables.strongest
    time = jax.vmap(time_at)(tau)
    return observables._replace(
        lost=lost,
        strongest=jnp.where(more, force, observables.strongest),
        strongest_time=jnp.where(more, time, observables.strongest_time),
    )


def largest_forces(
    equation: Equation, observables: Observables
) -> Float[Array, " contacts"]:
    """Return the largest force of each contact, N."""
    still = jnp.zeros_like(observables.deepest)
    forces = equation.contact_forces(observables.deepest, still)
    return forces.at[_tracked(equation)].set(observables.strongest)


def times_of_largest_forces(
    equation: Equation, observables: Observables
) -> Float[Array, " contacts"]:
    """Return when each contact's force was the largest, s."""
    return observables.deepest_time.at[_tracked(equation)].set(observables.strongest_time)


def _damped(equation) -> np.ndarray:
    return np.flatnonzero(np.asarray(equation.damped_contacts(), bool))


def tracked_contacts(equation: Equation) -> np.ndarray:
    """Return a mask of the contacts whose force follows not from the depth alone."""
    damped = np.asarray(equation.damped_contacts(), bool)
    varying = np.asarray(equation.varying_contacts(), bool)
    return damped | varying if varying.size else damped


def _tracked(equation) -> np.ndarray:
    return np.flatnonzero(tracked_contacts(equation))


def observe_path(
    observables: Observables,
    grazing: Number,
    length: Array,
    time_at: Callable,
    depth: tuple,
    displacement: tuple,
    closed: Array | None = None,
) -> Observables:
    """Update the observables by a step of `length` seconds.

    `depth`, `displacement`: polynomials of all contacts and of all degrees of freedom,
    with their (value, slope) at the start and at the end; `time_at`: the time at a
    fraction of the step; `closed`: for steps that end at events, whether each contact
    is closed during the whole step, NaN where unknown. An onset is counted when its
    contact ends, or at the step that exceeds the `grazing` depth, m, whichever comes
    first: shallower ones are not contacts.
    """
    path, left, right = displacement
    depth, before, after = depth
    turns = (before[1] > 0) & (after[1] <= 0)
    turns = turns & _may_change(observables, grazing, depth, before[0], after[0])
    crosses = (before[0] > 0) != (after[0] > 0)
    # A step that ends at events knows how long contacts are closed, not when they began.
    unknown = True if closed is None else jnp.isnan(closed.astype(length.dtype))
    path_turns = _path_turns(observables, path, left, right)
    tau, crossing, path_tau = sign_crossings(
        [depth.rate(), depth, path.rate()],
        [turns, crosses & (unknown | jnp.isinf(observables.first_touch)), path_turns],
    )
    peak = jnp.where(turns, depth.value(tau), jnp.maximum(before[0], after[0]))
    hops = turns & (before[0] <= 0) & (after[0] <= 0) & (peak > 0)
    inside = jnp.where(after[0] > 0, 1 - crossing, crossing)
    share = jnp.where(crosses, inside, (before[0] > 0).astype(length.dtype))
    if closed is not None:
        known = closed.astype(length.dtype)
        share = jnp.where(jnp.isnan(known), share, known)

    entered = ((before[0] <= 0) & (after[0] > 0)) | hops
    previous = jnp.where(entered, 0.0, observables.excursion)
    touched = (before[0] > 0) | (after[0] > 0) | hops
    excursion = jnp.where(touched & (previous >= 0), jnp.maximum(previous, peak), previous)
    counted = touched & (excursion > grazing) & ~(previous > grazing)

    began = time_at(jnp.where(hops, tau, jnp.where(before[0] > 0, 0.0, crossing)))
    touches = touched & jnp.isinf(observables.first_touch)
    first = jnp.where(touches, began, observables.first_touch)
    better = peak > observables.deepest
    at_peak = jnp.where(turns, tau, (after[0] > before[0]).astype(tau.dtype))
    nearest = jnp.where(
        turns, jnp.minimum(observables.nearest, jnp.abs(peak)), observables.nearest
    )
    moved = _displaced(observables, time_at, path, path_turns, path_tau, right)
    return moved._replace(
        deepest=jnp.where(better, peak, observables.deepest),
        deepest_time=jnp.where(better, time_at(at_peak), observables.deepest_time),
        touching=after[0] > 0,
        first_touch=first,
        onsets=observables.onsets + counted.astype(jnp.int32),
        duration=observables.duration + share * length,
        nearest=nearest,
        excursion=excursion,
    )


def _path_turns(observables: Observables, path, left, right) -> Array:
    """Return which displacements turn in a step, and may set an extreme."""
    turns = (left[1] > 0) != (right[1] > 0)
    bound = path.extreme_bound()
    return turns & ((bound > observables.highest) | (bound < observables.lowest))


def _may_change(observables: Observables, grazing: Number, depth, start: Array, end: Array):
    """Return whether the turn of a gap may change the observables of its contact.

    Most turns are less deep than the deepest one and farther from grazing than the
    nearest one, which a bound of their depth shows without a search.
    """
    least, most = jnp.maximum(start, end), depth.extreme_bound()
    near = jnp.maximum(jnp.maximum(least, -most), 0.0)
    touches = (least <= 0) & (most > 0)
    counts = (least <= grazing) & (most > grazing)
    return (most > observables.deepest) | (near < observables.nearest) | touches | counts


def steps_over_contact(
    length: Array,
    slack: Array,
    start: Sequence[Array],
    end: Sequence[Array],
    equation: Equation,
) -> Array:
    """Return whether a step may have missed a contact.

    A gap open at both ends may close and open again in between: the peak of its
    quintic, plus the quintic's defect, must stay below the depth that displacements of
    the sizes `slack` give. In a damped contact the defect must be small too: its force
    is 0 at stages that separate fast enough, so that the error estimate may be based on
    stages without it. A damped contact must not open while another one closes in the
    same step, see `_changes_sides`.
    """
    before, after = equation.contact_motion(*start), equation.contact_motion(*end)
    blind = jnp.zeros((), bool)
    reach = equation.contact_reach(slack)
    places = _damped(equation)
    if places.size:
        blind = _changes_sides(equation, reach, before, after)
        first, last = ([x[places] for x in side] for side in (before, after))
        defect = cubic_defect(length, first, last, 0.5)
        far = jnp.maximum(jnp.abs(first[0]), jnp.abs(last[0]))
        closed = (first[0] > 0) | (last[0] > 0)
        blind |= jnp.any(closed & (defect > _UNKNOWN * far))
    apart = (before[0] < 0) & (after[0] < 0) & (before[1] > 0) & (after[1] < 0)
    depth = step_polynomial(length, before, after)
    tau = depth.extremum()
    peak = depth.value(tau) + cubic_defect(length, before, after, tau)
    return blind | jnp.any(apart & (peak > reach))


def _changes_sides(equation, reach, before, after):
    """Return whether a damped contact opens and another one closes in the same step.

    The force of a damped contact vanishes before it opens. If another contact closes at
    that moment, as with zero play, the forces on both sides follow one smooth law, and
    the error estimate misses the time without force in between if no stage lies in it.
    Such times with penetrations below `reach` are ignored.
    """
    pushes = equation.contact_forces(*before[:2]) > 0
    still_pushes = equation.contact_forces(reach, after[1]) > 0
    damped = np.asarray(equation.damped_contacts(), bool)
    opens = pushes & ~still_pushes & (before[0] > 0) & (after[0] <= 0) & damped
    closes = (before[0] <= 0) & (after[0] > 0)
    return jnp.any(opens) & jnp.any(closes)


def _displaced(observables: Observables, time_at: Callable, path, turns, tau, after):
    """Return the observables with the extreme displacements after a step."""
    turning = jnp.where(turns, path.value(tau), after[0])
    above, below = after[0] > turning, after[0] < turning
    high, at_high = jnp.where(above, after[0], turning), jnp.where(above, 1.0, tau)
    low, at_low = jnp.where(below, after[0], turning), jnp.where(below, 1.0, tau)
    higher, lower = high > observables.highest, low < observables.lowest
    return observables._replace(
        highest=jnp.where(higher, high, observables.highest),
        highest_time=jnp.where(higher, time_at(at_high), observables.highest_time),
        lowest=jnp.where(lower, low, observables.lowest),
        lowest_time=jnp.where(lower, time_at(at_low), observables.lowest_time),
    )


def top(value: Array, speed: Array, acceleration: Array) -> Array:
    """Return the nearby extreme of a signal, to second order in time.

    A contact is so short that an error of a nanosecond in the time of an extreme would
    spoil the extreme's derivative (by a thousandth for steel).
    """
    curved = acceleration != 0
    return value - jnp.where(
        curved, speed**2 / (2 * jnp.where(curved, acceleration, 1.0)), 0.0
    )
