"""Roots of many functions in the interval from 0 to 1, each between a change of sign."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Roots(NamedTuple):
    """Roots, NaN where there is none; whether each was found; evaluations of each."""

    x: np.ndarray
    success: np.ndarray
    evaluations: np.ndarray


def find_roots(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    which: np.ndarray,
    tolerance: float,
    iterations: int,
) -> Roots:
    """Return a root in [0, 1] of each function `which`, to an absolute tolerance.

    `function(x, which)`: the values of functions at points. The steps, to the bit, are
    those of `scipy.optimize.elementwise.find_root`, whose import takes 0.3 s: inverse
    quadratic interpolation where it is safe, else bisection.

    **Source:** Chandrupatla, *Adv. Eng. Software* 28 (1997), 145.
    """
    count = len(which)
    roots = Roots(np.zeros(count), np.zeros(count, bool), np.zeros(count, int))
    active, x1, x2 = np.arange(count), np.zeros(count), np.ones(count)
    f1, f2 = function(x1, which), function(x2, which)
    x3, f3, t = x2, f2, 0.5
    # SciPy stops at an exact zero only with such values at the ends.
    finite = np.isfinite(np.minimum(np.abs(f1), np.abs(f2)))
    for iteration in range(iterations + 1):
        nearest = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        zero = finite[active] & (np.where(np.abs(f1) < np.abs(f2), f1, f2) == 0)
        lost = ~zero & ((np.sign(f1) == np.sign(f2)) | (np.isnan(f1) & np.isnan(f2)))
        width = np.abs(x2 - x1)
        found = zero | ~lost & (width < tolerance)
        roots.x[active] = np.where(lost, np.nan, nearest)
        roots.success[active] = found
        roots.evaluations[active] = iteration + 2
        goes_on = ~(found | lost)
        active = active[goes_on]
        if not active.size or iteration == iterations:
            break
        x1, x2, x3, f1, f2, f3, width = (
            each[goes_on] for each in (x1, x2, x3, f1, f2, f3, width)
        )
        if iteration:
            t = _fractions(x1, x2, x3, f1, f2, f3, 0.5 * tolerance / width)
        x = x1 + t * (x2 - x1)
        f = function(x, which[active])
        same = np.sign(f) == np.sign(f1)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
    return roots


def _fractions(x1, x2, x3, f1, f2, f3, margin):
    """Return the next points' positions between x1 and x2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        position = (x1 - x2) / (x3 - x2)
        height = (f1 - f2) / (f3 - f2)
        ratio = (x3 - x1) / (x2 - x1)
        safe = (1 - np.sqrt(1 - position) < height) & (height < np.sqrt(position))
        inverse = f1 / (f1 - f2) * f3 / (f3 - f2) - ratio * f1 / (f3 - f1) * f2 / (f2 - f3)
    return np.clip(np.where(safe, inverse, 0.5), margin, 1 - margin)
