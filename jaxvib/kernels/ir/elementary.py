"""Elementary functions from sums and products alone, with the same bits on any machine.

Each is a formula of `Assembler`'s numbers in double precision; single precision is
computed in double and rounded. The docstrings give the largest observed errors, in
units of the last place; tests check them.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from .argument_reduction import HALF_PI, KIND
from .assembler import Value
from .expression import Numbers

_LN2 = 0.693147180559945309417232121458176568  # ln 2, to more digits than a double
# ln 2 in two parts, the first of 42 bits, so that its products with exponents are exact.
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
# Above it, k pi/2 in three parts is not exact enough, and `far_angle` is used.
_FAR = 2.0**17
_SQUARED = 2.0**28  # above it x^2 + 1 rounds to x^2; below it x^2 does not overflow
_SMALLEST_NORMAL = 2.0**-1022  # below it the exponent bits of a double are 0


def _inverse_factorials(first: int, last: int, step: int = 1) -> list[float]:
    return [float(Fraction(1, math.factorial(n))) for n in range(first, last + 1, step)]


def _alternating(coefficients: Sequence[float]) -> list[float]:
    return [(-1) ** n * c for n, c in enumerate(coefficients)]


def power_of_two(x: Numbers, exponent: Value) -> Numbers:
    """Return x 2^k for an int64 k in (-2098, 2046), also beyond normal numbers."""
    a = x.assembler
    half = a.shift("ashr", exponent, a.constant(1, "int64"))
    for part in (half, a.subtract(exponent, half)):
        bits = a.add(part, a.constant(1023, "int64"))
        bits = a.shift("shl", bits, a.constant(52, "int64"))
        x = (x * Numbers(a, a.bitcast(bits, KIND))).rounded()
    return x


def _reduced(x: Numbers) -> tuple[Numbers, Numbers]:
    """Return r and k with x = k ln 2 + r, |r| <= ln 2 / 2."""
    k = (x * (1 / _LN2)).nearest()
    return k.fused(-_LN2_LOW, k.fused(-_LN2_HIGH, x)), k


def _scaled_power(r: Numbers, k: Numbers) -> Numbers:
    """Return e^r 2^k."""
    curve = r.polynomial(_inverse_factorials(2, 13))
    return power_of_two((r * r).rounded().fused(curve, r) + 1.0, k.whole())


def exp(x: Numbers) -> Numbers:
    """Return e^x, within 1.0 units of the last place."""
    inside = x.where(x.is_("gt", -746.0), -746.0)  # also NaN, restored below
    inside = inside.where(inside.is_("lt", 710.0), 710.0)
    result = _scaled_power(*_reduced(inside))
    return result.where(x.is_("eq", x), x)


def exp2(x: Numbers) -> Numbers:
    """Return 2^x, exact for integers, otherwise within 1.0 units of the last place."""
    inside = x.where(x.is_("gt", -1076.0), -1076.0)
    inside = inside.where(inside.is_("lt", 1025.0), 1025.0)
    k = inside.nearest()
    r = ((inside - k) * _LN2).rounded()
    return _scaled_power(r, k).where(x.is_("eq", x), x)


def expm1(x: Numbers) -> Numbers:
    """Return e^x - 1, within 2 units of the last place also near 0."""
    inside = x.where(x.is_("gt", -60.0), -60.0)
    inside = inside.where(inside.is_("lt", 710.0), 710.0)
    r, k = _reduced(inside)
    near = (r * r).rounded().fused(r.polynomial(_inverse_factorials(2, 14)), r)
    exponent = k.whole()
    one = x.same(1.0)
    # 2^k (e^r - 1) + (2^k - 1); the largest double needs 2^1024 / 2.
    a = x.assembler
    huge = a.compare("gt", exponent, a.constant(1000, "int64"))
    lowered = a.select(huge, a.subtract(exponent, a.constant(8, "int64")), exponent)
    scale = power_of_two(one, lowered)
    result = near.fused(scale, scale - one.where(huge, 1.0))
    result = (result * 256.0).rounded().where(huge, result)
    result = result.where(x.is_("ne", 0.0), x)  # keeps the sign of 0
    return result.where(x.is_("eq", x), x)


def _mantissa(x: Numbers) -> tuple[Numbers, Numbers]:
    """Return m and k with x = m 2^k and m within [sqrt(1/2), sqrt(2)), for x > 0."""
    a = x.assembler
    tiny = x.is_("lt", _SMALLEST_NORMAL)
    x = (x * 2.0**54).rounded().where(tiny, x)
    bits = a.bitcast(x.value, "int64")
    # Mantissas above sqrt(2) count to the next power.
    offset = a.constant(0x3FE6A09E667F3BCD, "int64")
    steps = a.shift("ashr", a.subtract(bits, offset), a.constant(52, "int64"))
    mantissa = a.subtract(bits, a.shift("shl", steps, a.constant(52, "int64")))
    k = Numbers(a, a.convert(steps, KIND))
    return Numbers(a, a.bitcast(mantissa, KIND)), (k - 54.0).where(tiny, k)


def _log_ends(x: Numbers, result: Numbers) -> Numbers:
    """Return a logarithm's result, corrected for 0, infinity, NaN and negative x."""
    result = result.where(x.is_("lt", math.inf), x)  # infinity and NaN
    result = result.where(x.is_("ne", 0.0), -math.inf)
    negative = x.is_("lt", 0.0)
    return x.same(math.nan).where(negative, result)


