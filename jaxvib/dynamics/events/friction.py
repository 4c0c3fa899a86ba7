r"""Dry friction in event-driven integration: sliding, sticking and release.

While a friction slides its event is the root of its speed w. There it sticks if the
force R that keeps w at 0 is within its limit, and otherwise slides the other way. While
it sticks it is a constraint like a holding hard stop, but R has both signs; its event
is |R| reaching the limit. With a contact's normal force, the limit is that force times
the coefficient, and it sticks only while the contact is closed. Sticking speeds are
exactly 0: they are set so at the end of each step. Impacts at hard stops release
sticking frictions, as their forces are finite; which stops and frictions at rest hold
is then solved jointly.
"""

import operator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.arrays import stop_gradient_tree
from ...foundation.types import Number
from ...systems.frictions.friction import sliding_share
from ...systems.impact import EquationOfMotion
from .hard_stop import (
    active_contacts,
    constrained,
    free_accelerations,
    reduced_along,
    speed_signs,
    without_fault,
)
from .normal_forces import contact_forces, has_normal_force, loose_signs
from .parallel_frictions import joint, joint_flags, joint_force
from .rows import minus, where
from .scalar_system import ScalarSystem, along, size_along
from .series import any_of, combination, first_of, largest, square_term
from .sliding import DryFriction, slid

# Speeds and forces below this part of their sizes are rounding.
_ROUNDING = 1e-13


def friction_signals(
    motion: ScalarSystem,
    lane: Any,
    velocity: list,
    forces: list,
    normals: list,
    limits: list,
    size: Number,
    rate: Number,
) -> list[list]:
    """Return the series whose first roots are the frictions' next events.

    `velocity`, `forces`, `normals`: series of the motion, of the sticking frictions and
    of the normal forces; `limits` (N), `size` (m/s) and `rate` of the motion in the
    series' variable define the rounding error. All signals are as long as the
    velocity's series: one per friction, and with contact normal forces a second one per
    friction, see `events_of`.
    """
    signals, others = [], []
    pressing = any(friction.presses for friction in motion.frictions)
    bears = has_normal_force(motion, lane.touching)
    most = _limit_series(motion, normals, len(velocity[0]))
    for i, (friction, sign, force) in enumerate(
        zip(motion.frictions, lane.sliding, forces, strict=True)
    ):
        speed = _speed_series(friction, velocity)
        none = jnp.zeros_like(speed[0])
        signed = [sign * term for term in [*speed, none, none]]
        near = jnp.abs(signed[0]) <= _ROUNDING * size
        slow = near & (jnp.abs(signed[1]) <= _ROUNDING * size * rate)
        # Current roots are divided out: one where it starts to slide, or two.
        ahead = jnp.where(slow, signed[2], signed[1])
        turned = near & (ahead < 0)
        # At its limit, but other constraints keep its bodies from sliding.
        waits = slow & (jnp.abs(signed[2]) <= _ROUNDING * size * rate**2)
        force = [*force, *[none] * (len(speed) - len(force))]
        if pressing:
            waits = waits | ~bears[i]
            over, under = _excess_series(force, most[i], _ROUNDING * limits[i])
            never = [none - 1.0 if k == 0 else none for k in range(len(speed))]
            others.append(where(sign == 0, under, never))
        signal = []
        for k in range(len(speed)):
            sliding = jnp.where(near, signed[k + 1], signed[k])
            sliding = -jnp.where(slow, signed[k + 2], sliding)
            sliding = jnp.where(turned, 1.0 if k == 1 else 0.0, sliding)
            sliding = jnp.where(waits, -1.0 if k == 0 else 0.0, sliding)
            if pressing:
                sticking = over[k]
            else:
                sticking = square_term(force, k) - (most[i][0] ** 2 if k == 0 else 0.0)
            signal.append(jnp.where(sign == 0, sticking, sliding))
        signals.append(signal)
    return [*signals, *others]


