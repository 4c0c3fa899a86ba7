"""Exact range reduction of large angles: an LLVM function of one lane."""

from .assembler import literal

KIND = "float64"
HALF_PI = (  # to 159 bits
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)
# Words of 64 binary digits of 2/pi, the first one before the point: a double's digits
# begin at digit 1033 at most, in word 16, and five words are read from there.
_WORDS = 21


def large_angle_text() -> str:
    """Return the LLVM function that reduces one large angle exactly.

    With $x = m 2^e$, m an integer of 53 bits, only the 256 binary digits of 2/pi from
    that of weight $2^{1-e}$ on matter: the digits before it give whole turns of four
    quadrants, those after it less than the smallest remainder of a double modulo pi/2.
    The lowest 256 bits of their product with m are two of the quadrant and 254 of the
    angle in it.

    **Source:** Payne and Hanek, *SIGNUM Newsletter* 18 (1983) 19.
    """
    return f"""{_declarations()}
define internal {{ double, i64 }} @far_angle(double %x) noinline {{
  %raw = bitcast double %x to i64
  %field = lshr i64 %raw, 52
  %biased = and i64 %field, 2047
  %fraction = and i64 %raw, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %place = sub i64 %biased, 1013
  %least = call i64 @llvm.smax.i64(i64 %place, i64 0)
  %from = call i64 @llvm.smin.i64(i64 %least, i64 1033)
  %word = lshr i64 %from, 6
{_digits_from_there()}
  %wide = zext i64 %m to i256
  %product = mul i256 %digits, %wide
  %above = lshr i256 %product, 254
  %quadrant = trunc i256 %above to i64
  %rest = shl i256 %product, 2
  %under = icmp slt i256 %rest, 0
  %one = zext i1 %under to i64
  %turns = add i64 %quadrant, %one
{_angle_of_the_rest()}
  %turned = fneg double %r
  %signed = select i1 %under, double %turned, double %r
  %opposite = fneg double %signed
  %back = sub i64 0, %turns
  %negative = icmp slt i64 %raw, 0
  %angle = select i1 %negative, double %opposite, double %signed
  %number = select i1 %negative, i64 %back, i64 %turns
  %pair = insertvalue {{ double, i64 }} undef, double %angle, 0
  %both = insertvalue {{ double, i64 }} %pair, i64 %number, 1
  ret {{ double, i64 }} %both
}}
"""


def _declarations() -> str:
    digits = [0, *_words(_two_over_pi(64 * (_WORDS - 1)), _WORDS - 1)]
    table = ", ".join(f"i64 {word - 2**64 if word >= 2**63 else word}" for word in digits)
    return f"""@two_over_pi = private constant [{_WORDS} x i64] [{table}]
declare i256 @llvm.ctlz.i256(i256, i1)
declare i256 @llvm.abs.i256(i256, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare double @llvm.fma.f64(double, double, double)
"""


def _digits_from_there() -> str:
    """Return the lines that extract the 256 digits from five words."""
    fetch = "\n".join(
        f"""  %i{n} = add i64 %word, {n}
  %p{n} = getelementptr i64, ptr @two_over_pi, i64 %i{n}
  %w{n} = load i64, ptr %p{n}
  %z{n} = zext i64 %w{n} to i320
  %s{n} = shl i320 %z{n}, {64 * (4 - n)}
  %t{n} = or i320 {f"%t{n - 1}" if n else "0"}, %s{n}"""
        for n in range(5)
    )
    return f"""{fetch}
  %inside = and i64 %from, 63
  %aside = zext i64 %inside to i320
  %moved = shl i320 %t4, %aside
  %top = lshr i320 %moved, 64
  %digits = trunc i320 %top to i256"""


def _angle_of_the_rest() -> str:
    """Return the lines that multiply the remainder by pi/2 in double-double."""
    first, second = (literal(part, KIND) for part in HALF_PI[:2])
    return f"""  %size = call i256 @llvm.abs.i256(i256 %rest, i1 false)
  %zeros = call i256 @llvm.ctlz.i256(i256 %size, i1 false)
  %normal = shl i256 %size, %zeros
  %upper = lshr i256 %normal, 203
  %upper64 = trunc i256 %upper to i64
  %h = uitofp i64 %upper64 to double
  %next = lshr i256 %normal, 150
  %next64 = trunc i256 %next to i64
  %lower64 = and i64 %next64, 9007199254740991
  %l = uitofp i64 %lower64 to double
  %l1 = fmul double %l, {literal(2.0**-53, KIND)}
  %hi = fmul double %h, {first}
  %minus = fneg double %hi
  %e0 = call double @llvm.fma.f64(double %h, double {first}, double %minus)
  %e1 = call double @llvm.fma.f64(double %h, double {second}, double %e0)
  %e2 = call double @llvm.fma.f64(double %l1, double {first}, double %e1)
  %sum = fadd double %hi, %e2
  %zeros64 = trunc i256 %zeros to i64
  %power = sub i64 970, %zeros64
  %bits = shl i64 %power, 52
  %scale = bitcast i64 %bits to double
  %r = fmul double %sum, %scale"""


def _two_over_pi(bits: int) -> int:
    """Return the first binary digits of 2/pi as an integer."""
    one = 1 << (bits + 64)

    def arc_cotangent(n: int) -> int:
        total, term, k, sign = 0, one // n, 1, 1
        while term:
            total += sign * (term // k)
            term, k, sign = term // (n * n), k + 2, -sign
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))  # Machin
    return (2 * one << bits) // pi


def _words(digits: int, count: int) -> list[int]:
    return [(digits >> (64 * (count - 1 - n))) & (2**64 - 1) for n in range(count)]
