"""Beams of Timoshenko or Euler elements, in their modes, by scipy."""

import numpy as np
from scipy.linalg import block_diag, eigh


def beam_matrices(bending, mass, length, elements, shear=np.inf, turning=0.0):
    """Return mass and stiffness of a free beam, in deflections and slopes of its nodes.

    `bending` stiffness, N m^2; `mass` per length, kg/m; `shear` stiffness, N;
    `turning`: moment of inertia per length, kg m.
    """
    h = length / elements
    soft = 12 * bending / (shear * h**2)
    k = np.array([
        [12, 6 * h, -12, 6 * h],
        [6 * h, (4 + soft) * h**2, -6 * h, (2 - soft) * h**2],
        [-12, -6 * h, 12, -6 * h],
        [6 * h, (2 - soft) * h**2, -6 * h, (4 + soft) * h**2],
    ]) * bending / (1 + soft) / h**3  # fmt: skip
    m = np.zeros((4, 4))
    for x, weight in zip(*np.polynomial.legendre.leggauss(6), strict=True):
        s = (x + 1) / 2
        deflection = np.array([
            1 - 3 * s**2 + 2 * s**3 + soft * (1 - s),
            h * (s - 2 * s**2 + s**3 + soft / 2 * (s - s**2)),
            3 * s**2 - 2 * s**3 + soft * s,
            h * (-(s**2) + s**3 - soft / 2 * (s - s**2)),
        ]) / (1 + soft)  # fmt: skip
        turn = np.array([
            6 * (s**2 - s) / h, 1 - 4 * s + 3 * s**2 + soft * (1 - s),
            -6 * (s**2 - s) / h, 3 * s**2 - 2 * s + soft * s,
        ]) / (1 + soft)  # fmt: skip
        both = mass * np.outer(deflection, deflection) + turning * np.outer(turn, turn)
        m = m + weight / 2 * h * both
    size = 2 * (elements + 1)
    found = np.zeros((2, size, size))
    for element in range(elements):
        here = slice(2 * element, 2 * element + 4)
        found[:, here, here] += np.stack([m, k])
    return found


def beam_modes(matrices, kept, modes):
    """Return squared frequencies and shapes of the lowest modes, of unit mass.

    `kept`: the freedoms that are not held.
    """
    mass, stiffness = matrices[:, kept][:, :, kept]
    squares, shapes = eigh(stiffness, mass)
    return squares[:modes].clip(0.0), shapes[:, :modes]


def copies(squares, row, count):
    """Return squared frequencies and the rows of one point of each of equal beams."""
    return np.tile(squares, count), block_diag(*[row] * count)
