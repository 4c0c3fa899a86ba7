"""What instructions of PTX do, as LLVM's functions; see `ptx_emulator`."""

import itertools
from typing import NamedTuple

# What arithmetic gives for an invalid operation. A program must not depend on its bits,
# which differ between processors, so it is none of theirs.
NAN = "0x7FF8DEADA0000000"
# LLVM's types of registers.
TYPES = {"pred": "i1", "b16": "i16", "b32": "i32", "b64": "i64"}
# The types of floats: PTX's, LLVM's, LLVM's in names of intrinsics.
_FLOATS = (("f64", "double"), ("f32", "float"))


class Operation(NamedTuple):
    """An instruction as LLVM's function of %a, %b, %c; it returns %r."""

    result: str
    arguments: tuple[str, ...]
    body: str

    def text(self, name: str) -> str:
        """Return the function; an invalid result of arithmetic is `NAN`."""
        taken = ", ".join(f"{t} %{n}" for t, n in zip(self.arguments, "abc", strict=False))
        body, last, t = self.body, "%r", self.result
        if t in ("double", "float"):
            body += f"""
%invalid = fcmp uno {t} %r, %r
%checked = select i1 %invalid, {t} {NAN}, {t} %r"""
            last = "%checked"
        return f"""define internal {t} @"{name}"({taken}) alwaysinline {{
{body}
ret {t} {last}
}}"""


def _operations() -> dict[str, Operation]:
    table = {}

    def add(name, result, arguments, body):
        table[name] = Operation(result, tuple(arguments.split()), body)

    for kind, t in _FLOATS:
        _add_arithmetic(add, kind, t)
        _add_comparisons(add, kind, t)
    add("cvt.f64.f32", "double", "float", "%r = fpext float %a to double")
    add("cvt.rn.f32.f64", "float", "double", "%r = fptrunc double %a to float")
    for kind in ("b16", "b32", "b64", "f32", "f64", "pred"):
        t = TYPES[kind.replace("f", "b")]
        if kind != "pred":
            add(f"selp.{kind}", t, f"{t} {t} i1", f"%r = select i1 %c, {t} %a, {t} %b")
        if kind[0] != "f":
            for name in ("and", "or", "xor"):
                add(f"{name}.{kind}", t, f"{t} {t}", f"%r = {name} {t} %a, %b")
            add(f"not.{kind}", t, t, f"%r = xor {t} %a, -1")
    for bits in (8, 16, 32, 64):
        _add_conversions(add, bits)
    for bits in (16, 32, 64):
        _add_integers(add, bits)
        _add_shifts(add, bits)
    for bits in (32, 64):
        _add_counts(add, bits)
        _add_fields(add, bits)
    for side, function in (("l", "fshl"), ("r", "fshr")):
        body = f"%r = call i32 @llvm.{function}.i32(i32 %b, i32 %a, i32 %c)"
        add(f"shf.{side}.wrap.b32", "i32", "i32 i32 i32", body)
    return table


def _add_arithmetic(add, kind: str, t: str) -> None:
    for name in ("add", "sub", "mul", "div"):
        add(f"{name}.rn.{kind}", t, f"{t} {t}", f"%r = f{name} {t} %a, %b")
    body = f"%r = call {t} @llvm.fma.{kind}({t} %a, {t} %b, {t} %c)"
    add(f"fma.rn.{kind}", t, f"{t} {t} {t}", body)
    add(f"rcp.rn.{kind}", t, t, f"%r = fdiv {t} 1.0, %a")
    functions = {"sqrt.rn": "sqrt", "abs": "fabs", "cvt.rni": "roundeven",
                 "cvt.rmi": "floor", "cvt.rpi": "ceil", "cvt.rzi": "trunc"}  # fmt: skip
    for name, function in functions.items():
        name = f"{name}.{kind}" + (f".{kind}" if "cvt" in name else "")
        add(name, t, t, f"%r = call {t} @llvm.{function}.{kind}({t} %a)")
    add(f"neg.{kind}", t, t, f"%r = fneg {t} %a")
    whole, bits = TYPES[kind.replace("f", "b")], int(kind[1:])
    sign = -(2 ** (bits - 1))
    body = f"%s = and {whole} %b, {~sign}\n%t = and {whole} %a, {sign}\n"
    body += f"%r = or {whole} %s, %t"
    add(f"copysign.{kind}", whole, f"{whole} {whole}", body)
    # Of a number and NaN, the number; +0 is above -0.
    for name, compare, zero in (("max", "ogt", "and"), ("min", "olt", "or")):
        add(f"{name}.{kind}", t, f"{t} {t}", f"""%x = bitcast {t} %a to {whole}
%y = bitcast {t} %b to {whole}
%zero = {zero} {whole} %x, %y
%bits = bitcast {whole} %zero to {t}
%equal = fcmp oeq {t} %a, %b
%better = fcmp {compare} {t} %a, %b
%none = fcmp uno {t} %b, %b
%first = or i1 %better, %none
%one = select i1 %first, {t} %a, {t} %b
%r = select i1 %equal, {t} %bits, {t} %one""")  # fmt: skip


