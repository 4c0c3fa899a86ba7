"""Event-driven integration: flights between contacts, and the contacts themselves."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...ensemble import Reason
from ...foundation.types import Number
from ...systems.base.equation import Time
from ...systems.impact import EquationOfMotion
from ..measure import Measure
from ..motion import Motion, reason_code
from ..observables import init_observables
from .damped import force_factor
from .flight import ONSET
from .friction import friction_forces_on_step, start_sliding
from .hard_stop import accelerations, speed_signs, start_holding
from .normal_forces import loose_signs
from .rates import impact_size, longest_turn, motion_rates
from .scalar_system import ORDER, ScalarSystem, along, is_smooth, scalar_system
from .series import any_of, largest
from .steps import Context, Lane, speed_and_slight, step_in_contact, step_in_flight


class Request(NamedTuple):
    """Options of `integrate_events`: outputs besides the state, and differentiation.

    With a `grazing` depth, m, contacts, forces and displacements are observed, starting
    from `observables` if given. The `measure` is integrated along the motion.

    `differentiated`: whether sensitivities are computed. Flights then have shorter
    steps: the series of sensitivities can be longer than the motion's own.

    `steady`: whether only first derivatives are requested. They then follow the linear
    equations along the motion, at half the cost: the time elapsed in a Hertz contact
    has no derivative, as accelerations do not jump at its end. The time of its onset
    has one: otherwise velocities in a rigid contact would change by its great
    accelerations times that derivative, which cancel at its end. No effect with hard
    stops.

    `order`: of the Taylor steps of flights; in contact it is two thirds of that.
    """

    grazing: Any = None
    observables: Any = None
    measure: Measure | None = None
    differentiated: bool = False
    steady: bool = False
    order: int = ORDER


# The longest step with observables, in units of the inverse rate.
_TURN = 2.0
# A start deeper than this in a hard stop, in units of the motion's size, is rejected.
_INSIDE = 1e-3


def motion_of(
    equation: EquationOfMotion, state: Array, t0: Time, t1: Time, request: Request
) -> tuple[ScalarSystem, Array, Array]:
    """Return a motion's equations, its end, and whether all inputs are finite."""
    numbers = [leaf for leaf in jax.tree.leaves(equation) if getattr(leaf, "size", 0)]
    finite = jnp.all(
        jnp.stack([jnp.all(jnp.isfinite(x)) for x in [*numbers, state, t0, t1]])
    ) & (t1 >= t0)
    steady = request.steady and is_smooth(equation) and equation.next_breakpoint(t0) is None
    motion = scalar_system(equation, steady, request.order)
    # A lane with invalid input takes no step, so that it delays no other.
    return motion, jnp.where(finite, jnp.asarray(t1, float), t0), finite


def started(
    motion: ScalarSystem,
    equation: EquationOfMotion,
    state: Array,
    t0: Time,
    end: Array,
    rtol: Number,
    request: Request,
) -> tuple[Lane, Context, Any]:
    """Return a motion's start, the data of its steps, and whether it is valid.

    An invalid start, inside a hard stop, has its end at once.
    """
    observables, measure = request.observables, request.measure
    lane = _start(motion, equation, state, t0, observables)
    rate, own = motion_rates(motion, lane, end - t0)
    if measure is not None:
        borne = [jnp.zeros(())] * len(motion.frictions)
        start = equation, lane.time, state
        nothing = jax.eval_shape(lambda: measure.rates(*start, lambda: borne))
        lane = lane._replace(integral=jnp.zeros(nothing.shape))
    # An observed signal turns at most once in a step.
    longest = jnp.inf if observables is None else _TURN / rate
    turn = jnp.inf
    if request.differentiated:
        longest = jnp.minimum(longest, longest_turn(rtol, motion.order) / rate)
        turn = longest_turn(rtol, motion.order_in_contact)
    settings = rtol, (rate, own), longest, turn
    context = Context(motion, equation, end, *settings, request.grazing, measure)
    if not motion.holders:
        return lane, context, True
    lane, end, valid = _start_held(motion, lane, end, rtol, rate)
    return lane, context._replace(end=end), valid


def _start(motion: ScalarSystem, equation, state, t0, observables) -> Lane:
    position, velocity = jnp.split(state, 2)
    position, velocity = list(position - equation.offset), list(velocity)
    roots, touching, sizes = [], [], []
    slight = ONSET * largest([jnp.abs(x) for x in position])
    for contact in motion.contacts:
        depth = contact.depth(position)
        closed = (depth > (slight if contact.hertz else 0.0)) & (not contact.hard)
        if contact.damped:
            closed = closed & (force_factor(contact, depth, along(contact, velocity)) > 0)
        touching.append(closed)
        if contact.hertz:
            root = jnp.where(closed, jnp.sqrt(jnp.where(closed, depth, 1.0)), 0.0)
            roots.append(motion.still(root))
            sizes.append(impact_size(contact, along(contact, velocity)))
    steps = jnp.asarray(0, jnp.int32)
    time = jnp.asarray(t0, float)
    known = roots, touching, sizes, steps, observables, None
    return Lane(position, velocity, time, *known, [jnp.zeros(()) for _ in motion.frictions])


