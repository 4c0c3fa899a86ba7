r"""The certificate that no root is missing, by the argument principle.

With all known roots divided out, $g = f / \prod_j (\lambda - z_j)$ has as many roots in
a circle as its argument turns round on the way along it. g is real on the real axis, so
half the circle is enough. A phase known at nodes only may alias: a step is accepted if
the phase jump is below $\pi/2$, its rate (free, from f'/f) times the step is below 1.2
and both agree within 0.4; others are halved, and all are halved once more at the end.
"""

import numpy as np

from .characteristic import Dimensionless
from .roots import coefficients, evaluate

# Half of the jump from which on a phase known to 2 pi only may be taken for another one.
_LARGEST_JUMP = np.pi / 2
# Turns this small are told by the mean of both ends' rates: a jump that aliases is 2 pi off
# and would have to agree with it to 0.4, or one of the phases is not what it seems.
_LARGEST_TURN, _AGREEMENT = 1.2, 0.4
# A sum of jumps is a whole number but for rounding: farther off, the digits are gone.
_INTEGER = 0.05
# Steps of the half circle to begin with: those too long are halved.
_FIRST_STEPS = 16
# Nodes of a circle: sums err by the 64th power of a root's distance over its radius.
_NODES = 64


def missing_roots(system: Dimensionless, radius: float, known):
    """Return how many roots within |lambda| < radius are not among the known ones.

    **Arguments:** `known`: all known roots, both half planes; those outside the circle
    make the phase smooth and need no digits. **Returns:** the number (negative if
    something known is no root), or None if the phase could not be followed.
    """
    known = np.asarray(known)
    angles = np.linspace(0.0, np.pi, _FIRST_STEPS + 1)
    phases, turns = _phase_and_turn(system, radius, angles, known)
    turns_before = None
    for _ in range(24):
        jumps, good = _judge(angles, phases, turns)
        if np.all(good):
            total = np.sum(jumps) / np.pi
            if abs(total - round(total)) > _INTEGER:
                return None
            if turns_before == round(total):
                return turns_before
            turns_before = round(total)
            good = np.zeros_like(good)
        wanted = np.flatnonzero(~good)
        if len(wanted) + len(angles) > 20000:
            return None
        middle = (angles[wanted] + angles[wanted + 1]) / 2
        new_phases, new_turns = _phase_and_turn(system, radius, middle, known)
        angles = np.insert(angles, wanted + 1, middle)
        phases = np.insert(phases, wanted + 1, new_phases)
        turns = np.insert(turns, wanted + 1, new_turns)
    return None


def _phase_and_turn(system, radius, angles, known):
    """Return arg g and its derivative with respect to the angle."""
    nodes = radius * np.exp(1j * angles)
    found = evaluate(system, nodes)
    apart = nodes[:, None] - known
    phases = found.phase - np.sum(np.angle(apart), axis=1)
    return phases, np.real(nodes * (found.rate - np.sum(1 / apart, axis=1)))


def _judge(angles, phases, turns):
    """Return each step's phase jump and whether it can be trusted."""
    steps = np.diff(angles)
    jumps = np.angle(np.exp(1j * np.diff(phases)))
    expected = steps * (turns[1:] + turns[:-1]) / 2
    largest = steps * np.maximum(np.abs(turns[1:]), np.abs(turns[:-1]))
    good = np.abs(jumps) <= _LARGEST_JUMP
    good &= (largest <= _LARGEST_TURN) & (np.abs(jumps - expected) <= _AGREEMENT)
    return jumps, good


def roots_near(system: Dimensionless, centre: complex, radius: float):
    """Return the number of roots in a small circle and their mean, by its moments."""
    circle = radius * np.exp(2j * np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    rates = evaluate(system, centre + circle).rate
    number = np.mean(circle * rates)
    if not abs(number - round(number.real)) < _INTEGER or round(number.real) == 0:
        return 0, centre
    return round(number.real), centre + np.mean(circle**2 * rates) / number


def estimate_missing(system: Dimensionless, radius: float, known, number: int):
    """Return estimates of the roots missing in a circle, from the moments of g'/g."""
    nodes = radius * np.exp(2j * np.pi * (np.arange(512) + 0.5) / 512)
    rates = evaluate(system, nodes).rate
    rates = rates - np.sum(1 / (nodes[:, None] - np.asarray(known)), axis=1)
    unit = nodes / radius
    sums = [np.mean(unit ** (k + 1) * radius * rates) for k in range(1, number + 1)]
    return radius * np.roots(coefficients(sums))
