"""Vibro-impact motions by plain numpy and scipy: what jaxvib's own are checked against.

Nothing of jaxvib is used here. A motion is cut into flights and contacts at the exact
times when bodies meet and part. A flight's equations are linear. A contact is
integrated in u = sqrt(z) with dt = 2 u d(tau), which makes z^(3/2) = u^3 and the whole
contact analytic, onset and release included. Each piece is therefore smooth, as the
eighth-order method (DOP853) needs it. The monodromy matrix and the columns by the
parameters come from variational equations written down by hand.
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

RTOL = 1e-12


@dataclasses.dataclass(frozen=True)
class TwoBody:
    """Two bodies after Pogorelova and Postnikova (2011), states (x_m, x_a, v_m, v_a)."""

    main_mass: float = 1000.0
    main_frequency: float = 6.283
    main_damping_ratio: float = 0.036
    attached_mass: float = 100.0
    attached_frequency: float = 5.646
    attached_damping_ratio: float = 0.036
    gap: float = 0.05
    contact_stiffness: float = 35041219.07
    load_amplitude: float = 500.0
    load_frequency: float = 5.8
    load_phase: float = 0.0

    @property
    def period(self):
        return 2 * np.pi / self.load_frequency

    @property
    def rest(self):
        return np.array([0.0, self.gap, 0.0, 0.0])

    @functools.cached_property
    def stiffnesses(self):
        return np.array([self.contact_stiffness])

    @functools.cached_property
    def gradients(self):
        """dz/ds, one row per contact."""
        return np.array([[1.0, -1.0, 0.0, 0.0]])

    def penetrations(self, s):
        return np.array([s[0] - s[1]])

    def field(self, t, s, contact_forces):
        # Python's numbers: arithmetic of NumPy's takes five times as long.
        x_m, x_a, v_m, v_a = s.tolist()
        (force,) = contact_forces.tolist()
        load = self.load_amplitude * np.cos(self.load_frequency * t + self.load_phase)
        chi = self.attached_mass / self.main_mass
        w_m, w_a = self.main_frequency, self.attached_frequency
        xi_m, xi_a = self.main_damping_ratio, self.attached_damping_ratio
        link = 2 * xi_a * w_a * (v_m - v_a) + w_a**2 * (x_m - x_a + self.gap)
        a_m = (
            -2 * xi_m * w_m * v_m
            - w_m**2 * x_m
            - chi * link
            + (load - force) / self.main_mass
        )
        a_a = (
            -2 * xi_a * w_a * (v_a - v_m)
            - w_a**2 * (x_a - x_m - self.gap)
            + force / self.attached_mass
        )
        return np.array([v_m, v_a, a_m, a_a])

    def jacobian(self, contact_slopes):
        """d(field)/d(state), with dF/dz of each contact given."""
        (slope,) = map(float, contact_slopes)
        touch_m, touch_a = slope / self.main_mass, slope / self.attached_mass
        found = self._apart.copy()
        found[2, 0] -= touch_m
        found[2, 1] += touch_m
        found[3, 0] += touch_a
        found[3, 1] -= touch_a
        return found

    @functools.cached_property
    def _apart(self):
        """d(field)/d(state) without contact."""
        chi = self.attached_mass / self.main_mass
        w_m, w_a = self.main_frequency, self.attached_frequency
        d_m = 2 * self.main_damping_ratio * w_m
        d_a = 2 * self.attached_damping_ratio * w_a
        return np.array(
            [
                [0, 0, 1, 0],
                [0, 0, 0, 1],
                [-(w_m**2) - chi * w_a**2, chi * w_a**2, -d_m - chi * d_a, chi * d_a],
                [w_a**2, -(w_a**2), d_a, -d_a],
            ]
        )

    def parameter_slope(self, name, t, s, contact_forces):
        """d(field)/d(parameter) at a given state."""
        x_m, x_a, v_m, v_a = s
        (force,) = contact_forces
        m_m, m_a = self.main_mass, self.attached_mass
        w_m, w_a = self.main_frequency, self.attached_frequency
        xi_m, xi_a = self.main_damping_ratio, self.attached_damping_ratio
        chi, stretch = m_a / m_m, x_m - x_a + self.gap
        link = 2 * xi_a * w_a * (v_m - v_a) + w_a**2 * stretch
        angle = self.load_frequency * t + self.load_phase
        load = self.load_amplitude * np.cos(angle)
        swing = -self.load_amplitude * np.sin(angle)
        by_frequency = 2 * xi_a * (v_m - v_a) + 2 * w_a * stretch
        by_damping = 2 * w_a * (v_m - v_a)
        a_m, a_a = {
            "main_mass": ((m_a * link - load + force) / m_m**2, 0),
            "main_frequency": (-2 * xi_m * v_m - 2 * w_m * x_m, 0),
            "main_damping_ratio": (-2 * w_m * v_m, 0),
            "attached_mass": (-link / m_m, -force / m_a**2),
            "attached_frequency": (-chi * by_frequency, by_frequency),
            "attached_damping_ratio": (-chi * by_damping, by_damping),
            "gap": (-chi * w_a**2, w_a**2),
            "contact_stiffness": (
                -force / self.contact_stiffness / m_m,
                force / self.contact_stiffness / m_a,
            ),
            "load_amplitude": (np.cos(angle) / m_m, 0),
            "load_frequency": (swing * t / m_m, 0),
            "load_phase": (swing / m_m, 0),
        }[name]
        return np.array([0.0, 0.0, a_m, a_a])


@dataclasses.dataclass(frozen=True)
class Touch:
    """A Hertz contact with z = direction . q - gap."""

    direction: Sequence[float]
    gap: float
    stiffness: float


@dataclasses.dataclass(frozen=True)
class Load:
    """The force amplitude cos(frequency t + phase) along a direction."""

    direction: Sequence[float]
    amplitude: float
    frequency: float
    phase: float = 0.0


class Linear:
    """M q'' + D q' + C q = loads - contacts, for any number of each; states (q, q').

    Parameters are named `load_amplitude`, `load_frequency` (of the first load), `gap`
    and `contact_stiffness` (of the first contact).
    """

    def __init__(self, mass, damping, stiffness, touches=(), loads=()):
        mass = np.atleast_2d(mass).astype(float)
        n = len(mass)
        zero, one = np.zeros((n, n)), np.eye(n)
        self.matrix = np.block(
            [
                [zero, one],
                [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)],
            ]
        )
        self.touches, self.loads = tuple(touches), tuple(loads)
        self.pushes = [
            np.concatenate([np.zeros(n), np.linalg.solve(mass, touch.direction)])
            for touch in self.touches
        ]
        self.pulls = [
            np.concatenate([np.zeros(n), np.linalg.solve(mass, load.direction)])
            for load in self.loads
        ]
        self.gradients = np.array(
            [np.concatenate([touch.direction, np.zeros(n)]) for touch in self.touches]
        ).reshape(len(self.touches), 2 * n)
        self.stiffenings = [
            np.outer(*both) for both in zip(self.pushes, self.gradients, strict=True)
        ]
        self.gaps = np.array([touch.gap for touch in self.touches])
        self.stiffnesses = np.array([touch.stiffness for touch in self.touches])
        self.rest = np.zeros(2 * n)

    @property
    def period(self):
        return max(2 * np.pi / load.frequency for load in self.loads)

    @property
    def load_amplitude(self):
        return self.loads[0].amplitude

    @property
    def load_frequency(self):
        return self.loads[0].frequency

    @property
    def gap(self):
        return self.gaps[0]

    @property
    def contact_stiffness(self):
        return self.stiffnesses[0]

    def penetrations(self, s):
        return self.gradients @ s - self.gaps

    def field(self, t, s, contact_forces):
        rate = self.matrix @ s
        for load, pull in zip(self.loads, self.pulls, strict=True):
            rate = rate + pull * load.amplitude * np.cos(load.frequency * t + load.phase)
        for push, force in zip(self.pushes, contact_forces, strict=True):
            rate = rate - push * force
        return rate

    def jacobian(self, contact_slopes):
        total = self.matrix
        for stiffening, slope in zip(self.stiffenings, contact_slopes, strict=True):
            total = total - slope * stiffening
        return total

    def parameter_slope(self, name, t, s, contact_forces):
        if name in ("load_amplitude", "load_frequency"):
            angle = self.loads[0].frequency * t + self.loads[0].phase
            if name == "load_amplitude":
                return self.pulls[0] * np.cos(angle)
            return -self.pulls[0] * self.loads[0].amplitude * t * np.sin(angle)
        force, stiffness = contact_forces[0], self.stiffnesses[0]
        if name == "contact_stiffness":
            return -self.pushes[0] * force / stiffness
        slope = 1.5 * stiffness * np.cbrt(force / stiffness)
        return {"gap": self.pushes[0] * slope}[name]


@dataclasses.dataclass(frozen=True)
class Meeting:
    """One contact: which, when it begins and ends (s), its largest force (N) and when."""

    contact: int
    begin: float
    end: float
    peak_time: float
    peak_force: float


@dataclasses.dataclass(frozen=True)
class Motion:
    """What a motion ends with; `monodromy` (n, n), `columns` (n, parameters)."""

    state: np.ndarray
    monodromy: np.ndarray
    columns: np.ndarray
    meetings: tuple[Meeting, ...]
    touching: tuple[int, ...]


def motion(system, state, start, end, names=None, rtol=RTOL) -> Motion:
    """Integrate from `start` to `end`; with `names` also the variational equations.

    `names` are the parameters whose columns are wanted, () for the monodromy alone and
    None for no variational equations at all. A contact that lasts at either end of the
    time span is recorded with the span's end in place of its own.
    """
    run = _Run(system, names, rtol)
    state = np.asarray(state, float)
    size = len(state)
    columns = np.zeros((size, 0 if names is None else size + len(names)))
    if names is not None:
        columns[:, :size] = np.eye(size)
    y = np.concatenate([state, columns.ravel()])
    depths, speeds = (
        system.penetrations(state),
        system.gradients
        @ system.field(
            start,
            state,
            np.maximum(system.penetrations(state), 0) ** 1.5 * system.stiffnesses,
        ),
    )
    active = {i for i, (z, w) in enumerate(zip(depths, speeds, strict=True))
              if z > 0 or (z == 0 and w > 0)}  # fmt: skip
    open_meetings = {i: [start, start, 0.0] for i in active}
    meetings = []
    t = start
    while t < end:
        t, y, changed = run.piece(t, y, end, active, open_meetings)
        if changed in active:
            begin, when, peak = open_meetings.pop(changed)
            meetings.append(Meeting(changed, begin, t, when, peak))
            active.remove(changed)
        elif changed is not None:
            for i in {changed} | _closing_at_once(system, t, y[:size], active):
                active.add(i)
                open_meetings[i] = [t, t, 0.0]
    for i in sorted(open_meetings):
        begin, when, peak = open_meetings[i]
        meetings.append(Meeting(i, begin, end, when, peak))
    tangents = y[size:].reshape(size, -1) / run.scales
    return Motion(
        y[:size],
        tangents[:, :size],
        tangents[:, size:],
        tuple(meetings),
        tuple(sorted(active)),
    )


def _closing_at_once(system, t, state, active):
    """Return the contacts that close in the same instant as one that just has.

    Their gaps are 0 to rounding, on either side, where no event would find a crossing.
    """
    depths = system.penetrations(state)
    rounding = 16 * np.finfo(float).eps * np.abs(system.gradients) @ np.abs(state)
    forces = np.maximum(depths, 0) ** 1.5 * system.stiffnesses
    speeds = system.gradients @ system.field(t, state, forces)
    return {
        i for i, (depth, speed) in enumerate(zip(depths, speeds, strict=True))
        if i not in active and abs(depth) <= rounding[i] and speed > 0
    }  # fmt: skip


def trajectory(system, state, times, rtol=RTOL):
    """Return the states (times, n) at ascending times; `state` is at the first one."""
    states = [np.asarray(state, float)]
    for start, end in itertools.pairwise(times):
        states.append(motion(system, states[-1], start, end, rtol=rtol).state)
    return np.array(states)


def contact_forces(system, states):
    """Return the contact forces (times, contacts), N, of states (times, n)."""
    depths = np.array([system.penetrations(s) for s in states])
    return np.maximum(depths, 0) ** 1.5 * system.stiffnesses


@dataclasses.dataclass(frozen=True)
class Orbit:
    """A periodic orbit; `columns` are by the parameters at a fixed initial state."""

    state: np.ndarray
    period: float
    residual: float
    monodromy: np.ndarray
    columns: np.ndarray
    multipliers: np.ndarray
    contacts: int
    peak_force: float
    contact_duration: float
    meetings: tuple[Meeting, ...]


def periodic_orbit(system, guess, periods=1, names=(), rtol=RTOL, steps=30) -> Orbit:
    """Newton's method on the map over `periods` periods of the load, from t = 0."""
    state = np.asarray(guess, float)
    end = periods * system.period
    for _ in range(steps):
        run = motion(system, state, 0.0, end, (), rtol)
        change = np.linalg.solve(run.monodromy - np.eye(len(state)), state - run.state)
        state = state + change
        if np.linalg.norm(change) < 3 * rtol * np.linalg.norm(state):
            break
    else:
        raise RuntimeError(f"no orbit from {guess}: last change {change}")
    run = motion(system, state, 0.0, end, names, rtol)
    values = np.linalg.eigvals(run.monodromy)
    whole = merged(run, end)
    return Orbit(
        state,
        end,
        float(np.linalg.norm(run.state - state)),
        run.monodromy,
        run.columns,
        values[np.argsort(-np.abs(values), kind="stable")],
        len(whole),
        max((m.peak_force for m in whole), default=0.0),
        sum(m.end - m.begin for m in whole),
        whole,
    )


