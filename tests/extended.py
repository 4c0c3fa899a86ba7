"""Impacting motions in extended precision: Taylor series of order 32, numpy alone.

What error bars are held against. Nothing of jaxvib is used here, and little is shared
with its ways: a motion is integrated in `numpy.longdouble` (64 bits of mantissa on x86,
eps = 1e-19), with its variational equations written down by hand, from event to event. A
Hertz contact that is about to open or close is integrated in u = sqrt(z) with dt = 2 u
d(tau); others that are closed meanwhile take the root of their series. Events are roots of
the series, all found at once as eigenvalues of their companion matrix. A hard stop turns a
velocity round, and its derivatives jump as they must (saltation).
"""

import dataclasses
from collections.abc import Sequence

import mpmath as mp
import numpy as np

Real = np.longdouble
ORDER = 32
TWO_PI = 2 * Real("3.14159265358979323846264338327950288")
_ACCURACY = Real(1e-20)
_MOST_PIECES = 20_000


@dataclasses.dataclass(frozen=True)
class Touch:
    """A contact z = direction . q - gap; `law`: "hertz", "linear" or "stop".

    `value`: its stiffness, N/m^1.5 or N/m, or its restitution.
    """

    direction: Sequence[float]
    gap: float
    law: str
    value: float


class System:
    """M q'' + D q' + C q = amplitude cos(frequency t + phase) along `load` - contacts."""

    def __init__(self, mass, damping, stiffness, touches, load, amplitude, frequency,
                 phase=0.0):  # fmt: skip
        mass, damping, stiffness = (
            np.atleast_2d(np.asarray(m, Real)) for m in (mass, damping, stiffness)
        )
        n = len(mass)
        self.size = 2 * n
        self.matrix = np.zeros((2 * n, 2 * n), Real)
        self.matrix[:n, n:] = np.eye(n)
        self.matrix[n:, :n] = -solve(mass, stiffness)
        self.matrix[n:, n:] = -solve(mass, damping)
        self.touches = tuple(touches)
        self.laws = [touch.law for touch in self.touches]
        self.values = [Real(touch.value) for touch in self.touches]
        self.gaps = [Real(touch.gap) for touch in self.touches]
        none = np.zeros(n, Real)
        directions = [np.asarray(touch.direction, Real) for touch in self.touches]
        self.gradients = [np.concatenate([d, none]) for d in directions]
        self.rates = [np.concatenate([none, d]) for d in directions]
        self.pushes = [np.concatenate([none, solve(mass, d)]) for d in directions]
        pull = solve(mass, np.asarray(load, Real)) * Real(amplitude)
        self.pull = np.concatenate([none, pull])
        self.frequency, self.phase = Real(frequency), Real(phase)
        self.period = TWO_PI / self.frequency

    def depth(self, j, state):
        """Return a contact's penetration, m."""
        return self.gradients[j] @ state - self.gaps[j]


@dataclasses.dataclass
class Motion:
    """What a motion ends with; `duration`: time in each contact, s; `onsets` of each."""

    state: np.ndarray
    monodromy: np.ndarray
    duration: np.ndarray
    onsets: np.ndarray
    grazing: float


def solve(matrix, right):
    """Return the solution of a linear system, to the digits of the numbers' type."""
    matrix, right = np.asarray(matrix, Real), np.asarray(right, Real)
    rough = np.linalg.inv(matrix.astype(float)).astype(Real)
    found = rough @ right
    for _ in range(6):
        found = found + rough @ (right - matrix @ found)
    return found


def motion(system: System, state, end) -> Motion:
    """Integrate from t = 0 to `end`, s, with the variational equations."""
    x, y, t = np.asarray(state, Real), np.eye(system.size, dtype=Real), Real(0)
    count = len(system.touches)
    speeds = [system.rates[j] @ x for j in range(count)]
    closed = [
        system.laws[j] != "stop"
        and (system.depth(j, x) > 0 or (system.depth(j, x) == 0 and speeds[j] > 0))
        for j in range(count)
    ]
    for j in range(count):
        if system.depth(j, x) == 0 and speeds[j] == 0:
            raise ValueError("a start at rest on a contact; allowed: in it, or moving")
    fresh: set[int] = set()  # contacts whose depth is 0 now, but for a rounding
    duration, onsets = np.zeros(count), np.zeros(count, int)
    grazing = np.inf
    for _ in range(_MOST_PIECES):
        if t >= end:
            return Motion(x, y, duration, onsets, float(grazing))
        series = _Series(system, t, x, y, closed, fresh)
        step, meets, done, turn = series.next_event(end)
        grazing = min(grazing, turn)
        before = t
        x, y, t = series.at(step)
        t = Real(end) if done else t
        for j in range(count):
            duration[j] += float(t - before) if closed[j] else 0.0
        fresh = set()
        if meets is None:
            continue
        fresh = {meets}
        if system.laws[meets] == "stop":
            onsets[meets] += 1
            x, y = _impact(system, meets, t, x, y, closed)
        else:
            closed[meets] = not closed[meets]
            onsets[meets] += closed[meets]
    raise RuntimeError("the motion has too many pieces")


