"""Fused multiply-adds for WebAssembly, which has none but in relaxed SIMD."""

import re

_DECLARED = re.compile(r"^declare (.+) @llvm\.fma\.(\w+)\(.*\n?", re.MULTILINE)
_LANES = {"double": 2, "float": 4}  # of a vector of 128 bits
_SHORT = {"double": "f64", "float": "f32"}  # in the names of intrinsics


def with_multiply_add(text: str, relaxed: bool) -> str:
    """Return an IR text with functions to be inlined in place of `llvm.fma`.

    `relaxed`: by relaxed SIMD's instruction, which browsers fuse where the processor
    can; else by a product and a sum, each rounded.
    """
    types = {suffix: type_ for type_, suffix in _DECLARED.findall(text)}
    text = _DECLARED.sub("", text).replace("@llvm.fma.", "@multiply_add.")
    body = _by_relaxed_simd if relaxed else _rounded_twice
    functions = [
        f"define internal {type_} @multiply_add.{suffix}"
        f"({type_} %x, {type_} %y, {type_} %z) alwaysinline {{\n{body(type_)}}}\n"
        for suffix, type_ in sorted(types.items())
    ]
    declared = [_declaration(scalar) for scalar in _LANES] if relaxed else []
    return "\n".join([text, *functions, *declared, ""])


def _rounded_twice(type_: str) -> str:
    return f"""%product = fmul {type_} %x, %y
%sum = fadd {type_} %product, %z
ret {type_} %sum
"""


def _by_relaxed_simd(type_: str) -> str:
    """Return the lines for one or two numbers, in the first lanes of a whole vector."""
    scalar = "double" if "double" in type_ else "float"
    vector, width = _whole(scalar), _LANES[scalar]
    if type_ == scalar:
        into = f"insertelement {vector} poison, {type_} %{{}}, i32 0"
        outof = f"extractelement {vector} %sum, i32 0"
    else:
        indices = ", ".join(f"i32 {lane % 2}" for lane in range(width))
        into = f"shufflevector {type_} %{{}}, {type_} poison, <{width} x i32> <{indices}>"
        outof = f"shufflevector {vector} %sum, {vector} poison, <2 x i32> <i32 0, i32 1>"
    wide = "".join(f"%{name}w = {into.format(name)}\n" for name in "xyz")
    arguments = ", ".join(f"{vector} %{name}w" for name in "xyz")
    return f"""{wide}%sum = call {vector} {_intrinsic(scalar)}({arguments})
%result = {outof}
ret {type_} %result
"""


def _whole(scalar: str) -> str:
    return f"<{_LANES[scalar]} x {scalar}>"


def _intrinsic(scalar: str) -> str:
    return f"@llvm.wasm.relaxed.madd.v{_LANES[scalar]}{_SHORT[scalar]}"


def _declaration(scalar: str) -> str:
    arguments = ", ".join([_whole(scalar)] * 3)
    return f"declare {_whole(scalar)} {_intrinsic(scalar)}({arguments})"
