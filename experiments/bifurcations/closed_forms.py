"""Bifurcations with a closed form, as cases for `run`.

- Whittaker and Hill's equation y'' + (h - x^2/8 - (p+1) x cos 2t + x^2/8 cos 4t) y = 0
  (DLMF 28.31.1) has, for whole p, solutions exp(-x cos(2t)/4) times a finite Fourier
  series (Ince's polynomials). For p = 1 these are cos t and sin t: a period doubling of
  y = 0 at h = 1 + x and at h = 1 - x. For p = 2: sin 2t at h = 4, and two of cos 2t and a
  constant at h = 2 (1 +- sqrt(1 + x^2)): branch points.
- Impact oscillator x'' + c x' + x = A cos w t, x <= d, v+ = -e v-: the orbit with one
  impact of speed v a period is known (the linear motion between two impacts), and its
  matrix is the flight's times that of the impact,
  S = [[-e, 0], [-(a+ + e a-)/v, -e]] with the accelerations before and after. The period
  doubles where det(S exp(B T) + I) = 0. Shaw and Holmes, J. Sound Vib. 90 (1983).
- Two masses, one of which meets a linear spring (`nlvib`): linear in flight and in
  contact, so that orbit and monodromy matrix are products of two matrix exponentials.
"""

import jax.numpy as jnp
import numpy as np
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


def impact_oscillator(amplitude: float, frequency: float):
    """Return x'' + 0.1 x' + x = A cos w t with a hard stop at 1 of restitution 0.8."""
    one = jnp.array([1.0])
    linear = jv.LinearSystem(jnp.eye(1), 0.1 * jnp.eye(1), jnp.eye(1))
    stop = jv.Contact(one, 1.0, jv.RestitutionContact(0.8))
    load = jv.AppliedLoad(one, jv.HarmonicLoad(amplitude, frequency))
    return jv.ImpactSystem(linear, (stop,), (load,))


class OneImpact:
    """Motions of the impact oscillator with one impact, of speed v, a period."""

    def __init__(self, w: float, c=0.1, d=1.0, e=0.8):
        self.w, self.c, self.d, self.e = w, c, d, e
        self.whole = expm(np.array([[0.0, 1.0], [-1.0, -c]]) * TAU / w)

    def steady(self, v: float):
        """Return the linear response, displacement and velocity, at the impact."""
        before, after = np.array([self.d, v]), np.array([self.d, -self.e * v])
        return np.linalg.solve(np.eye(2) - self.whole, before - self.whole @ after)

    def amplitude(self, v: float) -> float:
        """Return the load's amplitude, whose square is a parabola in v."""
        x, u = self.steady(v)
        return float(np.hypot(x, u / self.w) * abs(1 - self.w**2 + 1j * self.c * self.w))

    def fold(self) -> float:
        """Return the least amplitude."""
        c, middle, last = (self.amplitude(v) ** 2 for v in (0.0, 0.5, 1.0))
        a = 2 * (last - 2 * middle + c)
        return float(np.sqrt(c - (last - c - a) ** 2 / (4 * a)))

    def flip(self, between: tuple[float, float]) -> float:
        """Return the amplitude at which the period doubles, v between two values."""
        return self.amplitude(brentq(self._plus, *between, xtol=1e-15))

    def _plus(self, v):
        x, u = self.steady(v)
        pull = -(self.w**2) * x + self.c * u + x  # of the load at the impact
        before, after = pull - self.c * v - self.d, pull + self.c * self.e * v - self.d
        impact = [[-self.e, 0.0], [-(after + self.e * before) / v, -self.e]]
        return np.linalg.det(np.array(impact) @ self.whole + np.eye(2))


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

    def grazing(self, between: tuple[float, float]) -> float:
        """Return the frequency at which the linear response reaches 1."""

        def left(w):
            links = -self.matrices[0][2:, :2]
            dynamic = links - w**2 * np.eye(2) - 1j * w * self.matrices[0][2:, 2:]
            return abs(np.linalg.solve(dynamic, [0, self.load])[0]) - 1.0

        return brentq(left, *between, xtol=1e-15)


STOPPED = OneImpact(1.5)
STOP = "closed form of the orbit with one impact"
CASES = {
    "Whittaker-Hill, p = 1": (
        whittaker_hill(1, 1.0), [0.0, 0.0], "h", (-0.5, 3.0),
        [("period_doubling", 1 - X, DLMF), ("period_doubling", 1 + X, DLMF)],
    ),
    "Whittaker-Hill, p = 2": (
        whittaker_hill(2, 4.4), [0.0, 0.0], "h", (3.5, 5.5),
        [("branch_point", 4.0, DLMF), ("branch_point", 2 + 2 * np.sqrt(1 + X**2), DLMF)],
    ),
    "impact oscillator, w = 1.5": (
        impact_oscillator(0.9, 1.5), [-0.71, 0.13], "loads.0.law.amplitude", (0.5, 1.4),
        [("grazing", STOPPED.amplitude(0.0), STOP), ("fold", STOPPED.fold(), STOP),
         ("period_doubling", STOPPED.flip((0.9, 1.1)), STOP)],
    ),
}  # fmt: skip
