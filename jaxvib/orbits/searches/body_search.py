r"""Search for attractors of bodies that may stick and hit stops, under constant loads.

Their motions come to rest, or converge to cycles of a period of their own. Where
frictions stick, states at rest are a set: a body on the ground rests anywhere in an
interval. Two states are of one set if bodies also rest everywhere on the line between
them. A set in which one friction sticks is given by the middle and by even points of its
line, one in which several stick by a single state. A state is at rest if the motion from
there does not leave it; a set attracts if the multipliers of a motion at rest, except
those along the set, are below 1.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...dynamics.flow import observe_with_monodromy
from ...ensemble import Reason
from ...foundation.arrays import to_numpy
from ...systems.base.system import System
from ...systems.drift import Drift, across_drift, modulo_drift
from ...systems.unforced import field_in_spans
from ..orbit import with_fields
from ..shooting.multipliers import STABLE
from ..shooting.settling import GRAZING
from .attractors import Motion
from .field_attractors import freedoms_of, nothing_known
from .field_search import FieldSearch

_AT_REST = 1e-6  # smaller motions and speeds, relative to their sizes, are rest
_SHORT = 0.0375  # part of a span, 16 times of which a state at rest does not move
_BETWEEN = 15  # states on a line that must be at rest
_LONGEST_PAUSE = 31  # segments between two searches
_STEPS = 2  # of Newton's method, from a state that is at rest to six digits
# A set at rest is searched for up to this distance from a state, relative to the sizes, at
# so many places, between two of which its end is bracketed so many times.
_REACH, _PLACES, _BRACKETS = 2.0, 256, 5
_POINTS = 33  # of a set at rest
_NEUTRAL = 1e-6  # a multiplier this near to 1 is that of a shift within a set


class BodySearch(FieldSearch):
    """Known attractors of bodies under constant loads, whose forces jump."""

    searches = 4

    def __init__(self, system, starts, settings, transient: int, engine):
        super().__init__(system, starts, settings, transient, engine)
        self.field = field_in_spans(system.moved, system.span, modulo_drift=True)
        brief = np.asarray(_SHORT * self.period)
        self.brief = eqx.tree_at(lambda leaves: leaves.span, self.leaves, brief)
        self.pause = self.waits = 0  # segments between searches, and to the next one

    def _with_new(self, seen, found) -> np.ndarray:
        """Search for new attractors, ever more rarely while none is found.

        Motions that pass a slow equilibrium or a cycle that repels are open for dozens of
        segments, and a search takes as long as thousands of motions.
        """
        if self.waits:
            self.waits -= 1
            return found
        known = len(self.attractors)
        found = super()._with_new(seen, found)
        new = len(self.attractors) > known
        self.waits = self.pause = 0 if new else min(2 * self.pause + 1, _LONGEST_PAUSE)
        return found

    def _equilibrium_of(self, late) -> Motion | None:
        """Return the equilibrium, or the set of them, that a motion comes to."""
        last = modulo_drift(self.system, late[-1:])
        if self.at_rest(last)[0]:
            return self._resting(last[0])
        return super()._equilibrium_of(late)

    def at_rest(self, states) -> np.ndarray:
        """Return which states (s, n) a motion from there does not leave."""
        half = states.shape[1] // 2
        speeds = np.abs(_beside_drift(self.system.drift, states[:, half:]))
        found = np.all(speeds <= _AT_REST * self.sizes[half:], axis=1)
        slow = np.flatnonzero(found)
        if slow.size:
            seen = self._sampled_after(self.brief, states[slow])
            moved = np.abs(seen.trail - states[slow, None]) / self.sizes
            stays = (seen.result == Reason.SUCCESS) & (moved < _AT_REST).all(axis=(1, 2))
            found[slow] = stays
        return found

    def _resting(self, state) -> Motion | None:
        """Return the set of states at rest around one, None if it does not attract."""
        for _ in range(_STEPS):
            state, moved, largest, along = _refined(
                self.system, state, self.sizes, self.rtol
            )
        if not largest < 1 - _NEUTRAL:
            return None
        points = state[None]
        if along.shape[0] == 1:
            points = self._line(state, along[0])
            state = points[0]
        with np.errstate(divide="ignore"):
            exponent = np.log(largest) / self.period
        bodies = self.system.moved
        orbit = with_fields(
            nothing_known(bodies, Reason.EQUILIBRIUM),
            state=state,
            stable=np.asarray(STABLE),
            amplitude=np.zeros(freedoms_of(bodies)),
            lyapunov_exponent=np.where(largest > 0, exponent, np.nan),
            state_error=np.max(np.abs(moved)),
            **_progress(bodies.drift, state, moved, self.period),
        )

        def away(states):
            apart = np.full(len(states), np.inf)
            rest = np.flatnonzero(self.at_rest(states))
            apart[rest[self._rests_between(states[rest], state)]] = 0.0
            return apart

        return Motion(orbit, points, self.sizes, away, 1.0, self.system.drift)

    def _line(self, state, along) -> np.ndarray:
        """Return the middle and even points of a line at rest through a state."""
        low, high = (self._end(state, side * along) for side in (-1, 1))
        shares = np.append(0.5, np.linspace(0.0, 1.0, _POINTS))[:, None]
        return low + shares * (high - low)

    def _end(self, state, along) -> np.ndarray:
        """Return the last state at rest from one in a direction."""
        low, step, places = 0.0, _REACH / _PLACES, _PLACES
        for _ in range(1 + _BRACKETS):
            far = low + step * np.arange(1, places + 1)
            rests = self.at_rest(state + far[:, None] * along)
            low += step * (places if rests.all() else int(np.argmin(rests)))
            step, places = step / (_BETWEEN + 1), _BETWEEN
        return state + low * along

    def _rests_between(self, states, other) -> np.ndarray:
        """Return from which states at rest (s, n) the line to another one is at rest."""
        parts = np.arange(1, _BETWEEN + 1)[:, None] / (_BETWEEN + 1)
        lines = states[:, None] + parts * (other - states)[:, None]
        rests = self.at_rest(lines.reshape(-1, len(other))).reshape(-1, _BETWEEN)
        return np.asarray(np.all(rests, axis=1))


def _beside_drift(drift: Drift | None, speeds: np.ndarray) -> np.ndarray:
    """Return speeds (s, n) without their part along a drift of any length."""
    if drift is None or drift.step is not None:
        return speeds
    along = np.asarray(drift.direction)[: speeds.shape[1]]
    return speeds - speeds[:, drift.place, None] / along[drift.place] * along


def _progress(drift: Drift | None, state, moved, span: float) -> dict[str, np.ndarray]:
    """Return the progress of a uniform motion in a span and its error, by field."""
    if drift is None:
        return {}
    part = 0.0
    if drift.step is None:
        part = span / drift.direction[drift.place]
    speed = len(state) // 2 + drift.place
    lead, error = part * state[speed], np.abs(part * moved[speed])
    return {"progress": np.asarray(lead), "progress_error": np.asarray(error)}


def _refined(system: System, state, sizes, rtol: float) -> tuple:
    r"""Return a state at rest after a Newton step, and what is known of it.

    These are the step, the largest multiplier, and the directions (d, n) of the set of
    states at rest.

    The step is $(I - M)^+ (\varphi^T(s) - s)$, with none along the set of states at rest,
    whose multipliers are left out. The largest one is NaN if more of them are neutral
    than frictions stick.
    """
    span = system.period()
    grazing = GRAZING * sizes[0]
    seen = observe_with_monodromy(
        system, jnp.asarray(state), 0.0, span, rtol=rtol, grazing=grazing
    )
    matrix = np.asarray(across_drift(system, to_numpy(seen.monodromy).T)).T
    scaled = matrix * sizes / sizes[:, None]
    if int(seen.result) or not np.isfinite(scaled).all():
        return state, np.full_like(state, np.nan), np.nan, np.zeros((0, len(state)))
    away = modulo_drift(system, np.asarray(seen.state)) - state
    inverse = np.linalg.pinv(np.eye(len(state)) - scaled, rcond=_NEUTRAL)
    step = sizes * (inverse @ (away / sizes))
    multipliers = np.linalg.eigvals(scaled)
    neutral = np.abs(multipliers - 1) < _NEUTRAL
    half = len(state) // 2
    sliding = [each.direction @ state[half:] - each.speed for each in system.frictions]
    sticks = np.sum(np.abs(np.asarray(sliding)) <= _AT_REST * sizes[half:].max())
    largest = np.max(np.abs(multipliers[~neutral]), initial=0.0)
    known = np.sum(neutral) <= sticks
    _, _, right = np.linalg.svd(np.eye(len(state)) - scaled)
    along = right[len(state) - np.sum(neutral) :] * sizes
    return state + step, step, largest if known else np.nan, along
