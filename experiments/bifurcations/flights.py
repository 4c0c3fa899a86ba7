r"""Motions of linear bodies between stops by matrix exponentials: numpy and scipy alone.

$M\ddot q + C\dot q + Kq = r f \cos\omega t$ with stops $n_j^T q \le g_j$, hard ones with a
restitution or springs. With the load's phase as two further states the motion between two
events is $\exp(B\tau) y$; an event is a root of a Taylor polynomial of order 16, and the
monodromy matrix a product of exponentials and saltation matrices (Leine and Nijmeijer,
*Dynamics and Bifurcations of Non-Smooth Mechanical Systems*, 2004, chapter 7). It shares no
code with jaxvib.
"""

import dataclasses
import itertools
import math

import numpy as np
from scipy.linalg import expm

_ORDER = 16  # of a polynomial over a step of a quarter of a radian of the fastest mode
_STEP = 0.25
_AT_ONCE = 64  # steps in one product
_ROUNDING = 4e-15  # of the terms of a gap
_DEEPEST = 2  # derivatives of a speed whose roots bracket those of the one before
_PARTS = 3  # of a step, among which the roots of the last one are bracketed
_AT_ONE = 1e-9  # part of a step within which two instants are one
_NO_IMPACT = 1e-11  # speed, of the motion's, of a touch that is rounding
_SLIGHT = 1e-13  # height of rebounds, of the motion's size, below which a body rests
_AT_REST = 1e-7  # distance from a stop, of the size, at which a motion begins at rest
_MOST_EVENTS = 3000


class FlightError(Exception):
    """Too many events, or a motion that grows without bound."""


@dataclasses.dataclass(frozen=True)
class Bodies:
    """A system: matrices (n, n), stops' `normals` (stops, n), and the load.

    `springs`: N/m, (stops,), 0 for hard stops with their `restitutions`. With an
    `exponent` of 3/2 they are Hertz contacts, N/m^1.5, see `hertz_flights`.
    """

    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray
    restitutions: np.ndarray
    push: np.ndarray
    amplitude: float
    frequency: float
    springs: np.ndarray
    exponent: float = 1.0

    @property
    def period(self) -> float:
        """The load's period, s."""
        return 2 * np.pi / self.frequency

    def with_value(self, path: str, value: float) -> "Bodies":
        """Return the system with another value of a parameter of jaxvib's path."""
        words = path.split(".")
        if words[0] == "loads":
            return dataclasses.replace(self, **{words[-1]: value})
        name = {"gap": "gaps", "restitution": "restitutions", "stiffness": "springs"}
        values = getattr(self, name[words[-1]]).copy()
        values[int(words[1])] = value
        return dataclasses.replace(self, **{name[words[-1]]: values})

    def response(self) -> np.ndarray:
        """Return the complex amplitudes (n,) of the motion without stops."""
        w = self.frequency
        dynamic = self.stiffness - w**2 * self.mass + 1j * w * self.damping
        return np.linalg.solve(dynamic, self.push * self.amplitude)


@dataclasses.dataclass(frozen=True)
class Touch:
    """An onset of contact: time, stop, speed (m/s), closing acceleration after it."""

    time: float
    stop: int
    speed: float
    pressing: float


@dataclasses.dataclass(frozen=True)
class Motion:
    """A motion's end (2n,), monodromy matrix, touches and nearest misses.

    `misses`: (time, stop, distance, m) where the gap of an open stop, or the depth of a
    closed spring, is least; `rests`: whether a body came to rest at a hard stop.
    """

    state: np.ndarray
    monodromy: np.ndarray
    touches: tuple[Touch, ...]
    misses: tuple[tuple[float, int, float], ...]
    rests: bool
    size: float
    speed: float

    def counts(self, stops: int) -> tuple[int, ...]:
        """Return the number of touches of each stop."""
        return tuple(sum(t.stop == j for t in self.touches) for j in range(stops))


