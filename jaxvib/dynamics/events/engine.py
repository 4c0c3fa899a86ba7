"""Event-driven integration: flights between contacts, and the contacts themselves."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ...foundation.types import Number
from ...systems.equation import Time
from ...systems.impact import EquationOfMotion
from ..barrier import Barrier
from ..observables import Observables, init_observables
from .damped import grip_of, parts, separated
from .ending import moved_to_end
from .flight import ONSET, flight_step
from .friction import Happens, after_frictions, borne_forces, start_sliding
from .hard_stop import accelerations, impact, speed_signs, start_holding
from .hertz_contact import contact_step, least_root
from .normal_forces import loose_signs
from .observation import observed_in_contact, observed_in_flight
from .onset import at_onset
from .rates import (
    contact_rate,
    impact_size,
    longest_turn,
    motion_rates,
    motion_speed,
    pressed_rate,
)
from .scalar_system import (
    ORDER,
    ScalarSystem,
    along,
    gap,
    has_breaks,
    is_smooth,
    restart_loads,
    scalar_system,
)
from .series import any_of, largest, slope, value, value_and_slope
from .springs import spring_rate

# Limits endless motions, which would block all lanes of a batch.
MOST_STEPS = 1_000_000
# Taylor steps in flight are cheap; errors come from those in contact.
_IN_FLIGHT = 1e-3
# Impacts below this part of the hardest one's sqrt(z) share its absolute error.
_SLIGHT = 1e-2
# The longest step with observables, in units of the inverse rate.
_TURN = 2.0
# Rebounds of a hard stop are cut off below this part of the tolerance.
_REBOUNDS = 0.1
# Gauss nodes and weights on a step, for integrals along the motion.
_NODES, _WEIGHTS = (w / 2 for w in np.polynomial.legendre.leggauss(8))
# A start deeper than this in a hard stop, in units of the motion's size, is rejected.
_INSIDE = 1e-3


class Lane(NamedTuple):
    """The state of a motion and of its contacts.

    `roots`: u of each Hertz contact; `touching`: whether each contact is closed;
    `sizes`: expected maximum of each u; `sliding`: the sign of each friction's speed,
    0 while it sticks.
    """

    position: list
    velocity: list
    time: Any
    roots: list
    touching: list
    sizes: list
    steps: Any
    watched: Observables | None
    integral: Any
    sliding: list


class Integrand(NamedTuple):
    """An integrand along a motion.

    `rate(time, state, borne)`: of shape (m,), where `borne()` returns the force R of
    each friction, N, in that state. `at_impacts(losses)`: the contribution of impacts
    at hard stops from the energies, J, that they lose; None for no contribution.
    """

    rate: Callable
    at_impacts: Callable | None = None


class _Context(NamedTuple):
    """Data common to all steps of an integration."""

    motion: ScalarSystem
    equation: Any
    end: Any
    rtol: Any
    rates: Any
    longest: Any
    turn: Any
    grazing: Any
    integrand: Integrand | None


class EventSolution(NamedTuple):
    """End of a motion: state, reason code, number of steps, and observables.

    `held`: the force of each hard contact that holds at the end, N, else 0;
    `integral`: of the integrand along the motion.
    """

    state: Float[Array, " state"]
    result: Int[Array, ""]
    steps: Int[Array, ""]
    watched: Any
    held: Float[Array, " contacts"]
    integral: Any


class Request(NamedTuple):
    """Options of `integrate_events`: outputs besides the state, and differentiation.

    With a `grazing` depth, m, contacts, forces and displacements are observed, starting
    from `watched` if given. The `integrand` is integrated along the motion.

    `one`: a 1, whose tangent `event_problem` sets for sensitivities. Flights then have
    shorter steps: the series of sensitivities can be longer than the motion's own.

    `steady`: whether only first derivatives are requested. They then follow the linear
    equations along the motion, at half the cost: the time elapsed in a Hertz contact
    has no derivative, as accelerations do not jump at its end. The time of its onset
    has one: otherwise velocities in a rigid contact would change by its great
    accelerations times that derivative, which cancel at its end. No effect with hard
    stops.

    `order`: of the Taylor steps of flights; in contact it is two thirds of that.
    """

    grazing: Any = None
    watched: Any = None
    integrand: Integrand | None = None
    one: Any = None
    steady: bool = False
    order: int = ORDER


END = Request()  # the end only


def integrate_events(
    equation: EquationOfMotion,
    state: Array,
    t0: Time,
    t1: Time,
    rtol: Number,
    asked: Request = END,
) -> EventSolution:
    r"""Return the state at t1 of a linear system with contacts and loads.

    Flights are Taylor steps of the linear motion, of high order. Each ends at the first
    root of a gap or before it: where a gap's series is bounded by a parabola, the
    parabola's root is not behind the gap's. Contacts with Hertz's law are Taylor steps
    in $\tau$, $dt = 2\sqrt z\,d\tau$, in which they are analytic from onset to release;
    linear contacts are part of the flights. Hard stops are events: see `stop`.
    """
    numbers = [leaf for leaf in jax.tree.leaves(equation) if getattr(leaf, "size", 0)]
    finite = jnp.all(
        jnp.stack([jnp.all(jnp.isfinite(x)) for x in [*numbers, state, t0, t1]])
    ) & (t1 >= t0)
    steady = asked.steady and is_smooth(equation) and equation.next_breakpoint(t0) is None
    sensitivities, one = asked.one is not None, 1.0 if asked.one is None else asked.one
    barrier = Barrier(jnp.where(finite, one, jnp.nan))
    motion = scalar_system(equation, barrier, steady, asked.order)
    # A lane with invalid input takes no step, so that it delays no other.
    end = jnp.where(finite, jnp.asarray(t1, float), t0)
    watched, integrand = asked.watched, asked.integrand
    if asked.grazing is not None and watched is None:
        watched = init_observables(t0, jax.lax.stop_gradient(state), equation)
    lane = _start(motion, equation, state, t0, watched)
    rate, own = motion_rates(motion, lane, end - t0)
    if integrand is not None:
        borne = [jnp.zeros(())] * len(motion.frictions)
        nothing = jax.eval_shape(lambda: integrand.rate(lane.time, state, lambda: borne))
        lane = lane._replace(integral=jnp.zeros(nothing.shape))
    # An observed signal turns at most once in a step.
    longest = jnp.inf if watched is None else _TURN / rate
    turn = jnp.inf
    if sensitivities:
        longest = jnp.minimum(longest, longest_turn(rtol, motion.order) / rate)
        turn = longest_turn(rtol, motion.order_in_contact)
    settings = rtol, (rate, own), longest, turn
    context = _Context(motion, equation, end, *settings, asked.grazing, integrand)
    if motion.holders:
        lane, end, finite = _start_held(motion, lane, end, finite, rtol, rate)
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
    if sensitivities:
        lane = moved_to_end(context, lane)
    final = jnp.stack([*lane.position, *lane.velocity])
    final = final + jnp.concatenate([equation.offset, jnp.zeros_like(equation.offset)])
    code = jnp.where(lane.time < end, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(jnp.all(jnp.isfinite(final)), code, Reason.STEP_UNDERFLOW)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    # A factor, so that derivatives of a failed motion are NaN too.
    known = jnp.where(code == Reason.SUCCESS, 1.0, jnp.nan)
    integral = None if lane.integral is None else lane.integral * known
    held = jax.lax.stop_gradient(_held(motion, lane))[: len(equation.contacts)]
    return EventSolution(final * known, code, lane.steps, lane.watched, held, integral)


def _start(motion: ScalarSystem, equation, state, t0, watched) -> Lane:
    position, velocity = jnp.split(state, 2)
    position, velocity = list(position - equation.offset), list(velocity)
    roots, touching, sizes = [], [], []
    slight = ONSET * largest([jnp.abs(x) for x in position])
    for contact in motion.contacts:
        depth = gap(contact, position)
        closed = (depth > (slight if contact.hertz else 0.0)) & (not contact.hard)
        if contact.damped:
            closed = closed & (grip_of(contact, depth, along(contact, velocity)) > 0)
        touching.append(closed)
        if contact.hertz:
            root = jnp.where(closed, jnp.sqrt(jnp.where(closed, depth, 1.0)), 0.0)
            roots.append(motion.still(root))
            sizes.append(impact_size(contact, along(contact, velocity)))
    steps = jnp.asarray(0, jnp.int32)
    time = jnp.asarray(t0, float)
    known = roots, touching, sizes, steps, watched, None
    return Lane(position, velocity, time, *known, [jnp.zeros(()) for _ in motion.frictions])


def _start_held(motion: ScalarSystem, lane: Lane, end, finite, rtol, rate):
    """Return the start with holding constraints, its end, and whether it is valid."""
    speed, slight = _slight(motion, lane, rtol, rate)
    depths = [gap(motion.contacts[j], lane.position) for j in motion.hard]
    if motion.frictions:
        signs = speed_signs(motion, lane.velocity, speed)
        lane = lane._replace(sliding=loose_signs(motion, lane.touching, signs))
    if motion.hard:
        position, velocity, touching = start_holding(motion, lane, speed, slight)
        lane = lane._replace(position=position, velocity=velocity, touching=touching)
    if motion.frictions:
        lane = start_sliding(motion, lane, speed, slight)
    outside = largest([jnp.zeros(()), *depths]) <= _INSIDE * speed / rate
    return lane, jnp.where(outside, end, lane.time), finite & outside


def _slight(motion: ScalarSystem, lane: Lane, rtol, rate):
    """Return the motion's speed, m/s, and a height, m, below its error."""
    speed = jax.lax.stop_gradient(motion_speed(motion, lane, rate, rate))
    return speed, _REBOUNDS * rtol * speed / rate


