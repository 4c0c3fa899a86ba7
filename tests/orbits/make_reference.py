"""Write reference.json: periodic orbits to 20 digits, by a method unlike any other here.

Flights are the closed form of a linear system in 50-digit arithmetic (matrix
exponential and forced response). Contacts are summed Taylor series in u = sqrt(z),
dt = 2 u d(tau), where the equations are polynomial. Meeting and parting are roots of
these functions. The monodromy matrix is a central difference in 50 digits. Sequences
of contacts and first guesses come from `tests.independent`, whose agreement with this
is the `difference` of each orbit.

    python -m tests.orbits.make_reference
"""

import json
import pathlib

import mpmath as mp
import numpy as np

from tests.independent import TwoBody, merged, motion, periodic_orbit, settle

SOFT, RIGID = 35041219.07, 1.53696e11
ORDER = 48
mp.mp.dps = 50

# stiffness, gap, load frequency, load amplitude, periods, guess (None: from rest)
CASES = [
    (SOFT, 0.05, 4.0, 500.0, 1, None),
    (SOFT, 0.05, 5.8, 500.0, 1, None),
    (SOFT, 0.05, 4.0, 1500.0, 1, None),
    (SOFT, 0.05, 6.5, 800.0, 2, None),
    (SOFT, 0.05, 6.5, 800.0, 1, [-0.07192, -0.03797, 0.08895, 0.98565]),
    (SOFT, 0.01, 6.5, 200.0, 2, None),
    (SOFT, 0.05, 7.2, 200.0, 6, None),
    (SOFT, 0.0, 3.0, 200.0, 1, [0.0061997, 0.0078989, 0.0013378, 0.0052502]),
    (SOFT, 0.0, 7.2, 500.0, 4, None),
    (RIGID, 0.05, 8.0, 200.0, 1, None),
    (RIGID, 0.05, 5.8, 500.0, 1, None),
    (RIGID, 0.05, 7.2, 800.0, 1, None),
    (RIGID, 0.05, 7.6, 500.0, 1, [-0.00556, 0.0002353, 0.05569, -0.371754]),
    (RIGID, 0.05, 4.0, 1500.0, 1, None),
    (RIGID, 0.01, 5.8, 1500.0, 1, None),
    (RIGID, 0.05, 6.5, 800.0, 2, None),
    (RIGID, 0.05, 7.2, 200.0, 5, None),
    (RIGID, 0.01, 7.2, 1500.0, 4, None),
]
FILE = pathlib.Path(__file__).with_name("reference.json")


class Precise:
    """The two-body system of `tests.independent`, with 50 digits."""

    def __init__(self, system: TwoBody):
        self.system = system
        p = {name: mp.mpf(value) for name, value in vars(system).items()}
        self.m_m, self.m_a, self.gap = p["main_mass"], p["attached_mass"], p["gap"]
        self.stiffness, self.w = p["contact_stiffness"], p["load_frequency"]
        self.load, self.phase = p["load_amplitude"], p["load_phase"]
        self.c_m = p["main_frequency"] ** 2
        self.c_a = p["attached_frequency"] ** 2
        self.d_m = 2 * p["main_damping_ratio"] * p["main_frequency"]
        self.d_a = 2 * p["attached_damping_ratio"] * p["attached_frequency"]
        chi = self.m_a / self.m_m
        self.matrix = mp.matrix(
            [
                [0, 0, 1, 0],
                [0, 0, 0, 1],
                [-self.c_m - chi * self.c_a, chi * self.c_a,
                 -self.d_m - chi * self.d_a, chi * self.d_a],
                [self.c_a, -self.c_a, self.d_a, -self.d_a],
            ]
        )  # fmt: skip
        swing = mp.matrix([0, 0, self.load * mp.expj(self.phase) / self.m_m, 0])
        self.swing = mp.lu_solve(mp.mpc(0, self.w) * mp.eye(4) - self.matrix, swing)
        self.rest = mp.matrix([0, self.gap, 0, 0])

    @property
    def period(self):
        return 2 * mp.pi / self.w

    def forced(self, t):
        turn = mp.expj(self.w * t)
        return mp.matrix([mp.re(entry * turn) for entry in self.swing]) + self.rest

    def flight(self, start, state):
        free = state - self.forced(start)
        return lambda t: self.forced(t) + mp.expm(self.matrix * (t - start)) * free

    def next_meeting(self, start, state, near):
        path = self.flight(start, state)
        t = mp.mpf(near)
        for _ in range(20):
            s = path(t)
            change = (s[0] - s[1]) / (s[2] - s[3])
            t -= change
            if abs(change) < mp.mpf(10) ** (-mp.mp.dps + 4):
                return t, path(t)
        raise RuntimeError(f"no meeting near {near}")

    def contact(self, t, state):
        """Return the time and state of parting, and the largest force on the way."""
        angle = self.w * t + self.phase
        y = [mp.mpf(0), state[2] - state[3], state[0], state[2], t,
             mp.cos(angle), mp.sin(angle)]  # fmt: skip
        peak = mp.mpf(0)
        while True:
            series = self.taylor(y)
            u, w = series[0], series[1]
            tail = max(abs(u[-1]), abs(u[-2])) / max(abs(c) for c in u[:3])
            step = (mp.mpf(10) ** (-mp.mp.dps) / tail) ** (mp.mpf(1) / ORDER)
            if _value(w, mp.mpf(0)) > 0 > _value(w, step):
                peak = max(peak, self.stiffness * _value(u, _root(w, step)) ** 3)
            if _value(u, step) <= 0:
                end = _root(u, step)
                _, w, x_m, v_m, t, _, _ = (_value(s, end) for s in series)
                return t, mp.matrix([x_m, x_m, v_m, v_m - w]), peak
            y = [_value(s, step) for s in series]

    def taylor(self, y):
        """Return the coefficients of u, w, x_m, v_m, t, cos and sin of the load, in tau."""
        u, w, x, v, _, c, s = series = [[value] for value in y]
        u2, u3, a_m, a_rel = [], [], [], []
        chi = self.m_a / self.m_m
        for n in range(ORDER):
            u2.append(_product(u, u, n))
            u3.append(_product(u, u2, n))
            # stretch = x_m - x_a + D and its rate
            link = self.c_a * (u2[n] + (self.gap if n == 0 else 0)) + self.d_a * w[n]
            force = self.stiffness * u3[n]
            a_m.append(-self.d_m * v[n] - self.c_m * x[n] - chi * link
                       + (self.load * c[n] - force) / self.m_m)  # fmt: skip
            a_rel.append(a_m[n] - link - force / self.m_a)
            changes = [
                w[n],
                *(2 * _product(u, f, n) for f in (a_rel, v, a_m)),
                2 * u[n],
                -2 * self.w * _product(u, s, n),
                2 * self.w * _product(u, c, n),
            ]
            for entry, change in zip(series, changes, strict=True):
                entry.append(change / (n + 1))
        return series

    def end(self, state, until, begins):
        """Return the state at `until` and the contacts, which begin near `begins`."""
        t, contacts = mp.mpf(0), []
        for near in begins:
            begin, state = self.next_meeting(t, state, near)
            t, state, peak = self.contact(begin, state)
            contacts.append((begin, t, peak))
        if t > until:
            raise RuntimeError("the last contact outlasts the period")
        return self.flight(t, state)(until), contacts


