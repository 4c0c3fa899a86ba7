r"""Certification by the argument principle that no root is missing.

With all known roots divided out, $g = f / \prod_j (\lambda - z_j)$ has as many roots in
a circle as its argument winds around along it. g is real on the real axis, so half the
circle suffices. To exclude aliasing between nodes, a step is accepted if the phase jump
is below $\pi/2$, the phase rate (free, from f'/f) times the step is below 1.2 and both
agree within 0.4; other steps are halved, and all are halved once more at the end.
"""

import numpy as np

from .characteristic import Dimensionless
from .roots import coefficients, evaluate

# Half of the smallest jump that can alias.
_LARGEST_JUMP = np.pi / 2
# The largest phase change per step, predicted by the mean of both ends' rates, and its
# tolerance: an aliased jump is off by 2 pi.
_LARGEST_TURN, _AGREEMENT = 1.2, 0.4
# The largest deviation of the winding number from an integer.
_INTEGER = 0.05
# Initial steps of the half circle; too long ones are halved.
_FIRST_STEPS = 16
# Nodes of a small circle: the error is the 64th power of a root's distance over the
# radius.
_NODES = 64


def missing_roots(system: Dimensionless, radius: float, known: np.ndarray) -> int | None:
    """Return the number of roots within |lambda| < radius that are not known.

    **Arguments:** `known`: all known roots, in both half planes; those outside the
    circle only smooth the phase and need not be accurate. **Returns:** the number
    (negative if a known value is not a root), or None if the phase cannot be resolved.
    """
    known = np.asarray(known)
    angles = np.linspace(0.0, np.pi, _FIRST_STEPS + 1)
    phases, turns = _phase_and_turn(system, radius, angles, known)
    turns_before = None
    for _ in range(24):
        jumps, good = _accept_steps(angles, phases, turns)
        if np.all(good):
            total = np.sum(jumps) / np.pi
            if abs(total - round(total)) > _INTEGER:
                return None
            if turns_before == round(total):
                return turns_before
            turns_before = round(total)
            good = np.zeros_like(good)
        rejected = np.flatnonzero(~good)
        if len(rejected) + len(angles) > 20000:
            return None
        middle = (angles[rejected] + angles[rejected + 1]) / 2
        new_phases, new_turns = _phase_and_turn(system, radius, middle, known)
        angles = np.insert(angles, rejected + 1, middle)
        phases = np.insert(phases, rejected + 1, new_phases)
        turns = np.insert(turns, rejected + 1, new_turns)
    return None


def _phase_and_turn(system, radius, angles, known):
    """Return arg g and its derivative with respect to the angle."""
    nodes = radius * np.exp(1j * angles)
    found = evaluate(system, nodes)
    apart = nodes[:, None] - known
    phases = found.phase - np.sum(np.angle(apart), axis=1)
    return phases, np.real(nodes * (found.rate - np.sum(1 / apart, axis=1)))


def _accept_steps(angles, phases, turns):
    """Return each step's phase jump and whether it is accepted."""
    steps = np.diff(angles)
    jumps = np.angle(np.exp(1j * np.diff(phases)))
    expected = steps * (turns[1:] + turns[:-1]) / 2
    largest = steps * np.maximum(np.abs(turns[1:]), np.abs(turns[:-1]))
    good = np.abs(jumps) <= _LARGEST_JUMP
    good &= (largest <= _LARGEST_TURN) & (np.abs(jumps - expected) <= _AGREEMENT)
    return jumps, good


def roots_near(
    system: Dimensionless, centre: complex, radius: float
) -> tuple[int, complex]:
    """Return the number and the mean of the roots in a small circle."""
    circle = radius * np.exp(2j * np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    rates = evaluate(system, centre + circle).rate
    number = np.mean(circle * rates)
    if not abs(number - round(number.real)) < _INTEGER or round(number.real) == 0:
        return 0, centre
    return round(number.real), centre + np.mean(circle**2 * rates) / number


def estimate_missing(
    system: Dimensionless, radius: float, known: np.ndarray, number: int
) -> np.ndarray:
    """Return estimates of the missing roots in a circle, by moments of g'/g."""
    nodes = radius * np.exp(2j * np.pi * (np.arange(512) + 0.5) / 512)
    rates = evaluate(system, nodes).rate
    rates = rates - np.sum(1 / (nodes[:, None] - np.asarray(known)), axis=1)
    unit = nodes / radius
    sums = [np.mean(unit ** (k + 1) * radius * rates) for k in range(1, number + 1)]
    return radius * np.roots(coefficients(sums))
