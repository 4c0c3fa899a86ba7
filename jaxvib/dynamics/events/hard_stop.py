r"""Hard stops: impacts that reverse a velocity, and contacts that hold.

An impact at speed w leaves the speed e w; while the free acceleration a presses the
bodies together, rebounds last 2 w / a each and shrink by e, so that infinitely many of
them end after $2 e w / (a (1 - e))$. They are cut off when their remaining height,
$(e w)^2 / (a (1 - e))$, is below the error of the motion: the contact then holds, with
the force that keeps its acceleration at 0, until that force would have to pull.

Impacts are processed one after another, also at the same instant. Contacts resting on
their stops hold according to a complementarity condition: no force pulls, and no other
contact closes. A light body between two stops can be struck by both infinitely often in
no time: see `_alternating_impacts`. Dry friction forces are finite, and do not affect
impulses.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.arrays import stop_gradient_tree
from ...foundation.types import Number
from .normal_forces import contact_forces
from .rows import minus, where
from .scalar_system import (
    ContactTerm,
    ScalarSystem,
    acceleration_term,
    along,
    cosine_and_sine,
    factor_values,
    push_forces,
    size_along,
)
from .series import any_of, first_of, largest
from .sliding import slid
from .springs import SpringSeries

# Speeds below this part of the motion's are rounding.
_ROUNDING = 1e-13
# Minimum speed at which a resting contact leaves its stop, in the same units. Contacts
# that leave faster by a factor of 1e3 need no such offset, which would add up over
# rebounds.
_LEAVES, _FASTER = 1e-12, 1e3
# A pivot below this part of its contact's own means that others hold it already.
_REDUNDANT = 1e-10


class Active(NamedTuple):
    """Which hard contacts hold, and the factors of the equations for their forces."""

    holding: list
    rows: list
    inverses: list


def active_contacts(
    motion: ScalarSystem, touching: Sequence, sliding: Sequence = ()
) -> Active:
    """Return the equations for the forces of hard contacts and of frictions that hold.

    `sliding`: the sign of each friction's speed, 0 of those that stick.
    """
    sticking = [sign == 0 for sign in sliding]
    return _active(motion, [*(touching[j] for j in motion.hard), *sticking])


def _active(motion: ScalarSystem, holding) -> Active:
    holders = motion.holders
    rows = []
    for i, holder in enumerate(holders):
        row = []
        for m, other in enumerate(holders):
            both = holding[i] & holding[m]
            mass = along(holder, other.response)
            row.append(jnp.where(both, mass, 1.0 if i == m else 0.0))
        rows.append(row)
    inverses = []
    for i, row in enumerate(rows):
        own = along(holders[i], holders[i].response)
        free = row[i] > _REDUNDANT * jnp.where(holding[i], own, 1.0)
        inverses.append(jnp.where(free, 1 / jnp.where(free, row[i], 1.0), 0.0))
        for later in range(i + 1, len(rows)):
            factor = rows[later][i] * inverses[i]
            rows[later][i] = factor
            for k in range(i + 1, len(rows)):
                rows[later][k] = rows[later][k] - factor * row[k]
    return Active(holding, rows, inverses)


def constrained(
    motion: ScalarSystem, active: Active, accelerations: list
) -> tuple[list, list]:
    """Return accelerations that keep closed contacts closed, and the forces for it."""
    pressing = [along(holder, accelerations) for holder in motion.holders]
    forces = _cancelling_forces(active, pressing)
    return _without_forces(motion, accelerations, forces), forces


def _cancelling_forces(active: Active, values: list) -> list:
    """Return the forces, 0 for open contacts, that cancel each closed one's value."""
    count = len(values)
    forces = []
    for i, value in enumerate(values):
        value = jnp.where(active.holding[i], value, 0.0)
        forces.append(value - sum(active.rows[i][k] * forces[k] for k in range(i)))
    for i in reversed(range(count)):
        rest = sum(active.rows[i][k] * forces[k] for k in range(i + 1, count))
        forces[i] = (forces[i] - rest) * active.inverses[i]
    return forces


def _without_forces(motion: ScalarSystem, vector: list, forces: list) -> list:
    """Return a vector minus the effect of the forces of all constraints."""
    for holder, force in zip(motion.holders, forces, strict=True):
        vector = minus(vector, holder.response, force)
    return vector


