"""From event to event: flights between contacts, and the contacts themselves."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ..barrier import Barrier
from ..observables import Watched, start_watching, watch_path
from ..step_polynomial import Polynomial, RootPath
from . import flight, touch
from .flight import ONSET, flight_step
from .motion import Motion, along, gap, motion_of, why_only
from .onset import at_onset, later
from .rates import contact_rate, impact_size, longest_turn, motion_rate, motion_speed
from .series import any_of, largest, slope, value, value_and_slope
from .stop import Impacts, accelerations, impact, start_holding
from .touch import contact_step

MOST_STEPS = 100_000
# A Taylor step of a flight costs little, one in contact is what errors come from.
_IN_FLIGHT = 1e-3
# Impacts below this part of the hardest one's sqrt(z) are known to the error of that.
_SLIGHT = 1e-2
# The greatest step that is watched, in units of the motion's rate.
_TURN = 2.0
# What is left of a hard stop's rebounds is below this part of the tolerance.
_REBOUNDS = 0.1
# Gauss's nodes and weights on a step, for integrals along the motion.
_NODES, _WEIGHTS = (w / 2 for w in np.polynomial.legendre.leggauss(8))
# A start this deep in a hard stop, in units of the motion's size, is none.
_INSIDE = 1e-3


class Lane(NamedTuple):
    """Where a motion is, and how its contacts stand.

    `roots`: u of each Hertz contact; `touching`: whether each contact is closed;
    `sizes`: how large each u is expected to grow.
    """

    position: list
    velocity: list
    time: Any
    roots: list
    touching: list
    sizes: list
    steps: Any
    watched: Watched | None
    integral: Any


class _Context(NamedTuple):
    """What all steps of a travel have in common."""

    motion: Motion
    equation: Any
    end: Any
    rtol: Any
    rate: Any
    longest: Any
    turn: Any
    grazing: Any
    integrand: Any


class Travel(NamedTuple):
    """Where a motion has come to, a reason code, its steps, and what was watched.

    `held`: the force of each hard contact that holds at the end, N, else 0;
    `integral`: of the integrand along the motion.
    """

    state: Float[Array, " state"]
    result: Int[Array, ""]
    steps: Int[Array, ""]
    watched: Any
    held: Float[Array, " contacts"]
    integral: Any


def travel(
    equation,
    state,
    t0,
    t1,
    rtol,
    *,
    grazing=None,
    watched=None,
    integrand=None,
    one=None,
    steady: bool = False,
) -> Travel:
    r"""Return the state at t1 of a linear system with contacts and harmonic loads.

    Flights are Taylor steps of the linear motion, of order 18. Each ends at the first
    root of a gap or before it: where a gap's series is bounded by a parabola, the
    parabola's root cannot lie behind the gap's. Contacts with Hertz's law are Taylor
    steps of order 12 in $\tau$, $dt = 2\sqrt z\,d\tau$, in which they are analytic from
    onset to release; linear contacts belong to the flights. Hard stops are events: see
    `stop`. With a `grazing` depth, m, contacts, forces and displacements are watched on
    the way, beside what was `watched` before. The `integrand`, a function of time and
    state, is integrated along the motion.

    `one`: a 1, whose tangent `travel_problem` sets where columns are taken. Flights then
    have shorter steps: the series that columns follow can go on where the motion's own
    have ended.

    `steady`: whether first derivatives are all that is asked for. They then follow the
    linear equations along the motion, at half the cost: the time that passes in a Hertz
    contact has no derivative, as accelerations do not jump at its end. That of its onset
    has one: else velocities in a rigid contact would change by its great accelerations
    times that of the time, which cancel at its end. With hard stops nothing changes.
    """
    numbers = [leaf for leaf in jax.tree.leaves(equation) if hasattr(leaf, "shape")]
    finite = jnp.all(
        jnp.stack([jnp.all(jnp.isfinite(x)) for x in [*numbers, state, t0, t1]])
    ) & (t1 >= t0)
    steady = steady and not why_only(equation)
    columns, one = one is not None, 1.0 if one is None else one
    motion = motion_of(equation, Barrier(jnp.where(finite, one, jnp.nan)), steady)
    # A lane that cannot be integrated takes no step, so that it holds up no other.
    end = jnp.where(finite, jnp.asarray(t1, float), t0)
    rate = motion_rate(motion, end - t0)
    if grazing is not None and watched is None:
        watched = start_watching(t0, jax.lax.stop_gradient(state), equation)
    lane = _start(motion, equation, state, t0, watched)
    if integrand is not None:
        nothing = jax.eval_shape(integrand, lane.time, state)
        lane = lane._replace(integral=jnp.zeros(nothing.shape))
    # What is watched turns once in a step, no more.
    longest = jnp.inf if watched is None else _TURN / rate
    turn = jnp.inf
    if columns:
        longest = jnp.minimum(longest, longest_turn(rtol, flight.ORDER) / rate)
        turn = longest_turn(rtol, touch.ORDER)
    settings = rtol, rate, longest, turn
    context = _Context(motion, equation, end, *settings, grazing, integrand)
    if motion.hard:
        lane, end, finite = _start_at_stops(motion, lane, end, finite, rtol, rate)
        context = context._replace(end=end)

    def unfinished(lane):
        return (lane.time < end) & (lane.steps < MOST_STEPS)

    def in_contact(lane):
        return any_of([lane.touching[j] for j in motion.hertz])

    def legs(lane):
        lane = jax.lax.while_loop(
            lambda lane: unfinished(lane) & ~in_contact(lane),
            lambda lane: _flight(context, lane),
            lane,
        )
        if not motion.hertz:
            return lane
        return jax.lax.while_loop(
            lambda lane: unfinished(lane) & in_contact(lane),
            lambda lane: _contact(context, lane),
            lane,
        )

    lane = jax.lax.while_loop(unfinished, legs, lane)
    final = jnp.stack([*lane.position, *lane.velocity])
    final = final + jnp.concatenate([equation.offset, jnp.zeros_like(equation.offset)])
    if steady:
        final = later(final, equation.vector_field(end, final), end - lane.time)
    whole = jnp.all(jnp.isfinite(final))
    code = jnp.where(lane.time < end, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(whole, code, Reason.STEP_UNDERFLOW)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    final = jnp.where(code == Reason.SUCCESS, final, jnp.nan)
    held = jax.lax.stop_gradient(_held(motion, lane))
    return Travel(final, code, lane.steps, lane.watched, held, lane.integral)


def _start(motion: Motion, equation, state, t0, watched) -> Lane:
    position, velocity = jnp.split(state, 2)
    position, velocity = list(position - equation.offset), list(velocity)
    roots, touching, sizes = [], [], []
    slight = ONSET * largest([jnp.abs(x) for x in position])
    for contact in motion.contacts:
        depth = gap(contact, position)
        closed = (depth > (slight if contact.hertz else 0.0)) & (not contact.hard)
        touching.append(closed)
        if contact.hertz:
            root = jnp.where(closed, jnp.sqrt(jnp.where(closed, depth, 1.0)), 0.0)
            roots.append(motion.still(root))
            sizes.append(impact_size(contact, along(contact, velocity)))
    steps = jnp.asarray(0, jnp.int32)
    time = jnp.asarray(t0, float)
    return Lane(position, velocity, time, roots, touching, sizes, steps, watched, None)


def _start_at_stops(motion: Motion, lane: Lane, end, finite, rtol, rate):
    """Return a start with the hard contacts that hold, where it ends, whether it is one."""
    speed, slight = _slight(motion, lane, rtol, rate)
    position, velocity, touching = start_holding(motion, lane, speed, slight)
    deepest = largest([gap(motion.contacts[j], lane.position) for j in motion.hard])
    outside = deepest <= _INSIDE * speed / rate
    end = jnp.where(outside, end, lane.time)
    lane = lane._replace(position=position, velocity=velocity, touching=touching)
    return lane, end, finite & outside


def _slight(motion: Motion, lane: Lane, rtol, rate):
    """Return the motion's speed, m/s, and a height, m, that is below its error."""
    speed = jax.lax.stop_gradient(motion_speed(motion, lane, rate))
    return speed, _REBOUNDS * rtol * speed / rate