def _log_series(f: Numbers) -> tuple[Numbers, Numbers]:
    """Return f^2/2 and the rest of log(1 + f) = f - f^2/2 + rest."""
    s = f / (f + 2.0)
    z = (s * s).rounded()
    # log(1 + f) = 2 artanh(s), and 2 s = f - s f.
    series = (z * z.polynomial([2 / (2 * n + 3) for n in range(11)])).rounded()
    half = (f * f * 0.5).rounded()
    return half, (s * (half + series)).rounded()


def log(x: Numbers) -> Numbers:
    """Return the natural logarithm, within 1.0 units of the last place."""
    m, k = _mantissa(x)
    f = m - 1.0
    half, rest = _log_series(f)
    low = (half - (k.fused(_LN2_LOW, rest))).rounded()
    return _log_ends(x, k.fused(_LN2_HIGH, -(low - f)))


def log2(x: Numbers) -> Numbers:
    """Return the logarithm to base 2, exact for powers of two."""
    m, k = _mantissa(x)
    f = m - 1.0
    half, rest = _log_series(f)
    return _log_ends(x, ((f - (half - rest)) * (1 / _LN2)).rounded() + k)


def log1p(x: Numbers) -> Numbers:
    """Return log(1 + x), within 2 units of the last place also near 0."""
    total = x + 1.0
    # The rounding error of 1 + x.
    lost = x - (total - 1.0)
    lost = (1.0 - (total - x)).where(x.is_("gt", 1.0), lost)
    result = log(total) + (lost / total).where(total.is_("gt", 0.0), 0.0)
    result = result.where(x.is_("lt", math.inf), log(total))
    return x.where((abs(x)).is_("lt", 2.0**-54), result)


def angle(x: Numbers) -> tuple[Numbers, Value]:
    """Return r and k with x = k pi/2 + r, |r| <= pi/4, for finite x."""
    a = x.assembler
    near = abs(x).is_("lt", _FAR)
    inside = x.where(near, 0.0)
    k = (inside * (2 / math.pi)).nearest()
    r = inside
    for part in HALF_PI:
        r = k.fused(-part, r)
    rest, quadrant = far_angle(x, a.bitwise_not(near))
    return r.where(near, rest), a.select(near, k.whole(), quadrant)


def far_angle(x: Numbers, far: Value) -> tuple[Numbers, Value]:
    """Return `angle` for the lanes that are `far` from 0, one by one."""
    a = x.assembler
    start, slow, done = a.block, a.label(), a.label()
    zero, none = a.constant(0.0, KIND), a.constant(0, "int64")
    a.branch(a.any(far), slow, done)
    a.begin(slow)
    rest, turns = a.call_each("far_angle", [KIND, "int64"], x.value)
    a.jump(done)
    a.begin(done)
    rest = a.assign(a.phi(a.type(KIND), (zero.name, start), (rest, slow)))
    turns = a.assign(a.phi(a.type("int64"), (none.name, start), (turns, slow)))
    return Numbers(a, Value(rest, KIND)), Value(turns, "int64")


