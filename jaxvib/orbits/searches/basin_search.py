"""Search for attractors: motions are integrated until each is on a known one."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from ...ensemble import Reason, checkpointed, map_samples
from ...foundation.arrays import (
    combine_arrays,
    one_lane,
    partition_arrays,
    require_concrete,
    to_numpy,
)
from ...linalg import kernel_of
from ...systems.lane_kernel import lane_kernel
from ..periodic_orbit import LONGEST_PERIOD, orbit_from_guess, unknown_orbits
from ..settings import SettlingSettings
from ..shooting.linear_steady_state import (
    linear_but_for_contacts,
    transient_periods,
    what_is_left,
)
from ..shooting.motion_kernels import beginning_kernel
from ..shooting.multipliers import UNSTABLE
from ..shooting.orbit_shooting import scales
from ..shooting.settling import PoincareSamples, samples_kernel
from .aperiodic import track_motions
from .attractors import (
    ON_ATTRACTOR,
    Motion,
    aperiodic_motion,
    distances,
    motion_at,
    near_any,
    periodic_motion,
    same,
)

SEGMENT = 16  # periods between tests for convergence
_LIKELY = 4  # segments after which an unsettled motion may be aperiodic
_MOST_FAILED = 4  # motions that turn out to be transient
# Newton iteration is started from motions that recur within the first distance, in
# units of their size; motions within the second one of a known orbit approach or pass
# it.
_RECURRED, _NEARBY = 1e-5, 1e-3
_PLAUSIBLE = 1e-2  # ... and recurrence at which a period is a candidate
_MOST_TRACKED = 64  # motions per segment that are tracked for chaos


class Search:
    """Known attractors of a system, and known repelling orbits."""

    searches = 64  # per segment: other motions wait for the next one
    driven = True  # by loads, to which linear bodies have a steady state

    def __init__(self, system, settings: SettlingSettings, transient: int, engine):
        require_concrete("a search of attractors", system)
        self.leaves, self.static = partition_arrays(system)
        self.system = system
        self.period = float(system.period())
        self.longest, self.chunk = settings.max_periods, settings.chunk
        self.rtol, self.engine, self.transient = settings.rtol, engine, transient
        self.end = None
        if self.driven and linear_but_for_contacts(system):
            self.end = beginning_kernel(self.static).on_host(self.leaves).end
            given = self.end, np.asarray(self.period), np.asarray(transient, float)
            self.transient = int(kernel_of(transient_periods)(*given))
        self.attractors: list[Motion] = []
        self.repelling: list[Motion] = []

    def classify_starts(
        self, states: np.ndarray, report: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return labels, reason codes and numbers of periods for initial states."""
        number = len(states)
        states = states.copy()
        label = np.full(number, -1, np.int16)
        result, run = np.zeros(number, np.int32), np.zeros(number, np.int32)
        bad = ~np.isfinite(states).all(axis=1)
        result[bad] = Reason.BAD_PARAMETER
        waiting = np.flatnonzero(~bad)
        report(int(bad.sum()))
        segments = -(-self.transient // SEGMENT)
        for segment in range(segments):
            waiting = self._linear(states, label, result, waiting, report)
            if not waiting.size:
                return label, result, run
            seen = self._samples(states[waiting])
            states[waiting], result[waiting] = seen.trail[:, -1], seen.result
            run[waiting] += SEGMENT
            last = segment == segments - 1
            found = self._with_new(seen, self._known(seen.trail))
            # Not in each segment: it takes thousands of periods.
            if last or (segment >= _LIKELY and segment & (segment - 1) == 0):
                found = self._track_aperiodic(seen, found, last)
            label[waiting] = found
            going = (found < 0) & (seen.result == 0)
            report(int((~going).sum()))
            waiting = waiting[going]
        result[waiting] = Reason.NOT_CONVERGED
        report(waiting.size)
        return label, result, run

    def _linear(self, states, label, result, waiting, report) -> np.ndarray:
        """Decide motions that close no gap any more; return the others."""
        if self.end is None or not waiting.size:
            return waiting
        ends = repeated(self.end, waiting.size)
        apart, free = map_samples(
            kernel_of(what_is_left), (ends, states[waiting]), chunk=self.chunk
        )
        result[waiting[free]] = Reason.UNDAMPED
        if apart.any():
            label[waiting[apart]] = self._position_of(self.end.state)
            apart = label[waiting] >= 0
        report(int((apart | free).sum()))
        return waiting[~apart & ~free]

    def _position_of(self, state) -> int:
        """Return the position of the attractor through a steady state, -1 if none."""

        def positions():
            away = (each.away(state[None])[0] for each in self.attractors)
            return [i for i, distance in enumerate(away) if distance < ON_ATTRACTOR]

        if not positions():
            self._find(state[None], np.zeros(1))
        return next(iter(positions()), -1)

    def _samples(self, states) -> PoincareSamples:
        """Return the samples of motions over one segment."""
        return self._sampled_after(self.leaves, states)

    def _sampled_after(self, leaves, states) -> PoincareSamples:
        """Return samples of motions of a system with the given leaves."""
        stage = samples_kernel(self.static, SEGMENT, self.longest, self.engine)
        tolerance = np.full(len(states), self.rtol)
        lanes = repeated(leaves, len(states)), states, tolerance
        return map_samples(stage, lanes, chunk=self.chunk)

    def _known(self, trail) -> np.ndarray:
        """Return the attractor of each motion (lanes, times, n), or -1."""
        found = np.full(len(trail), -1, np.int16)
        for position, each in enumerate(self.attractors):
            free = np.flatnonzero(found < 0)
            found[free[each.contains(trail[free])]] = position
        return found

    def _with_new(self, seen: PoincareSamples, found) -> np.ndarray:
        """Search for motions that others converge to; return the updated attractors."""
        tried: list[int] = []
        for _ in range(self.searches):
            open_ = (seen.result == 0) & (found < 0)
            open_[tried] = False
            lanes = self._candidates(seen, np.flatnonzero(open_), tried)
            if not lanes.size:
                break
            tried.append(int(lanes[0]))
            self._find(seen.trail[lanes[0]], seen.nearest[lanes[0]])
            found = self._known(seen.trail)
        return found

    def _candidates(self, seen: PoincareSamples, lanes, tried: list[int]) -> np.ndarray:
        """Return the lanes that may be on an unknown motion, the likeliest first."""
        lanes = lanes[seen.nearest[lanes].min(axis=1) < _RECURRED]
        attractors = [*self.attractors, *self.repelling]
        return lanes[~near_any(attractors, seen.trail[lanes, -1], _NEARBY)]

    def _find(self, trail, nearest) -> None:
        """Search for the orbit on which a motion (times, n) recurs, and store it."""
        for periods in np.flatnonzero(nearest < _PLAUSIBLE) + 1:
            orbit, points, units = to_numpy(
                checkpointed(
                    _orbit, self.system, trail[-1], periods.astype(np.int32), self.rtol
                )
            )
            points = points[:periods]
            drift = self.static.drift
            apart = distances(trail[-1:], points, units, drift).min()
            if int(orbit.result) != Reason.SUCCESS or apart > 10 * _PLAUSIBLE:
                continue
            found = periodic_motion(orbit, points, units, drift)
            attracts = int(orbit.stable) != UNSTABLE
            into = self.attractors if attracts else self.repelling
            if not any(same(found, each) for each in into):
                into.append(found)
            if attracts:
                break
        # Store the state, so that later motions passing here are not searched again.
        units = np.asarray(_units(self.system, trail[-1]))
        passed = jax.tree.map(lambda leaf: leaf[0], unknown_orbits(self.system, 1))
        near = motion_at(passed, trail[-1:], units, 0.0, self.static.drift)
        self.repelling.append(near)

    def _track_aperiodic(self, seen: PoincareSamples, found, last) -> np.ndarray:
        """Classify unsettled motions; new classes always if `last`.

        Earlier only if most of the remaining motions look aperiodic: waiting for
        thousands of chaotic ones to converge would take most of the time.
        """
        trail, nearest = seen.trail, seen.nearest.copy()
        tries = failed = 0
        while tries < _MOST_TRACKED:
            open_ = np.flatnonzero((seen.result == 0) & (found < 0))
            roaming = open_[nearest[open_].min(axis=1) > _PLAUSIBLE]
            many = len(roaming) > max(16, len(trail) // 2) and tries == 0
            if not roaming.size or not (last or many):
                return found
            tries += 1
            each = self._aperiodic_motion(trail[roaming[0], -1])
            if each is None:
                failed += 1
                if not last or failed == _MOST_FAILED:
                    return found
                nearest[roaming[0]] = 0.0  # undecided: still transient
                continue
            self.attractors.append(each)
            found = self._known(trail)
            found[roaming[0]] = len(self.attractors) - 1
        return found

    def _aperiodic_motion(self, state) -> Motion | None:
        """Return the aperiodic motion from a state, None if it is transient."""
        leaves = one_lane(self.leaves)
        tracked = track_motions(
            leaves, self.static, state[None], engine=self.engine,
            longest=self.longest, chunk=self.chunk, trails=True,
        )  # fmt: skip
        one = jax.tree.map(lambda leaf: leaf[0], tracked)
        if not Reason(one.code).motion or Reason(one.code).undecided:
            return None
        some = one.trail[:: len(one.trail) // 16]
        units = np.max([_units(self.system, point) for point in some], axis=0)
        return aperiodic_motion(self.system, one, self.period, units)


def repeated(tree: PyTree, number: int) -> Any:
    """Return a tree of arrays with a leading axis of equal lanes."""
    return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (number, *leaf.shape)), tree)


def _orbit(system, state, periods, rtol):
    """Return the orbit near a state, its states once a period, and its scales."""
    leaves, static = partition_arrays(system)
    rtol = np.asarray(rtol, float)
    orbit = orbit_from_guess(system, state, periods, rtol, np.asarray(1e-2))
    around = samples_kernel(static, SEGMENT, LONGEST_PERIOD, "auto")
    points = around((leaves, orbit.state, rtol)).trail
    return orbit, points, _units(system, orbit.state)


def _units(system, state) -> np.ndarray:
    leaves, static = partition_arrays(system)
    return _units_stage(static).on_host((leaves, state))


@lane_kernel
def _units_stage(lane, static):
    leaves, state = lane
    return scales(combine_arrays(leaves, static), state)