class _Phase:
    """The linear equations while the stops of a set are closed."""

    def __init__(self, bodies: Bodies, closed: frozenset[int]):
        n = len(bodies.mass)
        inverse = np.linalg.inv(bodies.mass)
        hard = [j for j in sorted(closed) if not bodies.springs[j]]
        springs = [j for j in closed if bodies.springs[j]]
        stiffness, bias = bodies.stiffness.copy(), np.zeros(n)
        for j in springs:
            normal = bodies.normals[j]
            stiffness += bodies.springs[j] * np.outer(normal, normal)
            bias += bodies.springs[j] * bodies.gaps[j] * normal
        force = np.zeros((n, 2 * n + 3))  # of q, v, 1, cos, sin
        force[:, :n], force[:, n : 2 * n] = -stiffness, -bodies.damping
        force[:, 2 * n] = bias
        force[:, 2 * n + 1] = bodies.push * bodies.amplitude
        rows = bodies.normals[hard]
        pressing = np.linalg.pinv(rows @ inverse @ rows.T) @ rows @ inverse @ force
        rate = inverse @ (force - rows.T @ pressing)
        w = bodies.frequency
        self.matrix = np.zeros((2 * n + 3,) * 2)
        self.matrix[:n, n : 2 * n] = np.eye(n)
        self.matrix[n : 2 * n] = rate
        self.matrix[2 * n + 1, 2 * n + 2], self.matrix[2 * n + 2, 2 * n + 1] = -w, w
        fastest = max(w, np.abs(np.linalg.eigvals(self.matrix)).max())
        self.step = _STEP / fastest
        once = expm(self.matrix * self.step)
        powers = [np.eye(2 * n + 3)]
        for _ in range(_AT_ONCE):
            powers.append(once @ powers[-1])
        self.powers = np.array(powers)
        # What rises through 0 at an event: the gap's closing, an open stop's depth, or the
        # pull of a stop that holds.
        self.signals = np.zeros((len(bodies.gaps), 2 * n + 3))
        for j, normal in enumerate(bodies.normals):
            self.signals[j, :n], self.signals[j, 2 * n] = normal, -bodies.gaps[j]
            if j in springs:
                self.signals[j] *= -1
        for row, j in enumerate(hard):
            self.signals[j] = -pressing[row]
        self.rates = self.signals @ self.matrix
        taylor = [np.eye(2 * n + 3)]
        for k in range(1, _ORDER + 1):
            taylor.append(self.matrix @ taylor[-1] / k)
        self.taylor = np.array(taylor)

    def ahead(self, y: np.ndarray, time: float) -> np.ndarray:
        """Return the state a time of at most a step later."""
        return np.polynomial.polynomial.polyval(time, self.taylor @ y)

    def over(self, time: float) -> np.ndarray:
        """Return exp(B t)."""
        whole, left = divmod(time, self.step)
        matrix = np.polynomial.polynomial.polyval(left, self.taylor)
        while whole > 0:
            few = min(int(whole), _AT_ONCE)
            matrix, whole = self.powers[few] @ matrix, whole - few
        return matrix


class Flights:
    """The motions of one system; `accuracy`: error of a motion relative to its size."""

    accuracy = 1e-14

    def __init__(self, bodies: Bodies):
        self.bodies = bodies
        self._phases: dict[frozenset[int], _Phase] = {}

    def motion(self, state: np.ndarray, periods: int = 1) -> Motion:
        """Return the motion from a state at t = 0 over whole periods of the load."""
        return _Run(self, np.asarray(state, float), periods).motion()

    def phase(self, closed: frozenset[int]) -> _Phase:
        """Return the equations while these stops are closed."""
        if closed not in self._phases:
            self._phases[closed] = _Phase(self.bodies, closed)
        return self._phases[closed]

    def orbit(self, guess: np.ndarray, periods: int = 1, most: int = 12):
        """Return a periodic motion's state and `Motion` by Newton's method, or None."""
        state = np.asarray(guess, float)
        last = np.inf
        for _ in range(most):
            try:
                seen = self.motion(state, periods)
                change = np.linalg.solve(
                    np.eye(len(state)) - seen.monodromy, seen.state - state
                )
            except (FlightError, np.linalg.LinAlgError):
                return None
            length = np.abs(change).max() / seen.size
            if length < 1e-13 or (length < 1e-10 and length > last / 4):
                return state, seen
            if not length < 1:
                return None
            state, last = state + change, length
        return None