def _sine(r: Numbers) -> Numbers:
    z = (r * r).rounded()
    curve = z.polynomial(_alternating(_inverse_factorials(3, 19, 2)))
    return (-(z * r).rounded()).fused(curve, r)


def _cosine(r: Numbers) -> Numbers:
    z = (r * r).rounded()
    curve = z.polynomial(_alternating(_inverse_factorials(4, 20, 2)))
    half = (z * 0.5).rounded()
    # 1 - z/2, plus its rounding error.
    top = 1.0 - half
    lost = (1.0 - top) - half
    return top + (z * z).rounded().fused(curve, lost)


def _circular(x: Numbers, ahead: int) -> Numbers:
    """Return sin(x + ahead pi/2)."""
    a = x.assembler
    r, quadrant = angle(x)
    quadrant = a.add(quadrant, a.constant(ahead, "int64"))

    def bit(mask: int) -> Value:
        found = a.bitwise_and(quadrant, a.constant(mask, "int64"))
        return a.compare("ne", found, a.constant(0, "int64"))

    size = _cosine(r).where(bit(1), _sine(r))
    result = (-size).where(bit(2), size)
    return result.where(abs(x).is_("lt", math.inf), math.nan)


def sin(x: Numbers) -> Numbers:
    """Return the sine of any angle, within 1.5 units of the last place."""
    return x.where(x.is_("eq", 0.0), _circular(x, 0))


def cos(x: Numbers) -> Numbers:
    """Return the cosine of any angle, within 1.5 units of the last place."""
    return _circular(x, 1)


def tan(x: Numbers) -> Numbers:
    """Return the tangent of any angle, within 3 units of the last place."""
    return x.where(x.is_("eq", 0.0), _circular(x, 0) / _circular(x, 1))


def tanh(x: Numbers) -> Numbers:
    """Return the hyperbolic tangent, within 3 units of the last place."""
    size = abs(x)
    double = expm1((size.where(size.is_("lt", 25.0), 25.0) * 2.0).rounded())
    result = (double / (double + 2.0)).signed_as(x)
    return result.where(x.is_("eq", x), x)


def _half_exp(x: Numbers) -> Numbers:
    """Return e^x / 2, also where e^x overflows."""
    root = exp((x * 0.5).rounded())
    return ((root * 0.5).rounded() * root).rounded()


def sinh(x: Numbers) -> Numbers:
    """Return the hyperbolic sine, within 3 units of the last place."""
    size = abs(x)
    grown = expm1(size)
    near = ((grown + grown / (grown + 1.0)) * 0.5).rounded()
    return near.where(size.is_("lt", 22.0), _half_exp(size)).signed_as(x)


def cosh(x: Numbers) -> Numbers:
    """Return the hyperbolic cosine, within 3 units of the last place."""
    size = abs(x)
    grown = exp(size)
    near = (grown * 0.5).rounded() + 0.5 / grown
    return near.where(size.is_("lt", 22.0), _half_exp(size))


def asinh(x: Numbers) -> Numbers:
    """Return the inverse of sinh, within 3 units of the last place."""
    size = abs(x)
    moderate = size.where(size.is_("lt", _SQUARED), 1.0)
    root = moderate.fused(moderate, 1.0).root()
    square = (moderate * moderate).rounded()
    near = log1p(moderate + square / (root + 1.0))
    return near.where(size.is_("lt", _SQUARED), log(size) + _LN2).signed_as(x)


def acosh(x: Numbers) -> Numbers:
    """Return the inverse of cosh, within 3 units of the last place."""
    moderate = x.where(x.is_("lt", _SQUARED), 1.0)
    above = moderate - 1.0
    near = log1p(above + above.fused(above, above * 2.0).root())
    result = near.where(x.is_("lt", _SQUARED), log(x) + _LN2)
    return result.where(x.is_("ge", 1.0), math.nan)