def _impact(system, j, t, x, y, closed):
    push, rate = system.pushes[j], system.rates[j]
    turned = np.eye(system.size, dtype=Real) - np.outer(push, rate) * (
        (1 + system.values[j]) / (rate @ push)
    )
    before = _field(system, t, x, closed)
    speed = rate @ x
    if speed < 1e-9 * np.max(np.abs(x)):
        raise RuntimeError("an impact at no speed")
    after = turned @ x
    jump = _field(system, t, after, closed) - turned @ before
    return after, turned @ y + np.outer(jump, (system.gradients[j] @ y) / speed)


def _field(system, t, x, closed):
    angle = system.frequency * t + system.phase
    rate = system.matrix @ x + system.pull * np.cos(angle)
    for j, touches in enumerate(closed):
        z = system.depth(j, x)
        if touches and z > 0:
            power = Real(1.5) if system.laws[j] == "hertz" else Real(1)
            rate = rate - system.pushes[j] * (system.values[j] * z**power)
    return rate


class _Series:
    """The series of a motion from a state on, order by order."""

    def __init__(self, system, t, x, y, closed, fresh):
        self.system, self.closed, self.fresh = system, closed, fresh
        n = system.size
        self.x, self.y = np.zeros((ORDER + 1, n), Real), np.zeros((ORDER + 1, n, n), Real)
        self.t = np.zeros(ORDER + 1, Real)
        self.x[0], self.y[0], self.t[0] = x, y, t
        self.hertz = [
            j for j, law in enumerate(system.laws) if law == "hertz" and closed[j]
        ]
        self.linear = [
            j for j, law in enumerate(system.laws) if law == "linear" and closed[j]
        ]
        self.first = self._first(x)
        self.root = {j: np.zeros(ORDER + 1, Real) for j in self.hertz}
        self.depth = {j: np.zeros(ORDER + 1, Real) for j in self.hertz}
        for j in self.hertz:
            depth = Real(0) if j in fresh else system.depth(j, x)
            self.root[j][0] = np.sqrt(max(depth, Real(0)))
        angle = system.frequency * t + system.phase
        self.wave = np.zeros((ORDER + 1, 2), Real)
        self.wave[0] = np.cos(angle), np.sin(angle)
        self._grow()

    def _first(self, x):
        """Return the contact whose root u is integrated: the one next to its end."""
        if not self.hertz:
            return None
        system = self.system

        def nearness(j):
            if j in self.fresh:
                return -1.0
            speed = abs(float(system.rates[j] @ x)) + 1e-300
            return float(system.depth(j, x)) / speed

        return min(self.hertz, key=nearness)

    def _grow(self):
        system, n = self.system, self.system.size
        matrix = system.matrix.copy()
        constant = np.zeros(n, Real)
        for j in self.linear:
            push = system.pushes[j] * system.values[j]
            matrix -= np.outer(push, system.gradients[j])
            constant += push * system.gaps[j]
        pace = np.zeros(ORDER + 1, Real)
        pace[0] = 1
        field, change = np.zeros((ORDER, n), Real), np.zeros((ORDER, n, n), Real)
        turning = np.array([[0, -1], [1, 0]], Real) * system.frequency
        for k in range(ORDER):
            if self.first is not None:
                pace[k] = 2 * self.root[self.first][k]
            field[k] = matrix @ self.x[k] + system.pull * self.wave[k, 0]
            change[k] = matrix @ self.y[k]
            if k == 0:
                field[k] += constant
            for j in self.hertz:
                force, slope = self._force(j, k)
                field[k] -= system.pushes[j] * force
                pressed = np.tensordot(slope, system.gradients[j] @ self.y[k::-1], 1)
                change[k] -= np.outer(system.pushes[j], pressed)
            share = Real(1) / (k + 1)
            if self.first is None:
                self.x[k + 1], self.y[k + 1] = field[k] * share, change[k] * share
                self.t[k + 1] = share if k == 0 else 0
                self.wave[k + 1] = turning @ self.wave[k] * share
                continue
            now = pace[: k + 1]
            self.x[k + 1] = now @ field[k::-1] * share
            self.y[k + 1] = np.tensordot(now, change[k::-1], 1) * share
            self.t[k + 1] = pace[k] * share
            self.wave[k + 1] = turning @ (now @ self.wave[k::-1]) * share
            rate = system.rates[self.first] @ self.x[k]
            self.root[self.first][k + 1] = rate * share

    def _force(self, j, k):
        """Return a Hertz contact's force of order k, and its slope up to that order."""
        system, root, depth = self.system, self.root[j], self.depth[j]
        if j == self.first:
            depth[k] = root[: k + 1] @ root[k::-1]
        else:
            depth[k] = system.gradients[j] @ self.x[k] - (system.gaps[j] if k == 0 else 0)
            if k:
                inner = root[1:k] @ root[k - 1 : 0 : -1] if k > 1 else Real(0)
                root[k] = (depth[k] - inner) / (2 * root[0])
        stiffness = system.values[j]
        return stiffness * (root[: k + 1] @ depth[k::-1]), stiffness * 1.5 * root[: k + 1]

    def reach(self):
        """Return how far the series are good."""
        half = self.system.size // 2
        sizes = [
            (self.x[:, :half], None), (self.x[:, half:], None),
            (self.y[:, :half], None), (self.y[:, half:], None),
            (self.wave, Real(1)),
        ]  # fmt: skip
        if self.first is not None:
            sizes.append((self.root[self.first][:, None], None))
        longest = Real(np.inf)
        for rows, size in sizes:
            rows = np.abs(rows.reshape(ORDER + 1, -1)).max(axis=1)
            if size is None:
                size = rows[0]
            if size == 0:
                size = rows[1] if rows[1] else Real(1)
            for k in (ORDER, ORDER - 1):
                if rows[k] > 0:
                    longest = min(longest, (_ACCURACY * size / rows[k]) ** (Real(1) / k))
        return longest

    def next_event(self, end):
        """Return how far to go, which contact changes there, whether it is the end."""
        system, reach = self.system, self.reach()
        if self.first is None:
            reach = min(reach, end - self.t[0])
            best, meets, done = reach, None, reach >= end - self.t[0]
        else:
            best, meets, done = reach, None, False
            clock = self.t.copy()
            clock[0] -= end
            found = _roots(clock, reach, rising=True)
            if found:
                best, done = found[0], True
        grazing = np.inf
        for j in range(len(system.touches)):
            if j == self.first:
                path, rising = self.root[j].copy(), False
            else:
                path = self.x @ system.gradients[j]
                path[0] -= system.gaps[j]
                rising = not self.closed[j]
            if j in self.fresh:
                path = np.append(path[1:], Real(0))
            turns = _roots(np.arange(1, ORDER + 1) * path[1:], best, not rising)
            grazing = min([grazing, *(abs(float(_value(path, s))) for s in turns)])
            for root in _roots(path, best, rising):
                if root < best or (root == best and meets is None):
                    best, meets, done = root, j, False
        return best, meets, done, grazing

    def at(self, s):
        """Return state, columns and time at s."""
        return _value(self.x, s), _value(self.y, s), _value(self.t, s)


