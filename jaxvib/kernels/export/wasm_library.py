"""The function that LLVM calls where WebAssembly has no instruction, as LLVM IR."""


def library_text(text: str) -> str:
    """Return the function that the code of an IR text needs, if any."""
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
