"""The error function and its complement, from sums and products alone."""

import math
from collections.abc import Callable
from fractions import Fraction

from .elementary import exp
from .expression import Numbers

_TWO_OVER_ROOT_PI = 1.1283791670955126, 1.533545961316588e-17  # as a sum of two doubles
# (1 + 2x) e^(x^2) erfc(x) for x >= 0 in powers of q = (x - 4) / (x + 4), from a
# Chebyshev series truncated at 1e-17.
_SCALED = (
    1.2329951186255526, -0.1396211168405625, 0.015379652102619604, 0.0680970542546904,
    -0.10103906603630056, 0.09373283499843826, -0.06633036581218697, 0.03716751553592911,
    -0.016197734059799265, 0.005031969992669933, -0.0007577732613730956,
    -0.0001992567757633648, 0.0001506214900124047, -2.4398944545280832e-05,
    -1.1221287012353486e-05, 5.709206053072183e-06, 2.919733377963012e-07,
    -8.249198427508354e-07, 7.746992727017941e-08, 1.1009737295274889e-07,
    -2.05606492756992e-08, -1.4709550868669278e-08, 3.1695881915648173e-09,
    1.7903326159489847e-09, -2.659599690242689e-10, -1.374652989001164e-10,
)  # fmt: skip


def erfc(x: Numbers) -> Numbers:
    r"""Return $1 - \mathrm{erf}(x)$, within 5 units of the last place, also if small.

    **Source:** the variable q is that of Shepherd and Laframboise, *Mathematics of
    Computation* 36 (1981) 249.
    """
    size = abs(x)
    size = size.where(size.is_("lt", 28.0), 28.0)  # beyond 27.3 it is 0
    curve = ((size - 4.0) / (size + 4.0)).polynomial(_SCALED)
    square = (size * size).rounded()
    grown = exp(-square)
    grown = grown.fused(-size.fused(size, -square), grown)  # the square's error
    result = (grown * curve).rounded() / (size * 2.0 + 1.0)
    result = (2.0 - result).where(x.is_("lt", 0.0), result)
    return result.where(x.is_("eq", x), x)


def erf(x: Numbers) -> Numbers:
    r"""Return $2 / \sqrt\pi \int_0^x e^{-t^2} dt$, within 1.5 units of the last place."""
    inside = abs(x).is_("lt", 1.0)
    small = x.where(inside, 0.0)
    square = (small * small).rounded()
    scale, scale_low = _TWO_OVER_ROOT_PI
    series = [(-1) ** n * scale * float(Fraction(1, math.factorial(n) * (2 * n + 1)))
              for n in range(1, 19)]  # fmt: skip
    rest = (small * square.polynomial(series).fused(square, scale_low)).rounded()
    return small.fused(scale, rest).where(inside, (1.0 - erfc(abs(x))).signed_as(x))


FUNCTIONS: dict[str, Callable[..., Numbers]] = {"erf": erf, "erfc": erfc}
