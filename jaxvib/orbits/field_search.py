"""Search for attractors of an autonomous system."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason
from ..foundation.arrays import partition_arrays
from .attractors import Found
from .basin_search import Search
from .cycle_shooting import return_time
from .equilibrium import equilibrium_near
from .error_estimates import EVIDENCE
from .field_attractors import Tube, Well, rates_in, sampled, tube, well
from .limit_cycle import cycle_near
from .multipliers import STABLE
from .settings import SettlingSettings
from .shooting import scales

_TRIES = 8  # motions examined after each segment, far from each other
_FOLLOWED, _PARTS = 16, 64  # spans for which such a motion is followed, samples in each
_ESCAPED = 1e4  # a state larger than this, relative to the size, has escaped
_AT_REST = 1e-6  # smaller motions in a span, relative to the size, are rounding
_NEARBY = 1e-2  # a motion this near to a known cycle converges to it


class FieldSearch(Search):
    """Known attractors of an autonomous system.

    Motions do not recur with a period known in advance: some of those that have not
    reached a known attractor are sampled densely, and Newton iteration for equilibria
    and cycles starts from their states.
    """

    def __init__(self, system, settings: SettlingSettings, transient: int, engine):
        super().__init__(system, settings, transient, engine)
        self.sizes = np.zeros(0)

    def settle(self, states: np.ndarray, report):
        """Return labels, reason codes and numbers of spans for initial states."""
        if not self.sizes.size:
            self.sizes = self._sizes(states[np.isfinite(states).all(axis=1)])
            reach = jnp.asarray(_ESCAPED * self.sizes)
            self.system = eqx.tree_at(lambda system: system.reach, self.system, reach)
            self.leaves, self.static = partition_arrays(self.system)
        return super().settle(states, report)

    def _sizes(self, states) -> np.ndarray:
        """Return the extent of motions from states (s, n) in a span, or of these."""
        if not len(states):
            return np.ones(states.shape[1])
        some = jnp.asarray(states[:: -(-len(states) // 64)])
        moved = np.asarray(jax.vmap(lambda state: scales(self.system, state))(some))
        moved = np.where(np.isfinite(moved), moved, 0.0)
        return np.maximum(np.median(moved, axis=0), np.abs(states).max(axis=0))

    def _run(self, stage, states):
        trail, nearest, codes = super()._run(stage, states)
        far = np.nanmax(np.abs(trail[:, -1]) / self.sizes, axis=1, initial=0.0) > _ESCAPED
        codes = np.where((codes == Reason.SUCCESS) & far, Reason.ESCAPED, codes)
        # Recurrence gives no indication of convergence here.
        return trail, np.full_like(nearest, np.inf), codes

    def _with_new(self, trail, nearest, codes, found) -> np.ndarray:
        ends, tried = trail[:, -1] / self.sizes, np.zeros(len(trail), bool)
        apart = np.full(len(trail), np.inf)
        for _ in range(_TRIES):
            open_ = np.flatnonzero((codes == 0) & (found < 0) & ~tried)
            open_ = open_[~self._passing(trail[open_, -1])]
            if not open_.size:
                break
            lane = open_[np.argmax(apart[open_])]
            tried[lane] = True
            apart = np.minimum(apart, np.abs(ends - ends[lane]).max(axis=1))
            new = self._settled_on(trail[lane, -1])
            if new is not None:
                self.attractors.append(new)
                found = self._known(trail)
        return found

    def _passing(self, states) -> np.ndarray:
        near = np.zeros(len(states), bool)
        for each in self.attractors:
            if isinstance(each, Tube):
                near |= each.away(states) < _NEARBY
        return near

    def _settled_on(self, state) -> Well | Tube | None:
        """Return the new attractor to which a motion converges, or None."""
        span = _FOLLOWED * self.period
        times = np.linspace(0.0, span, _FOLLOWED * _PARTS + 1)
        states = np.asarray(sampled(self.system, state, times, self.rtol))
        if not np.isfinite(states).all():
            return None
        late = states[len(states) // 2 :]
        for guess in (late[-1], late.mean(axis=0)):
            found = equilibrium_near(self.system, jnp.asarray(guess))
            if int(found.result) == Reason.SUCCESS and int(found.stable) == STABLE:
                new = well(self.system, found, self.sizes)
                if new is not None and new.contains(late[None])[0]:
                    return new if self._is_new(new) else None
        if states.shape[1] < 2:
            return None
        back = float(return_time(jnp.asarray(late), jnp.asarray(times[1])))
        numbers = (back if back > 0 else self.period), self.rtol, EVIDENCE["checked"]
        cycle = cycle_near(
            self.system, jnp.asarray(late[-1]), *(jnp.asarray(n, float) for n in numbers)
        )
        if int(cycle.result) != Reason.SUCCESS or int(cycle.stable) != STABLE:
            return None
        new = tube(self.system, cycle, self.sizes, self.rtol)
        return new if self._is_new(new) else None

    def _is_new(self, new: Well | Tube) -> bool:
        known = [each for each in self.attractors if isinstance(each, type(new))]
        return not any(each.contains(new.points[:1][None])[0] for each in known)

    def _watched(self, state) -> Found | None:
        rate = np.asarray(rates_in(self.system, jnp.asarray(state[None])))[0]
        if np.all(np.abs(rate) * self.period < _AT_REST * self.sizes):
            return None  # at rest without attraction, as on a line of equilibria
        # An unknown cycle looks quasi-periodic, with its period and the span: samples
        # once per span can only establish chaos.
        found = super()._watched(state)
        chaotic = found is not None and int(found.orbit.result) == Reason.CHAOTIC
        return found if chaotic else None
