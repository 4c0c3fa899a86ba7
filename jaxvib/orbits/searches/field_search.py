"""Search for attractors of an autonomous system."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...ensemble import Reason
from ...systems.drift import modulo_drift
from ..equilibrium import equilibrium_near
from ..limit_cycle import cycle_near
from ..settings import SettlingSettings
from ..shooting.cycle_shooting import return_time, window_parts
from ..shooting.error_estimates import EVIDENCE
from ..shooting.multipliers import STABLE
from ..shooting.orbit_shooting import scales
from ..shooting.settling import PoincareSamples
from .attractors import ON_ATTRACTOR, Motion, distances, near_any
from .basin_search import Search
from .field_attractors import cycle_motion, equilibrium_motion, rates_in, sampled

_FOLLOWED, _PARTS = 16, 64  # spans for which such a motion is followed, samples in each
_ESCAPED = 1e4  # a state larger than this, relative to the size, has escaped
_AT_REST = 1e-6  # smaller motions in a span, relative to the size, are rounding
_NEARBY = 1e-2  # a motion this near to a known cycle converges to it


class FieldSearch(Search):
    """Known attractors of an autonomous system.

    Motions do not recur with a period known in advance: some of those that have not
    reached a known attractor, far from each other, are sampled densely, and Newton
    iteration for equilibria and cycles starts from their states.
    """

    searches = 8
    driven = False

    def __init__(self, system, starts, settings: SettlingSettings, transient: int, engine):
        self.sizes = _sizes(system, starts[np.isfinite(starts).all(axis=1)])
        system = system.within(_ESCAPED * self.sizes)
        super().__init__(system, settings, transient, engine)
        self.field = system  # whose rates are zero at an equilibrium

    def classify_starts(
        self, states: np.ndarray, report: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return labels, reason codes and numbers of spans for initial states."""
        finite = np.isfinite(states).all(axis=1)
        states = states.copy()
        states[finite] = modulo_drift(self.system.moved, states[finite])
        return super().classify_starts(states, report)

    def _samples(self, states) -> PoincareSamples:
        seen = super()._samples(states)
        ends = np.abs(seen.trail[:, -1]) / self.sizes
        far = np.nanmax(ends, axis=1, initial=0.0) > _ESCAPED
        escaped = (seen.result == Reason.SUCCESS) & far
        return seen._replace(
            # Recurrence gives no indication of convergence here.
            nearest=np.full_like(seen.nearest, np.inf),
            result=np.where(escaped, Reason.ESCAPED, seen.result),
        )

    def _candidates(self, seen: PoincareSamples, lanes, tried: list[int]) -> np.ndarray:
        """Return lanes away from the known cycles, the farthest from those tried first."""
        cycles = self._of_class(Reason.SUCCESS)
        lanes = lanes[~near_any(cycles, seen.trail[lanes, -1], _NEARBY)]
        if not tried:
            return lanes
        ends, others = seen.trail[lanes, -1], seen.trail[tried, -1]
        apart = distances(ends, others, self.sizes, self.system.drift).min(axis=1)
        return lanes[np.argsort(-apart, kind="stable")]

    def _find(self, trail, nearest) -> None:
        """Search for the attractor to which a motion converges, and store a new one."""
        new = self._attractor_of(trail[-1])
        if new is None:
            return
        known = self._of_class(int(new.orbit.result))
        if not any(each.contains(new.points[:1][None])[0] for each in known):
            self.attractors.append(new)

    def _of_class(self, code: int) -> list[Motion]:
        return [each for each in self.attractors if int(each.orbit.result) == code]

    def _attractor_of(self, state) -> Motion | None:
        """Return the attractor to which a motion converges, or None."""
        span = _FOLLOWED * self.period
        times = np.linspace(0.0, span, _FOLLOWED * _PARTS + 1)
        states = np.asarray(sampled(self.system, state, times, self.rtol))
        if not np.isfinite(states).all():
            return None
        late = states[len(states) // 2 :]
        rest = self._equilibrium_of(late)
        return self._cycle_of(late[-1]) if rest is None else rest

    def _equilibrium_of(self, late) -> Motion | None:
        """Return the equilibrium that a motion with `late` states converges to."""
        for guess in (late[-1], late.mean(axis=0)):
            found = equilibrium_near(self.field, jnp.asarray(guess))
            if int(found.result) == Reason.SUCCESS and int(found.stable) == STABLE:
                rest = modulo_drift(self.field, found.state)
                found = eqx.tree_at(lambda one: one.state, found, rest)
                new = self._known_equilibrium(rest)
                if new is None:
                    new = equilibrium_motion(self.field, found, self.sizes)
                if new is not None and new.contains(late[None])[0]:
                    return new
        return None

    def _known_equilibrium(self, state) -> Motion | None:
        """Return the known attractor that is an equilibrium in a state, or None."""
        for each in self._of_class(Reason.EQUILIBRIUM):
            if np.all(np.abs(each.orbit.state - state) < ON_ATTRACTOR * self.sizes):
                return each
        return None

    def _cycle_of(self, state) -> Motion | None:
        """Return the cycle that a motion from a state converges to, or None."""
        if len(state) < 2:
            return None
        number = _FOLLOWED * _PARTS
        times = np.append(0.0, _FOLLOWED * self.period * window_parts(number))
        after = np.asarray(sampled(self.system, state, times, self.rtol))
        around = jnp.asarray(modulo_drift(self.system, after, after[0]))
        back = float(return_time(around, jnp.asarray(times)))
        numbers = (back if back > 0 else self.period), self.rtol, EVIDENCE["checked"]
        period, rtol, factor = (jnp.asarray(number, float) for number in numbers)
        cycle = cycle_near(self.system, jnp.asarray(state), period, rtol, factor)
        if int(cycle.result) != Reason.SUCCESS or int(cycle.stable) != STABLE:
            return None
        if self.system.held is not None:  # with the multipliers and the progress
            cycle = cycle_near(self.system.moved, cycle.state, cycle.period, rtol, factor)
        return cycle_motion(self.system, cycle, self.sizes, self.rtol)

    def _aperiodic_motion(self, state) -> Motion | None:
        rate = np.asarray(rates_in(self.system, jnp.asarray(state[None])))[0]
        if np.all(np.abs(rate) * self.period < _AT_REST * self.sizes):
            return None  # at rest without attraction, as on a line of equilibria
        # An unknown cycle looks quasi-periodic, with its period and the span: samples
        # once per span can only establish chaos.
        found = super()._aperiodic_motion(state)
        chaotic = found is not None and int(found.orbit.result) == Reason.CHAOTIC
        return found if chaotic else None


def _sizes(system, states) -> np.ndarray:
    """Return the extent of motions from states (s, n) in a span, or of these."""
    if not len(states):
        return np.ones(states.shape[1])
    some = jnp.asarray(states[:: -(-len(states) // 64)])
    moved = np.asarray(jax.vmap(lambda state: scales(system, state))(some))
    moved = np.where(np.isfinite(moved), moved, 0.0)
    return np.maximum(np.median(moved, axis=0), np.abs(states).max(axis=0))