def _limit_series(motion: ScalarSystem, normals: list, length: int) -> list[list]:
    """Return the series of each friction's limit including parallel ones, N."""
    rows = []
    for friction, normal in zip(motion.frictions, normals, strict=True):
        terms = normal if friction.presses else [1.0]
        row = [friction.limit * term for term in terms]
        rows.append([*row, *[0.0] * (length - len(row))])
    terms = [joint(motion.senses, list(row)) for row in zip(*rows, strict=True)]
    return [list(row) for row in zip(*terms, strict=True)]


def _excess_series(force: list, most: list, rounding) -> tuple[list, list]:
    """Return the series of R and -R minus `most`.

    If the contact ends at the same time it must end first: these wait for a `rounding`,
    N.
    """
    limits = [most[0] + jax.lax.stop_gradient(rounding), *most[1:]]
    pairs = list(zip(force, limits, strict=True))
    return [r - most for r, most in pairs], [-r - most for r, most in pairs]


def events_of(motion: ScalarSystem, meets: list) -> tuple[list, list]:
    """Return which contacts and which frictions have their event, from all signals."""
    contacts, count = len(motion.contacts), len(motion.frictions)
    slips, others = meets[contacts : contacts + count], iter(meets[contacts + count :])
    return meets[:contacts], [meet | next(others, meet) for meet in slips]


def _speed_series(friction: DryFriction, velocity) -> list:
    first, *others = combination(friction.direction, velocity)
    return [first - friction.speed, *others]


def start_sliding(motion: ScalarSystem, lane: Any, size: Number, slight: Number) -> Any:
    """Return a start lane with frictions sliding or sticking, and stops holding.

    `size` (m/s) of the motion and the length `slight` (m) decide which contacts rest.
    """
    rests = [sign == 0 for sign in lane.sliding]
    closed = _closed(motion, lane, size, slight)
    return _with_zero_sliding(motion, _consistent_lane(motion, lane, closed, closed, rests))


def friction_forces_on_step(
    motion: ScalarSystem, equation: EquationOfMotion, lane: Any, time: Number, state: Array
) -> list:
    """Return the force R of each friction, N, in a state on a step that begins at a lane.

    Among parallel frictions that stick, one is assigned the whole force.
    """
    frictions = equation.frictions
    count = equation.offset.shape[0]
    without = eqx.tree_at(lambda e: e.frictions, equation, ())
    velocity, free = list(state[count:]), list(without.vector_field(time, state)[count:])
    normal = equation.at(time).forces_at(state)
    borne = []
    for friction, sign, j, scalars in zip(
        frictions, lane.sliding, equation.pressing_contacts(), motion.frictions, strict=True
    ):
        speed = along(scalars, velocity) - friction.speed
        pressed_by = 1.0 if j is None else normal[j]
        borne.append(sign * sliding_share(friction, speed) * pressed_by)
        free = minus(free, scalars.response, borne[-1])
    active = active_contacts(motion, lane.touching, lane.sliding)
    _, forces = constrained(motion, active, free)
    sticks = [sign == 0 for sign in lane.sliding]
    return where(sticks, forces[len(motion.hard) :], borne)


class FrictionEvents(NamedTuple):
    """Events at the end of a step.

    `meets`: each friction's own event; `touched`: whether the contact of its normal
    force begins or ends; `struck`: whether a hard stop is hit or lets go; `breaks`:
    whether other forces jump.
    """

    meets: list
    touched: list
    struck: Any
    breaks: Any


