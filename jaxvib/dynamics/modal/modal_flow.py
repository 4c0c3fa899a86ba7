r"""Motion of a system in modal form: exact flights and steps in contact.

A flight ends before any gap can have closed, by a bound of its curvature; such steps
approach an onset as Newton iteration does. Steps in contact end at onsets, releases and
kinks of the forces, so that these are smooth within each. All steps depend on the contact
forces only, not on the number of modes.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...ensemble import Reason
from ...foundation.arrays import as_array, combine_arrays, partition_arrays
from ...foundation.types import Number
from ...kernels.lower.in_place import given_up
from ...systems.lane_kernel import lane_kernel
from ..motion import Motion, Want, reason_code
from ..observables import init_observables, update_observables
from .collocation import NODES, turn_less_one, turned
from .contact import state_and_rate
from .contact_step import (
    Context,
    Lane,
    contact_step,
    finest,
    step_matrices,
    wanted_in_contact,
)
from .directions import Directions, unit_directions
from .displaced import Observed, displaced
from .gaps import gaps_of
from .modal_form import ModalForm
from .one_phase import MOST_STEPS
from .phase_flow import phase_flow
from .sensitivities import unit_sensitivities

# Steps in which a friction reverses: one that sticks does so in each of the shortest ones.
MOST_REVERSALS = 1000
# Error of observed displacements, relative to their size.
_BLUR = 1e-10


def modal_flow(
    system: ModalForm,
    state: Array,
    t0: Number,
    t1: Number,
    want: Want,
    blur: Number = _BLUR,
) -> Motion:
    """Return the motion from t0 to t1, with what is wanted of it but samples and periods.

    Systems with `phases` move exactly, whatever `rtol` is. The effect of a change is
    that on a neighbouring motion for systems without `phases`. `blur`: the error of
    observed displacements, relative to their size.
    """
    change, observed = want.along, None
    if change is not None and system.phases is None:
        alone = dataclasses.replace(want, along=None)
        there = modal_flow(system, state + change, t0, t1, Want(want.rtol))
        found = modal_flow(system, state, t0, t1, alone, blur)
        return found._replace(along=there.state - found.state)
    if want.grazing is not None:
        first = want.observables
        if first is None:
            first = init_observables(jnp.asarray(t0, float), state, system.motion)
        grazing, blur = (jnp.asarray(part, float) for part in (want.grazing, blur))
        observed = Observed(grazing, first, blur)
    times = tuple(as_array(number, float) for number in (t0, t1, want.rtol))
    leaves, static = partition_arrays(system)
    lane = leaves, as_array(state, float), times, observed, change
    return _motion_kernel(static, want.monodromy)(lane)


@lane_kernel
def _motion_kernel(lane, static: ModalForm, sensitivities: bool):
    """Return the kernel from (leaves, other arguments of `_motion`) to motions."""
    leaves, *arguments = lane
    return _motion(combine_arrays(leaves, static), *arguments, sensitivities)


def _motion(
    system: ModalForm, state, times, observed, change, sensitivities: bool
) -> Motion:
    t0, t1, rtol = times
    numbers = [*jax.tree.leaves((system.motion, system.modes)), state, t0, t1]
    finite = jnp.all(jnp.stack([is_finite(x) for x in numbers])) & (t1 >= t0)
    end = jnp.where(finite, t1, t0)
    if system.phases is not None:
        changes = jnp.eye(state.shape[0]) if sensitivities else change
        found = phase_flow(system, state, (t0, end), changes, observed)
        code = reason_code(found.state, finite, found.time < end)
        final, moved = jax.tree.map(
            lambda part: jnp.where(code == Reason.SUCCESS, part, jnp.nan),
            (found.state, found.changes),
        )
        known = Motion(final, code, found.steps, found.observables)
        return known._replace(**{"monodromy" if sensitivities else "along": moved})
    return _stepped(system, state, (t0, end, rtol), observed, finite, sensitivities)


def _stepped(
    system: ModalForm, state, times, observed, finite, sensitivities: bool
) -> Motion:
    """Return the motion by steps in contact."""
    t0, end, rtol = times
    y = system.amplitudes(state, t0)
    context = _context(system, y, end, rtol, observed)
    gaps = context.gaps
    lane = Lane(
        t0,
        y,
        unit_sensitivities(y.shape[0]) if sensitivities else None,
        jnp.zeros(()),
        gaps.closed_from(system, y, t0),
        jnp.asarray(8),
        jnp.asarray(8),
        jnp.zeros(()),
        jnp.asarray(False),
        jnp.zeros((NODES, gaps.rows.shape[1])),
        jnp.zeros(()),
        jnp.asarray(0, jnp.int32),
        jnp.zeros_like(gaps.touch) if gaps.axes.some_round else None,
        jnp.asarray(0, jnp.int32),
        None if observed is None else observed.observables,
        None if observed is None else state_and_rate(system, gaps, y, t0),
    )
    directions = None if lane.sensitivities is None else unit_directions(y.shape[0])
    lane, directions = _moved(context, lane, directions)
    final = system.full(lane.y, end)
    code = reason_code(final, finite, lane.time < end)
    final = jnp.where(code == Reason.SUCCESS, final, jnp.nan)
    found = None
    if directions is not None:  # only sensitivities are invalid
        jumped = (lane.reversals > 0) & (code == Reason.SUCCESS)
        code = jnp.where(jumped, Reason.FIELD_JUMPS, code).astype(jnp.int32)
        found = directions.matrix(lane.sensitivities, *system.modes[1:])
        found = jnp.where(code == Reason.SUCCESS, found, jnp.nan)
    return Motion(final, code, lane.steps, lane.observables, found)


def _moved(
    context: Context, lane: Lane, directions: Directions | None
) -> tuple[Lane, Directions | None]:
    """Return the lane at the end of the motion, and the sensitivities' directions."""
    system, end, begin = context.system, context.end, lane.time

    def unfinished(lane):
        goes_on = lane.steps < MOST_STEPS
        return (lane.time < end) & goes_on & (lane.reversals < MOST_REVERSALS)

    def flight(lane):
        return _seen(context, lane, _flight(context, lane))

    def contact(lane):
        """Take the steps in contact of one length: their matrices are copied once."""
        length = wanted_in_contact(context, lane)[0]
        step = step_matrices(context, lane)
        lane = lane._replace(sensitivities=given_up(lane.sensitivities))

        def goes_on(last):
            lane, first = last
            same = wanted_in_contact(context, lane)[0] == length
            return touches(lane) & (same | first)

        def one(last):
            lane, _ = last
            return _seen(context, lane, contact_step(context, step, lane)), jnp.asarray(
                False
            )

        return jax.lax.while_loop(goes_on, one, (lane, jnp.asarray(True)))[0]

    def flies(lane):
        return unfinished(lane) & ~jnp.any(lane.closed)

    def touches(lane):
        return unfinished(lane) & jnp.any(lane.closed)

    def contacts_of_length(last):
        """Take such steps, with no more columns of sensitivities than needed."""
        lane, directions = last
        if directions is not None:
            found, directions = directions.fewer(
                lane.sensitivities, system.modes.eigenvalues, lane.time - begin
            )
            lane = lane._replace(sensitivities=found)
        return contact(lane), directions

    def both(last):
        """Fly to the next onset, and follow the contacts to the last release."""
        lane, directions = last
        lane = lane._replace(sensitivities=given_up(lane.sensitivities))
        lane = _caught_up(system, jax.lax.while_loop(flies, flight, lane))
        last = lane, given_up(directions)
        if not lane.closed.size:
            return last
        return jax.lax.while_loop(lambda last: touches(last[0]), contacts_of_length, last)

    return jax.lax.while_loop(lambda last: unfinished(last[0]), both, (lane, directions))