def _add_comparisons(add, kind: str, t: str) -> None:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for end, ordered in (("", "o"), ("u", "u")):
            body = f"%r = fcmp {ordered}{name} {t} %a, %b"
            add(f"setp.{name}{end}.{kind}", "i1", f"{t} {t}", body)
    add(f"setp.nan.{kind}", "i1", f"{t} {t}", f"%r = fcmp uno {t} %a, %b")
    add(f"setp.num.{kind}", "i1", f"{t} {t}", f"%r = fcmp ord {t} %a, %b")
    body = f"%s = call {t} @llvm.fabs.{kind}({t} %a)\n"
    infinite = f"%r = fcmp oeq {t} %s, 0x7FF0000000000000"
    add(f"testp.infinite.{kind}", "i1", t, body + infinite)
    add(f"testp.finite.{kind}", "i1", t, body + infinite.replace("oeq", "one"))


def _add_conversions(add, bits: int) -> None:
    t = f"i{bits}"
    for sign, (kind, float_) in itertools.product("su", _FLOATS):
        body = f"%r = {sign}itofp {t} %a to {float_}"
        add(f"cvt.rn.{kind}.{sign}{bits}", float_, t, body)
        # What is too large saturates; NaN is 2^63 for 64 bits of 64 and 0 for fewer.
        function = f"@llvm.fpto{sign}i.sat.{t}.{kind}"
        nan = -(2**63) if (bits, kind) == (64, "f64") else 0
        body = f"""%s = call {t} {function}({float_} %a)
%invalid = fcmp uno {float_} %a, %a
%r = select i1 %invalid, {t} {nan}, {t} %s"""
        add(f"cvt.rzi.{sign}{bits}.{kind}", t, float_, body)


def _add_integers(add, bits: int) -> None:
    t, w = f"i{bits}", f"i{2 * bits}"
    for sign in ("s", "u"):
        extend = "sext" if sign == "s" else "zext"
        for name in ("add", "sub"):
            add(f"{name}.{sign}{bits}", t, f"{t} {t}", f"%r = {name} {t} %a, %b")
        add(f"mul.lo.{sign}{bits}", t, f"{t} {t}", f"%r = mul {t} %a, %b")
        body = f"%p = mul {t} %a, %b\n%r = add {t} %p, %c"
        add(f"mad.lo.{sign}{bits}", t, f"{t} {t} {t}", body)
        product = f"""%x = {extend} {t} %a to {w}
%y = {extend} {t} %b to {w}
%p = mul {w} %x, %y
"""
        body = f"{product}%h = lshr {w} %p, {bits}\n%r = trunc {w} %h to {t}"
        add(f"mul.hi.{sign}{bits}", t, f"{t} {t}", body)
        add(f"mul.wide.{sign}{bits}", w, f"{t} {t}", product.replace("%p", "%r"))
        for name in ("min", "max"):
            body = f"%r = call {t} @llvm.{sign}{name}.{t}({t} %a, {t} %b)"
            add(f"{name}.{sign}{bits}", t, f"{t} {t}", body)
        # By 0, and of the least integer by -1, the manual promises nothing: 77.
        for name in ("div", "rem"):
            add(f"{name}.{sign}{bits}", t, f"{t} {t}", f"""%zero = icmp eq {t} %b, 0
%one = icmp eq {t} %b, -1
%least = icmp eq {t} %a, {-(2 ** (bits - 1))}
%over = and i1 %one, %least
%bad = or i1 %zero, {"%over" if sign == "s" else "false"}
%d = select i1 %bad, {t} 1, {t} %b
%q = {sign}{name} {t} %a, %d
%r = select i1 %bad, {t} 77, {t} %q""")  # fmt: skip
    add(f"neg.s{bits}", t, t, f"%r = sub {t} 0, %a")
    add(f"abs.s{bits}", t, t, f"%r = call {t} @llvm.abs.{t}({t} %a, i1 false)")
    for name, kind in itertools.product(("eq", "ne", "lt", "le", "gt", "ge"), "bsu"):
        if name in ("eq", "ne") or kind != "b":  # bits have no order
            how = name if name in ("eq", "ne") else kind + name
            body = f"%r = icmp {how} {t} %a, %b"
            add(f"setp.{name}.{kind}{bits}", "i1", f"{t} {t}", body)