def after_frictions(
    motion: ScalarSystem, lane: Any, happens: FrictionEvents, size: Number, slight: Number
) -> Any:
    """Update the frictions of a lane after a step, if anything `happens`.

    The lane's signs are those of the step; `size` (m/s) of the motion and the length
    `slight` (m) decide which contacts rest.
    """
    meets, touched, struck, breaks = happens
    before = lane.sliding
    still = _without_derivatives(motion, lane)
    forces = _holding_forces(*still, lane.touching, before)[1][len(motion.hard) :]
    forces = joint_force(motion.senses, forces)
    meets, touched = (joint_flags(motion.senses, flags) for flags in (meets, touched))
    signs, rests = [], []
    speeds = speed_signs(motion, lane.velocity, size)
    for sign, force, meet, touch, now in zip(
        before, forces, meets, touched, speeds, strict=True
    ):
        lets_go = meet & (sign == 0)
        at_event = jnp.where(lets_go, jnp.sign(force), jnp.where(meet, 0.0, sign))
        slides = (struck | touch) & (now != 0)
        signs.append(jnp.where(slides | touch, now, at_event))
        rests.append(((sign == 0) | meet | struck | touch) & ~slides)
    signs = loose_signs(motion, lane.touching, signs)
    rests = list(map(operator.and_, rests, has_normal_force(motion, lane.touching)))
    event = any_of([*meets, *touched, struck, breaks])
    bearing = [lane.touching[j] for j in motion.hard]
    started = lane._replace(sliding=signs)
    settled = _consistent_lane(
        motion, started, bearing, _closed(motion, lane, size, slight), rests
    )
    kept = lane.touching, before
    chosen = settled.touching, settled.sliding
    touching, sliding = jax.tree.map(lambda s, b: jnp.where(event, s, b), chosen, kept)
    return _with_zero_sliding(motion, lane._replace(touching=touching, sliding=sliding))


def _closed(motion: ScalarSystem, lane, size, slight) -> list:
    """Return which hard contacts are at rest on their stops."""
    closed = []
    for j in motion.hard:
        contact = motion.contacts[j]
        depth, speed = contact.depth(lane.position), along(contact, lane.velocity)
        near = (depth >= -slight) & (jnp.abs(speed) <= _ROUNDING * size)
        closed.append(jax.lax.stop_gradient(lane.touching[j] | near))
    return closed


def _consistent_lane(motion: ScalarSystem, lane, bearing: list, closed: list, rests: list):
    """Return a lane with a consistent set of holding frictions and stops.

    The first inconsistent one is switched until none is: a friction that sticks with a
    force beyond its limit, or slides against its own acceleration; a stop that pulls,
    or one that is `closed` and would be penetrated. `bearing`: the stops that bear a
    force in the initial guess.
    """
    still = _without_derivatives(motion, lane)
    motion, free, _, normal = still
    rounding = _ROUNDING * largest([size_along(each, free) for each in motion.holders])
    limits = [
        friction.limit * friction.normal(normal) * (1 + _ROUNDING)
        + (rounding / along(friction, friction.response) if friction.presses else 0.0)
        for friction in motion.frictions
    ]
    limits = joint(motion.senses, limits)
    count = len(motion.hard)

    def consistency(bearing, sliding):
        touching = _closed_contacts(motion, lane.touching, bearing)
        left, forces = _holding_forces(*still, touching, sliding)
        forces = [*forces[:count], *joint_force(motion.senses, forces[count:])]
        wrong = []
        for j, bears, at_rest, force in zip(
            motion.hard, bearing, closed, forces[:count], strict=True
        ):
            entered = along(motion.contacts[j], left) > rounding
            wrong.append(at_rest & jnp.where(bears, force < 0, entered))
        for friction, most, sign, force, rest in zip(
            motion.frictions, limits, sliding, forces[count:], rests, strict=True
        ):
            slips = jnp.abs(force) > most
            sticks = sign * along(friction, left) < -rounding
            wrong.append(rest & jnp.where(sign == 0, slips, sticks))
        first = first_of(wrong)
        return forces[count:], [*first[:count], *joint_flags(motion.senses, first[count:])]

    def switched(choice, wrong):
        bearing, sliding = choice
        forces, _ = consistency(*choice)
        pairs = zip(sliding, forces, strict=True)
        other = [jnp.where(sign == 0, jnp.sign(force), 0.0) for sign, force in pairs]
        bearing = list(map(operator.xor, bearing, wrong[:count]))
        return bearing, where(wrong[count:], other, sliding)

    if len(motion.holders) == 1:
        (sign,) = lane.sliding
        (force,), (bad,) = consistency([], [sign])
        # After letting go it slides on whatever its acceleration, which may start at 0.
        return lane._replace(sliding=[jnp.where(bad & (sign == 0), jnp.sign(force), sign)])
    first, most = (bearing, lane.sliding), 2**count * 3 ** len(rests)
    bearing, sliding = without_fault(
        first, lambda choice: consistency(*choice)[1], switched, most
    )
    touching = _closed_contacts(motion, lane.touching, bearing)
    stuck = map(operator.and_, rests, _blocked(motion, touching))
    sliding = where(list(stuck), [0.0] * len(rests), sliding)
    return lane._replace(touching=touching, sliding=sliding)