def _held(motion: Motion, lane: Lane):
    """Return the force of each hard contact that holds, N, 0 of the others."""
    forces = [jnp.zeros_like(lane.time) for _ in motion.contacts]
    if motion.hard:
        _, holding = accelerations(motion, lane, lane.touching)
        for j, force in zip(motion.hard, holding, strict=True):
            forces[j] = force
    return jnp.stack(forces) if forces else jnp.zeros(0)


def _flight(context: _Context, lane: Lane) -> Lane:
    """Return the lane one step later, with its Hertz contacts open."""
    motion, _, end, rtol, rate, longest, _, _, integrand = context
    accuracy = _IN_FLIGHT * rtol
    rows, depths, length, meets, ends = flight_step(
        motion, lane, end, accuracy, rate, longest
    )
    ends_of_rows = [value_and_slope(row, length) for row in rows]
    position, velocity = motion.once(
        ([x for x, _ in ends_of_rows], [v for _, v in ends_of_rows])
    )
    moved = position, velocity, lane.time + length
    if motion.steady:
        moved = at_onset(motion, meets, *moved, rows, length)
    new = _after(motion, lane, *moved, meets, ends, end)
    new, impacts = _after_impacts(motion, lane, new, meets, rtol, rate)
    if integrand is not None:

        def at(x):
            moved = [value(r, x) for r in rows], [slope(r, x) for r in rows]
            return lane.time + x, *moved, 1.0

        new = new._replace(integral=lane.integral + _integral(context, at, length))
    if lane.watched is None:
        return new
    seen = jax.lax.stop_gradient((lane, new, rows, depths, length, impacts))
    return new._replace(watched=_seen_in_flight(context, *seen))


