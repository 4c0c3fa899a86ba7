"""Division of 64-bit integers for 32-bit processors, as LLVM IR."""

from collections.abc import Collection
from typing import NamedTuple

from .integer_conversion import convention_of


class _Division(NamedTuple):
    """A function: whether its integers are signed, and what of the result it returns."""

    signed: bool
    part: int | None  # 0 the quotient, 1 the rest; both if `None`


# Names that LLVM calls, on ARM and elsewhere.
_DIVISIONS = {
    "__aeabi_ldivmod": _Division(True, None),
    "__divdi3": _Division(True, 0),
    "__moddi3": _Division(True, 1),
    "__aeabi_uldivmod": _Division(False, None),
    "__udivdi3": _Division(False, 0),
    "__umoddi3": _Division(False, 1),
}
_BOTH = "{ i64, i64 }"


def division_text(names: Collection[str]) -> str:
    """Return the functions of these names; others are passed over.

    LLVM calls them where a processor divides 32 bits only. Quotients are rounded towards
    zero, and rests have the sign of the dividend. Division by zero has some result.
    """
    found = [_function(*each) for each in _DIVISIONS.items() if each[0] in names]
    return "".join([_UNSIGNED, _SIGNED, *found]) if found else ""


def _function(name: str, division: _Division) -> str:
    divided = "divided_signed" if division.signed else "divided"
    kind, lines = _BOTH, f"%result = call {_BOTH} @{divided}(i64 %n, i64 %d)"
    if division.part is not None:
        kind = "i64"
        lines = f"""%both = call {_BOTH} @{divided}(i64 %n, i64 %d)
%result = extractvalue {_BOTH} %both, {division.part}"""
    return f"""
define internal {convention_of(name)}{kind} @{name}(i64 %n, i64 %d) {{
{lines}
ret {kind} %result
}}
"""


# Long division bit by bit: the dividend leaves the upper end of a word whose lower end
# takes the quotient. The rest may exceed 64 bits by one, its upper bit, before a
# divisor is taken from it.
_UNSIGNED = """
define internal { i64, i64 } @divided(i64 %n, i64 %d) {
entry:
br label %next
next:
%k = phi i32 [ 0, %entry ], [ %after, %next ]
%word = phi i64 [ %n, %entry ], [ %moved, %next ]
%rest = phi i64 [ 0, %entry ], [ %left, %next ]
%upper = icmp slt i64 %rest, 0
%bit = lshr i64 %word, 63
%twice = shl i64 %rest, 1
%longer = or i64 %twice, %bit
%reaches = icmp uge i64 %longer, %d
%fits = or i1 %upper, %reaches
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
define internal { i64, i64 } @divided_signed(i64 %n, i64 %d) {
%nsign = ashr i64 %n, 63
%dsign = ashr i64 %d, 63
%nflipped = xor i64 %n, %nsign
%dflipped = xor i64 %d, %dsign
%nsize = sub i64 %nflipped, %nsign
%dsize = sub i64 %dflipped, %dsign
%sizes = call { i64, i64 } @divided(i64 %nsize, i64 %dsize)
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