def _closed_contacts(motion: ScalarSystem, touching: list, bearing: list) -> list:
    """Return which contacts are closed, given the hard ones that bear a force."""
    touching = list(touching)
    for j, bears in zip(motion.hard, bearing, strict=True):
        touching[j] = bears
    return touching


def _blocked(motion: ScalarSystem, touching: list) -> list:
    """Return which frictions cannot move because of stops: these stick."""
    if not motion.hard:
        return [jnp.zeros((), bool) for _ in motion.frictions]
    blocked = []
    for i in range(len(motion.frictions)):
        alone = [jnp.where(k == i, 0.0, 1.0) for k in range(len(motion.frictions))]
        active = active_contacts(motion, touching, alone)
        blocked.append(active.inverses[len(motion.hard) + i] == 0)
    return blocked


def _without_derivatives(
    motion: ScalarSystem, lane
) -> tuple[ScalarSystem, list, list, list]:
    """Return a motion, free accelerations, speeds and forces without derivatives."""
    forces = contact_forces(motion, lane)
    free = free_accelerations(motion, lane, forces)
    return stop_gradient_tree((motion, free, lane.velocity, forces))


def _holding_forces(
    motion: ScalarSystem, free: list, velocity: list, normal: list, touching, sliding: list
) -> tuple[list, list]:
    """Return the accelerations with sliding frictions, and all holding forces."""
    active = active_contacts(motion, touching, sliding)
    return constrained(motion, active, slid(motion, sliding, free, velocity, normal))


def _with_zero_sliding(motion: ScalarSystem, lane):
    """Return a lane with the speeds of sticking frictions exactly 0.

    It is also placed on the holding stops, which may have begun to hold with the
    frictions.
    """
    if motion.hard:
        stops = motion._replace(frictions=[])
        over = [motion.contacts[j].depth(lane.position) for j in motion.hard]
        closed = active_contacts(stops, lane.touching)
        lane = lane._replace(position=reduced_along(stops, lane.position, closed, over))
    active = active_contacts(motion, lane.touching, lane.sliding)
    still = [jnp.zeros_like(lane.time) for _ in motion.hard]
    speeds = [
        along(friction, lane.velocity) - friction.speed for friction in motion.frictions
    ]
    velocity = reduced_along(motion, lane.velocity, active, [*still, *speeds])
    # Repeated, as one correction disturbs another if several hold the same bodies.
    for _ in motion.frictions:
        for friction, sign in zip(motion.frictions, lane.sliding, strict=True):
            velocity = _with_sliding_speed_zero(friction, velocity, sign == 0)
    return lane._replace(velocity=velocity)


def _with_sliding_speed_zero(friction: DryFriction, velocity: list, sticks) -> list:
    """Return velocities, the first one along a friction set for a speed of 0."""
    chosen = first_of([d != 0 for d in friction.direction])
    new = []
    for i, (mine, v) in enumerate(zip(chosen, velocity, strict=True)):
        pairs = enumerate(zip(friction.direction, velocity, strict=True))
        others = sum(d * x for k, (d, x) in pairs if k != i)
        by = jnp.where(mine, friction.direction[i], 1.0)
        new.append(jnp.where(sticks & mine, (friction.speed - others) / by, v))
    return new
