"""Branches of bodies between stops judged by `flights`, which shares no code with jaxvib.

Counted: points that are no orbits, counts of contacts and verdicts that are wrong, changes
between and within chords that no listed bifurcation explains, listed grazings without a
touch at zero speed, and ends with "the iteration diverged" beside a grazing.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from experiments.bifurcations.flights import Bodies, FlightError, Flights, Motion
from experiments.bifurcations.hertz_flights import flights_of
from jaxvib.ensemble import Reason

_SURE = 1e-7  # depth of a touch, or a miss, of the size, of which a count is certain
_TOUCH = 1e-8  # the same at a grazing
_INSIDE = (0.2, 0.5, 0.8)  # places within a chord that are looked at
_AT_REST = 1e-6  # accuracy of a motion with rests, of its speed
_CLOSES = 1e-7  # of the size, times 1 + |M|, to which a corrected point returns
_BESIDE = 0.1  # of a chord that passes a bifurcation's value, the detour by way of it
_OWN = 0.1  # of a chord: an orbit farther from it may be of another branch
_EDGE = 1e-3  # share of the range that counts as the last step of an end
# Reasons of an end that hide a grazing within the last step.
_WRONG = {Reason.DIVERGED, Reason.ITERATION_LIMIT, Reason.SINGULAR, Reason.STEP_LIMIT}
KINDS = (
    "no orbit", "not corrected", "contacts wrong", "verdict wrong", "contacts unlisted",
    "stability unlisted", "direction unlisted", "contacts hidden", "stability hidden",
    "grazing false", "end wrong",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a branch: its kind of `KINDS`, the parameter, and numbers."""

    kind: str
    value: float
    words: str


@dataclasses.dataclass
class Judged:
    """The faults of a branch, and how much was looked at."""

    faults: list[Fault]
    points: int
    chords: int
    grazings: int
    skipped: int  # points whose count is uncertain, or that could not be integrated

    def count(self) -> Counter:
        """Return the number of faults of each kind."""
        return Counter(fault.kind for fault in self.faults)


@dataclasses.dataclass(frozen=True)
class _Seen:
    """A point by independent flight: how far its orbit is, and what its motion does."""

    motion: Motion
    away: float
    rounding: float
    left: float  # residual in units of its size times 1 + |M|
    counts: tuple[int, ...] | None
    outside: int
    largest: float


def judged(branch, bodies: Bodies, path: str, span: float) -> Judged:
    """Judge a `Branch` over a range of length `span`."""
    periods = int(branch.periods)
    values, states = np.asarray(branch.parameter), np.asarray(branch.orbits.state)
    codes = np.asarray(branch.orbits.result)
    flights = [flights_of(bodies.with_value(path, float(p))) for p in values]
    seen = [
        _seen(own, x, periods) if code == 0 else None
        for own, x, code in zip(flights, states, codes, strict=True)
    ]
    faults = [f for i, one in enumerate(seen) if one for f in _of_point(branch, i, one)]
    listed = _listed(branch, values, states, span)
    for i in range(len(values) - 1):
        if seen[i] and seen[i + 1]:
            ends = _Chord(values[i : i + 2], states[i : i + 2], seen[i : i + 2], listed[i])
            faults += ends.changes() or ends.inside(bodies, path, periods)
    faults += _turns(values, listed)
    grazings = [b for b in branch.bifurcations if b.kind == "grazing" and not int(b.result)]
    faults += [f for one in grazings for f in _of_grazing(one, bodies, path)]
    faults += _ends(branch, seen, span)
    unknown = sum(one is None or one.counts is None for one in seen)
    return Judged(faults, len(values), max(len(values) - 1, 0), len(grazings), unknown)