def _seen_in_flight(
    context: _Context, lane: Lane, new: Lane, rows, depths, length, impacts
):
    """Return what is watched after a step that has no derivative, as it has none."""
    motion, grazing = context.motion, context.grazing
    depth, path = _scaled((depths, rows), length, motion)
    path = path.shifted(context.equation.offset)
    # Open contacts are known to be open: what is left of z at their ends is rounding.
    opened = [~touches for touches in lane.touching]
    depth = depth.shut(jnp.stack(opened)) if opened else depth
    assert lane.watched is not None
    watched = watch_path(
        lane.watched,
        grazing,
        length,
        lambda x: lane.time + x * length,
        _known(motion, lane, new, _with_ends(depth)),
        _with_ends(path),
        _closed(motion, lane),
    )
    return _with_impacts(motion, lane, watched, impacts, grazing, length)


def _contact(context: _Context, lane: Lane) -> Lane:
    """Return the lane one step later, with a Hertz contact closed."""
    motion, _, end, rtol, rate, _, turn, _, integrand = context
    speed = jax.lax.stop_gradient(motion_speed(motion, lane, rate))
    hertz = [motion.contacts[j] for j in motion.hertz]
    sizes = [
        jnp.maximum(jnp.maximum(root, size), _SLIGHT * impact_size(contact, speed))
        for contact, root, size in zip(hertz, lane.roots, lane.sizes, strict=True)
    ]
    scales = jax.lax.stop_gradient((speed, sizes))
    longest = turn / jax.lax.stop_gradient(contact_rate(motion, lane, rate, sizes))
    settings = rtol, rate, longest
    series, depths, length, meets, ends = contact_step(
        motion, lane, end, *settings, *scales
    )
    kinds = series.position, series.velocity, [series.time], series.roots
    position, velocity, (time,), roots = motion.once(
        [[value(row, length) for row in rows] for rows in kinds]
    )
    for j, i in zip(motion.hertz, range(len(roots)), strict=True):
        contact, released = motion.contacts[j], meets[j] & lane.touching[j]
        # What is left of z when u has come to 0 is the error of the steps.
        over = gap(contact, position) / along(contact, contact.response)
        over = motion.still(jnp.where(released, over, 0.0))
        position = [x - r * over for x, r in zip(position, contact.response, strict=True)]
        roots[i] = jnp.where(meets[j], 0.0, roots[i])
    new = _after(
        motion, lane._replace(roots=roots), position, velocity, time, meets, ends, end
    )
    new, impacts = _after_impacts(motion, lane, new, meets, rtol, rate)
    if integrand is not None:

        def at(x):
            kinds = series.position, series.velocity
            moved = [[value(r, x) for r in rows] for rows in kinds]
            return value(series.time, x), *moved, slope(series.time, x)

        new = new._replace(integral=lane.integral + _integral(context, at, length))
    if lane.watched is None:
        return new
    kinds = depths, series.position, [series.time]
    seen = jax.lax.stop_gradient((lane, new, kinds, length, impacts))
    return new._replace(watched=_seen_in_contact(context, *seen))


