"""Batched tracing of branches of periodic orbits, with bifurcations and events."""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason, compile_ahead, map_samples
from ..foundation.arrays import combine_arrays
from ..kernels import Kernel
from ..kernels.kernel_cache import cached_kernel
from ..orbits.periodic_orbit import PeriodicOrbit
from ..orbits.shooting import is_field, scales
from ..systems.parameters import unit_at
from .arclength import batched_corrector, both_ways, correct_some, lane_of, run_tracers
from .bifurcation_results import BifurcationPoint
from .branch import Branch, BranchEvent, branch_of
from .corrector import BranchProblem, corrector, evaluator, spreader, system_of
from .events import Watch
from .grazing import grazing_near, has_grazing
from .halving import halves_apart, parent_doubling
from .impact_at_start import jump_near
from .refinement import in_small_steps
from .settings import ContinuationSettings
from .test_functions import ZeroCrossing, locate, values_of, zero_crossings
from .tracer import BranchPoint, Limits, Tracer, TracerContext

# Rounds of refinement of chords that skip a corner.
_ROUNDS = 3
# Newton's method has converged if a step is below this many tolerances.
_CLOSE = 30


@dataclasses.dataclass(eq=False)
class Frame:
    """Shared data of branches: the static part of their systems and the path."""

    static: Any
    path: str
    problems: BranchProblem
    number: int  # of branches traced together

    def corrector(self):
        """Return the batched corrector, see `arclength.together`."""
        unknowns = self.problems.units.shape[-1]
        one = corrector(self.static, self.path, unknowns)
        return batched_corrector(one, self.number)

    @property
    def where(self) -> tuple[str, str]:
        """The parameter's path and unit."""
        system = system_of(lane_of(self.problems, 0), self.static)
        return self.path, unit_at(system, self.path)

    @functools.cached_property
    def has_corners(self) -> bool:
        """Whether the branches can have corners."""
        return has_grazing(system_of(lane_of(self.problems, 0), self.static))

    def around(self, lane: int, limits: Limits) -> TracerContext:
        """Return the shared context of the tracers of one branch."""
        problem = lane_of(self.problems, lane)
        correct = functools.partial(correct_some, self.corrector(), problem)
        mine = self.static, self.path, problem
        halves = (
            functools.partial(halves_apart, *mine) if problem.periods % 2 == 0 else None
        )
        if not self.has_corners:
            return TracerContext(limits, correct, halves=halves)
        near = functools.partial(grazing_near, *mine)
        jump = functools.partial(jump_near, *mine)
        return TracerContext(limits, correct, near, jump, halves)

    def alone(self, lane: int) -> "Frame":
        """Return the frame of a single branch."""
        one = jax.tree.map(lambda leaf: leaf[lane : lane + 1], self.problems)
        return Frame(self.static, self.path, one, self.number)

    def halved(self, lane: int, tracer: Tracer) -> list[BifurcationPoint]:
        """Return the period doubling at which a tracer ended; empty if not found."""
        mine = self.static, self.path, lane_of(self.problems, lane)
        found = parent_doubling(*mine, tracer.chord)
        return [] if found is None else [found]

    def evaluator(self):
        """Return the function that evaluates a lane's point."""
        return evaluator(self.static, self.path)


def frame_of(
    lanes, static, path: str, span: float, periods, settings: ContinuationSettings
) -> Frame:
    """Return the frame of branches from lanes (leaves, states, amplitudes)."""
    each = map_samples(_units_kernel(static), lanes)
    number = len(each)
    units = np.column_stack([*[each] * (settings.segments or 1), np.full(number, span)])
    whole = np.full(number, periods, np.int32)
    rtols = np.full(number, settings.rtol, float)
    tight = rtols * settings.factor
    problem = BranchProblem(lanes[0], units, whole, rtols, tight, _CLOSE * rtols)
    return Frame(static, path, problem, number)


@functools.lru_cache(maxsize=32)
def _units_kernel(static) -> Kernel:
    """Return the kernel from a lane (leaves, state, amplitude) to state scales."""

    def units_of(lane):
        leaves, state, amplitude = lane
        system = combine_arrays(leaves, static)
        if is_field(system):
            return scales(system, state)
        # The state at t = 0 may be small: include the amplitude.
        widest = jnp.concatenate([amplitude, jnp.zeros_like(amplitude)])
        return jnp.maximum(scales(system, state), scales(system, widest))

    return cached_kernel(units_of, static)


def trace_orbits(
    frame: Frame, states, values, limits: Limits, settings: ContinuationSettings, report
) -> list[Branch]:
    """Return the branch of each orbit, traced by arclength in both directions."""
    spread = spreader(frame.static, frame.path, settings.segments or 1)
    starts = map_samples(spread, (frame.problems, states, values))
    arounds = [frame.around(lane, limits) for lane in range(len(starts))]
    pairs = both_ways(frame.corrector(), frame.problems, starts, arounds)
    return trace(frame, pairs, limits, settings.watch, report)