class _Run:
    """One motion: `y` is the state with 1 and the load's phase."""

    def __init__(self, flights: Flights, state: np.ndarray, periods: int):
        bodies = flights.bodies
        self.flights, self.bodies, self.n = flights, bodies, len(bodies.mass)
        self.end, self.time = periods * bodies.period, 0.0
        self.y = np.concatenate([state, [1.0, 1.0, 0.0]])
        self.monodromy = np.eye(len(self.y))
        self.touches, self.misses = [], []
        gaps = np.abs(bodies.gaps).max(initial=0.0)
        self.size = max(np.abs(state[: self.n]).max(), gaps, 1e-12)
        fast = np.abs(state[self.n :]).max()
        self.speed = max(fast, self.size * bodies.frequency)
        self.responses = np.linalg.solve(bodies.mass, bodies.normals.T).T
        self.closed: frozenset[int] = frozenset()
        self.rests = False
        self._begin()

    def _begin(self):
        """Close the stops at which the motion begins."""
        depths = self.depths()
        for j, spring in enumerate(self.bodies.springs):
            rate = self.bodies.normals[j] @ self.y[self.n : 2 * self.n]
            if spring:
                if depths[j] > 0 or (depths[j] == 0 and rate > 0):
                    self.closed |= {j}
            elif (
                abs(depths[j]) < _AT_REST * self.size
                and abs(rate) < _AT_REST * self.speed
                and self.pressing(j) > 0
            ):
                self._rest(j)

    def depths(self) -> np.ndarray:
        return self.bodies.normals @ self.y[: self.n] - self.bodies.gaps

    def pressing(self, j: int) -> float:
        """Return the acceleration towards a stop with the other stops as they are."""
        rate = self.flights.phase(self.closed - {j}).matrix @ self.y
        return self.bodies.normals[j] @ rate[self.n : 2 * self.n]

    def _rest(self, j: int):
        self.closed |= {j}
        self.rests = True

    def motion(self) -> Motion:
        events = 0
        while self.time < self.end * (1 - 1e-15):
            which = self._fly()
            if which is None:
                break
            self._event(which)
            events += 1
            if events > _MOST_EVENTS or not np.all(np.abs(self.y) < 1e12):
                raise FlightError(f"{events} events up to {self.time} s")
        size = 2 * self.n
        return Motion(
            self.y[:size], self.monodromy[:size, :size], tuple(self.touches),
            tuple(self.misses), self.rests, self.size, self.speed,
        )  # fmt: skip

    def _fly(self) -> int | None:
        """Advance to the next event, and return its stop, or to the end."""
        phase = self.flights.phase(self.closed)
        begin, start, first = self.time, self.y, True
        for j in range(len(self.bodies.gaps)):
            now, rate = phase.signals[j] @ start, phase.rates[j] @ start
            holds = j in self.closed and not self.bodies.springs[j]
            if now > 0 if holds else now >= 0 and rate > _NO_IMPACT * self.speed:
                return j
        while True:
            left = self.end - self.time
            steps = min(_AT_ONCE, int(np.ceil(left / phase.step)))
            states = phase.powers[: steps + 1] @ self.y
            values, rates = states @ phase.signals.T, states @ phase.rates.T
            over = values[1:] > 0
            turns = (rates[:-1] > 0) & (rates[1:] < 0)
            dips = np.zeros_like(over)
            dips[0] = first  # an event has just been: any sign at the start is rounding
            for i in np.flatnonzero((over | turns | dips).any(axis=1)):
                found = self._within(phase, states[i], i, left, first and i == 0)
                if found is not None:
                    when, which = found
                    self.time += i * phase.step + when
                    self.y = phase.ahead(states[i], when)
                    self.monodromy = phase.over(self.time - begin) @ self.monodromy
                    return which
            first = False
            if steps < _AT_ONCE or left <= steps * phase.step:
                self.y = phase.over(self.end - begin) @ start
                self.monodromy = phase.over(self.end - begin) @ self.monodromy
                self.time = self.end
                return None
            self.time, self.y = self.time + steps * phase.step, states[-1]
            self.size = max(self.size, np.abs(states[:, : self.n]).max())

    def _within(self, phase: _Phase, y, i: int, left: float, fresh: bool):
        """Return time and stop of the first event in a step, or None."""
        length = min(phase.step, left - i * phase.step)
        if length <= 0:
            return None
        series = phase.taylor @ y
        best = None
        for j, signal in enumerate(phase.signals):
            polynomial = series @ signal
            rounding = _ROUNDING * np.abs(signal) @ np.abs(y)
            root, tops = first_rise(polynomial, length, fresh, rounding)
            if fresh:  # after an impact without rebound the gap turns at once
                tops = [top for top in tops if top[0] > _AT_ONE * length]
            if root is not None and (best is None or root < best[0]):
                best = root, j
            if j not in self.closed or self.bodies.springs[j]:
                self.misses += [
                    (self.time + i * phase.step + at, j, -value)
                    for at, value in tops
                    if root is None or at < root
                ]
        return best

    def _event(self, j: int):
        n, bodies = self.n, self.bodies
        before = self.flights.phase(self.closed).matrix @ self.y
        if j in self.closed:  # lets go: the field is continuous
            self.closed -= {j}
            return
        normal, answer = bodies.normals[j], self.responses[j]
        speed = normal @ self.y[n : 2 * n]
        if bodies.springs[j]:
            self.touches.append(Touch(self.time, j, speed, 0.0))
            self.closed |= {j}
            return
        e = bodies.restitutions[j]
        reset = np.eye(len(self.y))
        turn = np.outer(answer, normal) / (normal @ answer)
        bounce, rest = np.eye(n) - (1 + e) * turn, np.eye(n) - turn
        self.y[n : 2 * n] = bounce @ self.y[n : 2 * n]
        pressing = self.pressing(j)
        if speed > _NO_IMPACT * self.speed:
            self.touches.append(Touch(self.time, j, speed, pressing))
        height = (e * speed) ** 2 / (pressing * (1 - e)) if pressing > 0 and e < 1 else 1.0
        stays = pressing > 0 and height < _SLIGHT * self.size
        reset[n : 2 * n, n : 2 * n] = rest if stays else bounce
        if stays:
            self.y[n : 2 * n] = rest @ self.y[n : 2 * n]
            self._rest(j)
        for i in self.closed - {j}:
            moves = bodies.normals[i] @ self.y[n : 2 * n]
            if not bodies.springs[i] and abs(moves) > 1e-12 * self.speed:
                self.closed -= {i}
        after = self.flights.phase(self.closed).matrix @ self.y
        if speed > _NO_IMPACT * self.speed:
            gradient = np.zeros(len(self.y))
            gradient[:n] = normal
            jump = np.outer(after - reset @ before, gradient) / speed
            self.monodromy = (reset + jump) @ self.monodromy


