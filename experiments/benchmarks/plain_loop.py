"""Peer: one sample of the regime map with scipy's `solve_ivp` in plain Python.

The same work as `jaxvib.orbits.regimes`: a transient from rest that stops when a state
recurs within eight periods, Newton's method on the period map with the variational
equations, a second solve at a tighter tolerance, multipliers, contacts, peak force. A
motion that does not converge is followed for 256 periods together with a neighbouring
one. The right-hand sides use plain Python numbers, which is the fastest for `solve_ivp`
with four equations; LSODA is the fastest of its methods here. Uses nothing of jaxvib.
"""

import dataclasses
import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

SEGMENT, MOST, LONGEST, WATCHED = 32, 384, 8, 256
NEIGHBOUR = 1e-6
CLOSE, PLAUSIBLE = 1e-4, 1e-2


@dataclasses.dataclass(frozen=True)
class Tolerances:
    """Relative tolerances of transients, Newton's method, last look and what wanders."""

    transient: float = 1e-7
    newton: float = 1e-9
    last: float = 1e-11
    watched: float = 1e-9


@dataclasses.dataclass(frozen=True)
class Regime:
    """What a sample settles on; `periods` is 0 for a motion that is not periodic."""

    periods: int
    state: np.ndarray
    multipliers: np.ndarray
    contacts: int
    peak_force: float


