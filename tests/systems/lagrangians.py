"""Linear systems by their energies in sympy, derived without jaxvib."""

import numpy as np
import sympy


class Lagrangian:
    """Matrices as second derivatives of energies about equilibrium at the origin."""

    def __init__(self, size):
        self.q = sympy.symbols(f"q0:{size}")
        self.v = sympy.symbols(f"v0:{size}")

    def matrices(self, kinetic, potential, dissipation=0):
        q0 = dict.fromkeys([*self.q, *self.v], 0)
        found = []
        for energy, variables in (
            (kinetic, self.v),
            (dissipation, self.v),
            (potential, self.q),
        ):
            hessian = sympy.hessian(sympy.sympify(energy), variables).subs(q0)
            found.append(np.array(hessian.evalf(30).tolist(), float))
        return found


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
