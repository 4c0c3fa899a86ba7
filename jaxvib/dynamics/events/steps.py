"""Steps of event-driven integration: flights, and steps in contact."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..measure import Measure
from ..observables import Observables
from .damped import lifted, parts, separated
from .flight import Step, flight_step
from .friction import FrictionEvents, after_frictions, friction_forces_on_step
from .hard_stop import impact
from .hertz_contact import contact_step, least_root
from .observation import observed_in_contact, observed_in_flight
from .rates import contact_rate, impact_size, motion_speed, pressed_rate
from .rows import minus
from .scalar_system import ScalarSystem, along, restart_loads
from .series import any_of, slope, value, value_and_slope
from .springs import spring_rate

# Taylor steps in flight are cheap; errors come from those in contact.
_IN_FLIGHT = 1e-3
# Impacts below this part of the hardest one's sqrt(z) share its absolute error.
_SLIGHT = 1e-2
# Rebounds of a hard stop are cut off below this part of the tolerance.
_REBOUNDS = 0.1
# Gauss nodes and weights on a step, for integrals along the motion.
_NODES, _WEIGHTS = (w / 2 for w in np.polynomial.legendre.leggauss(8))


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
    observables: Observables | None
    integral: Any
    sliding: list


class Context(NamedTuple):
    """Data common to all steps of an integration."""

    motion: ScalarSystem
    equation: Any
    end: Any
    rtol: Any
    rates: Any
    longest: Any
    turn: Any
    grazing: Any
    measure: Measure | None


def step_in_flight(context: Context, lane: Lane) -> Lane:
    """Take a step with open Hertz contacts."""
    motion, _, end, rtol, *_, measure = context
    rates, longest = _current_rates(context, lane)
    motion, end = restart_loads(motion, lane.time, end)
    accuracy = _IN_FLIGHT * rtol
    step = flight_step(motion, lane, end, accuracy, rates, longest)
    rows, depths, length = step[:3]
    ends_of_rows = [value_and_slope(row, length) for row in rows]
    position, velocity = [x for x, _ in ends_of_rows], [v for _, v in ends_of_rows]
    position = lifted(motion, lane, position, depths, length)
    moved = position, velocity, lane.time + length
    if motion.steady:
        moved = at_onset(motion, step.meets, *moved, rows, length)
    closed = _with_final_roots(motion, lane, lane.roots, step.meets, position)
    new = _lane_after(motion, closed, moved, step, end)
    new, impacts = _after_events(motion, lane, new, step, rtol, rates[0])
    if measure is not None:

        def at(x):
            moved = [value(r, x) for r in rows], [slope(r, x) for r in rows]
            return lane.time + x, *moved, 1.0

        new = _with_integral(context, lane, new, at, length, impacts)
    if lane.observables is None:
        return new
    seen = jax.lax.stop_gradient((lane, new, rows, depths, length, impacts))
    return new._replace(observables=observed_in_flight(context, *seen))


def step_in_contact(context: Context, lane: Lane) -> Lane:
    """Take a step with a closed Hertz contact."""
    motion, _, end, rtol, _, _, turn, _, measure = context
    (rate, own), _ = _current_rates(context, lane)
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
    step = contact_step(motion, lane, end, *settings, *scales)
    series, depths, length, meets = step[:4]
    kinds = series.position, series.velocity, [series.time], series.roots
    position, velocity, (time,), roots = (
        [value(row, length) for row in rows] for rows in kinds
    )
    for i, j in enumerate(motion.hertz):
        contact, released = motion.contacts[j], meets[j] & lane.touching[j]
        if contact.damped:
            released = released & ~parts(contact, velocity, roots[i], sizes[i])
        # Where u has reached 0, z is the error of the steps.
        over = contact.depth(position) / along(contact, contact.response)
        over = motion.still(jnp.where(released, over, 0.0))
        position = minus(position, contact.response, over)
        begun = jnp.where(lane.touching[j], 0.0, least_root(motion, speed / rate))
        roots[i] = jnp.where(meets[j], begun, roots[i])
    position = lifted(motion, lane, position, depths, length)
    closed = _with_final_roots(motion, lane, roots, meets, position)
    new = _lane_after(motion, closed, (position, velocity, time), step, end)
    new, impacts = _after_events(motion, lane, new, step, rtol, rate)
    if measure is not None:

        def at(x):
            kinds = series.position, series.velocity
            moved = [[value(r, x) for r in rows] for rows in kinds]
            return value(series.time, x), *moved, slope(series.time, x)

        new = _with_integral(context, lane, new, at, length, impacts)
    if lane.observables is None:
        return new
    kinds = depths, series.position, [series.time], series.velocity
    seen = jax.lax.stop_gradient((lane, new, kinds, length, impacts))
    return new._replace(observables=observed_in_contact(context, *seen))


def _current_rates(context: Context, lane: Lane):
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


def _with_final_roots(
    motion: ScalarSystem, lane: Lane, roots: list, meets, position
) -> Lane:
    """Return a lane with the roots at its end, also of contacts that close indented."""
    roots = list(roots)
    for i, j in enumerate(motion.hertz):
        contact = motion.contacts[j]
        if contact.damped:
            again = meets[j] & separated(contact, lane.touching[j], lane.position)
            depth = jnp.where(again, contact.depth(position), 1.0)
            roots[i] = jnp.where(again, jnp.sqrt(depth), roots[i])
    return lane._replace(roots=roots)


def _with_integral(context: Context, lane: Lane, new: Lane, at, length, impacts) -> Lane:
    """Integrate over a step of a `length` in a variable x.

    `at(x)`: time, positions, velocities and the derivative of the time by x.
    """
    motion, equation, measure = context.motion, context.equation, context.measure
    assert measure is not None

    def one(node):
        time, position, velocity, dt_dtau = at(node * length)
        place = jnp.stack(position) + equation.offset
        state = jnp.concatenate([place, jnp.stack(velocity)])
        borne = functools.partial(
            friction_forces_on_step, motion, equation, lane, time, state
        )
        return measure.rates(equation, time, state, borne) * dt_dtau

    nodes = jnp.asarray(_NODES + 0.5)
    added = length * jnp.tensordot(_WEIGHTS, jax.vmap(one)(nodes), 1)
    if impacts is not None:
        losses = [jnp.zeros_like(lane.time) for _ in equation.contacts]
        for i, j in enumerate(motion.hard):
            losses[j] = impacts.losses[i]
        more = measure.at_impacts(equation, losses)
        added = added if more is None else added + more
    return new._replace(integral=lane.integral + added)


def _after_events(motion: ScalarSystem, lane: Lane, new, step: Step, rtol, rate):
    """Apply impacts and changes of frictions; return the lane and the impacts."""
    meets, impacts = step.meets, None
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
    # A load or a factor may be only piecewise analytic.
    broken = any(part.law.breaks for part in (*motion.pushes, *motion.factors))
    jumps += [step.ends] if broken else []
    happens = FrictionEvents(step.slips, touched, struck, any_of(jumps))
    new = after_frictions(motion, new, happens, *speed_and_slight(motion, new, rtol, rate))
    if impacts is not None:
        impacts = impacts._replace(touching=new.touching)
    return new, impacts


def _after_impacts(motion: ScalarSystem, lane: Lane, new: Lane, meets, rtol, rate):
    """Apply the impacts at hard stops; return the lane and the impacts."""
    # Place the contact exactly on its stop, removing the rounding error.
    position = new.position
    for j in motion.hard:
        contact = motion.contacts[j]
        over = contact.depth(position) / along(contact, contact.response)
        over = jnp.where(meets[j], over, 0.0)
        position = minus(position, contact.response, over)
    new = new._replace(position=position, touching=lane.touching)
    speed, slight = speed_and_slight(motion, new, rtol, rate)
    impacts = impact(motion, new, meets, speed, slight, rate)
    touching = list(impacts.touching)
    for j, contact in enumerate(motion.contacts):
        if not contact.hard:
            touching[j] = lane.touching[j] ^ meets[j]
    moved = new._replace(
        position=impacts.position, velocity=impacts.velocity, touching=touching
    )
    return moved, impacts


def _lane_after(motion, lane: Lane, moved: tuple, step: Step, end) -> Lane:
    """Return the lane with its contacts at the end of a step, (position, ..., time)."""
    (position, velocity, time), meets = moved, step.meets
    touching = [touches ^ meet for touches, meet in zip(lane.touching, meets, strict=True)]
    sizes = []
    for j, size in zip(motion.hertz, lane.sizes, strict=True):
        onset = meets[j] & touching[j]
        contact = motion.contacts[j]
        sizes.append(jnp.where(onset, impact_size(contact, along(contact, velocity)), size))
    # Treat a remaining time of the size of rounding as zero.
    late = time >= end - 4 * jnp.finfo(float).eps * jnp.abs(end)
    landed = jax.lax.stop_gradient(end) + (time - jax.lax.stop_gradient(time))
    time = jnp.where(step.ends | late, landed, time)
    lane = lane._replace(position=list(position), velocity=list(velocity), time=time)
    return lane._replace(touching=touching, sizes=sizes, steps=lane.steps + 1)


def speed_and_slight(motion: ScalarSystem, lane: Lane, rtol, rate):
    """Return the motion's speed, m/s, and a height, m, below its error."""
    speed = jax.lax.stop_gradient(motion_speed(motion, lane, rate, rate))
    return speed, _REBOUNDS * rtol * speed / rate


def at_onset(
    motion: ScalarSystem,
    meets: list,
    position: list,
    velocity: list,
    time: Array,
    rows: list,
    length: Array,
) -> tuple[list, list, Array]:
    """Return the end of a flight, with tangents at the onset that ends it.

    `rows`: the flight's series, evaluated up to `length`.
    """
    acceleration = [_second(row, length) for row in motion.still(rows)]
    after = jnp.zeros_like(time)
    for j in motion.hertz:
        contact = motion.contacts[j]
        speed = motion.still(along(contact, velocity))
        met = meets[j] & (speed > 0)
        delay = -contact.depth(position) / jnp.where(met, speed, 1.0)
        after = jnp.where(met, delay - motion.still(delay), after)
    rates = motion.still((velocity, acceleration))
    position, velocity = (
        [x + rate * after for x, rate in zip(row, row_rates, strict=True)]
        for row, row_rates in zip((position, velocity), rates, strict=True)
    )
    return position, velocity, time + after


def _second(series, s):
    """Return the second derivative at s."""
    return value([k * (k - 1.0) * c for k, c in enumerate(series)][2:], s)