def _held(motion: ScalarSystem, lane: Lane):
    """Return the force of each hard contact that holds, N, 0 for the others."""
    forces = [jnp.zeros_like(lane.time) for _ in motion.contacts]
    if motion.hard:
        _, holding = accelerations(motion, lane, lane.touching)
        for i, j in enumerate(motion.hard):
            forces[j] = holding[i]
    return jnp.stack(forces) if forces else jnp.zeros(0)


def _paced(context: _Context, lane: Lane):
    """Return the motion's rates, 1/s, and its longest step, s, in the current state."""
    motion, (rate, own), longest = context.motion, context.rates, context.longest
    added = pressed_rate(motion, lane, rate)
    if motion.springs:
        added += spring_rate(motion, lane.position, lane.velocity, rate)
    if isinstance(added, float):  # 0: neither is present
        return (rate, own), longest
    added = jax.lax.stop_gradient(added)
    faster = rate + added
    return (faster, own + added), longest * rate / faster


def _flight(context: _Context, lane: Lane) -> Lane:
    """Take a step with open Hertz contacts."""
    motion, _, end, rtol, *_, integrand = context
    rates, longest = _paced(context, lane)
    motion, end = restart_loads(motion, lane.time, end)
    accuracy = _IN_FLIGHT * rtol
    rows, depths, length, meets, slips, ends = flight_step(
        motion, lane, end, accuracy, rates, longest
    )
    ends_of_rows = [value_and_slope(row, length) for row in rows]
    position, velocity = motion.once(
        ([x for x, _ in ends_of_rows], [v for _, v in ends_of_rows])
    )
    moved = position, velocity, lane.time + length
    if motion.steady:
        moved = at_onset(motion, meets, *moved, rows, length)
    closed = _closed_again(motion, lane, lane.roots, meets, position)
    new = _after(motion, closed, *moved, meets, ends, end)
    new, impacts = _after_events(motion, lane, new, meets, slips, ends, rtol, rates[0])
    if integrand is not None:

        def at(x):
            moved = [value(r, x) for r in rows], [slope(r, x) for r in rows]
            return lane.time + x, *moved, 1.0

        new = _with_integral(context, lane, new, at, length, impacts)
    if lane.watched is None:
        return new
    seen = jax.lax.stop_gradient((lane, new, rows, depths, length, impacts))
    return new._replace(watched=observed_in_flight(context, *seen))


