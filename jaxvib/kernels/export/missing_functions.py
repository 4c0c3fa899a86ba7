"""Functions that a machine or its C library may lack, as LLVM IR."""

import re
from collections.abc import Collection

_COPY = re.compile(
    r"@llvm\.memmove\.p0\.p0\.i64\((ptr \S+, ptr \S+), i64 (\d+), i1 false\)"
)


def with_own_copies(text: str) -> str:
    """Return an IR text with loops in place of `llvm.memmove`.

    LLVM calls the C library's `memmove` for it, which not every machine has.
    """
    if not _COPY.search(text):
        return text
    text = _COPY.sub(_call, text)
    return "\n".join([text, *(_loop(piece) for piece in (8, 1))])


def _call(found: re.Match) -> str:
    pointers, size = found[1], int(found[2])
    piece = 1 if size % 8 else 8
    return f"@copied.{piece}({pointers}, i64 {size // piece})"


def _loop(size: int) -> str:
    """Return the function that copies pieces of some bytes.

    The arrays may overlap: the last piece is the first where the copy lies above.
    """
    kind = f"i{8 * size}"
    return f"""define internal void @copied.{size}(ptr %to, ptr %from, i64 %count) {{
entry:
%above = icmp ult ptr %from, %to
br label %next
next:
%k = phi i64 [ 0, %entry ], [ %after, %one ]
%more = icmp ult i64 %k, %count
br i1 %more, label %one, label %end
one:
%after = add i64 %k, 1
%back = sub i64 %count, %after
%place = select i1 %above, i64 %back, i64 %k
%source = getelementptr {kind}, ptr %from, i64 %place
%target = getelementptr {kind}, ptr %to, i64 %place
%piece = load {kind}, ptr %source, align 1
store {kind} %piece, ptr %target, align 1
br label %next
end:
ret void
}}
"""


def integer_text(names: Collection[str]) -> str:
    """Return the functions of these names, and what they call; others are passed over.

    LLVM calls them where a processor converts and divides integers of 32 bits only. An
    integer is split in halves, which doubles represent exactly: their sum is rounded
    once. A double is truncated towards zero, first to its upper half. Divisions return
    quotient and rest: the quotient is rounded towards zero, and the rest has the sign of
    the dividend. Division by zero has some result. **Source:** Run-time ABI for the Arm
    Architecture, sections 5.1 to 5.3: numbers are passed in integer registers, whatever
    the convention of the program.
    """
    # From integers: whether these are signed.
    to_double = {"__aeabi_l2d": True, "__aeabi_ul2d": False}
    to_integer = ("__aeabi_d2lz", "__aeabi_d2ulz")
    functions = [_to_double(*each) for each in to_double.items() if each[0] in names]
    functions += [_to_integer(name) for name in to_integer if name in names]
    signed = "__aeabi_ldivmod" in names
    unsigned = signed or "__aeabi_uldivmod" in names
    return "".join(functions) + _UNSIGNED * unsigned + _SIGNED * signed


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


# Long division bit by bit: the dividend leaves the upper end of a word whose lower end
# takes the quotient. Before its last turn the rest has 63 bits of the dividend at most.
_UNSIGNED = """
define internal arm_aapcscc { i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d) {
entry:
br label %next
next:
%k = phi i32 [ 0, %entry ], [ %after, %next ]
%word = phi i64 [ %n, %entry ], [ %moved, %next ]
%rest = phi i64 [ 0, %entry ], [ %left, %next ]
%bit = lshr i64 %word, 63
%twice = shl i64 %rest, 1
%longer = or i64 %twice, %bit
%fits = icmp uge i64 %longer, %d
%digit = zext i1 %fits to i64
%shifted = shl i64 %word, 1
%moved = or i64 %shifted, %digit
%lower = sub i64 %longer, %d
%left = select i1 %fits, i64 %lower, i64 %longer
%after = add i32 %k, 1
%more = icmp ult i32 %after, 64
br i1 %more, label %next, label %end
end:
%one = insertvalue { i64, i64 } poison, i64 %moved, 0
%both = insertvalue { i64, i64 } %one, i64 %left, 1
ret { i64, i64 } %both
}
"""
# A sign is -1 or 0: (n ^ sign) - sign is |n|, and gives its sign back to a size.
_SIGNED = """
define internal arm_aapcscc { i64, i64 } @__aeabi_ldivmod(i64 %n, i64 %d) {
%nsign = ashr i64 %n, 63
%dsign = ashr i64 %d, 63
%nflipped = xor i64 %n, %nsign
%dflipped = xor i64 %d, %dsign
%nsize = sub i64 %nflipped, %nsign
%dsize = sub i64 %dflipped, %dsign
%sizes = call arm_aapcscc { i64, i64 } @__aeabi_uldivmod(i64 %nsize, i64 %dsize)
%qsize = extractvalue { i64, i64 } %sizes, 0
%rsize = extractvalue { i64, i64 } %sizes, 1
%qsign = xor i64 %nsign, %dsign
%qflipped = xor i64 %qsize, %qsign
%rflipped = xor i64 %rsize, %nsign
%q = sub i64 %qflipped, %qsign
%r = sub i64 %rflipped, %nsign
%one = insertvalue { i64, i64 } poison, i64 %q, 0
%both = insertvalue { i64, i64 } %one, i64 %r, 1
ret { i64, i64 } %both
}
"""


def library_text(text: str) -> str:
    """Return what LLVM calls in an IR text where WebAssembly has no instruction."""
    return _PRODUCT if "i256" in text else ""


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