def _seen(flights: Flights, state: np.ndarray, periods: int) -> _Seen | None:
    try:
        motion = flights.motion(state, periods)
    except FlightError:
        return None
    matrix, size = motion.monodromy, len(state)
    if not np.isfinite(matrix).all():
        return None
    left = np.eye(size) - matrix
    units = np.append(np.full(size // 2, motion.size), np.full(size // 2, motion.speed))
    inverse = np.linalg.pinv(left)
    reach = units + np.abs(matrix) @ units
    away = np.abs(inverse @ (motion.state - state)).max()
    rounding = (np.abs(inverse) @ (flights.accuracy * reach)).max()
    closes = (np.abs(motion.state - state) / reach).max()
    moduli = np.abs(np.linalg.eigvals(matrix))
    sure = not motion.rests and is_sure(motion)
    counts = motion.counts(len(flights.bodies.gaps)) if sure else None
    return _Seen(
        motion, away, rounding, closes, counts, int((moduli > 1).sum()), moduli.max()
    )


def depths(motion: Motion) -> list[float]:
    """Return how far from grazing each touch and miss is, in units of the size."""
    rate = motion.speed**2 / motion.size
    touched = [t.speed**2 / (2 * max(abs(t.pressing), 0.1 * rate)) for t in motion.touches]
    return [x / motion.size for x in (*touched, *(abs(m[2]) for m in motion.misses))]


def is_sure(motion: Motion) -> bool:
    """Return whether no touch or miss is so close to grazing that counts are uncertain."""
    return min(depths(motion), default=1.0) > _SURE


def _of_point(branch, i: int, seen: _Seen) -> list[Fault]:
    orbits, value = branch.orbits, float(branch.parameter[i])
    bar = float(orbits.state_error[i])
    faults = []
    beyond = not seen.away <= bar + seen.rounding
    if seen.motion.rests:  # rebounds that are cut off elsewhere, or last at t = 0
        beyond = not seen.away <= bar + _AT_REST * seen.motion.speed
    if beyond and seen.away > 1e-12 * seen.motion.speed:
        words = f"{seen.away:.1e} away, bar {bar:.1e}, residual {orbits.residual[i]:.1e}"
        faults.append(Fault("no orbit", value, words))
    elif seen.left > _CLOSES:
        words = f"residual {orbits.residual[i]:.1e}, bar {bar:.1e}"
        faults.append(Fault("not corrected", value, words))
    elif seen.counts is not None:
        told, right = int(orbits.contacts[i]), sum(seen.counts)
        if told != right:
            faults.append(Fault("contacts wrong", value, f"{told}, right {right}"))
        verdict, error = int(orbits.stable[i]), float(orbits.multiplier_error[i])
        wrong = verdict >= 0 and (seen.largest < 1) != bool(verdict)
        if wrong and abs(seen.largest - 1) > 1e-9:
            words = f"{verdict}, modulus {seen.largest:.12g}, error {error:.1e}"
            faults.append(Fault("verdict wrong", value, words))
    return faults


def _listed(branch, values, states, span: float) -> list[set[str]]:
    """Return the kinds of bifurcations listed on each chord."""
    units = np.append(np.ptp(states, axis=0) + 1e-3 * np.abs(states).max(axis=0), span)
    x = np.column_stack([states, values]) / units
    lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
    kinds: list[set[str]] = [set() for _ in lengths]
    for point in branch.bifurcations:
        here = np.append(point.state, point.parameter) / units
        away = np.linalg.norm(x - here, axis=1)
        detour = away[1:] + away[:-1] - lengths
        if len(detour):
            on = detour <= max(1.5 * detour.min(), 1e-8)
            # A point beside a corner of the branch is less far from the chord before it.
            value = float(point.parameter)
            within = (values[1:] - value) * (values[:-1] - value) <= 0
            for i in np.flatnonzero(on | (within & (detour < _BESIDE * lengths))):
                kinds[i].add(point.kind)
    return kinds


@dataclasses.dataclass(frozen=True)
class _Chord:
    values: np.ndarray
    states: np.ndarray
    seen: Sequence[_Seen]
    listed: set[str]

    def changes(self) -> list[Fault]:
        """Return the changes between the ends that are not listed."""
        a, b = self.seen
        at, faults = float(self.values.mean()), []
        where = f"from {self.values[0]:.12g} to {self.values[1]:.12g}: "
        differ = None not in (a.counts, b.counts) and a.counts != b.counts
        if differ and "grazing" not in self.listed:
            words = f"{where}{a.counts} to {b.counts}"
            faults.append(Fault("contacts unlisted", at, words))
        close = min(abs(one.largest - 1) for one in (a, b)) < 1e-7
        close |= any(one.motion.rests and one.away > 1e-9 for one in (a, b))
        if a.outside != b.outside and not self.listed and not close:
            words = f"{where}{a.outside} to {b.outside} multipliers outside"
            faults.append(Fault("stability unlisted", at, words))
        return faults

    def inside(self, bodies: Bodies, path: str, periods: int) -> list[Fault]:
        """Return a change within a chord whose ends are alike and that lists nothing."""
        a, b = self.seen
        alike = a.counts == b.counts and a.counts is not None and a.outside == b.outside
        length = np.abs(np.diff(self.states, axis=0)).max()
        if self.listed or not alike or self.values[0] == self.values[1]:
            return []
        for share in _INSIDE:
            value = float(self.values[0] + share * np.diff(self.values)[0])
            guess = self.states[0] + share * (self.states[1] - self.states[0])
            found = flights_of(bodies.with_value(path, value)).orbit(guess, periods)
            if found is None or np.abs(found[0] - guess).max() > _OWN * length:
                continue
            motion = found[1]
            counts = motion.counts(len(bodies.gaps))
            outside = int((np.abs(np.linalg.eigvals(motion.monodromy)) > 1).sum())
            if motion.rests or not is_sure(motion):
                continue
            words = f"within {self.values[0]:.12g} to {self.values[1]:.12g}: "
            if counts != a.counts:
                return [
                    Fault("contacts hidden", value, f"{words}{counts}, ends {a.counts}")
                ]
            if outside != a.outside:
                words += f"{outside} outside, ends {a.outside}"
                return [Fault("stability hidden", value, words)]
        return []


def _turns(values: np.ndarray, listed: list[set[str]]) -> list[Fault]:
    """Return where the parameter turns back without a listed fold or grazing."""
    steps = np.sign(np.diff(values))
    faults = []
    for i in range(len(steps) - 1):
        if steps[i] * steps[i + 1] < 0 and not (listed[i] | listed[i + 1]) & {
            "fold",
            "grazing",
        }:
            value = float(values[i + 1])
            faults.append(Fault("direction unlisted", value, f"at {value:.12g}"))
    return faults


def _of_grazing(point, bodies: Bodies, path: str) -> list[Fault]:
    """Return a fault if no motion at a listed grazing touches at zero speed."""
    value, state = float(point.parameter), np.asarray(point.state)
    try:
        motion = flights_of(bodies.with_value(path, value)).motion(
            state, int(point.periods)
        )
    except FlightError:
        return []
    least = min(depths(motion), default=1.0)
    units = np.repeat([motion.size, motion.speed], len(state) // 2)
    left = np.abs((motion.state - state) / units).max()
    if motion.rests or (least < _TOUCH and left < 1e-3):
        return []
    words = f"nearest touch {least:.1e}, residual {left:.1e}"
    return [Fault("grazing false", value, words)]


def _ends(branch, seen: Sequence[_Seen | None], span: float) -> list[Fault]:
    """Return a fault for each end that diverged though a grazing lies within its step.

    Where it lies follows from the nearest miss, and the square of the lowest speed of a
    touch, at the last two points.
    """
    values, faults = np.asarray(branch.parameter), []
    for code, last, before in zip(np.asarray(branch.ends), (0, -1), (1, -2), strict=True):
        if int(code) not in _WRONG or len(values) < 3:
            continue
        a, b = seen[before], seen[last]
        if a is None or b is None or a.counts != b.counts or b.motion.rests:
            continue
        step = abs(values[last] - values[before])
        near = [
            y * step / (x - y) if x > y else np.inf
            for x, y in zip(depths(a.motion), depths(b.motion), strict=False)
        ]
        if min(near, default=np.inf) < max(step, _EDGE * span):
            words = (
                f"{Reason(int(code)).name}, grazing {min(near):.1e} away, step {step:.1e}"
            )
            faults.append(Fault("end wrong", float(values[last]), words))
    return faults
