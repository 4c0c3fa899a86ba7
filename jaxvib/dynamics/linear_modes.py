"""Modes of a linear system in real 2 x 2 blocks, and its motion under harmonic loads."""

from typing import Any, NamedTuple

import numpy as np
import scipy  # loads .linalg lazily

# Eigenvectors closer to each other than this lose digits.
_WORST_CONDITION = 1e6
# Resonances sharper than this do too: motions are differences from a steady state that is
# so much larger than what the load does in a radian.
_SHARPEST = 1e5
# Off-diagonal rest allowed in a matrix diagonalized by modes, relative to its size.
_ROUNDING = 1e-12


class Blocks(NamedTuple):
    """A linear system in real 2 x 2 blocks.

    The state is `to_state` times (p, q), of which block k is [[a, b], [-b, a]] for a pair
    of complex eigenvalues a +- i b, and diagonal for two real ones; `decay` (2n,) holds
    a, `angular` (n,) b. `to_blocks` is the inverse of `to_state`.
    """

    to_state: Any
    to_blocks: Any
    decay: np.ndarray
    angular: np.ndarray


def modal_blocks(mass, damping, stiffness) -> Blocks | None:
    """Return a linear system's blocks, None if eigenvectors are nearly dependent."""
    root = np.linalg.cholesky(mass)

    def solved(right, transposed=0):
        return scipy.linalg.solve_triangular(root, right, transposed, lower=True)

    def normed(matrix):
        return solved(solved(matrix).T).T

    stiff, damped = normed(stiffness), normed(damping)
    squares, modes = np.linalg.eigh((stiff + stiff.T) / 2)
    stiff, damped = modes.T @ stiff @ modes, modes.T @ damped @ modes
    size = np.abs(squares).max()
    pace = np.sqrt(np.maximum(np.abs(squares), 1e-12 * size))
    uncoupled = _diagonal(stiff, size) and _diagonal(damped, np.sqrt(size))
    if uncoupled:
        found = _modes_of_pairs(pace, np.diag(stiff), np.diag(damped))
    else:
        # In units in which a displacement and a velocity of equal energy are equal.
        zero = np.zeros_like(stiff)
        matrix = np.block([[zero, np.diag(pace)], [-stiff / pace, -damped]])
        found = _modes_of(matrix)
    if found is None:
        return None
    blocks, inverse = found[:2]
    norms = _norm_of_diagonals if uncoupled else _norm
    if not norms(blocks) * norms(inverse) < _WORST_CONDITION:
        return None
    shapes = solved(modes, transposed=1)  # of unit mass
    back = modes.T @ root.T
    here, there = (shapes / pace, shapes), (pace[:, None] * back, back)
    if uncoupled:
        to_state = np.block(
            [[base * part for part in row] for base, row in zip(here, blocks, strict=True)]
        )
        to_blocks = np.block(
            [
                [part[:, None] * base for part, base in zip(row, there, strict=True)]
                for row in inverse
            ]
        )
        return found._replace(to_state=to_state, to_blocks=to_blocks)
    first, second = np.split(blocks, 2)
    to_state = np.concatenate([here[0] @ first, here[1] @ second])
    first, second = np.split(inverse, 2, axis=1)
    to_blocks = np.concatenate([first @ there[0], second @ there[1]], 1)
    return found._replace(to_state=to_state, to_blocks=to_blocks)


def _condition(matrix, inverse) -> float:
    """Return a condition number that needs no singular values."""
    return _norm(matrix) * _norm(inverse)


def _norm(matrix) -> float:
    return float(np.linalg.norm(matrix, 1))


def _norm_of_diagonals(parts) -> float:
    """Return the norm of 2 x 2 diagonal matrices."""
    return float(np.abs(parts).sum(axis=0).max())


def _diagonal(matrix, size) -> bool:
    rest = matrix - np.diag(np.diag(matrix))
    return bool(np.abs(rest).max() <= _ROUNDING * size)


def _modes_of_pairs(pace, stiff, damped) -> Blocks | None:
    """Return the blocks of uncoupled modes: 2 x 2 diagonal matrices, by their diagonals."""
    discriminant = damped**2 / 4 - stiff
    root = np.sqrt(np.abs(discriminant))
    turns = discriminant < 0
    outer = -damped / 2 - np.where(damped >= 0, root, -root)
    inner = np.where(outer == 0, 0.0, stiff / np.where(outer == 0, 1.0, outer))
    first = np.where(turns, -damped / 2, inner)
    second = np.where(turns, -damped / 2, outer)
    angular = np.where(turns, root, 0.0)
    # Columns (pace, lambda): real and imaginary parts, or one for each real value.
    columns = np.array(
        [[pace, first], [np.where(turns, 0.0, pace), np.where(turns, root, second)]]
    )
    whole, each = np.linalg.norm(columns, axis=(0, 1)), np.linalg.norm(columns, axis=1)
    columns = columns / np.where(turns, whole, each)[:, None]
    (a, b), (c, d) = rows = columns.swapaxes(0, 1)
    determinant = a * d - b * c
    if not determinant.all():  # a critically damped mode
        return None
    inverse = np.array([[d, -b], [-c, a]]) / determinant
    return Blocks(rows, inverse, np.concatenate([first, second]), angular)


def _modes_of(matrix) -> Blocks | None:
    """Return the blocks of a full matrix."""
    values, vectors = np.linalg.eig(matrix)
    upper, real = values.imag > 0, values.imag == 0
    if 2 * upper.sum() + real.sum() != len(values) or real.sum() % 2:
        return None
    ranked = np.flatnonzero(real)[np.argsort(values.real[real])]
    first, second = ranked[::2], ranked[1::2]
    if not np.allclose(matrix @ vectors, vectors * values, atol=1e-9 * abs(values).max()):
        return None
    blocks = np.concatenate(
        [
            vectors.real[:, upper],
            vectors.real[:, first],
            vectors.imag[:, upper],
            vectors.real[:, second],
        ],
        1,
    )
    decay = np.concatenate([values.real[part] for part in (upper, first, upper, second)])
    angular = np.concatenate([values.imag[upper], np.zeros(len(first))])
    return Blocks(blocks, np.linalg.inv(blocks), decay, angular)


def forced_motion(mass, damping, stiffness, pushed):
    """Return the linear steady state's parts (2, waves, 2n), or None at a sharp resonance.

    `pushed`: the force per unit and the harmonic load of each wave. The parts are those
    with the cosine and the sine of its angle.
    """
    parts = []
    for push, wave in pushed:
        frequency = float(wave.frequency)
        matrix = stiffness - frequency**2 * mass + 1j * frequency * damping
        inverse = np.linalg.inv(matrix)
        if not _condition(matrix, inverse) < 1 / _ROUNDING:
            return None
        force = float(wave.amplitude) * np.asarray(push)
        shift = inverse @ force
        blunt = np.linalg.solve(matrix + 1j * frequency**2 * mass, force)
        sizes = [np.vdot(x, mass @ x).real for x in (shift, blunt)]
        if sizes[0] > _SHARPEST**2 * sizes[1]:
            return None
        state = np.concatenate([shift, 1j * frequency * shift])
        parts.append(np.stack([state.real, -state.imag]))  # Re(S exp(i angle))
    return np.stack(parts, axis=1)
