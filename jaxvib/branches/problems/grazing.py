r"""Grazings of hard stops on branches of orbits: where they are, and what follows.

At a grazing an orbit without an impact and one with it meet, see
`equations.impact_section`. It is a root of smooth equations, solved to rounding, and the
directions of both branches are null vectors of the same Jacobian: the depth falls along
one, the speed of the impact grows along the other. A grazing is passed only if orbits
are found on both sides, with as many impacts as follow from it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import linalg
from ...ensemble import Reason, map_samples
from ...foundation.arrays import equal_lanes, to_jax
from ...systems.base.system import System, equation_shape
from ...systems.fields import state_size
from ..equations.corrector import Corrected, LaneData, system_of
from ..equations.impact_section import Touch, section_corrector, section_data, start_kernel
from ..equations.orbit_equations import orbit_spreader
from ..equations.point import at
from ..equations.touches import Seen, Stop, Touches, hard_contacts, touches_of, watch_kernel
from ..results.bifurcation_results import BifurcationPoint
from ..tracing.problem import lane_of
from ..tracing.tracer import BranchPoint, Crossing, Watched, axis_of

# Only touches are searched whose scaled speed is below this times the root of a step, and
# only the nearest.
_LIKELY, _MOST = 5.0, 8
# A grazing within a step is not farther than this part of it.
_WITHIN = 1.5
# Scaled distances from a grazing at which a branch goes on, tried in order.
_REACHES = np.array([3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5])
# Scaled distances within which an impact may be followed by infinitely many, tried in
# order with steps shorter than the second.
_REST_REACHES, _NEAR_REST = np.array([1e-4, 3e-4, 1e-3, 3e-3, 1e-2]), 1e-3
# A shorter part of the period between touches of a stop that then stays closed belongs to
# its last rebounds; impacts on two stops less apart than the second meet.
_REBOUND, _MEET = 1e-3, 1e-4
# A branch that ends at orbits with a slower scaled impact ends at its grazing.
_SLOWEST = 1e-3
# The scaled state of a body that comes to rest differs by less than this.
_SETTLED = 0.03
# Scaled depth and speed below which an impact is not told from a touch.
_SHALLOW, _SLOW = 1e-6, 1e-4
# Distances from a jump at which a branch goes on, in decreasing order.
_BESIDE = np.array([1e-3, 3e-4, 1e-4, 3e-5, 1e-5])
# Scaled distance at which slopes of margins are taken.
_ASIDE = 1e-6


class _Roots(NamedTuple):
    """Grazings in coordinates of the section: points, tangents of both branches.

    `without`: along which the depth falls, and `with_` along which the speed grows, at unit
    length; `falls`, `grows`: these rates; `residual`: what is left of the equations.
    """

    x: np.ndarray
    without: np.ndarray
    with_: np.ndarray
    falls: np.ndarray
    grows: np.ndarray
    residual: np.ndarray


class _Side(NamedTuple):
    """Points of a branch on one side of a grazing, farthest first, and what they do."""

    found: Any
    strayed: np.ndarray
    seen: Seen

    def point(self, k: int, way: int) -> BranchPoint:
        """Return a point of the branch, with a tangent one way or the other."""
        x, tangent = self.found.x[k], way * self.found.tangent[k]
        return BranchPoint(x, tangent, float(self.strayed[k]))


class Grazings:
    """Search for the grazings of one branch of orbits."""

    def __init__(self, static: System, path: str, data: LaneData, correct, bounds):
        self.static, self.path, self.data = static, path, data
        self.correct, self.bounds = correct, bounds
        self.size = state_size(system_of(data, static))
        hard = hard_contacts(equation_shape(system_of(data, static)))
        self.hard, self.places = hard, np.cumsum(hard) - 1  # among the hard ones
        self._last: tuple[bytes, Touches] | None = None

    def watch(self, x: np.ndarray, tangents: np.ndarray) -> Watched:
        """Return what orbits do at the stops, and how fast their margins change."""
        both = self._seen(np.concatenate([x, x + _ASIDE * tangents]))
        count = len(x)
        one, other = (Seen(*(leaf[part] for leaf in both)) for part in
                      (slice(count), slice(count, None)))  # fmt: skip
        with np.errstate(invalid="ignore"):
            slopes = (other.margins - one.margins) / _ASIDE
        return Watched(one.onsets, one.holds, one.margins, slopes)

    def _seen(self, x: np.ndarray) -> Seen:
        lanes = equal_lanes(self.data, len(x)), x
        return map_samples(watch_kernel(self.static, self.path), lanes, chunk=8)

    def crossing(self, here: BranchPoint, step: float, broken: bool) -> Crossing | None:
        """Return the way over the next grazing within a step from a point, or None.

        `broken`: whether impacts begin or end within the step.
        """
        passed = self._over_touch(here, step) or self._through_start(here, step)
        if passed is None and broken and step < _NEAR_REST:
            return self._to_rest(here)
        return passed

    def why(self, x: np.ndarray) -> Reason:
        """Return the reason why a branch ends at a point from which no step is found."""
        touches = touches_of(self.static, self.path, self.data, x)
        hard = self.hard[touches.stop.contact]
        struck = touches.some(hard & (touches.apart > 0))
        apart = np.abs(struck.phase[:, None] - struck.phase)
        apart = np.minimum(apart, 1 - apart)
        others = struck.stop.contact[:, None] != struck.stop.contact
        if (apart[others] < _MEET).any():
            return Reason.IMPACTS_MEET
        slow = touches.apart < _SLOWEST * self.data.units[self.size - 1]
        return Reason.GRAZING if slow.any() else Reason.DIVERGED

    def _to_rest(self, here: BranchPoint) -> Crossing | None:
        """Return the way to orbits that come to rest on a stop, or no longer do, or None.

        Infinitely many grazings lie between, at each of which an impact is added; or
        jumps, where the rebounds of a body that comes to rest pass the time of a state.
        """
        along = axis_of(len(here.x), -1) * np.sign(here.tangent[-1])
        predicted = here.x + _REST_REACHES[:, None] * along
        found = self.correct(predicted, np.tile(along, (len(predicted), 1)))
        strayed = linalg.norm(found.x - predicted)
        mine, seen = self._seen(here.x[None]), self._seen(found.x)
        fine = found.found & (strayed < _SETTLED) & self._inside(found.x)
        turns = (seen.holds != mine.holds).any(-1)
        rests = seen.holds & mine.holds
        rests = rests.any(-1) & (rests | (seen.onsets == mine.onsets)).all(-1)
        fine &= turns | rests
        if not fine.any():
            return None
        best, grazing = int(np.argmax(fine)), None
        if turns[best]:
            unknown = here.x * self.data.units, np.nan, np.nan, np.nan
            grazing = self._listed(*unknown, Reason.ITERATION_LIMIT)
        point = _Side(found, strayed, seen).point(best, 1)
        point = point._replace(grazing=grazing, jumped=True)
        return Crossing([point], grazing, float(linalg.norm(point.x - here.x)))

    def _over_touch(self, here: BranchPoint, step: float) -> Crossing | None:
        touches = self._touches(here.x)
        unit = self.data.units[self.size - 1]
        mine = self._seen(here.x[None])
        likely = touches.apart < _LIKELY * np.sqrt(step) * unit
        # The impacts by which a body comes to rest are cut off at some speed.
        resting = mine.holds[0, self.places[touches.stop.contact]]
        likely &= ~resting | (touches.stop.window > _REBOUND)
        if touches.stop.mirror is not None:  # the later touch is not followed by its image
            likely &= touches.phase >= 0.5
        touches = touches.some(likely).some(slice(_MOST))
        if not len(touches.stop.contact):
            return None
        which, roots = self._roots(touches, here.x[-1])
        if not len(which):
            return None
        touches = touches.some(which)
        stop = touches.stop
        shallow = roots.x + (_SHALLOW / roots.falls)[:, None] * roots.without
        ahead = self._at_start(stop, shallow) - here.x
        lengths = linalg.norm(ahead)
        near = (lengths < _WITHIN * step) & (ahead @ here.tangent > 0)
        near &= self._inside(roots.x)
        for k in np.argsort(lengths):
            if near[k]:
                one = lane_of(stop, int(k))
                passed = self._passed(here, mine, one, _Roots(*(r[k] for r in roots)))
                if passed is not None:
                    return passed
        return None

    def _through_start(self, here: BranchPoint, step: float) -> Crossing | None:
        """Return the way to where the time of an impact has passed that of a state.

        These are the times at which a branch has its unknowns: there the state jumps from
        before the impact to after it, or back, while the motion changes smoothly.
        """
        touches, size = self._touches(here.x), self.size
        segments = (len(self.data.units) - 1) // size
        away = np.round(touches.phase * segments) / segments - touches.phase
        likely = (touches.speed > 0) & (np.abs(away) < _LIKELY * step)
        touches, away = touches.some(likely), away[likely]
        if not len(away):
            return None
        values = np.full(len(away), here.x[-1])
        scaled = touches.state / self.data.units[:size]
        x = np.column_stack([scaled, touches.phase, values])
        stop = touches.stop
        found = self._corrected(stop, x, np.tile(axis_of(size + 2, -1), (len(x), 1)))
        ways = found.tangent * (here.tangent[-1] / found.tangent[:, -1:])
        away += touches.phase - found.x[:, -2]
        reach = away / ways[:, -2]
        near = found.found & (np.abs(reach - step / 2) < step)
        for k in np.argsort(np.where(near, reach, np.inf))[: near.sum()]:
            one = lane_of(stop, int(k))
            point = self._beyond_start(here, one, found.x[k], ways[k], reach[k])
            if point is not None:
                return point
        return None

    def _beyond_start(self, here, stop: Stop, x, way, reach) -> Crossing | None:
        """Return the way to points of the section on both sides of a reach, or None."""
        reaches = np.concatenate([-_BESIDE[::-1], _BESIDE])
        beyond = x + (reach + reaches[:, None]) * way
        normals = np.tile(way / linalg.norm(way), (len(beyond), 1))
        found = self._corrected(equal_lanes(stop, len(beyond)), beyond, normals)
        beyond = np.where(found.found[:, None], found.x, beyond)
        both = np.concatenate([beyond, beyond + _ASIDE * way])
        predicted, aside = np.split(self._at_start(equal_lanes(stop, len(both)), both), 2)
        normals = (aside - predicted) / linalg.norm(aside - predicted)[:, None]
        reached = self.correct(predicted, normals)
        strayed = linalg.norm(reached.x - predicted)
        fine = found.found & reached.found & (strayed < 0.1 * np.abs(reaches))
        side = _Side(reached, strayed, self._seen(reached.x))
        fine &= self._inside(reached.x)
        fine &= _alike(side.seen, self._seen(here.x[None]).onsets[0])
        after = _steady(side, fine & (reaches > 0))
        if after is None:
            return None
        point = side.point(after, 1)._replace(jumped=True)
        before = fine & (reaches < 0) & ((reached.x - here.x) @ here.tangent > 0)
        points = [side.point(int(k), 1) for k in np.flatnonzero(before)[-1:]]
        return Crossing([*points, point], None, float(reaches[after]))

    def _touches(self, x: np.ndarray) -> Touches:
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            every = touches_of(self.static, self.path, self.data, x)
            self._last = key, every.some(self.hard[every.stop.contact])
        return self._last[1]

    def _roots(self, touches: Touches, value: float) -> tuple[np.ndarray, _Roots]:
        """Return the indices of touches next to a grazing, and these grazings."""
        size, units = self.size, self.data.units
        unscaled = value * units[-1]
        slopes = self._speed_slopes(touches.state, unscaled)[touches.stop.contact]
        rows = np.zeros((len(slopes), size + 2))
        rows[:, :size] = slopes * units[:size] / units[size - 1]
        lengths = linalg.norm(rows)
        normals = rows / lengths[:, None]
        values = np.full(len(slopes), value)
        x = np.column_stack([touches.state / units[:size], touches.phase, values])

        def at_speed(x, speeds):
            off = (x * normals).sum(-1) - speeds / lengths
            return x - off[:, None] * normals

        speeds = touches.speed / units[size - 1]
        stop = touches.stop
        found = self._corrected(stop, at_speed(x, speeds), normals)
        share = speeds / ((found.tangent * rows).sum(-1))
        x = np.where(speeds[:, None] > 0, found.x - share[:, None] * found.tangent, found.x)
        good = found.found & np.isfinite(x).all(-1)
        x = at_speed(np.where(good[:, None], x, found.x), 0.0)
        found = self._corrected(stop, x, normals)
        tangents = [
            self._directions(matrix) if fine else None
            for matrix, fine in zip(found.monodromy, found.found & good, strict=True)
        ]
        which = np.array([i for i, two in enumerate(tangents) if two is not None], int)
        if not which.size:
            return which, _Roots(*(np.zeros(0) for _ in _Roots._fields))
        parts = map(np.array, zip(*(tangents[i] for i in which), strict=True))
        last = np.asarray(found.unresolved)[which]
        return which, _Roots(np.asarray(found.x)[which], *parts, last)

    def _directions(self, matrix: np.ndarray):
        """Return the tangents without and with the impact, and the rates along them."""
        size = self.size
        without = _null_vector(np.delete(matrix, size, 0))
        with_ = _null_vector(matrix[:-1])
        falls, grows = -matrix[size] @ without, matrix[-1] @ with_
        if not (abs(falls) > 0 and abs(grows) > 0):
            return None
        return (
            without * np.sign(falls), with_ * np.sign(grows), abs(falls), abs(grows)
        )  # fmt: skip

    def _passed(self, here: BranchPoint, mine: Seen, stop: Stop, root: _Roots):
        """Return the way over a grazing from a point of the branch, None if not on it."""
        top = self._top(stop, root)
        if not top < 0:
            return None
        reaches = np.append(_REACHES, _SHALLOW / root.falls)
        reaches = reaches[reaches * root.falls >= _SHALLOW * (1 - 1e-9)]
        open_ = self._side(stop, root.x, root.x + reaches[:, None] * root.without)
        speedy = _REACHES[_REACHES * root.grows >= _SLOW]
        if not speedy.size:
            speedy = np.array([_SLOW / root.grows])
        beside = root.x + speedy[:, None] * root.with_
        normals = np.tile(root.with_, (len(beside), 1))
        fine = self._corrected(equal_lanes(stop, len(beside)), beside, normals)
        struck = self._side(stop, root.x, np.where(fine.found[:, None], fine.x, np.nan))
        more = np.zeros(mine.onsets.shape[-1], int)
        more[self.places[stop.contact]] = 1
        if stop.mirror is not None:
            more[self.places[stop.mirror.contact]] += 1
        from_open = _alike(open_.seen, mine.onsets[0])
        if from_open[-1]:
            arrive, depart = open_, struck
            after = mine.onsets[0] + more
            before = mine.onsets[0]
        else:
            arrive, depart = struck, open_
            after, before = mine.onsets[0] - more, mine.onsets[0]
        came, goes = _alike(arrive.seen, before), _alike(depart.seen, after)
        came &= arrive.found.found
        goes &= depart.found.found & self._inside(depart.found.x)
        if not came.any():
            return None
        grazing = self._result(stop, root)
        points = self._before(here, arrive, came)
        last = points[-1] if points else here
        best = _steady(depart, goes)
        if best is None:
            return Crossing(points, grazing, 0.0)
        point = depart.point(best, 1)._replace(grazing=grazing)
        length = float(linalg.norm(point.x - last.x))
        return Crossing([*points, point], grazing, length)

    def _before(self, here: BranchPoint, side: _Side, came) -> list[BranchPoint]:
        """Return a point next to a grazing on the side from which it is reached."""
        ahead = side.found.x - here.x
        between = came & (ahead @ here.tangent > 0)
        return [side.point(int(k), -1) for k in np.flatnonzero(between)[-1:]]

    def _side(self, stop: Stop, grazing: np.ndarray, x: np.ndarray) -> _Side:
        """Return points of a branch at t = 0 from those of the section."""
        every = self._at_start(equal_lanes(stop, len(x) + 1), np.vstack([grazing, x]))
        chords = every[1:] - every[0]
        lengths = linalg.norm(chords)
        known = np.isfinite(lengths)
        predicted = np.where(known[:, None], every[1:], every[0])
        normals = np.where(known[:, None], chords / lengths[:, None], 1.0)
        found = self.correct(predicted, normals)
        strayed = linalg.norm(found.x - predicted)
        fine = found.found & known & (strayed < 0.1 * lengths)
        return _Side(found._replace(found=fine), strayed, self._seen(found.x))

    def _corrected(self, stop: Stop, x: np.ndarray, normals: np.ndarray) -> Corrected:
        lanes = section_data(self.data, self.size, stop), x, normals
        return map_samples(section_corrector(self.static, self.path), lanes, chunk=8)

    def _at_start(self, stop: Stop, x: np.ndarray) -> np.ndarray:
        """Return points at t = 0 of points of the section."""
        x = np.array(x)
        x[:, -2] = np.mod(x[:, -2], 1.0)
        lanes = section_data(self.data, self.size, stop), x
        states, values = map_samples(start_kernel(self.static, self.path), lanes, chunk=8)
        segments = (len(self.data.units) - 1) // self.size
        spread = orbit_spreader(self.static, self.path, segments)
        return map_samples(
            spread, (equal_lanes(self.data, len(x)), states, values), chunk=8
        )

    def _result(self, stop: Stop, root: _Roots) -> BifurcationPoint:
        unscaled = self._at_start(equal_lanes(stop, 1), root.x[None])[0] * self.data.units
        span = float(self.data.periods) * float(self._system(unscaled[-1]).period())
        time, lengths = np.mod(root.x[-2], 1.0) * span, self.data.units[[0, self.size - 1]]
        test = np.max(np.abs(self._contact(stop, root)[:2]) / lengths)
        return self._listed(unscaled, time, root.residual, test, Reason.SUCCESS)

    def _listed(self, unscaled, time, residual, test, code: Reason) -> BifurcationPoint:
        numbers = {
            "parameter": unscaled[-1],
            "state": unscaled[: self.size],
            "periods": self.data.periods,
            "time": time,
            "residual": residual,
            "test": test,
            "iterations": 0,
            "result": int(code),
        }
        return BifurcationPoint(kind="grazing", path=self.path, **to_jax(numbers))

    def _system(self, value) -> System:
        return at(system_of(self.data, self.static), self.path, value)

    def _contact(self, stop: Stop, root: _Roots) -> np.ndarray:
        """Return depth, speed and acceleration of the contact at a grazing."""
        lanes = section_data(self.data, self.size, equal_lanes(stop, 1))
        unscaled = root.x * lanes.units[0]
        there = self._system(unscaled[-1])
        touch = Touch.at(there, float(self.data.periods), jnp.asarray(unscaled))
        return np.asarray(touch.motion(stop.contact))

    def _top(self, stop: Stop, root: _Roots) -> float:
        return float(self._contact(stop, root)[2])

    def _speed_slopes(self, states: np.ndarray, value: float) -> np.ndarray:
        """Return the gradients of the contacts' speeds, (contacts, states)."""
        equation = self._system(value).equation()
        return np.asarray(jax.jacfwd(equation.closing_rates)(jnp.asarray(states[0])))

    def _inside(self, x: np.ndarray) -> np.ndarray:
        low, high = self.bounds
        return (low < x[:, -1]) & (x[:, -1] < high)


def _alike(seen: Seen, onsets: np.ndarray) -> np.ndarray:
    return (seen.onsets == onsets).all(-1)


def _steady(side: _Side, good: np.ndarray) -> int | None:
    """Return the farthest good point from which nothing changes up to the nearest one.

    Towards it the parameter has one direction, and as many multipliers are outside the
    circle: the largest grows as the inverse of an impact's speed.
    """
    multipliers = linalg.eigenvalues(np.nan_to_num(side.found.monodromy))
    outside = (np.abs(multipliers) > 1).sum(-1)
    below = (multipliers.real < -1).sum(-1)
    keys = np.column_stack([np.sign(side.found.tangent[:, -1]), outside, below])
    places = np.flatnonzero(good)
    if not places.size:
        return None
    same = (keys[places] == keys[places[-1]]).all(-1)
    differs = np.flatnonzero(~same)
    return int(places[differs[-1] + 1 if differs.size else 0])


def _null_vector(matrix: np.ndarray) -> np.ndarray:
    """Return the unit vector that a matrix of one row too few maps to zero."""
    return np.linalg.svd(matrix)[2][-1]
