"""A step in contact: its length, whether it is accepted, and the next one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...foundation.types import Number
from ...systems.base.law import force_of
from .axes import axes_of, in_its_axes
from .collocation import NODES, PLACES, WEIGHTS, Collocation
from .contact import Forces, forces_ahead, missed, nodal_forces, rates_of_amplitudes
from .events import Event, Part, next_event, soon, up_to_onset
from .gaps import Gaps
from .kinks import Kinks, kinks_of
from .modal_form import LEVELS, ModalForm
from .sensitivities import moved_sensitivities


class Lane(NamedTuple):
    """State of the integration of p modes with c contacts along d axes.

    `sensitivities` are those at the time `behind` ago: in flights they are advanced
    exactly on demand. `closed`: the contacts that act. `level`: of the next step in
    contact, and `begin`: that of the first one after the last onset. `trial`: the length
    of the next step to an event, 0 if none is near. `graded`: whether steps approach a
    release by shortening. `forces` at the k nodes, `length`: of the last step in contact,
    0 if none. `reversals`: the number of steps in which a friction has reversed.
    `rubbed`: the energy lost to the friction of annular contacts in the last step, J,
    None without them. `ends`: (state, rate), if displacements are observed.
    """

    time: Float[Array, ""]
    y: Float[Array, " 2p"]
    sensitivities: Any  # `Sensitivities`, None if they are not wanted
    behind: Float[Array, ""]
    closed: Bool[Array, " c"]
    level: Int[Array, ""]
    begin: Int[Array, ""]
    trial: Float[Array, ""]
    graded: Bool[Array, ""]
    forces: Float[Array, "k d"]
    length: Float[Array, ""]
    reversals: Int[Array, ""]
    rubbed: Any
    steps: Int[Array, ""]
    observables: Any
    ends: Any


class Context(NamedTuple):
    """Data common to all steps.

    `size`: of the motion in the loads' steady state; `displaced`: data of the
    displacements, if they are observed.
    """

    system: ModalForm
    gaps: Gaps
    end: Any
    rtol: Any
    grazing: Any
    size: Any
    displaced: Any


# A step's error relative to the tolerance: errors accumulate.
_SHARE = 0.2
# The same for the sensitivities, which are needed to fewer digits.
_SHARE_OF_SENSITIVITIES = 10.0
# The error of a step falls with this power of its length.
_ORDER = NODES
# A step in contact may be longer by one level if its ratio is below this.
_COARSER = 2.0 ** -(_ORDER + 1)


class Trial(NamedTuple):
    """A step that was tried from a `lane` at the step's level, and whether it is `good`.

    `last`: whether it reaches the end; `before`: the motion along the axes at its start;
    `ratio`: its error relative to the allowed one; `part`: what is taken of it, until
    `time`, and the `sensitivities` there.
    """

    lane: Lane
    last: Bool[Array, ""]
    before: Float[Array, "2 d"]
    event: Event
    kinks: Kinks | None
    ratio: Float[Array, ""]
    good: Bool[Array, ""]
    part: Part
    time: Float[Array, ""]
    sensitivities: Any


def contact_step(context: Context, step: Collocation, lane: Lane) -> Lane:
    """Take a step in contact, or prepare a shorter one."""
    trial = _tried(context, step, lane)
    accepted = _accepted(context, trial)
    rejected = _shorter(context.system, trial, step.length)
    # Sensitivities of a step that is not accepted are those before.
    kept: dict[str, Any] = dict.fromkeys(("observables", "ends", "sensitivities"))
    chosen = jax.tree.map(
        lambda n, o: jnp.where(trial.good, n, o),
        accepted._replace(**kept),
        rejected._replace(**kept),
    )
    chosen = chosen._replace(**{name: getattr(accepted, name) for name in kept})
    return chosen._replace(steps=lane.steps + 1)


def _tried(context: Context, step: Collocation, lane: Lane) -> Trial:
    """Return a step of the wanted length."""
    system, gaps = context.system, context.gaps
    length, level, last = wanted_in_contact(context, lane)
    lane = lane._replace(level=level)
    start = forces_ahead(gaps, lane.closed, lane.forces, lane.length, length)
    found = nodal_forces(system.motion, gaps, step, lane.closed, lane.y, lane.time, start)
    y = step.moved(lane.y, found.forces)
    time = jnp.where(last, context.end, lane.time + length)
    before, after = gaps.at(lane.y, lane.time), gaps.at(y, time)
    path = found.path(before, after)
    size = jnp.maximum(jnp.linalg.norm(lane.y), context.size)
    ratio = missed(step, found.forces) / (_SHARE * context.rtol * size)
    ratio = jnp.where(found.converged & jnp.isfinite(ratio), ratio, jnp.inf)
    kinks = kinks_of(system.motion.contacts, gaps, lane.closed, path)
    event = next_event(gaps, lane.closed, path, kinks, found.converged, length)
    if lane.ends is None and lane.closed.size > 1:  # observed steps resolve all vibration
        ratio = jnp.maximum(ratio, _doubt(context, lane, found, event, length))
    finest = ~(lane.trial > 0) & (lane.level >= LEVELS - 1)
    good = (((ratio <= 1) & ~event.inside) | finest) & ~event.at_start
    part = Part(jnp.asarray(False), length, found, y, after)
    sensitivities = lane.sensitivities
    if sensitivities is None:
        part = up_to_onset(
            system, gaps, step, lane[:2], part, event, lane.closed, ratio <= 1
        )
        good = good | part.cut
        time = jnp.where(part.cut, lane.time + part.length, time)
    else:
        decayed = jnp.exp(system.modes.eigenvalues.decay * (context.end - time))
        allowed = _SHARE_OF_SENSITIVITIES * context.rtol
        most = jnp.where(good, jnp.where(finest, jnp.inf, allowed), -jnp.inf)
        sensitivities, worst = moved_sensitivities(
            system.motion, step, lane.closed, path, sensitivities, decayed, most
        )
        good = good & (worst <= most)
        ratio = jnp.maximum(ratio, worst / allowed)
    taken = part, time, sensitivities
    return Trial(lane, last, before, event, kinks, ratio, good, *taken)


def _accepted(context: Context, trial: Trial) -> Lane:
    """Return the lane after a step that is accepted."""
    gaps, contacts = context.gaps, context.system.motion.contacts
    lane, part, kinks = trial.lane, trial.part, trial.kinks
    tried, forces = lane.trial > 0, trial.part.forces
    after = gaps.levels(part.motion)
    ends = jnp.where(lane.closed, (after[0] <= gaps.touch) & (after[1] < 0),
                     (after[0] >= -gaps.touch) & (after[1] > 0))  # fmt: skip
    ended = jnp.any(ends)
    stays = tried | part.cut | trial.last | (trial.ratio > _COARSER)
    level = jnp.where(stays, lane.level, lane.level - 1)
    level = jnp.where(ended, jnp.maximum(level, lane.begin), level)
    coming = soon(lane.closed, after, kinks, part.length)
    reversed_ = reverses(contacts, lane.closed, forces.path(trial.before, part.motion))
    rubs = lane.rubbed is not None
    return lane._replace(
        time=trial.time,
        y=part.y,
        sensitivities=trial.sensitivities,
        closed=lane.closed ^ ends,
        level=jnp.maximum(level, 0),
        begin=jnp.where((lane.length > 0) | tried, lane.begin, lane.level),
        trial=jnp.where(tried & ~ended, coming, 0.0),
        graded=lane.graded & ~(ended if kinks is None else ended | kinks.reached()),
        forces=forces.forces,
        length=part.length,
        reversals=lane.reversals + reversed_.astype(jnp.int32),
        rubbed=rubbed(contacts, lane.closed, forces, part.length) if rubs else None,
    )


def _doubt(context: Context, lane: Lane, found: Forces, event: Event, length) -> Array:
    """Return a number above 1 if a contact may touch unresolved in a step."""
    gaps = context.gaps
    errors = unresolved(context.system, gaps, lane.y, lane.time, found.forces, length)
    # Touches less deep than this do not matter.
    least = context.rtol * gaps.reach()
    return jnp.max(jnp.where(lane.closed, 0.0, errors / jnp.maximum(event.left, least)))


def finest(context: Context, lane: Lane):
    """Return the level of the longest step that resolves the displacements.

    Fast modes follow the forces of contacts slowly: what vibrates is their rate of
    change divided by the eigenvalue.
    """
    values, seen = context.system.modes.eigenvalues, context.displaced
    rates = rates_of_amplitudes(context.system, context.gaps, lane.y, lane.time)
    vibrates = jnp.hypot(*jnp.split(rates, 2)) / values.paces()
    return seen.finest(jnp.hypot(*jnp.split(lane.y, 2)), vibrates)


def wanted_in_contact(context: Context, lane: Lane) -> tuple[Array, Array, Array]:
    """Return the length of the next step in contact, its level, and whether it is last."""
    level, lengths = lane.level, context.system.steps.length
    if lane.ends is not None:
        level = jnp.maximum(level, finest(context, lane))
    wanted = jnp.where(lane.trial > 0, lane.trial, lengths[level])
    left = context.end - lane.time
    return jnp.minimum(wanted, left), level, wanted >= left


def step_matrices(context: Context, lane: Lane) -> Collocation:
    """Return the matrices of the next step in contact."""
    system = context.system
    length, level, last = wanted_in_contact(context, lane)
    known_step = jax.tree.map(lambda part: part[level], system.steps)
    # The whole tables as operands of the conditional would be copied in each step.
    return jax.lax.cond(
        (lane.trial > 0) | last,
        lambda _: system.collocation(length),
        lambda known: known,
        known_step,
    )


def _shorter(system: ModalForm, trial: Trial, length: Array) -> Lane:
    """Return the lane with its next step shorter: to an event, or for accuracy.

    Forces are smooth up to a release, so that a step that ends there may be exact. They
    do not depend on a gap that closes: those of a shorter step tell when.
    """
    lane, event, ratio = trial.lane, trial.event, trial.ratio
    fails, tried = ~(ratio <= 1), lane.trial > 0
    to_event = event.inside & (~fails | (event.bends & ~lane.graded & ~tried))
    finer = jnp.clip(jnp.ceil(jnp.log2(ratio) / _ORDER), 1, 6).astype(int)
    fits = jnp.sum(system.steps.length > length)  # the level of this length
    level = jnp.clip(jnp.where(tried, fits, lane.level) + finer, 0, LEVELS - 1)
    stays = to_event | event.at_start
    return lane._replace(
        closed=lane.closed ^ (event.flips & event.at_start),
        level=jnp.where(stays, lane.level, level),
        trial=jnp.where(to_event & ~event.at_start, event.after, 0.0),
        graded=lane.graded | (fails & event.bends & ~to_event) | (fails & tried),
    )


# The error of a step's polynomial of exp(w t), projected at the nodes and exact at both
# ends: at most w^8 over the first number, and the second one, by evaluation.
_SLOWLY, _MOST = 1e10, 1.5
# The slope of a polynomial at the start of a step of length 1, from values at its nodes.
_powers = np.polynomial.polynomial.polyvander(PLACES, NODES - 1)
_SLOPE_AT_START = np.linalg.inv(_powers)[1]


def unresolved(
    system: ModalForm,
    gaps: Gaps,
    y: Float[Array, " y"],
    time: Number,
    forces: Float[Array, "k d"],
    length: Number,
) -> Float[Array, " c"]:
    r"""Return bounds of the errors of the gaps' polynomials in a step, m.

    Under smooth forces F amplitudes follow $\beta F/\lambda + \beta \dot F/\lambda^2 +
    \dots$, which is a polynomial as F is; the rest vibrates freely. It is what is left of
    $\dot a / \lambda = a - \beta F/\lambda$ at the start, `forces` being those at the
    step's nodes.
    """
    paces = system.modes.eigenvalues.paces()
    rates = rates_of_amplitudes(system, gaps, y, time)
    slopes = jnp.abs(jnp.asarray(_SLOPE_AT_START) @ forces) / length
    follows = jnp.hypot(*jnp.split(system.pushes, 2)) @ slopes / paces**2
    vibrates = jnp.hypot(*jnp.split(rates, 2)) / paces + follows
    wrong = jnp.minimum((paces * length) ** 8 / _SLOWLY, _MOST)
    along = jnp.hypot(*jnp.split(gaps.rows[0], 2, axis=-1)) @ (vibrates * wrong)
    return gaps.axes.sizes(along)


def rubbed(
    contacts: Sequence, closed: Bool[Array, " c"], found: Forces, length: Array
) -> Float[Array, " c"]:
    """Return the energy lost to friction in a step, J, by quadrature at its nodes."""
    powers = _rubbing_powers(contacts, found.depths, found.rates)
    powers = jnp.where(closed[None], powers, 0.0)
    return length * jnp.tensordot(jnp.asarray(WEIGHTS), powers, 1)


def reverses(
    contacts: Sequence, closed: Bool[Array, " c"], path: Float[Array, "2 k d"]
) -> Bool[Array, ""]:
    """Return whether the friction of a closed contact jumps in a step along a path."""
    if not any(contact.reverses for contact in contacts):
        return jnp.asarray(False)
    sides = _sliding_sides(contacts, *path)
    return jnp.any(closed & (jnp.max(sides, axis=0) > jnp.min(sides, axis=0)))


def _rubbing_powers(
    contacts: Sequence, places: Float[Array, "k d"], rates: Float[Array, "k d"]
) -> Float[Array, "k c"]:
    """Return the powers lost to the friction of annular contacts, W, 0 for others."""
    powers = []
    for contact, x, y in zip(contacts, *axes_of(contacts)[1:3], strict=True):
        if contact.has_linear_gap:
            powers.append(jnp.zeros(len(places)))
            continue
        here = in_its_axes(contact)

        def power(place, rate, here=here):
            motion = here.penetration(place), here.closing_rate(place, rate)
            return here.rubbing_power(force_of(here.law, *motion), place, rate)

        powers.append(jax.vmap(power)(places[:, x : y + 1], rates[:, x : y + 1]))
    return jnp.stack(powers, axis=1)


def _sliding_sides(
    contacts: Sequence, places: Float[Array, "k d"], rates: Float[Array, "k d"]
) -> Float[Array, "k c"]:
    """Return on which side of zero surfaces slide where their friction may jump, else 0."""
    sides = []
    for contact, x, y in zip(contacts, *axes_of(contacts)[1:3], strict=True):
        if not contact.reverses:
            sides.append(jnp.zeros(len(places)))
            continue
        sliding = jax.vmap(in_its_axes(contact).sliding_speed)
        speed = sliding(places[:, x : y + 1], rates[:, x : y + 1])
        sides.append(jnp.sign(contact.friction_coefficient) * jnp.sign(speed))
    return jnp.stack(sides, axis=1)