def atanh(x: Numbers) -> Numbers:
    """Return the inverse of tanh, within 3 units of the last place."""
    size = abs(x)
    return (log1p((size * 2.0).rounded() / (1.0 - size)) * 0.5).rounded().signed_as(x)


def logistic(x: Numbers) -> Numbers:
    """Return 1 / (1 + e^-x), within 3 units of the last place."""
    return 1.0 / (exp(-x) + 1.0)


def atan(x: Numbers) -> Numbers:
    """Return the arc tangent, within 5 units of the last place."""
    size = abs(x)
    steep = size.is_("gt", 1.0)
    inside = (1.0 / size).where(steep, size)
    # From tan(b) = inside, halved: tan(b/2), and once more.
    for _ in range(2):
        inside = inside / ((inside.fused(inside, 1.0)).root() + 1.0)
    z = (inside * inside).rounded()
    series = z.polynomial([(-1) ** n / (2 * n + 1) for n in range(1, 13)])
    quarter = (z * inside).rounded().fused(series, inside) * 4.0
    result = ((math.pi / 2 - quarter.rounded()) + HALF_PI[1]).where(
        steep, quarter.rounded()
    )
    return x.where(size.is_("lt", 1e-9), result.signed_as(x))


def atan2(y: Numbers, x: Numbers) -> Numbers:
    """Return the angle of the point (x, y), within 5 units of the last place."""
    wide, high = abs(x), abs(y)
    steep = high.is_("gt", wide)
    larger, smaller = high.where(steep, wide), wide.where(steep, high)
    same = smaller.assembler.bitwise_and(
        larger.is_("eq", smaller), larger.is_("eq", math.inf)
    )
    share = smaller / larger.where(larger.is_("ne", 0.0), 1.0)
    one = x.same(1.0)
    result = atan(one.where(same, share))
    result = ((math.pi / 2 - result) + HALF_PI[1]).where(steep, result)
    # The sign of x, including -0.
    left = one.signed_as(x).is_("lt", 0.0)
    result = ((math.pi - result) + 2 * HALF_PI[1]).where(left, result).signed_as(y)
    return result.where((x + y).is_("eq", x + y), result).where(
        x.assembler.bitwise_and(x.is_("eq", x), y.is_("eq", y)), math.nan
    )


def asin(x: Numbers) -> Numbers:
    """Return the arc sine, within 5 units of the last place."""
    return atan2(x, ((1.0 - x) * (x + 1.0)).rounded().root())


def acos(x: Numbers) -> Numbers:
    """Return the arc cosine, within 5 units of the last place."""
    return (atan2((1.0 - x).root(), (x + 1.0).root()) * 2.0).rounded()


def cbrt(x: Numbers) -> Numbers:
    """Return the cube root, within 2 units of the last place."""
    a = x.assembler
    size = abs(x)
    tiny = size.is_("lt", _SMALLEST_NORMAL)
    huge = size.is_("gt", 2.0**900)
    scaled = (size * 2.0**54).rounded().where(tiny, size)
    scaled = (size * 2.0**-54).rounded().where(huge, scaled)
    # Initial guess from a third of the exponent (5 % error), then Newton iterations.
    bits = a.divide(a.bitcast(scaled.value, "int64"), a.constant(3, "int64"))
    guess = Numbers(
        a, a.bitcast(a.add(bits, a.constant(0x2A9F76253119D328, "int64")), KIND)
    )
    for _ in range(5):
        square = (guess * guess).rounded()
        guess = guess - ((square * guess).rounded() - scaled) / (square * 3.0).rounded()
    guess = (guess * 2.0**-18).rounded().where(tiny, guess)
    guess = (guess * 2.0**18).rounded().where(huge, guess)
    regular = a.bitwise_and(size.is_("lt", math.inf), size.is_("gt", 0.0))
    return guess.where(regular, size).signed_as(x)