def _closed_again(motion: ScalarSystem, lane: Lane, roots: list, meets, position) -> Lane:
    """Return a lane with the roots at its end, also of contacts that close indented."""
    roots = list(roots)
    for i, j in enumerate(motion.hertz):
        contact = motion.contacts[j]
        if contact.damped:
            again = meets[j] & separated(contact, lane.touching[j], lane.position)
            depth = jnp.where(again, gap(contact, position), 1.0)
            roots[i] = jnp.where(again, jnp.sqrt(depth), roots[i])
    return lane._replace(roots=roots)


def _contact(context: _Context, lane: Lane) -> Lane:
    """Take a step with a closed Hertz contact."""
    motion, _, end, rtol, _, _, turn, _, integrand = context
    (rate, own), _ = _paced(context, lane)
    motion, end = restart_loads(motion, lane.time, end)
    speed = jax.lax.stop_gradient(motion_speed(motion, lane, rate, own))
    hertz = [motion.contacts[j] for j in motion.hertz]
    sizes = [
        jnp.maximum(jnp.maximum(root, size), _SLIGHT * impact_size(contact, speed))
        for contact, root, size in zip(hertz, lane.roots, lane.sizes, strict=True)
    ]
    scales = jax.lax.stop_gradient((speed, sizes))
    longest = turn / jax.lax.stop_gradient(contact_rate(motion, lane, rate, sizes))
    settings = rtol, rate, longest
    series, depths, length, meets, slips, ends = contact_step(
        motion, lane, end, *settings, *scales
    )
    kinds = series.position, series.velocity, [series.time], series.roots
    position, velocity, (time,), roots = motion.once(
        [[value(row, length) for row in rows] for rows in kinds]
    )
    for j, i in zip(motion.hertz, range(len(roots)), strict=True):
        contact, released = motion.contacts[j], meets[j] & lane.touching[j]
        if contact.damped:
            released = released & ~parts(contact, velocity, roots[i], sizes[i])
        # Where u has reached 0, z is the error of the steps.
        over = gap(contact, position) / along(contact, contact.response)
        over = motion.still(jnp.where(released, over, 0.0))
        position = [x - r * over for x, r in zip(position, contact.response, strict=True)]
        begun = jnp.where(lane.touching[j], 0.0, least_root(motion, speed / rate))
        roots[i] = jnp.where(meets[j], begun, roots[i])
    closed = _closed_again(motion, lane, roots, meets, position)
    new = _after(motion, closed, position, velocity, time, meets, ends, end)
    new, impacts = _after_events(motion, lane, new, meets, slips, ends, rtol, rate)
    if integrand is not None:

        def at(x):
            kinds = series.position, series.velocity
            moved = [[value(r, x) for r in rows] for rows in kinds]
            return value(series.time, x), *moved, slope(series.time, x)

        new = _with_integral(context, lane, new, at, length, impacts)
    if lane.watched is None:
        return new
    kinds = depths, series.position, [series.time], series.velocity
    seen = jax.lax.stop_gradient((lane, new, kinds, length, impacts))
    return new._replace(watched=observed_in_contact(context, *seen))