def _start_held(motion: ScalarSystem, lane: Lane, end, rtol, rate):
    """Return the start with holding constraints, its end, and whether it is valid."""
    speed, slight = speed_and_slight(motion, lane, rtol, rate)
    depths = [motion.contacts[j].depth(lane.position) for j in motion.hard]
    if motion.frictions:
        signs = speed_signs(motion, lane.velocity, speed)
        lane = lane._replace(sliding=loose_signs(motion, lane.touching, signs))
    if motion.hard:
        position, velocity, touching = start_holding(motion, lane, speed, slight)
        lane = lane._replace(position=position, velocity=velocity, touching=touching)
    if motion.frictions:
        lane = start_sliding(motion, lane, speed, slight)
    outside = largest([jnp.zeros(()), *depths]) <= _INSIDE * speed / rate
    return lane, jnp.where(outside, end, lane.time), outside


# Limits endless motions, which would block all lanes of a batch.
MOST_STEPS = 1_000_000


END = Request()  # the end only


def integrate_events(
    equation: EquationOfMotion,
    state: Array,
    t0: Time,
    t1: Time,
    rtol: Number,
    request: Request = END,
) -> Motion:
    r"""Return the state at t1 of a linear system with contacts and loads.

    Flights are Taylor steps of the linear motion, of high order. Each ends at the first
    root of a gap or before it: where a gap's series is bounded by a parabola, the
    parabola's root is not behind the gap's. Contacts with Hertz's law are Taylor steps
    in $\tau$, $dt = 2\sqrt z\,d\tau$, in which they are analytic from onset to release;
    linear contacts are part of the flights. Hard stops are events: see `hard_stop`. The
    `forces` are those of hard contacts that hold at the end, 0 for others.
    """
    motion, end, finite = motion_of(equation, state, t0, t1, request)
    if request.grazing is not None and request.observables is None:
        observables = init_observables(t0, jax.lax.stop_gradient(state), equation)
        request = request._replace(observables=observables)
    lane, context, valid = started(motion, equation, state, t0, end, rtol, request)
    lane = _advanced(
        motion,
        lane,
        lambda lane: lane,
        lambda lane: unfinished(lane, context.end),
        lambda lane: step_in_flight(context, lane),
        lambda lane: step_in_contact(context, lane),
    )
    lane, final, code = _at_end(context, lane, finite & valid, request)
    # A factor, so that derivatives of a failed motion are NaN too.
    known = jnp.where(code == Reason.SUCCESS, 1.0, jnp.nan)
    integral = None if lane.integral is None else lane.integral * known
    holding = jax.lax.stop_gradient(_holding_forces(motion, lane))[: len(equation.contacts)]
    found = Motion(final * known, code, lane.steps, lane.observables)
    return found._replace(forces=holding, integral=integral)


class _Periods(NamedTuple):
    """A motion over consecutive periods: the states after those that are `done`.

    `rates` and `longest`: of the present period, see `Context`.
    """

    lane: Lane
    rates: tuple
    longest: Any
    done: Any
    states: Any
    result: Any