def power(x: Numbers, y: Numbers) -> Numbers:
    """Return x^y, special cases as C's `pow`, within 2 units of the last place."""
    a = x.assembler
    size = abs(x)
    usable = a.bitwise_and(size.is_("lt", math.inf), size.is_("gt", 0.0))
    high, low = _log_in_two(size.where(usable, 1.0))
    limited = y.where(abs(y).is_("lt", 1e300), x.same(1e300).signed_as(y))
    limited = limited.where(y.is_("eq", y), 0.0)
    top = (limited * high).rounded()
    clipped = top.where(top.is_("lt", 800.0), 800.0)
    clipped = clipped.where(clipped.is_("gt", -800.0), -800.0)
    rest = limited.fused(high, -top) + (limited * low).rounded()
    rest = rest.where(abs(top).is_("lt", 800.0), 0.0)
    grown = exp(clipped)
    result = (grown * rest).rounded() + grown
    result = result.where(grown.is_("lt", math.inf), grown)

    is_integer = a.compare("eq", a.intrinsic("floor", y.value), y.value)
    half = (y * 0.5).rounded()
    even = a.compare("eq", a.intrinsic("floor", half.value), half.value)
    odd = a.bitwise_and(is_integer, a.bitwise_not(even))
    zero, one, endless = (x.same(c) for c in (0.0, 1.0, math.inf))
    # A base of 0 or infinity.
    end = endless.where(a.bitwise_xor(size.is_("eq", 0.0), y.is_("gt", 0.0)), zero)
    result = result.where(usable, end)
    negative = one.signed_as(x).is_("lt", 0.0)
    result = (-result).where(a.bitwise_and(negative, odd), result)
    rootless = a.bitwise_and(
        a.bitwise_and(x.is_("lt", 0.0), x.is_("gt", -math.inf)), a.bitwise_not(is_integer)
    )
    result = x.same(math.nan).where(rootless, result)
    # An infinite exponent.
    grows = a.bitwise_not(a.bitwise_xor(size.is_("gt", 1.0), y.is_("gt", 0.0)))
    end = one.where(size.is_("eq", 1.0), endless.where(grows, zero))
    result = end.where(abs(y).is_("eq", math.inf), result)
    result = result.where(a.bitwise_and(x.is_("eq", x), y.is_("eq", y)), math.nan)
    sure = a.bitwise_or(y.is_("eq", 0.0), x.is_("eq", 1.0))
    return one.where(sure, result)


def _two_product(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    product = (x * y).rounded()
    return product, x.fused(y, -product)


def _two_sum(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _log_in_two(x: Numbers) -> tuple[Numbers, Numbers]:
    """Return the natural logarithm of a finite x > 0 as a sum of two doubles."""
    m, k = _mantissa(x)
    f = m - 1.0
    divisor, spare = _two_sum(f, x.same(2.0))
    s = f / divisor
    missing = (-s).fused(divisor, f) - (s * spare).rounded()
    s_low = missing / divisor
    z, z_low = _two_product(s, s)
    z_low = (s * 2.0).rounded().fused(s_low, z_low)
    # 2 artanh(s) = 2 s + s z (2/3 + z (2/5 + ...)), the first terms in two doubles.
    tail = z.polynomial([2 / (2 * n + 5) for n in range(12)])
    third, third_low = 2 / 3, float(Fraction(2, 3) - Fraction(2 / 3))
    inner, inner_low = _two_sum(x.same(third), (z * tail).rounded())
    inner_low = inner_low + z.fused(tail, -(z * tail).rounded()) + third_low
    cube, cube_low = _two_product(s, z)
    cube_low = s.fused(z_low, cube_low) + (s_low * z).rounded()
    more, more_low = _two_product(cube, inner)
    more_low = cube.fused(inner_low, more_low) + (cube_low * inner).rounded()
    high, low = _two_sum((s * 2.0).rounded(), more)
    low = low + ((s_low * 2.0).rounded() + more_low)
    base, base_low = _two_sum((k * _LN2_HIGH).rounded(), high)
    return _two_sum(base, base_low + (low + (k * _LN2_LOW).rounded()))


FUNCTIONS: dict[str, Callable[..., Numbers]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log1p": log1p,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "logistic": logistic,
    "atan": atan,
    "atan2": atan2,
    "asin": asin,
    "acos": acos,
    "cbrt": cbrt,
    "pow": power,
}