class PlainLoop:
    """The two bodies of Pogorelova and Postnikova (2011), with the usual values."""

    main_mass, attached_mass, gap = 1000.0, 100.0, 0.05
    main_frequency, attached_frequency = 6.283, 5.646
    main_damping_ratio = attached_damping_ratio = 0.036

    def __init__(self, stiffness: float, amplitude: float, frequency: float):
        self.stiffness, self.amplitude, self.frequency = stiffness, amplitude, frequency
        self.period = 2 * math.pi / frequency
        chi = self.attached_mass / self.main_mass
        self.constants = (
            2 * self.main_damping_ratio * self.main_frequency,
            self.main_frequency**2,
            2 * self.attached_damping_ratio * self.attached_frequency,
            self.attached_frequency**2,
            chi,
        )

    def rate(self, t, y):
        """Return the state's rate of change."""
        x_m, x_a, v_m, v_a = y.tolist()
        d_m, c_m, d_a, c_a, chi = self.constants
        z = x_m - x_a
        force = self.stiffness * z * math.sqrt(z) if z > 0 else 0.0
        link = d_a * (v_m - v_a) + c_a * (z + self.gap)
        load = self.amplitude * math.cos(self.frequency * t)
        return [
            v_m,
            v_a,
            -d_m * v_m - c_m * x_m - chi * link + (load - force) / self.main_mass,
            link + force / self.attached_mass,
        ]

    def rates(self, t, y):
        """Return the rate of the state and of its columns, (4, k) row by row."""
        d_m, c_m, d_a, c_a, chi = self.constants
        out = np.empty_like(y)
        out[:4] = self.rate(t, y[:4])
        columns, changes = y[4:].reshape(4, -1), out[4:].reshape(4, -1)
        z = y[0] - y[1]
        slope = 1.5 * self.stiffness * math.sqrt(z) if z > 0 else 0.0
        dz = columns[0] - columns[1]
        link = d_a * (columns[2] - columns[3]) + c_a * dz
        force = slope * dz
        changes[:2] = columns[2:]
        changes[2] = (
            -d_m * columns[2] - c_m * columns[0] - chi * link - force / self.main_mass
        )
        changes[3] = link + force / self.attached_mass
        return out

    def settle(self, rtol):
        """Return the last state of the transient and how nearly it recurs in 1, ... T."""
        states = [np.array([0.0, self.gap, 0.0, 0.0])]
        weights = np.array([self.frequency, self.frequency, 1.0, 1.0])
        while len(states) <= MOST:
            for _ in range(SEGMENT):
                states.append(self.flow(states[-1], self.period, rtol))
            size = np.abs(states[-1] * weights).max()
            earlier = np.array(states[-1 - LONGEST : -1][::-1])
            nearest = np.abs((states[-1] - earlier) * weights).max(axis=1) / size
            if nearest.min() < CLOSE:
                break
        return states[-1], nearest

    def flow(self, state, span, rtol):
        """Return the state after a time."""
        return self.solve(self.rate, state, span, rtol).y[:, -1]

    def solve(self, rate, start, span, rtol, **options):
        """Return scipy's solution over a time."""
        return solve_ivp(
            rate, (0.0, span), start, method="LSODA", rtol=rtol, atol=rtol * 1e-2, **options
        )

    def with_monodromy(self, state, span, rtol, **options):
        """Return the last state, the monodromy matrix and the solution."""
        start = np.concatenate([state, np.eye(4).ravel()])
        solution = self.solve(self.rates, start, span, rtol, **options)
        return solution.y[:4, -1], solution.y[4:, -1].reshape(4, 4), solution

    def orbit(self, state, periods, tolerances: Tolerances) -> Regime | None:
        """Return the orbit that Newton's method finds, if it does."""
        span = periods * self.period
        guess = state
        for _ in range(25):
            end, monodromy, _ = self.with_monodromy(state, span, tolerances.newton)
            change = np.linalg.solve(np.eye(4) - monodromy, end - state)
            state = state + change
            if np.abs(change).max() < 30 * tolerances.newton * np.abs(state).max():
                break
        else:
            return None
        end, monodromy, solution = self.with_monodromy(
            state, span, tolerances.last, dense_output=True
        )
        multipliers = np.linalg.eigvals(monodromy)
        if np.abs(multipliers).max() > 1 or np.abs(state - guess).max() > 0.1:
            return None
        # One more Newton step, by what the tighter tolerance says of the residual.
        state = state + np.linalg.solve(np.eye(4) - monodromy, end - state)
        depth = solution.y[0] - solution.y[1]
        onsets = np.count_nonzero((depth[:-1] <= 0) & (depth[1:] > 0))
        return Regime(periods, state, multipliers, int(onsets), self.peak(solution))

    def peak(self, solution) -> float:
        """Return the largest contact force, N, of a solution with dense output."""
        depth = solution.y[0] - solution.y[1]
        top = int(depth.argmax())
        if depth[top] <= 0:
            return 0.0
        around = solution.t[[max(top - 1, 0), min(top + 1, len(depth) - 1)]]

        def minus_depth(t):
            y = solution.sol(t)
            return y[1] - y[0]

        found = minimize_scalar(minus_depth, bounds=around, method="bounded",
                                options={"xatol": 1e-10})  # fmt: skip
        return self.stiffness * float(-found.fun) ** 1.5

    def wander(self, state, rtol) -> tuple[float, float]:
        """Return the largest Lyapunov exponent, 1/s, and the largest contact force, N."""
        units = np.abs(state).max() / np.array([self.frequency, self.frequency, 1.0, 1.0])
        direction, total, deepest = np.full(4, 0.5), 0.0, 0.0
        for _ in range(WATCHED):
            near = self.flow(state + NEIGHBOUR * units * direction, self.period, rtol)
            path = self.solve(self.rate, state, self.period, rtol).y
            state, deepest = path[:, -1], max(deepest, (path[0] - path[1]).max())
            apart = (near - state) / units
            distance = np.linalg.norm(apart)
            total += math.log(distance / NEIGHBOUR)
            direction = apart / distance
        return total / (WATCHED * self.period), self.stiffness * deepest**1.5

    def regime(self, tolerances: Tolerances) -> Regime:
        """Return what the sample settles on."""
        state, nearest = self.settle(tolerances.transient)
        for periods in range(1, LONGEST + 1):
            if nearest[periods - 1] < PLAUSIBLE:
                orbit = self.orbit(state, periods, tolerances)
                if orbit is not None:
                    return orbit
        _, force = self.wander(state, tolerances.watched)
        return Regime(0, state, np.full(4, np.nan), 0, force)
