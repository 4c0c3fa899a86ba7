r"""Motion of a system in modal form: exact flights and steps in contact.

A flight ends before any gap can have closed, by a bound of its curvature; such steps
approach an onset as Newton iteration does. Steps in contact end at onsets and releases,
so that forces are smooth within each. All steps depend on the contact forces only, not
on the number of modes.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ...foundation.arrays import as_array, combine_arrays, partition_arrays
from ...foundation.types import Number
from ...kernels import Kernel
from ...kernels.kernel_cache import cached_kernel
from ..observables import Observables, init_observables, update_observables
from .collocation import NODES, Collocation, turn_less_one, turned
from .contact import Forces, extrapolated, missed, nodal_forces
from .crossing import WITH_ENDS, crossing
from .gaps import Gaps, gaps_of
from .modal_form import LEVELS, ModalForm
from .sensitivities import moved_sensitivities, unit_sensitivities

# Limits endless motions: steps are a quarter of a period unless contacts shorten them.
MOST_STEPS = 1_000_000
# A step's error relative to the tolerance: errors accumulate.
_SHARE = 0.1
# The same for the sensitivities, which are needed to fewer digits.
_SHARE_OF_SENSITIVITIES = 10.0
# The error of a step falls with this power of its length.
_ORDER = NODES
# The forces of a step are extrapolated over less than this many lengths: beyond it they
# grow by orders of magnitude.
_FARTHEST = 3.0
# A step in contact may be longer by one level if its ratio is below this.
_COARSER = 2.0 ** -(_ORDER + 1)


# Beyond this share of a step the polynomial of a gap is less exact than its end.
_AT_END = 1 - 1e-4
# Allowed error of a step's quintic of displacements, relative to their size, where they
# are observed.
_UNKNOWN = 1e-9


class ExactSolution(NamedTuple):
    """End of a motion: state, sensitivities, observables and reason code."""

    state: Float[Array, " state"]
    sensitivities: Any
    watched: Any
    result: Int[Array, ""]
    steps: Int[Array, ""]


class _Lane(NamedTuple):
    """State of the integration.

    `sensitivities` are those at the time `behind` ago: in flights they are advanced
    exactly on demand. `closed` (c,): the contacts that act. `level`: of the next step in
    contact, and `begin`: that of the first one after the last onset. `trial`: the length
    of the next step to an event, 0 if none is near. `graded`: whether steps approach a
    release by shortening. `forces`, `length`: of the last step in contact, 0 if none.
    `ends`: (state, rate), if displacements are observed.
    """

    time: Any
    y: Any
    sensitivities: Any
    behind: Any
    closed: Any
    level: Any
    begin: Any
    trial: Any
    graded: Any
    forces: Any
    length: Any
    steps: Any
    watched: Any
    ends: Any


class _Displaced(NamedTuple):
    """The largest displacements, and the errors of a step's quintic of them.

    `reach` (p,): per unit amplitude, and `moved`: by the loads; `unseen` (p, levels) and
    `by_loads` (levels,): their errors, h^6 / 46080 times the sixth derivative and at most
    twice the amplitude, for the tables' lengths h.
    """

    reach: Any
    unseen: Any
    moved: Any
    by_loads: Any


class _Context(NamedTuple):
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


def modal_flow(
    system: ModalForm,
    state: Array,
    t0: Number,
    t1: Number,
    rtol: Number,
    *,
    grazing: Number | None = None,
    watched: Observables | None = None,
    sensitivities: bool = False,
) -> ExactSolution:
    """Return the motion from t0 to t1, with `sensitivities` by the state if requested.

    With a `grazing` depth, m, contacts and displacements are observed, starting from
    `watched` if given.
    """
    numbers = (as_array(number, float) for number in (t0, t1, rtol))
    if grazing is not None:
        grazing = jnp.asarray(grazing, float)
        if watched is None:
            watched = init_observables(jnp.asarray(t0, float), state, system.motion)
    leaves, static = partition_arrays(system)
    lane = leaves, as_array(state, float), *numbers, grazing, watched
    return _motion_kernel(static, sensitivities)(lane)


@functools.lru_cache(maxsize=64)
def _motion_kernel(static: ModalForm, sensitivities: bool) -> Kernel:
    """Return the kernel from (leaves, other arguments of `modal_flow`) to motions."""

    def motion(lane):
        leaves, *arguments = lane
        return _motion(combine_arrays(leaves, static), *arguments, sensitivities)

    return cached_kernel(motion, static, sensitivities, in_memory=True)


def _motion(
    system: ModalForm, state, t0, t1, rtol, grazing, watched, sensitivities: bool
) -> ExactSolution:
    numbers = [*jax.tree.leaves((system.motion, system.modes)), state, t0, t1]
    finite = jnp.all(jnp.stack([_is_finite(x) for x in numbers])) & (t1 >= t0)
    end = jnp.where(finite, t1, t0)
    y = system.amplitudes(state, t0)
    context = _context(system, y, end, rtol, grazing)
    gaps = context.gaps
    depth, speed = gaps.at(y, t0)
    contacts = depth.shape[0]
    lane = _Lane(
        t0,
        y,
        unit_sensitivities(y.shape[0]) if sensitivities else None,
        jnp.zeros(()),
        (depth > gaps.touch) | ((depth >= -gaps.touch) & (speed > 0)),
        jnp.asarray(8),
        jnp.asarray(8),
        jnp.zeros(()),
        jnp.asarray(False),
        jnp.zeros((NODES, contacts)),
        jnp.zeros(()),
        jnp.asarray(0, jnp.int32),
        watched,
        None if grazing is None else _state_and_rate(system, y, t0),
    )

    def unfinished(lane):
        return (lane.time < end) & (lane.steps < MOST_STEPS)

    def flight(lane):
        return _seen(context, lane, _flight(context, lane))

    def contact(lane):
        """Take the steps in contact of one length: their matrices are copied once."""
        length = _wanted_in_contact(context, lane)[0]
        step = _matrices(context, lane)

        def goes_on(last):
            lane, first = last
            same = _wanted_in_contact(context, lane)[0] == length
            return touches(lane) & (same | first)

        def one(last):
            lane, _ = last
            return _seen(context, lane, _contact(context, step, lane)), jnp.asarray(False)

        return jax.lax.while_loop(goes_on, one, (lane, jnp.asarray(True)))[0]

    def flies(lane):
        return unfinished(lane) & ~jnp.any(lane.closed)

    def touches(lane):
        return unfinished(lane) & jnp.any(lane.closed)

    def both(lane):
        """Fly to the next onset, and follow the contacts to the last release."""
        lane = _caught_up(system, jax.lax.while_loop(flies, flight, lane))
        return jax.lax.while_loop(touches, contact, lane) if contacts else lane

    lane = jax.lax.while_loop(unfinished, both, lane)
    final = system.full(lane.y, end)
    good = jnp.all(jnp.isfinite(final))
    code = jnp.where(lane.time < end, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(good, code, Reason.STEP_UNDERFLOW)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    final = jnp.where(code == Reason.SUCCESS, final, jnp.nan)
    found = lane.sensitivities
    if sensitivities:
        found = system.modes.shapes.T @ found.whole() @ system.modes.duals
        found = jnp.where(code == Reason.SUCCESS, found, jnp.nan)
    return ExactSolution(final, found, lane.watched, code, lane.steps)


def _is_finite(array: Array) -> Array:
    """Return whether all numbers are finite, along columns first: in vectors."""
    finite = jnp.isfinite(array)
    return jnp.all(jnp.all(finite, axis=0) if array.ndim > 1 else finite)


def _context(system: ModalForm, y, end, rtol, grazing) -> _Context:
    gaps = gaps_of(system, y, system.steps.length[0])
    sizes = jnp.linalg.norm(system.forced @ system.modes.duals.T, axis=-1)
    size = jnp.sum(sizes)
    if grazing is None:
        return _Context(system, gaps, end, rtol, None, size, None)
    return _Context(system, gaps, end, rtol, grazing, size, _displaced(system))


def _displaced(system: ModalForm) -> _Displaced:
    half = system.modes.shapes.shape[1] // 2
    lengths = system.steps.length
    reach = jnp.max(jnp.hypot(*jnp.split(system.modes.shapes[:, :half], 2)), axis=1)
    moved = jnp.max(jnp.sum(jnp.abs(system.forced[..., :half]), axis=(0, 1)))
    paces = system.modes.eigenvalues.paces()
    unseen = jnp.minimum((paces[:, None] * lengths[None]) ** 6 / 46080, 2.0)
    by_loads = (jnp.max(system.frequency) * lengths) ** 6 / 46080 * moved
    return _Displaced(reach, reach[:, None] * unseen, moved, by_loads)


def _finest(context: _Context, lane: _Lane):
    """Return the level of the longest step that resolves the displacements."""
    sizes, seen = jnp.hypot(*jnp.split(lane.y, 2)), context.displaced
    unseen = sizes @ seen.unseen + seen.by_loads
    allowed = _UNKNOWN * (sizes @ seen.reach + seen.moved)
    return jnp.minimum(jnp.sum(unseen > allowed), LEVELS - 1)


def _seen(context: _Context, lane: _Lane, new: _Lane) -> _Lane:
    """Return the lane after a step with its observables."""
    if lane.ends is None:
        return new
    motion = context.system.motion
    ends = _state_and_rate(context.system, new.y, new.time)
    moved = new.time > lane.time
    watched = update_observables(
        lane.watched,
        context.grazing,
        lane.time,
        new.time,
        lane.ends,
        ends,
        motion,
        lane.closed,
    )
    watched = jax.tree.map(lambda n, o: jnp.where(moved, n, o), watched, lane.watched)
    return new._replace(watched=watched, ends=ends)


def _state_and_rate(system: ModalForm, y: Array, time: Array) -> tuple[Array, Array]:
    """Return the state and its rate, from that of the amplitudes."""
    state = system.full(y, time)
    position, velocity = jnp.split(state, 2)
    depths, rates, _ = system.motion.contact_motion(state, jnp.zeros_like(state))
    pushed = system.pushes @ system.motion.contact_forces(depths, rates)
    own = system.modes.eigenvalues.of(y) - pushed
    bend = own @ system.modes.shapes[:, position.shape[0] :]
    angle = system.frequency * time + system.phase
    turn = jnp.stack([-jnp.sin(angle), jnp.cos(angle)]) * system.frequency[None]
    bend = bend + jnp.tensordot(turn, system.forced[..., position.shape[0] :], 2)
    return state, jnp.concatenate([velocity, bend])


def _caught_up(system: ModalForm, lane: _Lane) -> _Lane:
    """Return the lane with its sensitivities at its own time."""
    if lane.sensitivities is None:
        return lane
    values = system.modes.eigenvalues
    sensitivities = lane.sensitivities.turned(values, lane.behind)
    return lane._replace(sensitivities=sensitivities, behind=jnp.zeros(()))


def _flight(context: _Context, lane: _Lane) -> _Lane:
    """Advance all modes exactly, up to where a gap may close."""
    gaps = context.gaps
    before = gaps.at(lane.y, lane.time)
    safe = gaps.apart_for(lane.y, before)
    left = context.end - lane.time
    longest = 0 if lane.ends is None else _finest(context, lane)
    wanted = jnp.minimum(safe, context.system.steps.length[longest])
    length = jnp.minimum(wanted, left)
    time = jnp.where(wanted >= left, context.end, lane.time + length)
    y = turned(turn_less_one(context.system.modes.eigenvalues, length), lane.y)
    depth, speed = gaps.at(y, time)
    return lane._replace(
        time=time,
        y=y,
        behind=lane.behind + length,
        closed=(depth >= -gaps.touch) & (speed > 0),
        level=lane.begin,
        trial=jnp.zeros(()),
        graded=jnp.asarray(False),
        length=jnp.zeros(()),
        steps=lane.steps + 1,
    )


def _wanted_in_contact(context: _Context, lane: _Lane) -> tuple[Array, Array, Array]:
    """Return the length of the next step in contact, its level, and whether it is last."""
    level, lengths = lane.level, context.system.steps.length
    if lane.ends is not None:
        level = jnp.maximum(level, _finest(context, lane))
    wanted = jnp.where(lane.trial > 0, lane.trial, lengths[level])
    left = context.end - lane.time
    return jnp.minimum(wanted, left), level, wanted >= left


def _matrices(context: _Context, lane: _Lane) -> Collocation:
    """Return the matrices of the next step in contact."""
    system = context.system
    length, level, last = _wanted_in_contact(context, lane)
    known_step = jax.tree.map(lambda part: part[level], system.steps)
    # The whole tables as operands of the conditional would be copied in each step.
    return jax.lax.cond(
        (lane.trial > 0) | last,
        lambda _: system.collocation(length),
        lambda known: known,
        known_step,
    )


def _contact(context: _Context, step: Collocation, lane: _Lane) -> _Lane:
    """Take a step in contact, or prepare a shorter one."""
    system, gaps = context.system, context.gaps
    tried = lane.trial > 0
    length, level, last = _wanted_in_contact(context, lane)
    lane = lane._replace(level=level)
    before = gaps.at(lane.y, lane.time)
    known = lane.length > 0
    start = extrapolated(lane.forces, jnp.where(known, lane.length, 1.0), length)
    # After a much shorter step, up to an event, the polynomial says nothing.
    near = length < _FARTHEST * lane.length
    start = jnp.where(near, start, lane.forces[-1:])
    start = jnp.where(known & lane.closed, start, 0.0)
    found = nodal_forces(system.motion, gaps, step, lane.closed, lane.y, lane.time, start)
    pushed = found.forces.reshape(-1) @ step.push.reshape(-1, lane.y.shape[0])
    y = turned(step.turn, lane.y, less=pushed)
    time = jnp.where(last, context.end, lane.time + length)
    after = gaps.at(y, time)
    size = jnp.maximum(jnp.linalg.norm(lane.y), context.size)
    ratio = missed(step, found.forces) / (_SHARE * context.rtol * size)
    ratio = jnp.where(found.converged & jnp.isfinite(ratio), ratio, jnp.inf)
    event = _next_event(gaps, lane.closed, before, found, after, length)
    sound = found.converged
    event = event._replace(inside=event.inside & sound, at_start=event.at_start & sound)
    finest = ~tried & (lane.level >= LEVELS - 1)
    good = (((ratio <= 1) & ~event.inside) | finest) & ~event.at_start
    sensitivities = lane.sensitivities
    if sensitivities is not None:
        decayed = jnp.exp(system.modes.eigenvalues.decay * (context.end - time))
        allowed = _SHARE_OF_SENSITIVITIES * context.rtol
        most = jnp.where(good, jnp.where(finest, jnp.inf, allowed), -jnp.inf)
        sensitivities, worst = moved_sensitivities(
            system.motion, step, lane.closed, found, sensitivities, decayed, most
        )
        good = good & (worst <= most)
        ratio = jnp.maximum(ratio, worst / allowed)
    ends = jnp.where(lane.closed, (after[0] <= gaps.touch) & (after[1] < 0),
                     (after[0] >= -gaps.touch) & (after[1] > 0))  # fmt: skip
    changed = lane.closed ^ ends
    level = jnp.where(tried | last | (ratio > _COARSER), lane.level, lane.level - 1)
    level = jnp.where(jnp.any(ends), jnp.maximum(level, lane.begin), level)
    accepted = lane._replace(
        time=time,
        y=y,
        sensitivities=sensitivities,
        closed=changed,
        level=jnp.maximum(level, 0),
        begin=jnp.where(known | tried, lane.begin, lane.level),
        trial=jnp.where(tried & ~jnp.any(ends), _soon(lane.closed, after, length), 0.0),
        graded=lane.graded & ~jnp.any(ends),
        forces=found.forces,
        length=length,
    )
    rejected = _shorter(system, lane, event, ratio, tried, length)
    kept = {"watched": None, "ends": None}
    if sensitivities is None:
        kept["sensitivities"] = None
    chosen = jax.tree.map(
        lambda n, o: jnp.where(good, n, o),
        accepted._replace(**kept),
        rejected._replace(**kept),
    )
    chosen = chosen._replace(**{name: getattr(accepted, name) for name in kept})
    return chosen._replace(steps=lane.steps + 1)


class _Event(NamedTuple):
    """The first onset or release in a step: whether there is one, and its time in it.

    `at_start`: whether the contacts `flips` (c,) change at once.
    """

    inside: Any
    after: Any
    at_start: Any
    flips: Any


def _next_event(gaps: Gaps, closed, before, found: Forces, after, length) -> _Event:
    """Return the first place at which a gap does not have the side it began with."""
    depths = jnp.concatenate([before[:1], found.depths, after[:1]])
    side = jnp.where(closed, 1.0, -1.0)
    depths = side[None] * depths  # negative on the wrong side
    wrong = depths[1:] < -gaps.touch[None]
    crossed = jnp.any(wrong, axis=0)
    first = jnp.argmax(wrong, axis=0)
    every = jnp.arange(closed.shape[0])
    near, far = jnp.maximum(depths[first, every], 0.0), depths[first + 1, every]
    begin, stop = (jnp.asarray(WITH_ENDS)[first + k] for k in (0, 1))
    bracket = begin, stop, near, far
    place = jax.lax.cond(
        jnp.any(crossed), lambda _: crossing(depths, *bracket), lambda _: begin, None
    )
    rate = side * after[1] * length
    by_newton = 1 - far / jnp.where(rate < 0, rate, -1.0)
    at_end = (first == NODES) & (rate < 0) & (by_newton > _AT_END) & (by_newton < 1)
    place = jnp.where(at_end, by_newton, place)
    place = jnp.where(crossed, place, jnp.inf) * length
    flips = place <= 4 * jnp.finfo(float).eps * length
    return _Event(jnp.any(crossed), jnp.min(place), jnp.any(flips), flips)


def _soon(closed, after, length):
    """Return when the next gap changes sides by its rate, s; 0 if not soon."""
    nears = jnp.where(closed, after[1] < 0, after[1] > 0)
    rate = jnp.where(nears, after[1], 1.0)
    time = jnp.min(jnp.where(nears, jnp.abs(after[0] / rate), jnp.inf))
    return jnp.where(time < length, time, 0.0)


def _shorter(system: ModalForm, lane: _Lane, event: _Event, ratio, tried, length) -> _Lane:
    """Return the lane with its next step shorter: to an event, or for accuracy."""
    fails = ~(ratio <= 1)
    to_event = event.inside & (~fails | (~lane.graded & ~tried))
    finer = jnp.clip(jnp.ceil(jnp.log2(ratio) / _ORDER), 1, 6).astype(int)
    fits = jnp.sum(system.steps.length > length)  # the level of this length
    level = jnp.clip(jnp.where(tried, fits, lane.level) + finer, 0, LEVELS - 1)
    stays = to_event | event.at_start
    return lane._replace(
        closed=lane.closed ^ (event.flips & event.at_start),
        level=jnp.where(stays, lane.level, level),
        trial=jnp.where(to_event & ~event.at_start, event.after, 0.0),
        graded=lane.graded | (fails & event.inside & ~to_event) | (fails & tried),
    )
