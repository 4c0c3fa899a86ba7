"""Exact remainder of floating-point division: an LLVM function of one lane."""


def remainder_text() -> str:
    """Return the LLVM function of the remainder of x / y, with the sign of x.

    LLVM has no other for GPUs than x - y trunc(x / y), which is wrong by many y for
    large quotients. Here $|x|$ is reduced modulo $s = 2^k |y|$, the largest with a
    quotient below $2^{52}$, until it is below $|y|$. The rounded quotient is at most one
    too large, and $r - q s$ is a multiple of the last place of s below $2^{53}$ of them:
    a fused multiply-add gives it exactly.
    """
    return """declare double @llvm.fabs.f64(double)
declare double @llvm.trunc.f64(double)
declare double @llvm.copysign.f64(double, double)
declare double @llvm.fma.f64(double, double, double)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define internal i64 @exponent(double %x) alwaysinline {
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %zeros = call i64 @llvm.ctlz.i64(i64 %bits, i1 false)
  %below = sub i64 12, %zeros
  %normal = icmp ne i64 %field, 0
  %e = select i1 %normal, i64 %field, i64 %below
  ret i64 %e
}
define internal double @power_of_two(i64 %e) alwaysinline {
  %biased = add i64 %e, 1023
  %bits = shl i64 %biased, 52
  %x = bitcast i64 %bits to double
  ret double %x
}
define internal double @remainder(double %x, double %y) alwaysinline {
entry:
  %size = call double @llvm.fabs.f64(double %x)
  %by = call double @llvm.fabs.f64(double %y)
  %finite = fcmp one double %size, 0x7FF0000000000000
  %positive = fcmp ogt double %by, 0.0
  %defined = and i1 %finite, %positive
  %ey = call i64 @exponent(double %by)
  br i1 %defined, label %next, label %end
next:
  %r = phi double [ %size, %entry ], [ %exact, %turn ]
  %more = fcmp oge double %r, %by
  br i1 %more, label %turn, label %end
turn:
  %er = call i64 @exponent(double %r)
  %apart = sub i64 %er, %ey
  %far = sub i64 %apart, 50
  %some = call i64 @llvm.smax.i64(i64 %far, i64 0)
  %k = call i64 @llvm.smin.i64(i64 %some, i64 2046)
  %half = lshr i64 %k, 1
  %rest = sub i64 %k, %half
  %one = call double @power_of_two(i64 %half)
  %other = call double @power_of_two(i64 %rest)
  %partly = fmul double %by, %one
  %s = fmul double %partly, %other
  %ratio = fdiv double %r, %s
  %q = call double @llvm.trunc.f64(double %ratio)
  %less = fneg double %q
  %left = call double @llvm.fma.f64(double %less, double %s, double %r)
  %negative = fcmp olt double %left, 0.0
  %up = fadd double %left, %s
  %exact = select i1 %negative, double %up, double %left
  br label %next
end:
  %found = phi double [ 0x7FF8000000000000, %entry ], [ %r, %next ]
  %signed = call double @llvm.copysign.f64(double %found, double %x)
  ret double %signed
}
"""
