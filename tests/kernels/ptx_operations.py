"""What instructions of PTX do, as LLVM's functions; see `ptx_emulator`."""

import itertools
from typing import NamedTuple

# What arithmetic gives for an invalid operation. A program must not depend on its bits,
# which differ between processors, so it is none of theirs.
NAN = "0x7FF8DEADBEEF0000"
TYPES = {"pred": "i1", "b16": "i16", "b32": "i32", "b64": "i64"}


class Operation(NamedTuple):
    """An instruction as LLVM's function of %a, %b, %c; it returns %r."""

    result: str
    arguments: tuple[str, ...]
    body: str

    def text(self, name: str) -> str:
        """Return the function; results of arithmetic are one NaN."""
        taken = ", ".join(f"{t} %{n}" for t, n in zip(self.arguments, "abc", strict=False))
        last = "%r"
        body = self.body
        if self.result == "double":
            body += f"""
%invalid = fcmp uno double %r, %r
%checked = select i1 %invalid, double {NAN}, double %r"""
            last = "%checked"
        return f"""define internal {self.result} @"{name}"({taken}) alwaysinline {{
{body}
ret {self.result} {last}
}}"""


def _operations() -> dict[str, Operation]:
    table = {}

    def add(name, result, arguments, body):
        table[name] = Operation(result, tuple(arguments.split()), body)

    for name in ("add", "sub", "mul", "div"):
        body = f"%r = f{name} double %a, %b"
        add(f"{name}.rn.f64", "double", "double double", body)
    three = "double %a, double %b, double %c"
    add("fma.rn.f64", "double", "double double double",
        f"%r = call double @llvm.fma.f64({three})")  # fmt: skip
    add("rcp.rn.f64", "double", "double", "%r = fdiv double 1.0, %a")
    add("sqrt.rn.f64", "double", "double", "%r = call double @llvm.sqrt.f64(double %a)")
    rounding = {"rni": "roundeven", "rmi": "floor", "rpi": "ceil", "rzi": "trunc"}
    for mode, function in rounding.items():
        body = f"%r = call double @llvm.{function}.f64(double %a)"
        add(f"cvt.{mode}.f64.f64", "double", "double", body)
    add("neg.f64", "double", "double", "%r = fneg double %a")
    add("abs.f64", "double", "double", "%r = call double @llvm.fabs.f64(double %a)")
    add(
        "copysign.f64",
        "i64",
        "i64 i64",
        f"""%size = and i64 %b, {2**63 - 1}
%sign = and i64 %a, {-(2**63)}
%r = or i64 %size, %sign""",
    )
    # Of a number and NaN, the number; +0 is above -0.
    for name, compare, zero in (("max", "ogt", "and"), ("min", "olt", "or")):
        add(
            f"{name}.f64",
            "double",
            "double double",
            f"""%x = bitcast double %a to i64
%y = bitcast double %b to i64
%zero = {zero} i64 %x, %y
%bits = bitcast i64 %zero to double
%equal = fcmp oeq double %a, %b
%better = fcmp {compare} double %a, %b
%none = fcmp uno double %b, %b
%first = or i1 %better, %none
%one = select i1 %first, double %a, double %b
%r = select i1 %equal, double %bits, double %one""",
        )
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for end, ordered in (("", "o"), ("u", "u")):
            body = f"%r = fcmp {ordered}{name} double %a, %b"
            add(f"setp.{name}{end}.f64", "i1", "double double", body)
        for kind, bits in itertools.product("bsu", (16, 32, 64)):
            how = name if name in ("eq", "ne") else ("s" if kind == "s" else "u") + name
            if kind == "b" and how != name:
                continue  # bits have no order
            t = f"i{bits}"
            add(
                f"setp.{name}.{kind}{bits}", "i1", f"{t} {t}", f"%r = icmp {how} {t} %a, %b"
            )
    add("setp.nan.f64", "i1", "double double", "%r = fcmp uno double %a, %b")
    add("setp.num.f64", "i1", "double double", "%r = fcmp ord double %a, %b")
    for kind in ("b16", "b32", "b64", "f64", "pred"):
        t = TYPES[kind.replace("f", "b")]
        if kind != "pred":
            add(f"selp.{kind}", t, f"{t} {t} i1", f"%r = select i1 %c, {t} %a, {t} %b")
        if kind != "f64":
            for name in ("and", "or", "xor"):
                add(f"{name}.{kind}", t, f"{t} {t}", f"%r = {name} {t} %a, %b")
            add(f"not.{kind}", t, t, f"%r = xor {t} %a, -1")
    for bits in (16, 32, 64):
        _add_integers(add, bits)
    return table


