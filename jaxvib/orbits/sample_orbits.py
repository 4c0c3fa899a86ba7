"""Periodic orbits of many samples, and classification of the remaining motions."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from ..dynamics.engines import engine_for
from ..dynamics.engines.choice import MODAL
from ..dynamics.modal import ModalForm
from ..ensemble import Reason, TwoStageFunction, compile_ahead, map_samples
from ..foundation.arrays import gather_lanes, put_lanes
from ..systems.drift import Drift, modulo_drift
from ..systems.system import System
from .aperiodic import TrackedMotions, track_motions
from .classification import limit_of
from .error_estimates import error_factor
from .motion_kernels import shooting_kernel
from .multipliers import UNSTABLE
from .orbit import PeriodicOrbit, orbit_from_shooting, unknown_orbits, with_fields
from .settings import SettlingSettings

# Recurrence of a motion, in units of its size, from which Newton iteration takes over.
CLOSE = 1e-4
# All periods with at least this recurrence are then tried.
PLAUSIBLE = 1e-2
_NEAR = 0.1  # an orbit farther from its guess is a different one
_FAR = 0.1  # with a weaker recurrence no orbit is approached yet
FOLLOWED = 8  # load periods followed if the motion's own period is unknown


class SampleOrbits:
    """The orbits of all samples, as far as known; result -1 where undecided.

    **Fields:** `leaves`, `static`: the parameters of each sample's system, and the rest;
    `engine`: that of the transients. `report` is called with the number of finished
    samples.
    """

    def __init__(
        self,
        system: System,
        parts: tuple,
        states: np.ndarray,
        settings: SettlingSettings,
        engine: str,
        report: Callable[[int], object],
    ):
        self.leaves, self.static = parts
        self.settings, self.engine, self.report = settings, engine, report
        one = jax.tree.map(lambda leaf: leaf[0], (self.leaves, states))
        self._drift = system.drift
        self.finder = OrbitFinder(system, self.static, one, settings, engine == "event")
        self.orbits = unknown_orbits(system, len(states))

    def find(
        self,
        states: np.ndarray,
        nearest: np.ndarray,
        result: np.ndarray,
        period: np.ndarray,
    ) -> tuple[np.ndarray, TrackedMotions | None]:
        """Find the stable orbit of each motion, and classify those without one.

        **Arguments:** `states` (lanes, n) at the end of transients; `nearest` (lanes,
        periods): their recurrences; `result`: reason codes of the transients; `period`
        (lanes,): that of the load, s.
        **Returns:** the lanes that were observed further, and their observables.
        """
        longest = self.settings.max_periods
        self.orbits.result[:] = np.where(result == 0, -1, result)
        self.report(int(np.sum(result != 0)))
        recurring = np.flatnonzero((result == 0) & (nearest.min(axis=1) < CLOSE))
        for periods in range(1, longest + 1):
            tried = recurring[nearest[recurring, periods - 1] < PLAUSIBLE]
            if tried.size:
                done = self.shoot(tried, states[tried], periods)
                recurring = np.setdiff1d(recurring, tried[done], assume_unique=True)
        pending = np.flatnonzero(self.orbits.result < 0)
        if not pending.size:
            return pending, None
        tracked = track_motions(
            gather_lanes(self.leaves, pending), self.static, states[pending],
            engine=self.engine, chunk=self.settings.chunk, longest=longest,
            find_orbits=lambda lanes, *motions: self.ends_of(
                pending[lanes], *motions, longest
            ),
        )  # fmt: skip
        others = tracked.code != Reason.SUCCESS
        lanes, rows = pending[others], gather_lanes(tracked, others)
        put_lanes(self.orbits, lanes, _classified(self.orbits, lanes, rows, period[lanes]))
        self.report(lanes.size)
        return pending, tracked

    def shoot(
        self,
        lanes: np.ndarray,
        guesses: np.ndarray,
        periods: int,
        fits: Callable[[int, np.ndarray], bool] | None = None,
    ) -> np.ndarray:
        """Store stable orbits near guesses; return which lanes have one.

        `fits(place, state)`: whether the orbit with a state is that of a lane's motion.
        """
        found, distance = self.finder.find(
            gather_lanes(self.leaves, lanes), guesses, periods
        )
        success = (found.result == Reason.SUCCESS) & (distance < _NEAR)
        accepted = np.asarray(success & (found.stable != UNSTABLE))
        if self.engine == MODAL:
            # Small chaos of many touches recurs as closely as a motion that settles.
            grows = np.asarray(found.largest_multiplier) > 1
            accepted &= ~grows | np.isfinite(found.multiplier_error)
        if fits is not None:
            accepted &= [fits(place, state) for place, state in enumerate(found.state)]
        put_lanes(self.orbits, lanes[accepted], gather_lanes(found, accepted))
        self.report(int(accepted.sum()))
        return accepted

    def ends_of(
        self,
        lanes: np.ndarray,
        trails: np.ndarray,
        units: np.ndarray,
        repeats: np.ndarray,
        longest: int,
    ) -> np.ndarray:
        """Search for orbits that motions approach, from their extrapolated limits."""
        done = np.zeros(lanes.size, bool)
        rows = list(zip(trails, units, strict=True))
        likely = [
            _likely_periods(*row, number, longest)
            for row, number in zip(rows, repeats, strict=True)
        ]
        for periods in range(1, longest + 1):
            places = np.flatnonzero([periods in each for each in likely] & ~done)
            if places.size:
                some = [rows[place] for place in places]
                guesses = np.stack([limit_of(*row, periods) for row in some])
                done[places] = self.shoot(
                    lanes[places], guesses, periods,
                    lambda place, state, some=some, periods=periods: _approaches(
                        *some[place], periods, state, self._drift
                    ),
                )  # fmt: skip
        return done


def _likely_periods(trail, units, repeats, longest) -> set[int]:
    """Return candidate periods of the orbit that a motion approaches."""
    if repeats:
        return {int(repeats)}
    earlier = trail[-1 - longest : -1][::-1]
    nearest = np.max(np.abs(trail[-1] - earlier) / units, axis=1)
    best = int(np.argmin(nearest)) + 1
    if nearest[best - 1] > _FAR:
        return set()
    # A spiral may recur more closely after several of its periods than after one.
    likely = {periods for periods in range(1, best + 1) if best % periods == 0}
    return likely | set((np.flatnonzero(nearest < PLAUSIBLE) + 1).tolist())


def _approaches(trail, units, periods, state, drift: Drift | None) -> bool:
    """Return whether a motion, sampled every `periods`, approaches an orbit's state."""
    begin = len(trail) - 1 - periods * (len(trail) // 2 // periods)
    apart = trail[[begin, -1]] - state
    if drift is not None:
        apart = drift.shifted_back(apart, drift.coordinate(apart))
    before, now = np.max(np.abs(apart) / units, axis=1)
    return bool(now < PLAUSIBLE / 10 or now < 0.9 * before)


def _classified(orbits, lanes, tracked: TrackedMotions, period) -> PeriodicOrbit:
    """Return observed motions that are not periodic, as orbits without a period."""
    repeats = np.where(tracked.code == Reason.LONGER_PERIOD, tracked.repeats, -1)
    known = eqx.tree_at(
        lambda o: (
            o.state,
            o.period,
            o.periods,
            o.contacts_per_period,
            o.max_contact_force,
            o.amplitude,
            o.lyapunov_exponent,
            o.lyapunov_error,
            o.watched,
            o.result,
        ),
        gather_lanes(orbits, lanes),
        (
            tracked.state,
            np.where(repeats > 0, repeats, FOLLOWED) * period,
            repeats.astype(np.int32),
            tracked.contacts_per_period,
            tracked.max_contact_force,
            tracked.amplitude,
            tracked.exponent / period,
            tracked.error / period,
            tracked.watched.astype(np.int32),
            tracked.code.astype(np.int32),
        ),
    )
    if tracked.progress is None:
        return known
    whole = tracked.progress * np.maximum(repeats, 1)[:, None]
    return with_fields(known, progress=whole[:, 0], progress_error=whole[:, 1])


class OrbitFinder:
    """Newton shooting for many samples of one structure, compiled in the background.

    The iteration is a kernel if it can be lowered. Eigenvalues and condition numbers of
    its orbits are computed by NumPy.

    **Arguments:** `system`: one of theirs; `static`: the part that they share; `one`:
    leaves and a state of one of them; `how`: settings, whose `engine` "auto" selects as
    for single motions; `quick`: whether "auto" may be event-driven, if that is a kernel.
    """

    def __init__(self, system, static, one, how: SettlingSettings, quick: bool):
        (leaves, state), chunk = one, how.chunk
        rtol, factor = how.rtol, error_factor(how.evidence)
        self._run = functools.partial(map_samples, chunk=chunk)
        self._settings = float(rtol), float(factor)
        settings = np.asarray(1, np.int32), np.asarray(rtol), np.asarray(factor)
        lane = (leaves, np.asarray(state), *settings)
        by_events = functools.partial(
            shooting_kernel(static, "event").unsupported_reason, lane
        )
        engine = MODAL
        if not isinstance(static, ModalForm):
            engine, _ = engine_for(system, how.engine, 1, by_events if quick else None)
        self._shots = shooting_kernel(static, engine)
        compile_ahead(self._shots, lane, chunk=chunk)
        self._find = TwoStageFunction(self._shots, functools.partial(_evidence, system))

    def find(
        self, leaves: PyTree, guesses: np.ndarray, periods: int
    ) -> tuple[PeriodicOrbit, np.ndarray]:
        """Return orbits near guesses, one per sample, and their distances from them.

        The distance is relative to the motion's own scales.
        """
        number = len(guesses)
        settings = (np.full(number, value) for value in self._settings)
        lanes = leaves, guesses, np.full(number, periods, np.int32), *settings
        return self._run(self._find, lanes)


def _evidence(system, lanes, found):
    """Return the orbits of shooting results, and their distances from the guesses."""
    _, guesses, periods, rtol, factor = lanes
    orbits = orbit_from_shooting(system, *found, periods, rtol * factor, factor < 1)
    far = modulo_drift(system, orbits.state, guesses) - guesses
    far = np.abs(far) / found[1].start_units
    return orbits, np.max(far, axis=-1)