def orbit(case):
    """Return one entry of the table."""
    stiffness, gap, frequency, amplitude, periods, _ = case
    system, found = apart_at_the_start(case)
    precise = Precise(system)
    until = periods * precise.period
    begins = [meeting.begin for meeting in found.meetings]
    state = mp.matrix(found.state.tolist())
    small = mp.mpf(10) ** -14
    for _ in range(3):
        there, contacts = precise.end(state, until, begins)
        columns = []
        for axis in range(4):
            step = mp.matrix(4, 1)
            step[axis] = small
            ahead, behind = (
                precise.end(state + sign * step, until, begins)[0] for sign in (1, -1)
            )
            columns.append((ahead - behind) / (2 * small))
        monodromy = mp.matrix(4, 4)
        for axis, column in enumerate(columns):
            monodromy[:, axis] = column
        residual = there - state
        state = state + mp.lu_solve(mp.eye(4) - monodromy, residual)
    values = sorted(mp.eig(monodromy, left=False, right=False), key=lambda v: -abs(v))
    table = {
        "parameters": {
            "contact.stiffness": stiffness,
            "gap": gap,
            "load.frequency": frequency,
            "load.amplitude": amplitude,
            "load.phase": system.load_phase,
        },
        "periods": periods,
        "period": float(until),
        "state": [float(x) for x in state],
        "monodromy": [[float(monodromy[i, j]) for j in range(4)] for i in range(4)],
        "multipliers": [[float(mp.re(v)), float(mp.im(v))] for v in values],
        "contacts": len(contacts),
        "peak_force": float(max((c[2] for c in contacts), default=0)),
        "contact_duration": float(sum(c[1] - c[0] for c in contacts)),
        "meetings": [[float(x) for x in contact] for contact in contacts],
        "residual": float(mp.norm(residual)),
    }
    both = np.abs(np.subtract(table["monodromy"], found.monodromy)).max()
    table["difference"] = {
        "state": float(np.abs(np.subtract(table["state"], found.state)).max()),
        "monodromy": float(both / np.abs(found.monodromy).max()),
        "peak_force": float(abs(table["peak_force"] - found.peak_force)),
    }
    return table


def apart_at_the_start(case):
    """Return the system, its load's phase such that nothing touches at t = 0, and orbit."""
    stiffness, gap, frequency, amplitude, periods, guess = case
    for phase in (0.0, 1.5, 3.0, 4.5) if guess is None else (0.0,):
        system = TwoBody(
            contact_stiffness=stiffness,
            gap=gap,
            load_frequency=frequency,
            load_amplitude=amplitude,
            load_phase=phase,
        )
        start = settle(system, 150, rtol=1e-8)[-1] if guess is None else guess
        found = periodic_orbit(system, start, periods)
        run = motion(system, found.state, 0.0, found.period)
        if merged(run, found.period) == run.meetings and not run.touching:
            return system, found
    raise RuntimeError(f"{case}: touches at t = 0 at every phase tried")


def _product(a, b, n):
    return mp.fsum(a[i] * b[n - i] for i in range(n + 1))


def _value(series, x):
    total = mp.mpf(0)
    for coefficient in reversed(series):
        total = total * x + coefficient
    return total


def _root(series, step):
    slope = [n * c for n, c in enumerate(series)][1:]
    low, high, sign = mp.mpf(0), step, mp.sign(_value(series, step))
    for _ in range(12):  # halve until Newton's method is safe
        middle = (low + high) / 2
        if mp.sign(_value(series, middle)) == sign:
            high = middle
        else:
            low = middle
    x = high
    for _ in range(12):
        x -= _value(series, x) / _value(slope, x)
    return x


def main():
    """Write the table."""
    orbits = []
    for case in CASES:
        entry = orbit(case)
        orbits.append(entry)
        told = ("parameters", "periods", "contacts", "residual", "difference")
        print({key: entry[key] for key in told}, flush=True)
    about = (__doc__ or "").split("\n\n")[1].replace("\n", " ")
    FILE.write_text(json.dumps({"about": about, "orbits": orbits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