def reduced_along(motion: ScalarSystem, vector: list, active: Active, values: list) -> list:
    """Reduce a vector's components along active constraints by `values`."""
    return _without_forces(motion, vector, _cancelling_forces(active, values))


class Impacts(NamedTuple):
    """Positions, velocities and closed contacts after impacts, and data of the impacts.

    `occurred`: which hard contacts had one; `impulses`: N s; `losses`: J; `depths`:
    depth, m, that each impact would have reached without its stop; `unrest`: remaining
    duration, s, of the rebounds that are cut off, for contacts that come to rest here.
    """

    position: list
    velocity: list
    touching: list
    occurred: list
    impulses: list
    losses: list
    depths: list
    unrest: list


def impact(
    motion: ScalarSystem,
    lane: Any,
    meets: Sequence,
    size: Number,
    slight: Number,
    rate: Number,
) -> Impacts:
    """Process the events of the hard contacts at a lane's time.

    A holding contact lets go; an open one has an impact, and holds if its remaining
    rebounds are below `slight` (m). `size` (m/s) and `rate` (1/s): the motion's.
    """
    contacts = [motion.contacts[j] for j in motion.hard]
    closed = [lane.touching[j] for j in motion.hard]
    strikes = [meets[j] & ~lane.touching[j] for j in motion.hard]
    stays = [lane.touching[j] & ~meets[j] for j in motion.hard]
    speeds = [along(contact, lane.velocity) for contact in contacts]
    rebounds = [
        contact.restitution * jnp.maximum(speed, 0.0)
        for contact, speed in zip(contacts, speeds, strict=True)
    ]
    motion, free = _without_frictions(motion, lane, strikes, size)
    under_stops, _ = constrained(motion, _active(motion, stays), free)
    pressing = [along(contact, under_stops) for contact in contacts]
    position = lane.position
    over = [contact.depth(position) for contact in contacts]
    if len(contacts) == 1:
        at_rest = _at_rest(contacts[0], rebounds[0], pressing[0], size, slight) & strikes[0]
        ends = stops = [at_rest]
    else:
        fixed = stop_gradient_tree((motion, free, speeds, pressing, over))
        candidates = [
            hit | stay | (~was & (depth >= -slight))
            for hit, stay, was, depth in zip(strikes, stays, closed, fixed[-1], strict=True)
        ]
        ends, at_rest = _resting(*fixed[:3], candidates, strikes, size, slight)
        at_rest = at_rest & any_of(strikes)
        endless = _alternating_impacts(fixed[0], *fixed[2:], strikes, slight, rate)
        stops = where(at_rest, list(map(operator.or_, ends, strikes)), endless)
        position = reduced_along(motion, position, _active(motion, stops), over)
    impulses = _cancelling_forces(_active(motion, stops), speeds)
    for i, (contact, speed) in enumerate(zip(contacts, speeds, strict=True)):
        turned = (speed + rebounds[i]) / along(contact, contact.response)
        impulses[i] = jnp.where(strikes[i] & ~stops[i], turned, impulses[i])
    velocity = _without_forces(motion, lane.velocity, impulses)
    after = [along(contact, velocity) for contact in contacts]
    if len(contacts) > 1:
        shaken = _moved_by_impacts(strikes, after, size)
        still = [stay & ~moved for stay, moved in zip(stays, shaken, strict=True)]
        stays = where(at_rest, ends, still)
    else:
        stays = [stays[0] | ends[0]]
    touching = list(lane.touching)
    occurred, losses, depths, unrest = [], [], [], []
    for i, j in enumerate(motion.hard):
        touching[j] = stays[i]
        rests = strikes[i] & stays[i] & (pressing[i] > 0)
        slowing = jnp.where(rests, pressing[i] * (1 - contacts[i].restitution), 1.0)
        unrest.append(jnp.where(rests & (slowing > 0), 2 * rebounds[i] / slowing, 0.0))
        occurred.append((strikes[i] | (stops[i] & ~closed[i])) & (impulses[i] > 0))
        losses.append(impulses[i] * (speeds[i] + after[i]) / 2)
        height = speeds[i] ** 2 / jnp.where(pressing[i] < 0, -2 * pressing[i], 1.0)
        depths.append(jnp.where(pressing[i] < 0, height, jnp.inf))
    struck = occurred, impulses, losses, depths, unrest
    return Impacts(position, velocity, touching, *struck)


