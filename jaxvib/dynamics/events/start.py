"""Starts of event-driven integration: the lane, its rates and its contacts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.equation import Time
from ...systems.impact import EquationOfMotion
from ..measure import Measure
from .damped import force_factor
from .flight import ONSET
from .friction import start_sliding
from .hard_stop import speed_signs, start_holding
from .normal_forces import loose_signs
from .rates import impact_size, longest_turn, motion_rates
from .scalar_system import ORDER, ScalarSystem, along, gap, is_smooth, scalar_system
from .series import largest
from .steps import Context, Lane, speed_and_slight


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
        depth = gap(contact, position)
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
    return lane, jnp.where(outside, end, lane.time), outside
