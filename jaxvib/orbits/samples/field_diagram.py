"""Motions of autonomous systems along a parameter, by their crossings of a section."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...ensemble import Reason, map_samples
from ...foundation.arrays import combine_arrays, stack_lanes, to_numpy
from ...systems.base.system import System
from ...systems.unforced import unforced_system
from ..crossings import Crossings, FieldSection, crossings_kernel
from ..equilibrium import equilibrium_near
from ..limit_cycle import LimitCycle, cycle_near
from ..lyapunov import LyapunovExponents, lyapunov_exponents
from ..orbit import PeriodicOrbit, with_fields
from ..searches.attractors import exponent_error_of, exponent_of
from ..searches.field_attractors import (
    cycle_orbit,
    equilibrium_motion,
    nothing_known,
    rates_in,
)
from ..settings import SettlingSettings
from ..shooting.error_estimates import error_factor
from ..shooting.multipliers import STABLE, UNSTABLE
from .sample_orbits import PLAUSIBLE, RECURRING, gather_lanes

_SAME_ORBIT = 0.1  # an orbit farther from its guess, relative to the extent, is another one
_SAME_TIME = 1e-2  # ... and so is one whose period differs by more than this
_OBSERVED = 1024  # crossings over which exponents are averaged
# A chaotic motion's exponent exceeds 0 by so many errors, and by this, per crossing.
_SURE, _CLEAR = 5.0, 4e-3
# An exponent is 0 within so many errors, which are at most this, per crossing.
_ZERO, _LARGEST_ERROR = 3.0, 1e-3


class FieldMotions:
    """The motions of a field at many values of a parameter.

    **Fields:** `leaves`, `static`: the parameters at each value, and the rest; `sizes`,
    (n,): of the starts; `section`: at which states are taken; `settings`; `engine`.
    """

    def __init__(
        self, parts: tuple, starts: np.ndarray, settings: SettlingSettings, engine: str
    ):
        self.leaves, self.static = parts
        self.sizes = np.abs(starts).max(axis=0)
        self.settings, self.engine = settings, engine
        assert settings.section is not None
        self.section: FieldSection = settings.section

    def stage(self, skip: int, count: int) -> Any:
        """Return the kernel of a lane (leaves, state, rtol, period) to its crossings."""
        return crossings_kernel(
            self.static, self.section.function, skip, count, self.engine
        )

    def lanes(self, lanes: np.ndarray, states: np.ndarray) -> tuple:
        """Return the arguments of `stage` for some of the values."""
        period, rtol = float(self.section.period), self.settings.rtol
        each = (np.full(lanes.size, number) for number in (rtol, period))
        return gather_lanes(self.leaves, lanes), states, *each

    def found(self, seen: Crossings) -> tuple[np.ndarray, PeriodicOrbit]:
        """Return states and orbits of motions that crossed the section."""
        states = np.array(seen.states)
        orbits = [self._motion(i, each) for i, each in enumerate(map(Crossings, *seen))]
        whole = stack_lanes(orbits)
        rests = np.flatnonzero(whole.result == Reason.EQUILIBRIUM)
        cycles = np.flatnonzero(whole.periods)
        states[np.concatenate([rests, cycles])] = np.nan
        states[rests, 0] = whole.state[rests]
        if cycles.size:
            longest = int(whole.periods.max())
            along = self.lanes(cycles, whole.state[cycles])
            around = map_samples(self.stage(0, longest), along).states
            beyond = np.arange(longest) >= whole.periods[cycles, None]
            states[cycles, :longest] = np.where(beyond[:, :, None], np.nan, around)
        return states, whole

    def _system(self, lane: int) -> System:
        leaves = jax.tree.map(lambda leaf: jnp.asarray(leaf[lane]), self.leaves)
        return combine_arrays(leaves, self.static)

    def _motion(self, lane: int, seen: Crossings) -> PeriodicOrbit:
        system, code = self._system(lane), int(seen.result)
        if code == Reason.NO_CROSSING:
            return self._at_rest(system, seen.end)
        if code != Reason.SUCCESS:
            return self._classified(system, seen.end, code)
        extent = _extent(system, seen)
        earlier = seen.states[-1 - self.settings.max_periods : -1][::-1]
        apart = np.max(np.abs(seen.states[-1] - earlier) / extent, axis=1)
        if apart.min() < RECURRING:
            for periods in np.flatnonzero(apart < PLAUSIBLE) + 1:
                cycle = self._cycle(system, seen, int(periods), extent)
                if cycle is not None:
                    return self._periodic(system, cycle, int(periods))
        return self._aperiodic(system, seen)

    def _at_rest(self, system, end) -> PeriodicOrbit:
        """Return the stable equilibrium in whose region of attraction a motion is."""
        found = to_numpy(equilibrium_near(system, jnp.asarray(end)))
        unknown = self._classified(system, end, Reason.NO_CROSSING)
        if int(found.result) != Reason.SUCCESS or int(found.stable) != STABLE:
            return unknown
        sizes = np.maximum(self.sizes, np.abs(found.state))
        sampled = unforced_system(system, self.section.period, "bifurcation_diagram")
        motion = equilibrium_motion(sampled, found, np.where(sizes > 0, sizes, 1.0))
        if motion is None or not motion.contains(end[None, None])[0]:
            return unknown
        error = np.asarray(found.eigenvalue_error)
        return with_fields(motion.orbit, lyapunov_error=error)

    def _cycle(self, system, seen, periods: int, extent) -> LimitCycle | None:
        """Return the cycle that a motion approaches, None if there is none."""
        guess, span = seen.states[-1], float(seen.times[-periods:].sum())
        factor = error_factor(self.settings.evidence)
        period, rtol, tighter = (
            jnp.asarray(number, float) for number in (span, self.settings.rtol, factor)
        )
        cycle = to_numpy(cycle_near(system, jnp.asarray(guess), period, rtol, tighter))
        if int(cycle.result) != Reason.SUCCESS or int(cycle.stable) == UNSTABLE:
            return None
        near = np.max(np.abs(cycle.state - guess) / extent) < _SAME_ORBIT
        return cycle if near and abs(cycle.period / span - 1) < _SAME_TIME else None

    def _periodic(self, system, cycle: LimitCycle, periods: int) -> PeriodicOrbit:
        orbit = cycle_orbit(system, cycle)
        return with_fields(
            orbit,
            periods=np.asarray(periods, np.int32),
            lyapunov_exponent=exponent_of(orbit),
            lyapunov_error=exponent_error_of(orbit),
        )

    def _aperiodic(self, system, seen: Crossings) -> PeriodicOrbit:
        mean = float(seen.times.mean())
        number = min(2, len(seen.end))
        found = lyapunov_exponents(
            system, seen.end, _OBSERVED, number, skip=64, period=mean,
            rtol=self.settings.rtol, engine=self.engine, throw=False,
        )  # fmt: skip
        code = int(found.result) or _motion_class(to_numpy(found), mean)
        return with_fields(
            self._classified(system, np.asarray(found.state), code),
            lyapunov_exponent=np.asarray(found.exponents[0]),
            lyapunov_error=np.asarray(found.errors[0]),
            watched=np.asarray(_OBSERVED, np.int32),
        )

    def _classified(self, system, state, code: int) -> PeriodicOrbit:
        one = nothing_known(system, code)
        return with_fields(one, state=np.asarray(state, float))


def _extent(system: System, seen: Crossings) -> np.ndarray:
    """Return the size of each component of a motion.

    At a section components may vanish, but then their rates do not.
    """
    rates = np.abs(rates_in(system, jnp.asarray(seen.states))).max(axis=0)
    moved = np.asarray(rates) * float(seen.times.mean()) / (2 * np.pi)
    extent = np.maximum(moved, np.abs(seen.states).max(axis=0))
    return np.where(extent > 0, extent, 1.0)


def _motion_class(found: LyapunovExponents, period: float) -> Reason:
    """Return the class of a motion that is not a known cycle, from two exponents."""
    exponents, errors = found.exponents * period, found.errors * period
    if exponents[0] > max(_SURE * errors[0], _CLEAR):
        return Reason.CHAOTIC
    small = (np.abs(exponents) < _ZERO * errors) & (errors < _LARGEST_ERROR)
    if len(exponents) == 2 and small.all():
        return Reason.QUASI_PERIODIC
    return Reason.UNDECIDED_MOTION
