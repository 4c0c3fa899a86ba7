"""An independent model of beams with bodies: finite elements of high polynomial degree.

Hermite cubics and integrated Legendre polynomials on elements that end at each link; it
shares no code and no formula with jaxvib.
"""

import functools
import itertools

import numpy as np
import scipy.linalg
from numpy.polynomial import legendre


def _shape_functions(degree):
    """Return polynomials on [-1, 1] as Legendre series: 4 cubics, then bubbles."""
    cubics = np.array([[2, -3, 0, 1], [1, -1, -1, 1], [2, 3, 0, -1], [-1, -1, 1, 1]]) / 4
    series = [legendre.poly2leg(c) for c in cubics]
    for k in range(2, degree - 1):
        series.append(legendre.legint(legendre.legint([0] * k + [1], lbnd=-1), lbnd=-1))
    return series


@functools.cache
def _at_nodes(degree):
    """Return weights, shape functions and their second derivatives on [-1, 1]."""
    nodes, weights = legendre.leggauss(degree + 2)
    series = _shape_functions(degree)
    values = np.array([legendre.legval(nodes, s) for s in series])
    bends = np.array([legendre.legval(nodes, legendre.legder(s, 2)) for s in series])
    return weights, values, bends


def _element(degree, length):
    """Return an element's mass and stiffness matrices, mass and E J of 1."""
    weights, values, bends = _at_nodes(degree)
    scale = np.ones(degree + 1)
    scale[[1, 3]] = length / 2  # slopes in x, not in the element's own coordinate
    values, bends = values * scale[:, None], bends * scale[:, None] * (2 / length) ** 2
    weights = weights * length / 2
    return (values * weights) @ values.T, (bends * weights) @ bends.T


def eigenvalues(
    ends,
    positions=(),
    stiffness=(),
    damping=(),
    link_map=None,
    mass=None,
    body_damping=None,
    body_stiffness=None,
    coupling=None,
    inertance=None,
    turns=None,
    supports=(),
    size=1.0,
    elements=4,
    degree=9,
):
    """Return eigenvalues with Im >= 0 of a beam with k = b = 1 and length `size`.

    `supports`: (place, translational, rotational) springs; `coupling`: C2.
    """
    positions = np.asarray(positions, float)
    m = len(positions)
    mass = np.zeros((0, 0)) if mass is None else np.asarray(mass, float)
    n = len(mass)
    link_map = np.zeros((m, n)) if link_map is None else np.asarray(link_map, float)
    breaks = np.unique(np.concatenate([[0.0, size], positions]))
    breaks = breaks[np.append(True, np.diff(breaks) > 1e-9)]
    # no element shorter than it has to be: (12 / h^3) eps is noise in every stiffness
    parts = [
        np.linspace(
            low, high, max(1, round(elements * (high - low) / size)), endpoint=False
        )
        for low, high in itertools.pairwise(breaks)
    ]
    marks = np.append(np.concatenate(parts), size)
    per, freedoms = degree - 3, 2 * len(marks)
    total = freedoms + per * (len(marks) - 1)
    M, C, K = (np.zeros((total + n, total + n)) for _ in range(3))
    for e in range(len(marks) - 1):
        own = freedoms + per * e + np.arange(per)
        index = np.concatenate([2 * e + np.arange(4), own])
        parts = _element(degree, marks[e + 1] - marks[e])
        M[np.ix_(index, index)] += parts[0]
        K[np.ix_(index, index)] += parts[1]
    turns = [False] * m if turns is None else turns
    stretch = np.zeros((m, total + n))
    for i, place in enumerate(positions):
        stretch[i, 2 * np.argmin(np.abs(marks - place)) + int(turns[i])] = 1
        stretch[i, total:] = -link_map[i]
    K += stretch.T @ np.diag(stiffness) @ stretch if m else 0
    C += stretch.T @ np.diag(damping) @ stretch if m else 0
    if inertance is not None:
        M += stretch.T @ np.diag(inertance) @ stretch
    if coupling is not None:
        K[total:] += -(np.asarray(coupling) - link_map.T * np.asarray(stiffness)) @ stretch
    M[total:, total:] += mass
    C[total:, total:] += 0 if body_damping is None else body_damping
    K[total:, total:] += 0 if body_stiffness is None else body_stiffness
    for place, shift, turn in supports:
        node = 2 * np.argmin(np.abs(marks - place))
        K[node, node] += shift
        K[node + 1, node + 1] += turn
    held = {"clamped": [0, 1], "hinged": [0], "sliding": [1], "free": []}
    last = 2 * (len(marks) - 1)
    gone = held[ends[0]] + [last + f for f in held[ends[1]]]
    kept = np.setdiff1d(np.arange(total + n), gone)
    M, C, K = (part[np.ix_(kept, kept)] for part in (M, C, K))
    one, zero = np.eye(len(kept)), np.zeros_like(M)
    # with z = 1 / (lambda - s): small values keep their digits
    s = 0.7
    shifted = np.linalg.solve(K + s * C + s * s * M, np.hstack([C + 2 * s * M, M]))
    inverse = scipy.linalg.eigvals(np.block([[-shifted], [one, zero]]))
    values = s + 1 / inverse[np.abs(inverse) > 1e-12]
    values = values[values.imag >= -1e-9 * np.abs(values)]
    return values[np.argsort(np.abs(values))]
