r"""Motion of a decoupled system: exact flights, and exponential steps in contact.

In flight the blocks are advanced by $e^{\Lambda h}$; a step is as long as its quintic
resolves the gaps. In contact $e^{-\Lambda t} y$ is integrated, whose rates are the
contact forces only: these limit a step, not the fastest mode. Sensitivities depend on a
contact through its slope only, so that a step of all is two thin matrix products.

**Source:** Lawson, *SIAM J. Numer. Anal.* 4 (1967) 372; the pair is that of `stepper`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...ensemble import Reason
from ...foundation.types import Number
from ..observables import Observables, init_observables, update_observables
from ..step_polynomial import cubic_defect, step_polynomial
from ..tableau import dormand_prince_tableau
from .block_form import LEVELS, MOST_DECAY, BlockForm, Step, step_of

# Limits endless motions: steps are a quarter of a period unless contacts shorten them.
MOST_STEPS = 1_000_000
# Allowed error of the quintic of a flight's gaps, relative to their size: for the
# detection of contacts only, and with observed displacements.
_UNKNOWN, _UNKNOWN_WATCHED = 1e-6, 1e-9
# A step's error relative to the tolerance: errors accumulate.
_SHARE = 0.1
_ORDER = 8  # of the tableau: a step's error falls with this power of its length
_ROOT_STEPS = 4  # of Newton iteration: from 2 digits to 4, 8, 16 and one to spare


class ExactSolution(NamedTuple):
    """End of a motion: state, sensitivities, observables and reason code."""

    state: Float[Array, " state"]
    sensitivities: Any
    watched: Any
    result: Int[Array, ""]
    steps: Int[Array, ""]


class _Lane(NamedTuple):
    """State of the integration.

    `sensitivities` are those at the time `behind` ago: between contacts they are
    advanced exactly on demand. `level`: of the last step in contact. `finer`: levels by
    which the next flight is shortened. `ends`: (state, rate), if displacements are
    observed.
    """

    time: Any
    y: Any
    sensitivities: Any
    behind: Any
    touching: Any
    level: Any
    finer: Any
    steps: Any
    watched: Any
    ends: Any


class _Context(NamedTuple):
    """Data common to all steps of an integration.

    `rows` (3, c, 2n): of the gaps and their rates; `reach` (2n,): largest displacement
    of the observed quantities per unit of each component; `size`: of the motion, as the
    norm of y; `longest`: the level of the longest step in contact.
    """

    system: BlockForm
    rows: Any
    steady: Any
    coupling: Any
    end: Any
    rtol: Any
    grazing: Any
    reach: Any
    carried: Any
    size: Any
    longest: Any


def piecewise_exact_flow(
    system: BlockForm,
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
    t0, t1 = jnp.asarray(t0, float), jnp.asarray(t1, float)
    numbers = [*jax.tree.leaves(system), state, t0, t1]
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in numbers])) & (t1 >= t0)
    end = jnp.where(finite, t1, t0)
    watching = grazing is not None
    if watching and watched is None:
        watched = init_observables(t0, state, system.motion)
    context = _context(system, end, rtol, grazing)
    y = system.blocks(state, t0)
    depth = system.motion.penetrations(state)
    lane = _Lane(
        t0,
        y,
        jnp.eye(y.shape[0]) if sensitivities else None,
        jnp.zeros(()),
        jnp.any(depth > 0),
        jnp.asarray(context.longest + 4),
        jnp.asarray(0),
        jnp.asarray(0, jnp.int32),
        watched,
        (state, system.motion.vector_field(t0, state)) if watching else None,
    )

    def unfinished(lane):
        return (lane.time < end) & (lane.steps < MOST_STEPS)

    def step(lane):
        """Take a step; the code of observables is compiled once."""
        if system.motion.contacts:
            new, good = jax.lax.cond(
                lane.touching,
                lambda lane: _contact(context, _caught_up(system, lane)),
                lambda lane: _flight(context, lane),
                lane,
            )
        else:
            new, good = _flight(context, lane)
        if not watching:
            return new
        ends, seen = _seen(context, lane, new)
        seen = jax.tree.map(lambda n, o: jnp.where(good, n, o), seen, lane.watched)
        return new._replace(watched=seen, ends=ends)

    lane = _caught_up(system, jax.lax.while_loop(unfinished, step, lane))
    final = system.full(lane.y, end)
    good = jnp.all(jnp.isfinite(final))
    code = jnp.where(lane.time < end, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(good, code, Reason.STEP_UNDERFLOW)
    code = jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
    final = jnp.where(code == Reason.SUCCESS, final, jnp.nan)
    found = lane.sensitivities
    if sensitivities:
        found = system.to_state @ found @ system.to_blocks
        found = jnp.where(code == Reason.SUCCESS, found, jnp.nan)
    return ExactSolution(final, found, lane.watched, code, lane.steps)


def _context(system: BlockForm, end, rtol, grazing) -> _Context:
    motion, half = system.motion, system.angular.shape[0]
    first = system.gap_rows()
    second = system.rates(first)
    rows = jnp.stack([first, second, system.rates(second)])
    positions = system.forced[..., :half]
    if motion.contacts:
        directions = jnp.stack([contact.direction for contact in motion.contacts])
        responses = jnp.stack(motion.contact_responses, axis=1)
        steady, coupling = positions @ directions.T, directions @ responses
    else:
        steady, coupling = jnp.zeros((*positions.shape[:2], 0)), jnp.zeros((0, 0))
    seen = first if grazing is None else system.to_state[:half]
    reach = jnp.max(jnp.abs(seen), axis=0, initial=0.0)
    moved = steady if grazing is None else positions
    carried = jnp.max(jnp.sum(jnp.abs(moved), axis=(0, 1)), initial=0.0)
    sizes = jnp.linalg.norm(system.forced @ system.to_blocks.T, axis=-1)
    fades = jnp.maximum(-jnp.min(system.decay), 0.0)
    longest = jnp.sum(system.steps.length * fades > MOST_DECAY)
    return _Context(
        system, rows, steady, coupling, end, rtol, grazing, reach, carried,
        jnp.sum(sizes), longest,
    )  # fmt: skip


def _caught_up(system: BlockForm, lane: _Lane) -> _Lane:
    """Return the lane with its sensitivities at its own time."""
    if lane.sensitivities is None:
        return lane
    sensitivities = jax.lax.cond(
        lane.behind > 0,
        lambda sensitivities: system.turn(lane.behind)(sensitivities),
        lambda sensitivities: sensitivities,
        lane.sensitivities,
    )
    return lane._replace(sensitivities=sensitivities, behind=jnp.zeros(()))


def _gaps(context: _Context, y, time, forces=None):
    """Return z, dz/dt and d2z/dt2 of all contacts under their forces, (3, c)."""
    carried = _carried_gaps(context, time)
    found = jnp.einsum("kcj,j->kc", context.rows, y) + carried
    if forces is None:
        return found
    return found.at[2].add(-context.coupling @ forces)


def _carried_gaps(context: _Context, time):
    """Return the gaps and their rates in the linear steady state, (3, c)."""
    motion = context.system.motion
    limits = jnp.stack([c.gap for c in motion.contacts]) if motion.contacts else 0.0
    frequency = context.system.frequency
    angle = frequency * time + context.system.phase
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    first, second = context.steady
    square = frequency**2
    value = cosine @ first + sine @ second
    slope = (frequency * cosine) @ second - (frequency * sine) @ first
    bend = (square * cosine) @ first + (square * sine) @ second
    return jnp.stack([value - limits, slope, -bend])


def _displaced(context: _Context, y):
    """Return a bound on the observed displacements, m, and their greatest rate, 1/s."""
    system = context.system
    half = system.angular.shape[0]
    pace = jnp.hypot(jnp.maximum(*jnp.split(jnp.abs(system.decay), 2)), system.angular)
    parts = context.reach * jnp.abs(y)
    parts = parts[:half] + parts[half:]
    frequency = jnp.max(system.frequency)
    size = jnp.sum(parts) + context.carried
    # Relative to the size and the load's frequency: sixth powers are large.
    steep = jnp.sum(parts * (pace / frequency) ** 6) + context.carried
    tiny = jnp.finfo(float).tiny
    return size, frequency * (steep / jnp.maximum(size, tiny)) ** (1 / 6)


def _flight(context: _Context, lane: _Lane) -> tuple[_Lane, Any]:
    """Take a flight step, or mark a shorter one; return whether it was accepted."""
    system = context.system
    unknown = _UNKNOWN if context.grazing is None else _UNKNOWN_WATCHED
    size, rate = _displaced(context, lane.y)
    # The error of Hermite's quintic is h^6 / 46080 times the sixth derivative.
    length = (46080 * unknown) ** (1 / 6) / rate
    steps = system.steps.length
    level = jnp.clip(jnp.sum(steps > length) + lane.finer, 0, LEVELS - 1)
    left = context.end - lane.time
    length = jnp.minimum(steps[level], left)
    last = steps[level] >= left
    y = jax.lax.cond(
        last,
        lambda y: system.turn(left)(y),
        lambda y: jax.tree.map(lambda part: part[level], system.steps.turn)(y),
        lane.y,
    )
    time = jnp.where(last, context.end, lane.time + length)
    before, after = _gaps(context, lane.y, lane.time), _gaps(context, y, time)
    entered = after[0] > 0
    over = _stepped_over(context, size, length, before, after)
    again = over & ~jnp.any(entered) & (level < LEVELS - 1)
    new = lane._replace(
        time=time,
        y=y,
        behind=lane.behind + length,
        touching=jnp.any(entered),
        finer=jnp.asarray(0),
    )
    if system.motion.contacts:
        new = jax.lax.cond(
            jnp.any(entered),
            lambda: _at_onset(context, lane, new, length, before, after),
            lambda: new,
        )
    new = _chosen(~again, new, lane._replace(finer=lane.finer + 1))
    return new._replace(steps=lane.steps + 1), ~again


def _chosen(good, new: _Lane, lane: _Lane) -> _Lane:
    """Select a lane; sensitivities are selected only if they differ."""
    kept = {"watched": None, "ends": None}
    if new.sensitivities is lane.sensitivities:
        kept["sensitivities"] = None
    pair = new._replace(**kept), lane._replace(**kept)
    chosen = jax.tree.map(lambda n, o: jnp.where(good, n, o), *pair)
    return chosen._replace(**{name: getattr(lane, name) for name in kept})


def _at_onset(context: _Context, lane: _Lane, new: _Lane, length, before, after) -> _Lane:
    """Return the lane where its first gap closes."""
    path = step_polynomial(length, before, after)
    entered = after[0] > 0
    at = jnp.where(entered, path.shut(entered).crossing(), jnp.inf)
    first = jnp.argmin(at)

    def at_time(passed):
        y = context.system.turn(passed)(lane.y)
        return y, _gaps(context, y, lane.time + passed)[:, first]

    def nearer(_, passed):
        _, (depth, speed, _) = at_time(passed)
        change = depth / jnp.where(speed == 0, 1.0, speed)
        return jnp.clip(passed - change, 0.0, length)

    passed = jax.lax.fori_loop(0, _ROOT_STEPS, nearer, at[first] * length)
    y, _ = at_time(passed)
    return new._replace(time=lane.time + passed, y=y, behind=lane.behind + passed)


def _stepped_over(context: _Context, size, length, before, after):
    """Return whether a gap may have closed and opened again within a step."""
    if not context.system.motion.contacts:
        return jnp.asarray(False)
    apart = (before[0] <= 0) & (after[0] <= 0) & (before[1] > 0) & (after[1] < 0)
    path = step_polynomial(length, before, after)
    tau = path.extremum()
    peak = path.value(tau) + cubic_defect(length, before, after, tau)
    return jnp.any(apart & (peak > 1e-2 * context.rtol * size))


def _contact(context: _Context, lane: _Lane) -> tuple[_Lane, Any]:
    """Take a step in contact, or mark a shorter one; return whether it was accepted."""
    system = context.system
    level = jnp.clip(lane.level, context.longest, LEVELS - 1)
    left = context.end - lane.time
    full = system.steps.length[level]
    last = full >= left
    # A step that ends at the final time is not in the table.
    step = jax.lax.cond(
        last,
        lambda: step_of(
            system.decay, system.angular, context.rows[0], system.pushes(), left
        ),
        lambda: jax.tree.map(lambda part: part[level], system.steps),
    )
    length = jnp.where(last, left, full)
    time = jnp.where(last, context.end, lane.time + length)
    forces, slopes = _stage_forces(context, step, lane.y, lane.time)
    y = step.turn(lane.y) - jnp.tensordot(step.push, forces, 2)
    missed = jnp.linalg.norm(jnp.tensordot(step.miss, forces, 2))
    size = jnp.maximum(jnp.linalg.norm(lane.y), context.size)
    ratio = missed / (context.rtol * size)
    sensitivities = lane.sensitivities
    if sensitivities is not None:
        sensitivities, worst = _stage_sensitivities(step, slopes, sensitivities)
        ratio = jnp.maximum(ratio, worst / context.rtol)
    ratio = jnp.where(jnp.isfinite(ratio), ratio / _SHARE, jnp.inf)
    before = _gaps(context, lane.y, lane.time, forces[0])
    after = _gaps(context, y, time, forces[-1])
    spread, _ = _displaced(context, lane.y)
    ratio = jnp.where(
        _stepped_over(context, spread, length, before, after),
        jnp.maximum(ratio, 2.0),
        ratio,
    )
    good = (ratio <= 1) | (level == LEVELS - 1)
    # One level is a factor of 2, and of 2^8 in the error.
    finer = jnp.clip(jnp.ceil(jnp.log2(ratio) / _ORDER), 1, 6).astype(level.dtype)
    coarser = jnp.where(ratio < 2.0 ** -(_ORDER + 1), 1, 0)
    new = lane._replace(
        time=time,
        y=y,
        sensitivities=sensitivities,
        touching=jnp.any((after[0] > 0) | (after[1] > 0) & (before[0] > 0)),
        level=jnp.where(last, level, level - coarser),
    )
    new = _chosen(good, new, lane._replace(level=level + finer))
    return new._replace(steps=lane.steps + 1), good


def _stage_forces(context: _Context, step: Step, y, time):
    """Return the contacts' forces and their slopes at all stages, (S, c) each."""
    motion = context.system.motion
    times = time + jnp.asarray(dormand_prince_tableau().nodes) * step.length
    carried = jax.vmap(lambda t: _carried_gaps(context, t)[0])(times)
    depths = step.gaps @ y + carried

    def elastic(depth):
        return motion.contact_forces(depth, jnp.zeros_like(depth))

    def stage(i, forces):
        depth = depths[i] - jnp.tensordot(step.echo[i], forces, 2)
        return forces.at[i].set(elastic(depth))

    forces = jax.lax.fori_loop(0, len(depths), stage, jnp.zeros_like(depths))
    depths = depths - jnp.tensordot(step.echo, forces, 2)
    _, slopes = jax.jvp(jax.vmap(elastic), (depths,), (jnp.ones_like(depths),))
    return forces, slopes