def trace(frame: Frame, pairs, limits: Limits, watch: Watch, report) -> list[Branch]:
    """Return the branches traced by pairs of tracers, with all points evaluated."""
    one = lane_of(frame.problems, 0), pairs[0][0].start.x
    compile_ahead(frame.evaluator(), one)
    correct = frame.corrector()
    traces = run_tracers(correct, frame.problems, pairs, limits.most_points, report)
    every = _evaluated(frame, [points for points, _ in traces], limits, watch)
    whole = []
    for b, ((_, ends), seen) in enumerate(zip(traces, every, strict=True)):
        start = len(pairs[b][1].points)
        seen, start = _refined(frame, b, seen, start, limits, watch)
        misses = np.array([point.miss for point in seen.points])
        columns = seen.values, seen.orbits, misses
        (values, orbits, misses), ends, found = _up_to_events(
            watch.stop_at, start, columns, ends, seen.crossings
        )
        periods = frame.problems.periods[b]
        kinds, events = kinds_and_events(found)
        low, high = (
            frame.halved(b, one) if code == Reason.PERIOD_HALVED else []
            for one, code in zip(reversed(pairs[b]), ends, strict=True)
        )
        kinds = [*low, *kinds, *high], events
        whole.append(branch_of(frame.where, values, orbits, misses, periods, ends, kinds))
    return whole


class _Evaluated(NamedTuple):
    """The points of a branch with parameter values and orbits, and its crossings."""

    points: list[BranchPoint]
    values: np.ndarray
    orbits: PeriodicOrbit
    crossings: list[tuple[ZeroCrossing, BifurcationPoint | BranchEvent]]


def _evaluated(frame: Frame, branches, limits: Limits, watch: Watch) -> list[_Evaluated]:
    """Evaluate all points of branches."""
    sizes = [len(points) for points in branches]
    owners, ends = np.repeat(np.arange(len(branches)), sizes), np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    problems = jax.tree.map(lambda leaf: leaf[owners], frame.problems)
    x = np.array([point.x for points in branches for point in points])
    found, _, every = map_samples(frame.evaluator(), (problems, x))
    # Restore exact bounds, which scaling has rounded.
    for bound in limits.bounds[0]:
        found[x[:, -1] == bound] = bound * (frame.problems.units[0, -1])
    orbits = [jax.tree.map(lambda leaf, part=part: leaf[part], every) for part in parts]
    crossings = crossings_along(frame, branches, orbits, watch.events)
    values = [found[part] for part in parts]
    return list(map(_Evaluated, branches, values, orbits, crossings))


def _refined(frame: Frame, b: int, seen: _Evaluated, start: int, limits, watch):
    """Refine the chords of a branch that skip corners.

    `start`: the index of the start of the branch; the updated index is returned.
    """
    for _ in range(_ROUNDS):
        parts = {
            crossing.after: in_small_steps(
                frame.around(b, limits), *seen.points[crossing.after :][:2]
            )
            for crossing, point in seen.crossings
            if crossing.kind == "grazing" and int(point.result) != Reason.SUCCESS
        }
        if not any(parts.values()):
            break
        points = []
        for i, point in enumerate(seen.points):
            points += [point, *parts.get(i, [])]
        start += sum(len(part) for after, part in parts.items() if after < start)
        seen = _evaluated(frame.alone(b), [points], limits, watch)[0]
    return seen, start


def _up_to_events(stop_at, own: int, columns, ends, crossings):
    """Return a branch's columns, end codes and finds, truncated at terminal events.

    `own`: the index of the start of the branch.
    """
    stops = [
        (crossing.after, event) for crossing, event in crossings if crossing.kind in stop_at
    ]
    before = [stop for stop in stops if stop[0] < own][-1:]
    beyond = [stop for stop in stops if stop[0] >= own][:1]
    first = before[0][0] + 1 if before else 0
    last = beyond[0][0] + 1 if beyond else len(columns[0])

    def tip(event):
        lane = event.parameter, event.orbit, np.nan
        return jax.tree.map(lambda leaf: np.asarray(leaf)[None], lane)

    parts = [
        *(tip(event) for _, event in before),
        jax.tree.map(lambda leaf: leaf[first:last], columns),
        *(tip(event) for _, event in beyond),
    ]
    low = Reason.EVENT if before else ends[0]
    high = Reason.EVENT if beyond else ends[1]
    kept = [point for c, point in crossings if first - 1 <= c.after < last]
    return jax.tree.map(lambda *all_: np.concatenate(all_), *parts), (low, high), kept


def kinds_and_events(points) -> tuple[list[BifurcationPoint], list[BranchEvent]]:
    """Split the finds along a branch into bifurcations and events."""
    kinds = [point for point in points if isinstance(point, BifurcationPoint)]
    return kinds, [point for point in points if isinstance(point, BranchEvent)]


def crossings_along(frame: Frame, branches, orbits, events):
    """Return pairs (crossing, located result) along each branch of points."""
    crossings = []
    for b, (points, own) in enumerate(zip(branches, orbits, strict=True)):
        multipliers = np.asarray(own.floquet_multipliers)
        contacts = None if frame.has_corners else np.asarray(own.contacts)
        watched = {name: values_of(function, own) for name, function in events.items()}
        crossings += zero_crossings(b, points, multipliers, contacts, watched)
    crossings.sort(key=lambda crossing: crossing[:2])
    both = frame.corrector(), frame.evaluator()
    located = locate(*both, frame.problems, branches, crossings, frame.path, events)
    found: list[list[tuple]] = [[] for _ in branches]
    for crossing, point in zip(crossings, located, strict=True):
        if point is not None:
            found[crossing.branch].append((crossing, point))
    return found