def _with_integral(context: _Context, lane: Lane, new: Lane, at, length, impacts) -> Lane:
    """Integrate over a step of a `length` in a variable x.

    `at(x)`: time, positions, velocities and the derivative of the time by x.
    """
    motion, equation, integrand = context.motion, context.equation, context.integrand
    assert integrand is not None

    def one(node):
        time, position, velocity, dt_dtau = at(node * length)
        place = jnp.stack(position) + equation.offset
        state = jnp.concatenate([place, jnp.stack(velocity)])
        borne = functools.partial(borne_forces, motion, equation, lane, time, state)
        return integrand.rate(time, state, borne) * dt_dtau

    nodes = jnp.asarray(_NODES + 0.5)
    added = length * jnp.tensordot(_WEIGHTS, jax.vmap(one)(nodes), 1)
    if impacts is not None and integrand.at_impacts is not None:
        losses = [jnp.zeros_like(lane.time) for _ in equation.contacts]
        for i, j in enumerate(motion.hard):
            losses[j] = impacts.losses[i]
        added = added + integrand.at_impacts(losses)
    return new._replace(integral=lane.integral + added)


def _after_events(motion: ScalarSystem, lane: Lane, new, meets, slips, ends, rtol, rate):
    """Apply impacts and changes of frictions; return the lane and the impacts."""
    impacts = None
    if motion.hard:
        new, impacts = _after_impacts(motion, lane, new, meets, rtol, rate)
    if not motion.frictions:
        return new, impacts
    struck = any_of([meets[j] for j in motion.hard])
    touched = [
        meets[friction.presses[0]] if friction.presses else jnp.zeros((), bool)
        for friction in motion.frictions
    ]
    jumps = [meets[j] for j, c in enumerate(motion.contacts) if c.damped and c.linear]
    jumps += [ends] if has_breaks(motion) else []
    happens = Happens(slips, touched, struck, any_of(jumps))
    new = after_frictions(motion, new, happens, *_slight(motion, new, rtol, rate))
    if impacts is not None:
        impacts = impacts._replace(touching=new.touching)
    return new, impacts


def _after_impacts(motion: ScalarSystem, lane: Lane, new: Lane, meets, rtol, rate):
    """Apply the impacts at hard stops; return the lane and the impacts."""
    # Place the contact exactly on its stop, removing the rounding error.
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


def _after(motion, lane, position, velocity, time, meets, ends, end) -> Lane:
    touching = [touches ^ meet for touches, meet in zip(lane.touching, meets, strict=True)]
    sizes = []
    for j, size in zip(motion.hertz, lane.sizes, strict=True):
        onset = meets[j] & touching[j]
        contact = motion.contacts[j]
        sizes.append(jnp.where(onset, impact_size(contact, along(contact, velocity)), size))
    # Treat a remaining time of the size of rounding as zero.
    late = time >= end - 4 * jnp.finfo(float).eps * jnp.abs(end)
    landed = jax.lax.stop_gradient(end) + (time - jax.lax.stop_gradient(time))
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
        lane.sliding,
    )