def _add_shifts(add, bits: int) -> None:
    """Add shifts; one by more bits than there are shifts everything out."""
    t = f"i{bits}"
    resized = {16: "trunc i32 %b to i16", 32: "add i32 %b, 0", 64: "zext i32 %b to i64"}
    amount = f"""%far = icmp uge i32 %b, {bits}
%n = {resized[bits]}
%least = select i1 %far, {t} 0, {t} %n
"""
    for name, how in ((f"shl.b{bits}", "shl"), (f"shr.u{bits}", "lshr")):
        body = f"{amount}%s = {how} {t} %a, %least\n%r = select i1 %far, {t} 0, {t} %s"
        add(name, t, f"{t} i32", body)
    most = f"%most = select i1 %far, {t} {bits - 1}, {t} %n\n"
    add(f"shr.s{bits}", t, f"{t} i32", f"{amount}{most}%r = ashr {t} %a, %most")


def _add_counts(add, bits: int) -> None:
    t = f"i{bits}"
    for name, function, more in (("clz", "ctlz", ", i1 false"), ("popc", "ctpop", "")):
        body = f"%n = call {t} @llvm.{function}.{t}({t} %a{more})\n"
        resized = "trunc i64 %n to i32" if bits == 64 else "add i32 %n, 0"
        add(f"{name}.b{bits}", "i32", t, f"{body}%r = {resized}")


def _add_fields(add, bits: int) -> None:
    """Add the extraction of %c bits from place %b, filled with the field's sign."""
    t, w = f"i{bits}", "i128"
    begin = f"""%x = {{}} {t} %a to {w}
%p = and i32 %b, 255
%n = and i32 %c, 255
%pm = icmp ult i32 %p, {bits}
%pc = select i1 %pm, i32 %p, i32 {bits - 1}
%pw = zext i32 %pc to {w}
%s = lshr {w} %x, %pw
%t = trunc {w} %s to {t}
%end = add i32 %p, %n
%inner = icmp ult i32 %end, {bits}
%left = sub i32 {bits}, %n
%lm = select i1 %inner, i32 %left, i32 0
%some = icmp ne i32 %n, 0
"""
    signed = (
        begin.format("sext")
        + f"""%l = select i1 %some, i32 %lm, i32 0
{_widened("l", bits)}%u = shl {t} %t, %lt
%v = ashr {t} %u, %lt
%r = select i1 %some, {t} %v, {t} 0"""
    )
    unsigned = (
        begin.format("zext")
        + f"""%nm = icmp ult i32 %n, {bits}
%l = select i1 %nm, i32 %n, i32 {bits - 1}
{_widened("l", bits)}%bit = shl {t} 1, %lt
%mask = sub {t} %bit, 1
%u = and {t} %t, %mask
%v = select i1 %nm, {t} %u, {t} %t
%r = select i1 %pm, {t} %v, {t} 0"""
    )
    add(f"bfe.s{bits}", t, f"{t} i32 i32", signed)
    add(f"bfe.u{bits}", t, f"{t} i32 i32", unsigned)


def _widened(name: str, bits: int) -> str:
    resized = "zext i32 %{0} to i64" if bits == 64 else "add i32 %{0}, 0"
    return f"%{name}t = {resized.format(name)}\n"


OPERATIONS = _operations()
