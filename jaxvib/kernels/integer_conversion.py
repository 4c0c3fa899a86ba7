"""Conversions between doubles and 64-bit integers for 32-bit processors, as LLVM IR."""

CONVERSIONS = ("__floatdidf", "__floatundidf", "__fixdfdi")


def conversion_text() -> str:
    """Return functions that LLVM calls where a processor converts 32 bits only.

    An integer is split in halves, which doubles represent exactly: their sum is rounded
    once. A double is truncated towards zero, first to its upper half.
    """
    return """
define weak hidden double @__floatdidf(i64 %n) {
entry:
%above = ashr i64 %n, 32
%high = trunc i64 %above to i32
%low = trunc i64 %n to i32
%h = sitofp i32 %high to double
%l = uitofp i32 %low to double
%scaled = fmul double %h, 4294967296.0
%sum = fadd double %scaled, %l
ret double %sum
}
define weak hidden double @__floatundidf(i64 %n) {
entry:
%above = lshr i64 %n, 32
%high = trunc i64 %above to i32
%low = trunc i64 %n to i32
%h = uitofp i32 %high to double
%l = uitofp i32 %low to double
%scaled = fmul double %h, 4294967296.0
%sum = fadd double %scaled, %l
ret double %sum
}
define weak hidden i64 @__fixdfdi(double %x) {
entry:
%negative = fcmp olt double %x, 0.0
%minus = fneg double %x
%size = select i1 %negative, double %minus, double %x
%upper = fmul double %size, 0x3DF0000000000000
%high = fptoui double %upper to i32
%h = uitofp i32 %high to double
%taken = fmul double %h, 4294967296.0
%rest = fsub double %size, %taken
%low = fptoui double %rest to i32
%h64 = zext i32 %high to i64
%l64 = zext i32 %low to i64
%above = shl i64 %h64, 32
%whole = or i64 %above, %l64
%opposite = sub i64 0, %whole
%result = select i1 %negative, i64 %opposite, i64 %whole
ret i64 %result
}
"""
