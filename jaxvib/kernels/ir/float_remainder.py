"""Exact remainder of floating-point division: an LLVM function of one lane."""


def remainder_text() -> str:
    """Return the LLVM function of the remainder of x / y, with the sign of x.

    With $x = m 2^e$ and $y = k 2^f$, integers m and k below $2^{53}$, it is that of
    $m 2^{e-f}$ divided by k, by shifts of m of at most 11 bits, as the remainder is below
    $2^{53}$. Subnormal numbers have an exponent field of 0, and the exponent of 1. LLVM
    calls C's library on CPUs, and for GPUs takes x - y trunc(x / y), which is wrong by
    many y for large quotients.
    """
    return """declare i64 @llvm.ctlz.i64(i64, i1)
define internal double @remainder(double %x, double %y) noinline {
entry:
  %xb = bitcast double %x to i64
  %yb = bitcast double %y to i64
  %xs = and i64 %xb, 9223372036854775807
  %ys = and i64 %yb, 9223372036854775807
  %sign = and i64 %xb, -9223372036854775808
  %finite = icmp ult i64 %xs, 9218868437227405312
  %number = icmp ule i64 %ys, 9218868437227405312
  %positive = icmp ne i64 %ys, 0
  %some = and i1 %finite, %number
  %defined = and i1 %some, %positive
  br i1 %defined, label %compare, label %none
none:
  ret double 0x7FF8000000000000
compare:
  %less = icmp ult i64 %xs, %ys
  br i1 %less, label %same, label %split
same:
  ret double %x
split:
  %xf = lshr i64 %xs, 52
  %yf = lshr i64 %ys, 52
  %xnormal = icmp ne i64 %xf, 0
  %ynormal = icmp ne i64 %yf, 0
  %e = select i1 %xnormal, i64 %xf, i64 1
  %f = select i1 %ynormal, i64 %yf, i64 1
  %xm = and i64 %xs, 4503599627370495
  %ym = and i64 %ys, 4503599627370495
  %xi = select i1 %xnormal, i64 4503599627370496, i64 0
  %yi = select i1 %ynormal, i64 4503599627370496, i64 0
  %m = or i64 %xm, %xi
  %k = or i64 %ym, %yi
  %first = urem i64 %m, %k
  %apart = sub i64 %e, %f
  br label %next
next:
  %r = phi i64 [ %first, %split ], [ %rest, %turn ]
  %left = phi i64 [ %apart, %split ], [ %after, %turn ]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %turn, label %end
turn:
  %few = icmp slt i64 %left, 11
  %places = select i1 %few, i64 %left, i64 11
  %shifted = shl i64 %r, %places
  %rest = urem i64 %shifted, %k
  %after = sub i64 %left, %places
  br label %next
end:
  %zeros = call i64 @llvm.ctlz.i64(i64 %r, i1 false)
  %above = sub i64 %zeros, 11
  %below = sub i64 %f, 1
  %raised = icmp slt i64 %above, %below
  %up = select i1 %raised, i64 %above, i64 %below
  %nothing = icmp eq i64 %r, 0
  %by = select i1 %nothing, i64 0, i64 %up
  %mantissa = shl i64 %r, %by
  %field = sub i64 %below, %by
  %placed = shl i64 %field, 52
  %normal = add i64 %placed, %mantissa
  %size = select i1 %nothing, i64 0, i64 %normal
  %bits = or i64 %size, %sign
  %result = bitcast i64 %bits to double
  ret double %result
}
"""
