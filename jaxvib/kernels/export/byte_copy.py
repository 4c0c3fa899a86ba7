"""Copies of arrays without a C library, as LLVM IR."""

import re

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