def _context(system: ModalForm, y, end, rtol, observed: Observed | None) -> Context:
    gaps = gaps_of(system, y, system.steps.length[0])
    sizes = jnp.linalg.norm(system.forced @ system.modes.duals.T, axis=-1)
    size = jnp.sum(sizes)
    if observed is None:
        return Context(system, gaps, end, rtol, None, size, None)
    seen = displaced(system, observed.blur)
    return Context(system, gaps, end, rtol, observed.grazing, size, seen)


def _seen(context: Context, lane: Lane, new: Lane) -> Lane:
    """Return the lane after a step with its observables."""
    if lane.ends is None:
        return new
    motion = context.system.motion
    ends = state_and_rate(context.system, context.gaps, new.y, new.time)
    moved = new.time > lane.time
    observables = update_observables(
        lane.observables,
        context.grazing,
        lane.time,
        new.time,
        lane.ends,
        ends,
        motion,
        lane.closed,
    )
    if new.rubbed is not None:
        observables = observables._replace(lost=observables.lost + new.rubbed)
    observables = jax.tree.map(
        lambda n, o: jnp.where(moved, n, o), observables, lane.observables
    )
    return new._replace(observables=observables, ends=ends)


def _caught_up(system: ModalForm, lane: Lane) -> Lane:
    """Return the lane with its sensitivities at its own time."""
    if lane.sensitivities is None:
        return lane
    values = system.modes.eigenvalues
    sensitivities = given_up(lane.sensitivities.turned(values, lane.behind))
    return lane._replace(sensitivities=sensitivities, behind=jnp.zeros(()))


def _flight(context: Context, lane: Lane) -> Lane:
    """Advance all modes exactly, up to where a gap may close."""
    gaps = context.gaps
    before = gaps.at(lane.y, lane.time)
    safe = gaps.apart_for(lane.y, before)
    left = context.end - lane.time
    longest = 0 if lane.ends is None else finest(context, lane)
    wanted = jnp.minimum(safe, context.system.steps.length[longest])
    if lane.ends is not None:
        wanted = jnp.minimum(wanted, gaps.straight_for(lane.y, before))
    length = jnp.minimum(wanted, left)
    time = jnp.where(wanted >= left, context.end, lane.time + length)
    y = turned(turn_less_one(context.system.modes.eigenvalues, length), lane.y)
    depth, speed = gaps.levels(gaps.at(y, time))
    return lane._replace(
        time=time,
        y=y,
        behind=lane.behind + length,
        closed=(depth >= -gaps.touch) & (speed > 0),
        level=lane.begin,
        trial=jnp.zeros(()),
        graded=jnp.asarray(False),
        length=jnp.zeros(()),
        rubbed=None if lane.rubbed is None else jnp.zeros_like(lane.rubbed),
        steps=lane.steps + 1,
    )


def is_finite(array: Array) -> Array:
    """Return whether all numbers are finite, along columns first: in vectors."""
    finite = jnp.isfinite(array)
    return jnp.all(jnp.all(finite, axis=0) if array.ndim > 1 else finite)
