"""Functions that LLVM calls where WebAssembly has no instruction, as LLVM IR."""


def library_text(text: str) -> str:
    """Return the functions that the code of an IR text needs."""
    found = _REMAINDER if "frem" in text else ""
    return found + (_PRODUCT if "i256" in text else "")


# `fmod(x, y)`: with x = m 2^e and y = k 2^f, integers m and k below 2^53, the remainder
# of m 2^(e-f) divided by k, by shifts of m of at most 11 bits, as the remainder is below
# 2^53. Subnormal numbers have an exponent field of 0, and the exponent of 1.
_REMAINDER = """
define hidden double @fmod(double %x, double %y) {
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
define hidden float @fmodf(float %x, float %y) {
%a = fpext float %x to double
%b = fpext float %y to double
%r = call double @fmod(double %a, double %b)
%result = fptrunc double %r to float
ret float %result
}
"""


# `__multi3(a, b)`: the lower 128 bits of a product, from products of 32 bits.
_PRODUCT = """
define hidden i128 @__multi3(i128 %a, i128 %b) {
%al = trunc i128 %a to i64
%bl = trunc i128 %b to i64
%as = lshr i128 %a, 64
%bs = lshr i128 %b, 64
%ah = trunc i128 %as to i64
%bh = trunc i128 %bs to i64
%a0 = and i64 %al, 4294967295
%b0 = and i64 %bl, 4294967295
%a1 = lshr i64 %al, 32
%b1 = lshr i64 %bl, 32
%p00 = mul i64 %a0, %b0
%p01 = mul i64 %a0, %b1
%p10 = mul i64 %a1, %b0
%p11 = mul i64 %a1, %b1
%carried = lshr i64 %p00, 32
%m1 = add i64 %p01, %carried
%m1low = and i64 %m1, 4294967295
%m1high = lshr i64 %m1, 32
%m2 = add i64 %p10, %m1low
%m2high = lshr i64 %m2, 32
%h1 = add i64 %p11, %m1high
%h2 = add i64 %h1, %m2high
%c1 = mul i64 %al, %bh
%c2 = mul i64 %ah, %bl
%h3 = add i64 %h2, %c1
%h4 = add i64 %h3, %c2
%low = mul i64 %al, %bl
%low128 = zext i64 %low to i128
%h128 = zext i64 %h4 to i128
%high128 = shl i128 %h128, 64
%product = or i128 %high128, %low128
ret i128 %product
}
"""