def _value(series, s):
    total = series[-1]
    for coefficient in series[-2::-1]:
        total = total * s + coefficient
    return total


def _roots(series, reach, rising):
    """Return where a series crosses zero upwards (or downwards), in (0, reach]."""
    scaled = series * reach ** np.arange(len(series))
    largest = np.abs(scaled).max()
    if not largest > 0 or abs(scaled[0]) > np.abs(scaled[1:]).sum():
        return []
    double = (scaled / largest).astype(float)
    (kept,) = np.nonzero(np.abs(double) > 1e-17)
    double = double[: kept[-1] + 1]
    if len(double) < 2:
        return []
    found = []
    slopes = np.arange(1, len(scaled)) * scaled[1:]
    for root in np.roots(double[::-1]):
        if abs(root.imag) > 1e-5 or not -1e-9 < root.real < 1 + 1e-9:
            continue
        s = Real(root.real)
        for _ in range(8):
            rate = _value(slopes, s)
            s = s - _value(scaled, s) / rate if rate else s
        if abs(s - root.real) > 1e-4 or not 0 < s <= 1:
            continue
        if (_value(slopes, s) > 0) == rising and _value(slopes, s) != 0:
            found.append(s * reach)
    return sorted(found)


@dataclasses.dataclass
class Orbit:
    """A periodic motion; `multipliers` as complex numbers of double precision."""

    state: np.ndarray
    monodromy: np.ndarray
    multipliers: np.ndarray
    duration: float
    onsets: int
    grazing: float
    residual: float


def periodic_orbit(system: System, guess, periods=1, steps=8) -> Orbit:
    """Return the orbit next to a guess, by Newton's method, to some 17 digits."""
    state = np.asarray(guess, Real)
    last = np.inf
    for _ in range(steps):
        seen = motion(system, state, periods * system.period)
        residual = seen.state - state
        matrix = np.eye(system.size) - seen.monodromy
        move = solve(matrix, residual)
        state = state + move
        length = float(np.abs(move).max() / np.abs(state).max())
        if length < 1e-17 or (length < 1e-12 and length > last / 4):
            break
        last = length
    seen = motion(system, state, periods * system.period)
    return Orbit(
        state, seen.monodromy, eigenvalues(seen.monodromy), float(seen.duration.sum()),
        int(seen.onsets.sum()), seen.grazing, length,
    )  # fmt: skip


def eigenvalues(matrix) -> np.ndarray:
    """Return the eigenvalues of a matrix of extended precision, by 40 digits."""
    with mp.workdps(40):
        rows = [[mp.mpf(float(x)) + mp.mpf(float(x - Real(float(x)))) for x in row]
                for row in matrix]  # fmt: skip
        values, _ = mp.eig(mp.matrix(rows))
        return np.array([complex(value) for value in values])