def _seen_in_contact(context: _Context, lane: Lane, new: Lane, kinds, length, impacts):
    """Return what is watched after a step that has no derivative, as it has none."""
    motion, grazing, passed = context.motion, context.grazing, new.time - lane.time
    depth, path, clock = _scaled(kinds, length, motion)
    path = path.shifted(context.equation.offset)
    squared = jnp.stack(
        [t & c.hertz for t, c in zip(lane.touching, motion.contacts, strict=True)]
    )
    assert lane.watched is not None
    watched = watch_path(
        lane.watched,
        grazing,
        passed,
        lambda x: Polynomial(tuple(c[0] for c in clock.coefficients)).value(x),
        _known(motion, lane, new, _with_ends(RootPath(depth, squared))),
        _with_ends(path),
        _closed(motion, lane),
    )
    return _with_impacts(motion, lane, watched, impacts, grazing, passed)


def _integral(context: _Context, at, length):
    """Return the integral over a step of a `length` in a variable x.

    `at(x)`: time, positions, velocities and the rate of the time with x.
    """

    def one(node):
        time, position, velocity, pace = at(node * length)
        place = jnp.stack(position) + context.equation.offset
        return context.integrand(time, jnp.concatenate([place, jnp.stack(velocity)])) * pace

    nodes = _NODES + 0.5
    return length * jnp.tensordot(_WEIGHTS, jax.vmap(one)(jnp.asarray(nodes)), 1)


def _after_impacts(motion: Motion, lane: Lane, new: Lane, meets, rtol, rate):
    """Return the lane after the impacts at its hard stops, and what these were."""
    if not motion.hard:
        return new, None
    # It lies on the stop that it meets, but for a rounding.
    position = new.position
    for j in motion.hard:
        contact = motion.contacts[j]
        over = gap(contact, position) / along(contact, contact.response)
        over = jnp.where(meets[j], over, 0.0)
        position = [x - r * over for x, r in zip(position, contact.response, strict=True)]
    new = new._replace(position=position, touching=lane.touching)
    speed, slight = _slight(motion, new, rtol, rate)
    impacts = impact(motion, new, meets, speed, slight, rate)
    touching = list(impacts.touching)
    for j, contact in enumerate(motion.contacts):
        if not contact.hard:
            touching[j] = lane.touching[j] ^ meets[j]
    moved = new._replace(
        position=impacts.position, velocity=impacts.velocity, touching=touching
    )
    return moved, impacts


