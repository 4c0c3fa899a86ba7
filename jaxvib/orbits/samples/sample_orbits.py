"""Periodic orbits of many samples, and classification of the remaining motions."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from ...dynamics.engines import engine_for
from ...dynamics.engines.choice import MODAL
from ...dynamics.modal import ModalForm
from ...ensemble import Reason, TwoStageFunction, compile_ahead, map_samples
from ...foundation.arrays import gather_lanes, put_lanes
from ...systems.base.system import System
from ...systems.drift import Drift, modulo_drift
from ..orbit import PeriodicOrbit, orbit_from_shooting, unknown_orbits, with_fields
from ..searches.aperiodic import TrackedMotions, track_motions
from ..settings import SettlingSettings
from ..shooting.classification import limit_of
from ..shooting.error_estimates import error_factor
from ..shooting.motion_kernels import shooting_kernel
from ..shooting.multipliers import UNSTABLE

# Recurrence of a motion, in units of its size, from which Newton iteration takes over.
RECURRING = 1e-4
# All periods with at least this recurrence are then tried.
PLAUSIBLE = 1e-2
_SAME_ORBIT = 0.1  # an orbit farther from its guess is a different one
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
        trails: bool = False,
    ) -> tuple[np.ndarray, TrackedMotions | None]:
        """Find the stable orbit of each motion, and classify those without one.

        **Arguments:** `states` (lanes, n) at the end of transients; `nearest` (lanes,
        periods): their recurrences; `result`: reason codes of the transients; `period`
        (lanes,): that of the load, s. `trails`: see `track_motions`.
        **Returns:** the lanes that were observed further, and their observables.
        """
        longest = self.settings.max_periods
        self.orbits.result[:] = np.where(result == 0, -1, result)
        self.report(int(np.sum(result != 0)))
        recurring = np.flatnonzero((result == 0) & (nearest.min(axis=1) < RECURRING))
        self._try_in_turn(
            recurring,
            nearest[recurring] < PLAUSIBLE,
            lambda places, periods: states[recurring[places]],
        )
        pending = np.flatnonzero(self.orbits.result < 0)
        if not pending.size:
            return pending, None
        tracked = track_motions(
            gather_lanes(self.leaves, pending), self.static, states[pending],
            engine=self.engine, chunk=self.settings.chunk, longest=longest, trails=trails,
            find_orbits=lambda lanes, *motions: self._ends_of(pending[lanes], *motions),
        )  # fmt: skip
        others = tracked.code != Reason.SUCCESS
        lanes, rows = pending[others], gather_lanes(tracked, others)
        put_lanes(self.orbits, lanes, _classified(self.orbits, lanes, rows, period[lanes]))
        self.report(lanes.size)
        return pending, tracked

    def _try_in_turn(
        self,
        lanes: np.ndarray,
        likely: np.ndarray,
        guesses_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
        fits: Callable[..., np.ndarray] | None = None,
    ) -> np.ndarray:
        """Search for an orbit of each lane's likely periods, the shortest first.

        `likely`: (lanes, periods). `guesses_of(places, periods)`: states; `fits(places,
        periods, states)`: whether orbits with these states are those of the motions.
        **Returns:** which lanes have one.
        """
        done, turns = np.zeros(lanes.size, bool), np.cumsum(likely, axis=1)
        for turn in range(1, turns.max(initial=0) + 1):
            # Together, but those of equal periods beside each other.
            trials = (likely & (turns == turn))[~done]
            periods, places = np.nonzero(trials.T)
            periods, places = periods + 1, np.flatnonzero(~done)[places]
            if places.size:
                guesses = guesses_of(places, periods)
                done[places] = self._shoot(
                    lanes[places], guesses, periods,
                    fits and functools.partial(fits, places, periods),
                )  # fmt: skip
        return done

    def _shoot(self, lanes, guesses, periods, fits) -> np.ndarray:
        """Store stable orbits near guesses; return which lanes have one.

        `fits(states)`: whether orbits with these states are those of the motions.
        """
        found, distance = self.finder.find(
            gather_lanes(self.leaves, lanes), guesses, periods
        )
        success = (found.result == Reason.SUCCESS) & (distance < _SAME_ORBIT)
        accepted = np.asarray(success & (found.stable != UNSTABLE))
        if self.engine == MODAL:
            # Small chaos of many touches recurs as closely as a motion that settles.
            grows = np.asarray(found.largest_multiplier) > 1
            accepted &= ~grows | np.isfinite(found.multiplier_error)
        if fits is not None:
            accepted &= fits(found.state)
        put_lanes(self.orbits, lanes[accepted], gather_lanes(found, accepted))
        self.report(int(accepted.sum()))
        return accepted

    def _ends_of(
        self, lanes: np.ndarray, trails: np.ndarray, units: np.ndarray, repeats: np.ndarray
    ) -> np.ndarray:
        """Search for orbits that motions approach, from their extrapolated limits."""

        def limits(places, periods):
            found = np.empty_like(units[places])
            for each in np.unique(periods):
                some = periods == each
                motions = trails[places[some]], units[places[some]]
                found[some] = limit_of(*motions, int(each))
            return found

        def approach(places, periods, states):
            motions = trails[places], units[places]
            return _approaches(*motions, periods, states, self._drift)

        likely = _likely_periods(trails, units, repeats, self.settings.max_periods)
        return self._try_in_turn(lanes, likely, limits, approach)


def _likely_periods(trails, units, repeats, longest) -> np.ndarray:
    """Return candidate periods of the orbits that motions approach, (lanes, longest)."""
    earlier = trails[:, -1 - longest : -1][:, ::-1]
    nearest = np.max(np.abs(trails[:, -1:] - earlier) / units[:, None], axis=2)
    periods = np.arange(1, longest + 1)
    best = np.argmin(nearest, axis=1)[:, None] + 1
    # A spiral may recur more closely after several of its periods than after one.
    likely = (best % periods == 0) | (nearest < PLAUSIBLE)
    likely &= ~(np.min(nearest, axis=1, keepdims=True) > _FAR)
    known = repeats[:, None]
    return np.where(known > 0, known == periods, likely)


def _approaches(trails, units, periods, states, drift: Drift | None) -> np.ndarray:
    """Return which motions, sampled every `periods`, approach an orbit's state."""
    number = trails.shape[1]
    begin = number - 1 - periods * (number // 2 // periods)
    ends = np.stack([trails[np.arange(len(trails)), begin], trails[:, -1]])
    apart = ends - states
    if drift is not None:
        apart = drift.shifted_back(apart, drift.coordinate(apart))
    before, now = np.max(np.abs(apart) / units, axis=-1)
    return (now < PLAUSIBLE / 10) | (now < 0.9 * before)


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
        self, leaves: PyTree, guesses: np.ndarray, periods: np.ndarray
    ) -> tuple[PeriodicOrbit, np.ndarray]:
        """Return orbits near guesses, one per sample, and their distances from them.

        The distance is relative to the motion's own scales.
        """
        number = len(guesses)
        settings = (np.full(number, value) for value in self._settings)
        lanes = leaves, guesses, np.asarray(periods, np.int32), *settings
        return self._run(self._find, lanes)


def _evidence(system, lanes, found):
    """Return the orbits of shooting results, and their distances from the guesses."""
    _, guesses, periods, rtol, factor = lanes
    orbits = orbit_from_shooting(system, *found, periods, rtol * factor, factor < 1)
    far = modulo_drift(system, orbits.state, guesses) - guesses
    far = np.abs(far) / found[1].start_units
    return orbits, np.max(far, axis=-1)
