"""Linear systems by their energies in sympy, derived without jaxvib."""

import numpy as np
import sympy


class Lagrangian:
    """Matrices as second derivatives of energies about equilibrium at the origin."""

    def __init__(self, size):
        self.q = sympy.symbols(f"q0:{size}")
        self.v = sympy.symbols(f"v0:{size}")

    def matrices(self, kinetic, potential, dissipation=0):
        found = self.in_symbols(kinetic, potential, dissipation)
        return [np.array(matrix.evalf(30).tolist(), float) for matrix in found]

    def in_symbols(self, kinetic, potential, dissipation=0):
        q0 = dict.fromkeys([*self.q, *self.v], 0)
        return [
            sympy.hessian(sympy.sympify(energy), variables).subs(q0)
            for energy, variables in (
                (kinetic, self.v),
                (dissipation, self.v),
                (potential, self.q),
            )
        ]


def rate(expression, lagrangian):
    """Return the time derivative of an expression of the coordinates."""
    pairs = zip(lagrangian.q, lagrangian.v, strict=True)
    return sum(sympy.diff(expression, q) * v for q, v in pairs)


def rod(at, angle, length, mass, lagrangian, hanging=True, gravity=9.81):
    """Return energies of a uniform rod hinged at the point `at`, its angle absolute."""
    sign = 1 if hanging else -1
    along = (sympy.sin(angle), -sign * sympy.cos(angle))
    centre = [p + length / 2 * a for p, a in zip(at, along, strict=True)]
    speed = [rate(c, lagrangian) for c in centre]
    turning = mass * length**2 / 12 * rate(angle, lagrangian) ** 2 / 2
    kinetic = mass * (speed[0] ** 2 + speed[1] ** 2) / 2 + turning
    end = [p + length * a for p, a in zip(at, along, strict=True)]
    return kinetic, mass * gravity * centre[1], end


def hermite(y1, p, y2, q, length, x):
    """Return the cubic with the places y1, y2 and slopes p, q at both ends."""
    s = x / length
    return (
        y1 * (1 - 3 * s**2 + 2 * s**3)
        + p * length * (s - 2 * s**2 + s**3)
        + y2 * (3 * s**2 - 2 * s**3)
        + q * length * (s**3 - s**2)
    )