def _without_frictions(
    motion: ScalarSystem, lane, strikes, size
) -> tuple[ScalarSystem, list]:
    """Return a motion with hard contacts only, and the accelerations without these.

    Friction signs are those after the impacts, also for frictions that these release.
    """
    forces = contact_forces(motion, lane)
    free = free_accelerations(motion, lane, forces)
    stops = motion._replace(frictions=[])
    if not motion.frictions:
        return stops, free
    velocity = lane.velocity
    for j, hit in zip(motion.hard, strikes, strict=True):
        contact = motion.contacts[j]
        turned = (1 + contact.restitution) * along(contact, velocity)
        turned = jnp.where(hit, turned, 0.0) / along(contact, contact.response)
        velocity = minus(velocity, contact.response, turned)
    slides = speed_signs(motion, velocity, size)
    signs = where([sign == 0 for sign in slides], lane.sliding, slides)
    none = [jnp.zeros((), bool) for _ in motion.contacts]
    sliding = slid(motion, signs, free, velocity, forces)
    return stops, constrained(motion, active_contacts(motion, none, signs), sliding)[0]


def speed_signs(motion: ScalarSystem, velocity: list, size: Number) -> list:
    """Return the signs of frictions' speeds, 0 within rounding; `size`: m/s."""
    speeds = [along(friction, velocity) - friction.speed for friction in motion.frictions]
    speeds = jax.lax.stop_gradient(speeds)
    return [jnp.where(jnp.abs(w) > _ROUNDING * size, jnp.sign(w), 0.0) for w in speeds]


def _moved_by_impacts(strikes, speeds, size):
    """Return which contacts have been set in motion by an impact at another one."""
    return [
        any_of([s for m, s in enumerate(strikes) if m != i])
        & (jnp.abs(speed) > _ROUNDING * size)
        for i, speed in enumerate(speeds)
    ]


def without_fault(first: Any, faults: Callable, switched: Callable, most: int) -> Any:
    """Return a choice, `switched(choice, faults)` until no flag of its faults is set.

    `most`: the number of switches; where bodies are jammed, single forces are
    undetermined, and it may cycle.
    """

    def goes_on(last):
        return any_of(last[1]) & (last[2] < most)

    def turn(last):
        choice = switched(*last[:2])
        return choice, faults(choice), last[2] + 1

    begun = first, faults(first), jnp.zeros((), jnp.int32)
    return jax.lax.while_loop(goes_on, turn, begun)[0]


def _active_set(motion: ScalarSystem, free, candidates) -> list:
    """Return which contacts bear a force if all candidates are at rest on their stops.

    No force pulls and no other contact closes: a linear complementarity problem, solved
    by switching the first wrong contact until none is (K. G. Murty, 1974: no choice
    recurs). `free`: the accelerations without stops.
    """
    contacts = [motion.contacts[j] for j in motion.hard]
    if len(contacts) == 1:
        return [candidates[0] & (along(contacts[0], free) > 0)]
    rounding = _ROUNDING * largest([size_along(contact, free) for contact in contacts])

    def wrong(active):
        left, forces = constrained(motion, _active(motion, active), free)
        return first_of(
            [
                candidate & jnp.where(bears, force < 0, along(contact, left) > rounding)
                for candidate, bears, force, contact in zip(
                    candidates, active, forces, contacts, strict=True
                )
            ]
        )

    def switched(active, wrong):
        return list(map(operator.xor, active, wrong))

    return without_fault(list(candidates), wrong, switched, 2 ** len(contacts))