def first_rise(polynomial: np.ndarray, length: float, fresh: bool, rounding: float):
    """Return the first rise of a polynomial through 0 in (0, length], and its maxima.

    `fresh`: the value at 0 is rounding if the polynomial falls there. A rise up to
    `rounding` is none.
    """
    own = polynomial.tolist()
    slope = _slope(own)
    turns = _roots(slope, length, _DEEPEST)
    tops = [(t, _horner(own, t)) for t in turns if _horner(_slope(slope), t) < 0]
    places = [0.0, *turns, length]
    heights = [_horner(own, t) for t in places]
    if fresh and slope[0] < 0:
        heights[0] = 0.0
    for (a, p), (b, q) in itertools.pairwise(zip(places, heights, strict=True)):
        if p <= rounding < q:
            return (_bisected(own, a, b) if p <= 0 else a), tops
    return None, tops


def _roots(coefficients: list[float], length: float, deeper: int) -> list[float]:
    """Return the roots in (0, length), between which its derivative has one each.

    The derivative of depth 0 is taken to change its sign at most once in each part.
    """
    if deeper:
        inner = _roots(_slope(coefficients), length, deeper - 1)
    else:
        inner = [length * k / _PARTS for k in range(1, _PARTS)]
    places = [0.0, *inner, length]
    heights = [_horner(coefficients, t) for t in places]
    return [
        _bisected(coefficients, a, b)
        for (a, p), (b, q) in itertools.pairwise(zip(places, heights, strict=True))
        if p * q < 0
    ]


def _slope(coefficients: list[float]) -> list[float]:
    return [k * c for k, c in enumerate(coefficients)][1:]


def _horner(coefficients: list[float], t: float) -> float:
    value = 0.0
    for c in reversed(coefficients):
        value = value * t + c
    return value


def _bisected(coefficients: list[float], low: float, high: float) -> float:
    """Return a root between two places, by Newton's method within a bracket."""
    rates = _slope(coefficients)
    rising = _horner(coefficients, high) > 0
    t = (low + high) / 2
    for _ in range(80):
        value, rate = _horner(coefficients, t), _horner(rates, t)
        if (value > 0) == rising:
            high = t
        else:
            low = t
        new = t - value / rate if rate else math.nan
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - t) <= 4e-16 * abs(t) or new in (low, high):
            return new
        t = new
    return t