def integrate_periods(
    equation: EquationOfMotion,
    state: Array,
    period: Time,
    count: int,
    rtol: Number,
    request: Request = END,
) -> Motion:
    """Return the motion over `count` periods of the loads, with the states after each.

    As if each period were a call of `integrate_events` from time 0, to the bit; but
    here lanes that reach the end of a period do not wait for the others. States after
    a failure are NaN.
    """
    motion, end, finite = motion_of(equation, state, 0.0, period, request)

    def begin_period(state, observables):
        found = request._replace(observables=observables)
        return started(motion, equation, state, 0.0, end, rtol, found)

    lane, first, valid = begin_period(state, request.observables)

    def context(here: _Periods) -> Context:
        return first._replace(end=end, rates=here.rates, longest=here.longest)

    def go_on(here: _Periods):
        return (here.done < count) & (here.result == Reason.SUCCESS)

    def reached_end_of_period(here: _Periods):
        return go_on(here) & ~unfinished(here.lane, end)

    def next_period(here: _Periods) -> _Periods:
        """Store the state at the end of a period and begin the next one."""
        lane, state, code = _at_end(context(here), here.lane, True, request)
        row = (jnp.arange(count, dtype=jnp.int32) == here.done) & (code == Reason.SUCCESS)
        states = jnp.where(row[:, None], state, here.states)
        lane, there, valid = begin_period(state, lane.observables)
        done = here.done + 1
        invalid = ~jnp.asarray(valid) & (done < count)
        code = jnp.where((code == Reason.SUCCESS) & invalid, Reason.BAD_PARAMETER, code)
        code = code.astype(jnp.int32)
        return _Periods(lane, there.rates, there.longest, done, states, code)

    def after(step: Callable) -> Callable:
        # A loop of at most one turn: the tangents of a branch are computed separately.
        def stepped(here: _Periods) -> _Periods:
            here = here._replace(lane=step(context(here), here.lane))
            return jax.lax.while_loop(reached_end_of_period, next_period, here)

        return stepped

    code = jnp.where(finite & valid, Reason.SUCCESS, Reason.BAD_PARAMETER)
    code = code.astype(jnp.int32)
    states = jnp.full((count, state.shape[0]), jnp.nan)
    done = jnp.zeros((), jnp.int32)
    here = _Periods(lane, first.rates, jnp.asarray(first.longest), done, states, code)
    here = _advanced(
        motion, here, lambda here: here.lane, go_on,
        after(step_in_flight), after(step_in_contact),
    )  # fmt: skip
    found = Motion(here.states[-1], here.result, states=here.states)
    return found._replace(observables=here.lane.observables)


def unfinished(lane: Lane, end: Array) -> Array:
    """Return whether a motion has not reached its end."""
    return (lane.time < end) & (lane.steps < MOST_STEPS)


def _advanced(
    motion: ScalarSystem,
    start: Any,
    lane_of: Callable,
    go_on: Callable,
    in_flight: Callable,
    in_contact: Callable,
) -> Any:
    """Repeat steps in flight and in contact while `go_on`."""

    def in_hertz_contact(here):
        return any_of([lane_of(here).touching[j] for j in motion.hertz])

    def flights_and_contacts(here):
        here = jax.lax.while_loop(
            lambda here: go_on(here) & ~in_hertz_contact(here), in_flight, here
        )
        if not motion.hertz:
            return here
        return jax.lax.while_loop(
            lambda here: go_on(here) & in_hertz_contact(here), in_contact, here
        )

    return jax.lax.while_loop(go_on, flights_and_contacts, start)


def _at_end(context: Context, lane: Lane, valid: Any, request: Request):
    """Return a lane at the end of its motion, its state, and a reason code."""
    equation, end = context.equation, context.end
    if request.differentiated:
        lane = moved_to_end(context, lane)
    final = jnp.stack([*lane.position, *lane.velocity])
    final = final + jnp.concatenate([equation.offset, jnp.zeros_like(equation.offset)])
    return lane, final, reason_code(final, valid, lane.time < end)


def _holding_forces(motion: ScalarSystem, lane: Lane):
    """Return the force of each hard contact that holds, N, 0 for the others."""
    forces = [jnp.zeros_like(lane.time) for _ in motion.contacts]
    if motion.hard:
        _, holding = accelerations(motion, lane, lane.touching)
        for i, j in enumerate(motion.hard):
            forces[j] = holding[i]
    return jnp.stack(forces) if forces else jnp.zeros(0)


def moved_to_end(context: Any, lane: Any) -> Any:
    """Return a lane at the end time, with the first and second derivatives there.

    The time of an event that coincides with the end up to rounding depends on parameters;
    the end does not. The time between both is 0 but has derivatives: a step of Heun's
    method is taken. `context`: data common to all steps.
    """
    motion, equation, measure = context.motion, context.equation, context.measure
    left = context.end - lane.time
    half, size = left / 2, len(lane.position)

    def rates(lane):
        found = [*lane.velocity, *accelerations(motion, lane, lane.touching)[0]]
        if measure is None:
            return found, 0.0
        place = jnp.stack(lane.position) + equation.offset
        state = jnp.concatenate([place, jnp.stack(lane.velocity)])
        borne = functools.partial(
            friction_forces_on_step, motion, equation, lane, lane.time, state
        )
        return found, measure.rates(equation, lane.time, state, borne)

    def moved(changes):
        before = [*lane.position, *lane.velocity]
        state = [x + change for x, change in zip(before, changes, strict=True)]
        time = lane.time + left
        return lane._replace(position=state[:size], velocity=state[size:], time=time)

    first, added = rates(lane)
    second, more = rates(moved([left * rate for rate in first]))
    lane = moved([half * (a + b) for a, b in zip(first, second, strict=True)])
    if measure is None:
        return lane
    return lane._replace(integral=lane.integral + half * (added + more))
