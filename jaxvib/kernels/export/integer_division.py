"""Division of 64-bit integers for 32-bit ARM, as LLVM IR."""

from collections.abc import Collection


def division_text(names: Collection[str]) -> str:
    """Return the functions of these names, and what they call; others are passed over.

    LLVM calls them where a processor divides 32 bits only. They return quotient and
    rest: the quotient is rounded towards zero, and the rest has the sign of the
    dividend. Division by zero has some result. **Source:** Run-time ABI for the Arm
    Architecture, section 5.3.1.
    """
    signed = "__aeabi_ldivmod" in names
    unsigned = signed or "__aeabi_uldivmod" in names
    return _UNSIGNED * unsigned + _SIGNED * signed


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