def _add_integers(add, bits: int) -> None:
    t, w = f"i{bits}", f"i{2 * bits}"
    for kind in ("s", "u"):
        extend = f"{kind}ext".replace("u", "z")
        for name in ("add", "sub"):
            add(f"{name}.{kind}{bits}", t, f"{t} {t}", f"%r = {name} {t} %a, %b")
        add(f"mul.lo.{kind}{bits}", t, f"{t} {t}", f"%r = mul {t} %a, %b")
        body = f"%p = mul {t} %a, %b\n%r = add {t} %p, %c"
        add(f"mad.lo.{kind}{bits}", t, f"{t} {t} {t}", body)
        product = f"""%x = {extend} {t} %a to {w}
%y = {extend} {t} %b to {w}
%p = mul {w} %x, %y"""
        body = f"{product}\n%h = lshr {w} %p, {bits}\n%r = trunc {w} %h to {t}"
        add(f"mul.hi.{kind}{bits}", t, f"{t} {t}", body)
        for name in ("min", "max"):
            body = f"%r = call {t} @llvm.{kind}{name}.{t}({t} %a, {t} %b)"
            add(f"{name}.{kind}{bits}", t, f"{t} {t}", body)
    add(f"neg.s{bits}", t, t, f"%r = sub {t} 0, %a")
    if bits == 16:
        return
    # Shifts by more than there is shift everything out.
    amount = "%n = zext i32 %b to i64" if bits == 64 else "%n = add i32 %b, 0"
    amount += f"\n%far = icmp uge {t} %n, {bits}\n%least = select i1 %far, {t} 0, {t} %n\n"
    last = f"%most = select i1 %far, {t} {bits - 1}, {t} %n\n"
    for name, how in ((f"shl.b{bits}", "shl"), (f"shr.u{bits}", "lshr")):
        body = f"{amount}%s = {how} {t} %a, %least\n%r = select i1 %far, {t} 0, {t} %s"
        add(name, t, f"{t} i32", body)
    add(f"shr.s{bits}", t, f"{t} i32", f"{amount}{last}%r = ashr {t} %a, %most")
    short = f"%n = call {t} @llvm.ctlz.{t}({t} %a, i1 false)"
    add(f"clz.b{bits}", "i32", t, f"{short}\n%r = {_resized(t, 'i32')} %n to i32"
        if bits == 64 else short.replace("%n", "%r"))  # fmt: skip
    if bits == 32:
        for side, function, x, y in (("l", "fshl", "%b", "%a"), ("r", "fshr", "%b", "%a")):
            body = f"%r = call i32 @llvm.{function}.i32(i32 {x}, i32 {y}, i32 %c)"
            add(f"shf.{side}.wrap.b32", "i32", "i32 i32 i32", body)
    for kind in ("s", "u"):
        convert = f"{kind}itofp {t}"
        # With at most 53 bits of 32, and to the nearest of 64: LLVM's default rounding.
        add(f"cvt.rn.f64.{kind}{bits}", "double", t, f"%r = {convert} %a to double")
        # What is too large saturates; NaN is 2^63 for 64 bits and 0 for 32.
        name = f"llvm.fpto{kind}i.sat.{t}.f64"
        body = f"%s = call {t} @{name}(double %a)\n%invalid = fcmp uno double %a, %a\n"
        nan = -(2**63) if bits == 64 else 0
        body += f"%r = select i1 %invalid, {t} {nan}, {t} %s"
        add(f"cvt.rzi.{kind}{bits}.f64", t, "double", body)


def _resized(from_: str, to: str) -> str:
    narrower = int(from_[1:]) > int(to[1:])
    return f"trunc {from_}" if narrower else f"zext {from_}"


OPERATIONS = _operations()