def merged(run: Motion, end: float) -> tuple[Meeting, ...]:
    """Return a periodic motion's contacts, one that straddles its ends as one."""
    whole = []
    for contact in {m.contact for m in run.meetings}:
        own = [m for m in run.meetings if m.contact == contact]
        first, last = own[0], own[-1]
        if len(own) > 1 and first.begin == 0 and last.end == end:
            higher = max(first, last, key=lambda m: m.peak_force)
            own = [*own[1:-1], dataclasses.replace(
                higher, begin=last.begin, end=end + first.end)]  # fmt: skip
        whole += own
    return tuple(sorted(whole, key=lambda m: m.begin))


def settle(system, periods, state=None, rtol=1e-9):
    """Return the states (periods + 1, n) at the load's periods, from rest by default."""
    states = [system.rest if state is None else np.asarray(state, float)]
    for number in range(periods):
        start = number * system.period
        run = motion(system, states[-1], start, start + system.period, rtol=rtol)
        states.append(run.state)
    return np.array(states)


class _Run:
    """The pieces of one motion: y holds the state and then the tangents, row by row."""

    def __init__(self, system, names, rtol):
        self.system, self.rtol = system, rtol
        self.names = names or ()
        self.size = len(system.rest)
        # Columns by log(parameter) are all of about the same size, as error control
        # needs them.
        scales = [getattr(system, name) or 1.0 for name in self.names]
        self.scales = np.concatenate([np.ones(self.size), scales]) if (
            names is not None) else np.ones(0)  # fmt: skip

    def flow(self, t, s, roots):
        """ds/dt of the state alone."""
        return self.system.field(t, s, self.system.stiffnesses * roots**3)

    def rate(self, t, y, roots):
        """dy/dt with the square root of each contact's penetration given, 0 if apart."""
        system, size = self.system, self.size
        s, tangents = y[:size], y[size:]
        forces = system.stiffnesses * roots**3
        field = system.field(t, s, forces)
        if not len(tangents):
            return field
        jacobian = system.jacobian(1.5 * system.stiffnesses * roots)
        change = jacobian @ tangents.reshape(size, -1)
        for i, name in enumerate(self.names, start=size):
            change[:, i] += self.scales[i] * system.parameter_slope(name, t, s, forces)
        found = np.empty(len(y))
        found[:size], found[size:] = field, change.ravel()
        return found

    def piece(self, t, y, end, active, open_meetings):
        """Integrate until `end` or a change of contacts; return t, y and which changed."""
        if len(active) == 1:
            return self._contact(t, y, end, next(iter(active)), open_meetings)
        return self._in_time(t, y, end, active, open_meetings)

    def _in_time(self, t, y, end, active, open_meetings):
        mask = np.zeros(len(self.system.stiffnesses))
        mask[list(active)] = 1

        def roots(y):
            depths = self.system.penetrations(y[: self.size])
            return mask * np.sqrt(np.maximum(depths, 0))

        def rate(t, y):
            return self.rate(t, y, roots(y))

        def depth(i):
            return lambda t, y: self.system.penetrations(y[: self.size])[i]

        def speed(i):
            row = self.system.gradients[i]
            return lambda t, y: row @ self.flow(t, y[: self.size], roots(y))

        falls = {i: (depth(i), speed(i)) for i in active}
        rises = {i: (depth(i), speed(i)) for i in range(len(mask)) if i not in active}
        peaks = {i: speed(i) for i in active}

        def note(i, t, y):
            force = self.system.stiffnesses[i] * max(depth(i)(t, y), 0) ** 1.5
            if force > open_meetings[i][2]:
                open_meetings[i][1:] = [t, force]

        return self._march(rate, t, y, end, falls, rises, peaks, note)

    def _contact(self, t, y, end, i, open_meetings):
        system, size = self.system, self.size
        stiffness, gradient = system.stiffnesses[i], system.gradients[i]
        picked = np.arange(len(system.stiffnesses)) == i

        def rate(tau, x):  # x holds u, t, y
            u, t, y = x[0], x[1], x[2:]
            slow = self.rate(t, y, np.where(picked, u, 0.0))
            found = np.empty(len(x))
            found[:2] = gradient @ slow[:size], 2 * u
            found[2:] = 2 * u * slow
            return found

        def root(tau, x):
            return x[0]

        def flow(x):
            return self.flow(x[1], x[2 : 2 + size], np.where(picked, x[0], 0.0))

        def closing(tau, x):
            return gradient @ flow(x)

        def depth(j):
            return lambda tau, x: system.penetrations(x[2 : 2 + size])[j]

        def speed(j):
            return lambda tau, x: system.gradients[j] @ (2 * x[0] * flow(x))

        def note(i, tau, x):
            force = stiffness * x[0] ** 3
            if force > open_meetings[i][2]:
                open_meetings[i][1:] = [x[1], force]

        start = max(float(system.penetrations(y[:size])[i]), 0.0) ** 0.5
        if t == open_meetings[i][0] and start < 1e-7:
            start = 0.0  # the onset that has just been found, up to rounding
        x = np.concatenate([[start, t], y])
        falls = {i: (root, closing)}
        rises = {j: (depth(j), speed(j)) for j in np.flatnonzero(~picked)}
        clock = (lambda tau, x: x[1] - end, lambda tau, x: 2 * x[0])
        _, x, changed = self._march(
            rate, 0.0, x, np.inf, falls, rises, {i: closing}, note, clock
        )
        return (end if changed is None else x[1]), x[2:], changed

    def _march(self, rate, t, y, end, falls, rises, peaks, note, clock=None):
        atol = 1e-3 * self.rtol
        while True:
            solver = DOP853(rate, t, y, end, rtol=self.rtol, atol=atol, max_step=0.1)
            while solver.status == "running":
                solver.step()
                if solver.status == "failed":
                    raise RuntimeError(f"the step size became too small at {solver.t}")
                # Several functions are sampled at the same times.
                old, between = solver.t_old, functools.cache(solver.dense_output())
                found = list(self._events(old, solver.t, between, falls, rises, clock))
                stop = min(
                    found, key=lambda event: event[0], default=(solver.t, None, None)
                )
                for i, speed in peaks.items():
                    for near in _crossings(speed, old, stop[0], between, downwards=True):
                        start = between(old)
                        at, there = self._polish(rate, old, start, near, speed, None)
                        note(i, at, there)
                for i in peaks:
                    note(i, old, between(old))
                if found:
                    near, which, (value, slope) = stop
                    at, there = self._polish(rate, old, between(old), near, value, slope)
                    for i in peaks:
                        note(i, at, there)
                    return at, there, which
            for i in peaks:
                note(i, solver.t, solver.y)
            return solver.t, solver.y, None

    def _events(self, old, new, between, falls, rises, clock):
        if clock is not None and clock[0](new, between(new)) >= 0:
            value = clock[0]
            yield brentq(lambda x: value(x, between(x)), old, new), None, clock
        for i, (value, slope) in falls.items():
            for near in _crossings(value, old, new, between, downwards=True):
                yield near, i, (value, slope)
        for i, (value, slope) in rises.items():
            for near in _crossings(value, old, new, between, slope=slope):
                yield near, i, (value, slope)

    def _polish(self, rate, old, start, near, value, slope):
        """Newton's method for value(t) = 0 by integrating anew from the step's start."""
        at = near
        for _ in range(8):
            there = self._advance(rate, old, start, at)
            if slope is None:
                small = 1e-6 * max(abs(at - old), 1e-9)
                beyond = self._advance(rate, old, start, at + small)
                change = (
                    value(at, there)
                    * small
                    / (value(at + small, beyond) - value(at, there))
                )
            else:
                change = value(at, there) / slope(at, there)
            at -= change
            if abs(change) <= 1e-15 * max(abs(at), abs(at - old)):
                break
        return at, self._advance(rate, old, start, at)

    def _advance(self, rate, old, start, to):
        if to <= old:
            return start
        solver = DOP853(rate, old, start, to, first_step=to - old,
                        rtol=self.rtol, atol=1e-3 * self.rtol)  # fmt: skip
        while solver.status == "running":
            solver.step()
        return solver.y


def _crossings(value, old, new, between, downwards=False, slope=None):
    """Yield where `value` passes 0 in a step, downwards or upwards, first one first.

    With `slope` also an excursion above 0 within the step is found, by its top.
    """
    sign = -1 if downwards else 1

    def f(t):
        return sign * value(t, between(t))

    nodes = np.linspace(old, new, 6)
    if slope is not None:
        rates = [slope(t, between(t)) for t in nodes]
        tops = [
            brentq(lambda t: slope(t, between(t)), a, b)
            for a, b, p, q in zip(nodes[:-1], nodes[1:], rates[:-1], rates[1:], strict=True)
            if p > 0 > q
        ]
        nodes = np.sort(np.concatenate([nodes, tops]))
    heights = [f(t) for t in nodes]
    for a, b, p, q in zip(nodes[:-1], nodes[1:], heights[:-1], heights[1:], strict=True):
        if p < 0 <= q:
            yield brentq(f, a, b, xtol=1e-15)