def _stage_sensitivities(step: Step, slopes, sensitivities):
    """Return sensitivities after a step, and the largest relative error of one."""
    closed = jnp.any(slopes != 0, axis=0)
    if closed.size == 1:
        return _pressed_sensitivities(step, slopes, sensitivities)

    def alone(_):
        # Products as thin as one contact: usually there are no others.
        j = jnp.argmax(closed)
        one = step._replace(
            gaps=step.gaps[:, j][:, None],
            echo=step.echo[:, j, :, j][:, None, :, None],
            push=step.push[..., j][..., None],
            miss=step.miss[..., j][..., None],
        )
        return _pressed_sensitivities(one, slopes[:, j][:, None], sensitivities)

    return jax.lax.cond(
        jnp.sum(closed) <= 1,
        alone,
        lambda _: _pressed_sensitivities(step, slopes, sensitivities),
        None,
    )


def _pressed_sensitivities(step: Step, slopes, sensitivities):
    stages, count = slopes.shape
    free = (step.gaps.reshape(stages * count, -1) @ sensitivities).reshape(
        stages, count, -1
    )
    echo, push, miss = (
        part.reshape(*part.shape[:-2], stages * count)
        for part in (step.echo, step.push, step.miss)
    )

    def stage(i, pulls):
        moved = free[i] - echo[i] @ pulls
        return jax.lax.dynamic_update_slice(
            pulls, slopes[i][:, None] * moved, (i * count, 0)
        )

    pulls = jnp.zeros((stages * count, sensitivities.shape[1]))
    pulls = jax.lax.fori_loop(0, stages, stage, pulls)
    missed = jnp.sum((miss @ pulls) ** 2, axis=0)
    lengths = jnp.sum(sensitivities**2, axis=0)
    worst = jnp.sqrt(jnp.max(missed / jnp.maximum(lengths, 1.0)))
    return step.turn(sensitivities) - push @ pulls, worst


def _seen(context: _Context, lane: _Lane, new: _Lane):
    """Return (state, rate) at the end of a step, and the observables after it."""
    motion = context.system.motion
    state = context.system.full(new.y, new.time)
    ends = state, motion.vector_field(new.time, state)
    watched = update_observables(
        lane.watched, context.grazing, lane.time, new.time, lane.ends, ends, motion
    )
    return ends, watched