def _resting(motion: ScalarSystem, free, speeds, candidates, strikes, size, slight):
    """Return which candidates hold from now on, and whether an impact ends so.

    They come to rest together if the total rebounds of each that bears a force are
    below `slight` (m); a plastic impact at the one that `strikes` gives the speeds
    induced in the others.
    """
    contacts = [motion.contacts[j] for j in motion.hard]
    approach = where(strikes, speeds, [0.0] * len(speeds))
    nothing = [jnp.zeros_like(approach[0]) for _ in free]
    plastic = reduced_along(motion, nothing, _active(motion, strikes), approach)
    rebounds, still = [], []
    for contact, hit, w in zip(contacts, strikes, speeds, strict=True):
        speed = jnp.where(hit, w, w + along(contact, plastic))
        rebound = contact.restitution * jnp.maximum(speed, 0.0)
        rebounds.append(jnp.where(hit | (speed > 0), rebound, -speed))
        still.append(rebounds[-1] <= _ROUNDING * size)
    active, settles = candidates, still
    # Twice: without those that still rebound others may bear a force, or none. If one
    # of the second choice rebounds too, none holds yet; the next impact decides again.
    for _ in range(2):
        active = _active_set(motion, free, candidates)
        settles = []
        for i, contact in enumerate(contacts):
            others = [b if m != i else jnp.zeros((), bool) for m, b in enumerate(active)]
            left, _ = constrained(motion, _active(motion, others), free)
            rests = _at_rest(contact, rebounds[i], along(contact, left), size, slight)
            settles.append(rests | still[i])
        candidates = [
            candidate & (rests | hit)
            for candidate, rests, hit in zip(candidates, settles, strikes, strict=True)
        ]
    goes_on = any_of(
        [
            (bears & ~rests) | (hit & ~bears & ~(jnp.abs(w) <= _ROUNDING * size))
            for bears, rests, hit, w in zip(active, settles, strikes, speeds, strict=True)
        ]
    )
    active = [bears & ~goes_on for bears in active]
    return active, any_of(active)


def _alternating_impacts(
    motion: ScalarSystem, speeds, pressing, depths, strikes, slight, rate
) -> list:
    r"""Return which two contacts strike in turn infinitely often from now on, if any.

    With speeds in units of the roots of $g_{ii}$, $g_{ik} = n_i^T M^{-1} n_k$, and
    $c = -g_{ik} / \sqrt{g_{ii} g_{kk}}$, an impact at i and the one at k that follows
    map $(y_i, y_k)$ to

    $$\begin{pmatrix} q - e_i & (1 + e_k) c \\ -(1 + e_i) e_k c & -e_k \end{pmatrix}
      \begin{pmatrix} y_i \\ y_k \end{pmatrix}, \qquad q = (1 + e_i)(1 + e_k) c^2,$$

    with determinant $e_i e_k$. If its eigenvalues are real and positive,
    $q \ge (\sqrt{e_i} + \sqrt{e_k})^2$, this occurs for all motions whose $y_k / y_i$
    is above that of the smaller eigenvalue's eigenvector: both speeds tend to 0, and
    the gaps faster. Others separate after some impacts. **Source:** McNamara and Young,
    *Inelastic collapse and clumping* (1992), for equal bodies.
    """
    contacts = [motion.contacts[j] for j in motion.hard]
    pairs = [jnp.zeros((), bool) for _ in contacts]
    for i, k in ((i, k) for i in range(len(contacts)) for k in range(len(contacts))):
        if i == k:
            continue
        one, other = contacts[i], contacts[k]
        e, f = one.restitution, other.restitution
        own = jnp.sqrt(along(one, one.response))
        others = jnp.sqrt(along(other, other.response))
        coupling = -along(one, other.response) / (own * others)
        coupled = coupling > _REDUNDANT
        coupling = jnp.where(coupled, coupling, 1.0)
        first, second = speeds[i] / own, speeds[k] / others
        cycle = (1 + e) * (1 + f) * coupling**2
        trace, product = cycle - e - f, e * f
        least = (trace - jnp.sqrt(jnp.maximum(trace**2 - 4 * product, 0.0))) / 2
        steepest = (least + e - cycle) / ((1 + f) * coupling)
        lasts = (trace >= 2 * jnp.sqrt(product)) & (second >= steepest * first)
        next_speed = others * (second + (1 + e) * coupling * first)
        delay = jnp.maximum(-depths[k], 0.0) / jnp.where(next_speed > 0, next_speed, 1.0)
        # Remaining speeds are bounded by the effect of accelerations in the meantime.
        pulled = jnp.maximum(jnp.abs(pressing[i]), jnp.abs(pressing[k])) * delay
        brief = pulled <= slight * rate
        meet = coupled & lasts & brief & (depths[k] >= -slight) & (next_speed > 0)
        pair = strikes[i] & (speeds[i] > 0) & meet & ~any_of(pairs)
        pairs[i], pairs[k] = pairs[i] | pair, pairs[k] | pair
    return pairs


