"""Conversions between doubles and 64-bit integers for 32-bit ARM, as LLVM IR."""

from collections.abc import Collection

# Names that LLVM calls. From integers: whether these are signed.
_TO_DOUBLE = {"__aeabi_l2d": True, "__aeabi_ul2d": False}
_TO_INTEGER = ("__aeabi_d2lz", "__aeabi_d2ulz")


def conversion_text(names: Collection[str]) -> str:
    """Return the functions of these names; others are passed over.

    LLVM calls them where a processor converts 32 bits only. An integer is split in
    halves, which doubles represent exactly: their sum is rounded once. A double is
    truncated towards zero, first to its upper half. **Source:** Run-time ABI for the Arm
    Architecture, sections 5.1 and 5.2: numbers are passed in integer registers, whatever
    the convention of the program.
    """
    functions = [_to_double(*each) for each in _TO_DOUBLE.items() if each[0] in names]
    functions += [_to_integer(name) for name in _TO_INTEGER if name in names]
    return "".join(functions)


def _to_double(name: str, signed: bool) -> str:
    letter, shift = ("s", "ashr") if signed else ("u", "lshr")
    return f"""
define internal arm_aapcscc double @{name}(i64 %n) {{
%above = {shift} i64 %n, 32
%high = trunc i64 %above to i32
%low = trunc i64 %n to i32
%h = {letter}itofp i32 %high to double
%l = uitofp i32 %low to double
%scaled = fmul double %h, 4294967296.0
%sum = fadd double %scaled, %l
ret double %sum
}}
"""


def _to_integer(name: str) -> str:
    return f"""
define internal arm_aapcscc i64 @{name}(double %x) {{
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
}}
"""
