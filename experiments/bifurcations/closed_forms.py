"""Bifurcations with a closed form, or found by scipy alone.

- Whittaker and Hill's equation y'' + (h - x^2/8 - (p+1) x cos 2t + x^2/8 cos 4t) y = 0
  (DLMF 28.31.1) has, for integer p, solutions exp(-x cos(2t)/4) times a finite Fourier
  series (Ince's polynomials). For p = 1 these are cos t and sin t: a period doubling of
  y = 0 at h = 1 + x and at h = 1 - x. For p = 2: sin 2t at h = 4, and two of cos 2t and
  a constant at h = 2 (1 +- sqrt(1 + x^2)): branch points.
- Two masses, one of which hits a linear spring (`nlvib`): linear in flight and in
  contact, so that orbit and monodromy matrix are products of two matrix exponentials.
- FitzHugh and Nagumo's oscillator in the plane: a torus bifurcation where det M = 1.
"""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, root

import jaxvib as jv

TAU = 2 * np.pi
X = 1.0
DLMF = "Ince's polynomials, DLMF 28.31"


def whittaker_hill(p: int, start: float):
    """Return Whittaker and Hill's equation as a system with the parameter h."""

    def field(t, y, parameters):
        wave = X**2 / 8 * (jnp.cos(4 * t) - 1) - (p + 1) * X * jnp.cos(2 * t)
        return [y[1], -(parameters["h"] + wave) * y[0]]

    return jv.forced_system(field, parameters={"h": start}, period=np.pi, dimension=2)


class OneContact:
    """Motions of `nlvib`'s two masses with one contact a period, by matrix exponentials."""

    def __init__(self, damping=0.03, stiffness=100.0, load=0.1):
        self.load = load
        links = np.array([[1.0, -1.0], [-1.0, 2.0]])
        zero, one = np.zeros((2, 2)), np.eye(2)
        self.matrices = [
            np.block([[zero, one], [-links - np.diag([spring, 0]), -damping * links]])
            for spring in (0.0, stiffness)
        ]
        push = np.array([0, 0, stiffness, 0])
        self.rests = [np.zeros(4), -np.linalg.solve(self.matrices[1], push)]

    def piece(self, touching: int, state, begin, lasts, w):
        """Return the state after a flight or a contact, and its matrix."""
        matrix, pull = self.matrices[touching], np.array([0, 0, 0, self.load + 0j])
        wave = np.linalg.solve(1j * w * np.eye(4) - matrix, pull)

        def driven(t):
            return (wave * np.exp(1j * w * t)).real + self.rests[touching]

        linear = expm(matrix * lasts)
        return driven(begin + lasts) + linear @ (state - driven(begin)), linear

    def bifurcation(self, kind: str, guess) -> float:
        """Return the frequency; `guess`: x_2, v_1, v_2, onset, duration and frequency."""

        def equations(unknown):
            *rest, begin, lasts, w = unknown
            state = np.array([1.0, *rest])
            parted, first = self.piece(1, state, begin, lasts, w)
            met, last = self.piece(0, parted, begin + lasts, TAU / w - lasts, w)
            whole = last @ first
            return [*(met - state), parted[0] - 1.0, self.test(kind, whole)]

        solved = root(equations, guess, options={"xtol": 1e-14})
        return float(solved.x[-1])

    def test(self, kind: str, whole) -> float:
        """Return what is 0 where a motion with this monodromy matrix changes its kind."""
        if kind != "neimark_sacker":
            return np.linalg.det(
                whole + (1 if kind == "period_doubling" else -1) * np.eye(4)
            )
        values = np.linalg.eigvals(whole)
        first, second = np.triu_indices(4, 1)
        return float(np.prod(values[first] * values[second] - 1).real)


def fitzhugh_nagumo_torus(path: str, between: tuple[float, float], **values) -> float:
    """Return where det M = 1 for AUTO's demo ffn, by scipy's DOP853 at 1e-13."""

    def rates(t, y, a, amp):
        x, v = y[:2]
        jacobian = np.array([[3 * (1 - x**2), 3.0], [-1 / 3, -0.8 / 3]])
        push = 3 * (x - x**3 / 3 + v - amp * np.cos(10 * t))
        return [push, -(x - a + 0.8 * v) / 3, *(jacobian @ y[2:].reshape(2, 2)).ravel()]

    def test(value):
        at = values | {path: value}
        state = np.array([at["a"] + 0.4, -0.5]) if path == "a" else np.array([0.2, 0.0])
        for _ in range(12):
            end = solve_ivp(
                rates, (0, TAU / 10), [*state, 1, 0, 0, 1], "DOP853",
                args=(at["a"], at["amp"]), rtol=1e-13, atol=1e-15,
            ).y[:, -1]  # fmt: skip
            whole = end[2:].reshape(2, 2)
            change = np.linalg.solve(whole - np.eye(2), state - end[:2])
            state = state + change
            if np.abs(change).max() < 1e-13:
                break
        return np.linalg.det(whole) - 1

    return brentq(test, *between, xtol=1e-13)


CASES = {
    "Whittaker-Hill, p = 1": (
        whittaker_hill(1, 1.0), [0.0, 0.0], "h", (-0.5, 3.0),
        [("period_doubling", 1 - X, DLMF), ("period_doubling", 1 + X, DLMF)],
    ),
    "Whittaker-Hill, p = 2": (
        whittaker_hill(2, 4.4), [0.0, 0.0], "h", (3.5, 5.5),
        [("branch_point", 4.0, DLMF), ("branch_point", 2 + 2 * np.sqrt(1 + X**2), DLMF)],
    ),
}  # fmt: skip