def _known(motion: Motion, lane: Lane, new: Lane, path):
    """Return a path of gaps whose ends have the signs that are known of them.

    What is left of z at an onset or a release is rounding. Hard contacts are never
    entered, and level where they hold.
    """
    depth, *ends = path
    if not motion.contacts:
        return path
    hard = jnp.asarray([contact.hard for contact in motion.contacts])
    holds = hard & jnp.stack(lane.touching)
    tiny = jnp.finfo(float).tiny
    known = []
    for (depths, speeds), there in zip(ends, (lane, new), strict=True):
        closed = jnp.stack(there.touching) & ~hard
        depths = jnp.where(closed, jnp.maximum(depths, tiny), jnp.minimum(depths, 0.0))
        known.append((depths, jnp.where(holds, 0.0, speeds)))
    return depth, *known


def _closed(motion: Motion, lane: Lane):
    """Return which contacts are closed all the step long; hard ones count by themselves."""
    closed = [
        touches & (not contact.hard)
        for touches, contact in zip(lane.touching, motion.contacts, strict=True)
    ]
    return jnp.stack(closed) if closed else None


def _with_impacts(
    motion: Motion, lane: Lane, watched, impacts: Impacts | None, grazing, passed
):
    """Return what is known after a step that may have ended with an impact."""
    if impacts is None:
        return watched
    fields = {
        name: list(getattr(watched, name))
        for name in ("touching", "onsets", "duration", "nearest", "impulse", "lost")
    }
    for i, j in enumerate(motion.hard):
        impulse, depth = impacts.impulses[i], impacts.depths[i]
        occurred = impacts.occurred[i]
        fields["touching"][j] = impacts.touching[j]
        counted = (occurred & (depth > grazing)).astype(jnp.int32)
        fields["onsets"][j] = fields["onsets"][j] + counted
        fields["duration"][j] += jnp.where(lane.touching[j], passed, 0.0)
        nearest = jnp.minimum(fields["nearest"][j], jnp.where(occurred, depth, jnp.inf))
        fields["nearest"][j] = nearest
        fields["impulse"][j] = jnp.maximum(fields["impulse"][j], impulse)
        fields["lost"][j] = fields["lost"][j] + impacts.losses[i]
    return watched._replace(**{name: jnp.stack(rows) for name, rows in fields.items()})


def _with_ends(path):
    ends = [(path.value(jnp.asarray(x)), path.slope(jnp.asarray(x))) for x in (0.0, 1.0)]
    return path, *ends


def _scaled(kinds, length, motion):
    """Return kinds of series as polynomials with their step as the unit."""
    powers = [jnp.ones_like(length)]
    while len(powers) < max(len(row) for rows in kinds for row in rows):
        powers.append(motion.once(powers[-1] * length))
    return [
        Polynomial(
            tuple(
                jnp.stack([row[k] * power for row in rows])
                for k, power in enumerate(powers[: len(rows[0])])
            )
            if rows
            else (jnp.zeros(0),) * 3
        )
        for rows in kinds
    ]


def _after(motion, lane, position, velocity, time, meets, ends, end) -> Lane:
    touching = [touches ^ meet for touches, meet in zip(lane.touching, meets, strict=True)]
    sizes = []
    for j, size in zip(motion.hertz, lane.sizes, strict=True):
        onset = meets[j] & touching[j]
        contact = motion.contacts[j]
        sizes.append(jnp.where(onset, impact_size(contact, along(contact, velocity)), size))
    # The rounding of a time is no time.
    late = time >= end - 4 * jnp.finfo(float).eps * jnp.abs(end)
    landed = motion.still(end) + (time - motion.still(time)) if motion.steady else end
    time = jnp.where(ends | late, landed, time)
    return Lane(
        list(position),
        list(velocity),
        time,
        list(lane.roots),
        touching,
        sizes,
        lane.steps + 1,
        lane.watched,
        lane.integral,
    )