def start_holding(
    motion: ScalarSystem, lane: Any, size: Number, slight: Number
) -> tuple[list, list, list]:
    """Return positions, velocities and closed contacts at a start.

    Contacts that are closed within `slight` (m), do not close further, and whose
    rebounds would be as small, hold if they bear a force.
    """
    contacts = [motion.contacts[j] for j in motion.hard]
    depths = [contact.depth(lane.position) for contact in contacts]
    speeds = [along(contact, lane.velocity) for contact in contacts]
    none = [jnp.zeros((), bool) for _ in contacts]
    motion, free = _without_frictions(motion, lane, none, size)
    fixed = stop_gradient_tree((motion, free, speeds))
    candidates = [
        jax.lax.stop_gradient((depth >= -slight) & (speed <= _ROUNDING * size))
        for depth, speed in zip(depths, speeds, strict=True)
    ]
    holding, _ = _resting(*fixed, candidates, none, size, slight)
    active, touching = _active(motion, holding), list(lane.touching)
    for j, holds in zip(motion.hard, holding, strict=True):
        touching[j] = holds
    position = reduced_along(motion, lane.position, active, depths)
    velocity = reduced_along(motion, lane.velocity, active, speeds)
    return position, velocity, touching


def accelerations(motion: ScalarSystem, lane: Any, touching: Sequence) -> tuple[list, list]:
    """Return the accelerations of a state, and the forces of hard contacts that hold."""
    forces = contact_forces(motion, lane)
    free = free_accelerations(motion, lane, forces)
    free = slid(motion, lane.sliding, free, lane.velocity, forces)
    return constrained(motion, active_contacts(motion, touching, lane.sliding), free)


def free_accelerations(motion: ScalarSystem, lane: Any, forces: list) -> list:
    """Return the accelerations of a state without its hard contacts and frictions.

    `forces`: of its contacts, N.
    """
    loads = [
        cosine_and_sine(load.frequency * lane.time + load.phase)[0] for load in motion.loads
    ]
    loads += push_forces(motion, lane.time)
    terms = acceleration_term(motion, lane.position, lane.velocity, forces, loads)
    factors = [[value] for value in factor_values(motion, lane.time)]
    return SpringSeries(motion.springs).pulled(terms, lane.position, factors)


def _at_rest(contact, rebound, pressing, size, slight):
    """Return whether a rebound and all that follow it are too small."""
    rebound, pressing, restitution = jax.lax.stop_gradient(
        (rebound, pressing, contact.restitution)
    )
    height = rebound**2 <= slight * pressing * (1 - restitution)
    return (pressing > 0) & (height | (rebound <= _ROUNDING * size))


def signal_of(
    contact: ContactTerm,
    position: list,
    depth: list,
    force: list,
    holds: Array,
    size: Number,
    rate: Number,
) -> list:
    """Return the series whose first root is a hard contact's next event.

    While it holds, that is the negative force; otherwise the gap with its current roots
    divided out: two if it rests on the stop, one if it leaves it. A force that would
    have to pull ends the contact now, a pressed contact begins now. `size` (m) and
    `rate` (1/s) of the motion define rounding errors, with the series of the `position`
    from which the depth is computed.
    """
    none = jnp.zeros_like(depth[0])
    slight = _ROUNDING * size
    rounding = size_along(contact, [row[2] for row in position])
    rounding = jax.lax.stop_gradient(rounding)
    near = depth[0] >= -slight
    slow = jnp.abs(depth[1]) <= slight * rate
    pressed = near & slow & (depth[2] > slight * rate**2 + _ROUNDING * rounding)
    now = jnp.where(holds, force[0] < 0, pressed)
    twice, once = near & slow, near & (depth[1] < 0)
    least = _LEAVES * size
    parts = jnp.where(depth[1] < -_FASTER * least * rate, 0.0, least)
    force = [*force, *[none] * (len(depth) - len(force))]
    shifted = [*depth, none, none]
    signal = []
    for k in range(len(depth)):
        # Slightly below zero, so that a slowly opening gap is left within a few steps.
        below = least if k == 0 else 0.0
        leaving = parts * rate if k == 0 else 0.0
        gap = jnp.where(once, shifted[k + 1] - leaving, depth[k])
        gap = jnp.where(twice, jnp.minimum(shifted[k + 2], 0) - below * rate**2
                        if k == 0 else shifted[k + 2], gap)  # fmt: skip
        here = jnp.where(holds, -force[k], gap)
        signal.append(jnp.where(now, 1.0 if k == 1 else 0.0, here))
    return signal
