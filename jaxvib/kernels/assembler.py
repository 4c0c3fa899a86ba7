"""LLVM instructions written down one by one, for vectors of lanes or for one lane."""

import dataclasses
import functools
import operator
import struct

import numpy as np

# How LLVM calls what JAX calls otherwise. Unsigned numbers are bits like any others there;
# which instruction is meant is told by the kind.
_TYPES = {
    "float64": "double",
    "float32": "float",
    "bool": "i1",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_SHORT = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32"}
# What is done at once where both numbers are known.
_KNOWN = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


class NotPrintedError(ValueError):
    """Why a function cannot be printed."""


@dataclasses.dataclass(slots=True)
class Value:
    """A number of each lane: its name in the text and its dtype.

    `factors`: of a product of two floats, which a sum that takes it up adds unrounded.
    `number`: a whole number or a truth that is known already, as places of arrays are.
    """

    name: str
    kind: str
    factors: "tuple[Value, Value] | None" = None
    number: int | bool | None = None

    def plain(self) -> "Value":
        """Return the number as one that a sum does not take up as a product."""
        return Value(self.name, self.kind)

    def called(self, kind: str) -> "Value":
        """Return the same bits under the name of another kind of as many."""
        return Value(self.name, kind)


class _Product(Value):
    """A product of two floats, written where it was asked for once its name is needed.

    Most are taken up by a sum, and never written: a third of all lines.
    """

    __slots__ = ("_assembler", "_both", "_line", "_lines", "_name")

    def __init__(self, assembler: "Assembler", x: Value, y: Value):
        self.kind, self.factors, self.number = x.kind, (x, y), None
        self._assembler, self._both, self._name = assembler, (x, y), ""
        self._lines, self._line = assembler.lines, assembler.later()

    @property
    def name(self) -> str:  # ty: ignore
        """The name, from its first use on that of an instruction."""
        if not self._name:
            a, (x, y) = self._assembler, self._both
            self._name = a.name()
            text = f"fmul {a.type(self.kind)} {x.name}, {y.name}"
            self._lines[self._line] = f"{self._name} = {text}"
        return self._name


class Assembler:
    """The text of one function, an instruction a line, each for `width` lanes at once.

    A sum that one of its terms is a product of is written as one fused multiply-add, and
    LLVM is left no freedom to fuse, reorder or approximate anything: every width and every
    processor then gives the same bits.
    """

    def __init__(self, width: int):
        self.width = width
        self.lines: list[str] = []
        self.entries: list[str] = []
        self.declared: set[str] = set()
        self.block = "entry"
        self._names = 0
        self._labels = 0

    # What the text is made of.

    def type(self, kind: str) -> str:
        """Return LLVM's type for a number of each lane."""
        return vector(_TYPES[kind], self.width)

    def line(self, text: str) -> None:
        """Add a line as it is."""
        self.lines.append(text)

    def name(self) -> str:
        """Return a name that is new."""
        self._names += 1
        return f"%v{self._names}"

    def assign(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def value(self, kind: str, text: str, factors=None) -> Value:
        """Add an instruction and return its result."""
        return Value(self.assign(text), kind, factors)

    def constant(self, number, kind: str) -> Value:
        """Return the same number for all lanes."""
        written = literal(number, kind)
        if self.width > 1:
            written = f"splat ({_TYPES[kind]} {written})"
        if is_float(kind):
            return Value(written, kind)
        return Value(written, kind, None, bool(number) if kind == "bool" else int(number))

    def entry(self, text: str) -> str:
        """Add an instruction to where the function begins and return its result's name."""
        name = self.name()
        self.entries.append(f"{name} = {text}")
        return name

    def intrinsic(self, name: str, *x: Value) -> Value:
        """Return one of LLVM's own functions of numbers of one kind."""
        kind = x[0].kind
        short = _SHORT.get(kind, _TYPES[kind])
        suffix = short if self.width == 1 else f"v{self.width}{short}"
        kind_type = self.type(kind)
        self.declared.add(
            f"declare {kind_type} @llvm.{name}.{suffix}({', '.join([kind_type] * len(x))})"
        )
        arguments = ", ".join(f"{kind_type} {value.name}" for value in x)
        return self.value(kind, f"call {kind_type} @llvm.{name}.{suffix}({arguments})")

    # Blocks and what is carried from one to another.

    def label(self) -> str:
        """Return a label that is new."""
        self._labels += 1
        return f"b{self._labels}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End a block by going to another."""
        self.lines.append(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End a block by going to one of two others."""
        self.lines.append(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def later(self) -> int:
        """Keep a line free for what is known later, and return its place."""
        self.lines.append("")
        return len(self.lines) - 1

    def phi(self, type_: str, *sources: tuple[str, str]) -> str:
        """Return the text of a value that hangs on the block from where one came."""
        pairs = ", ".join(f"[ {name}, %{block} ]" for name, block in sources)
        return f"phi {type_} {pairs}"

    def any(self, condition: Value) -> str:
        """Return the name of one bit: whether a condition holds in any lane."""
        if self.width == 1:
            return condition.name
        # Compared as one number: a reduction would be taken apart lane by lane.
        bits = f"i{self.width}"
        packed = self.assign(f"bitcast {self.type('bool')} {condition.name} to {bits}")
        return self.assign(f"icmp ne {bits} {packed}, 0")

    # Arithmetic.

    def add(self, x: Value, y: Value) -> Value:
        """Return x + y; a product among them is added before it is rounded."""
        if not is_float(x.kind):
            return self._binary("add", x, y)
        if y.factors:
            return self.fma(*y.factors, x)
        if x.factors:
            return self.fma(*x.factors, y)
        return self._binary("fadd", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        """Return x - y; a product among them is taken before it is rounded."""
        if not is_float(x.kind):
            return self._binary("sub", x, y)
        if y.factors:
            return self.fma(self.negative(y.factors[0]), y.factors[1], x)
        if x.factors:
            return self.fma(*x.factors, self.negative(y))
        return self._binary("fsub", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        """Return x y."""
        if not is_float(x.kind):
            return self._binary("mul", x, y)
        return _Product(self, x.plain(), y.plain())

    def divide(self, x: Value, y: Value) -> Value:
        """Return x / y; of whole numbers by 0, and of the least one by -1, as JAX does."""
        if is_float(x.kind):
            return self._binary("fdiv", x, y)
        return self._whole_division(x, y)[0]

    def remainder(self, x: Value, y: Value) -> Value:
        """Return what is left of x / y in whole numbers, with the sign of x."""
        if is_float(x.kind):
            return self._binary("frem", x, y)
        return self._whole_division(x, y)[1]

    def _whole_division(self, x: Value, y: Value) -> tuple[Value, Value]:
        signed = x.kind.startswith("i")
        zero, one = self.constant(0, x.kind), self.constant(1, x.kind)
        nothing = self.compare("eq", y, zero)
        minus = self.constant(-1, x.kind)
        harmless = nothing
        if signed:  # the least number by -1 overflows
            flips = self.compare("eq", y, minus)
            harmless = self.either(nothing, flips)
        safe = self.select(harmless, one, y)
        letter = "s" if signed else "u"
        quotient = self._binary(f"{letter}div", x, safe)
        rest = self._binary(f"{letter}rem", x, safe)
        if signed:
            quotient = self.select(flips, self.subtract(zero, x), quotient)
        return self.select(nothing, minus, quotient), self.select(nothing, x, rest)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """Return x y + z, rounded once."""
        return self.intrinsic("fma", x, y, z)

    def negative(self, x: Value) -> Value:
        """Return -x."""
        if is_float(x.kind):
            return self.value(x.kind, f"fneg {self.type(x.kind)} {x.name}")
        return self.subtract(self.constant(0, x.kind), x)

    def compare(self, how: str, x: Value, y: Value) -> Value:
        """Return whether x is `eq`, `ne`, `lt`, `le`, `gt` or `ge` y; NaN is `ne` all."""
        kind_type = self.type(x.kind)
        if is_float(x.kind):
            condition = "une" if how == "ne" else f"o{how}"
            return self.value("bool", f"fcmp {condition} {kind_type} {x.name}, {y.name}")
        if x.number is not None and y.number is not None:
            both = (np.asarray(value.number, x.kind) for value in (x, y))
            return self.constant(getattr(operator, how)(*both), "bool")
        signed = "" if how in ("eq", "ne") else "s" if x.kind.startswith("i") else "u"
        return self.value("bool", f"icmp {signed}{how} {kind_type} {x.name}, {y.name}")

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Return one of two numbers, lane by lane."""
        if condition.number is not None:
            return then if condition.number else otherwise
        if then.name == otherwise.name:
            return then.plain() if then.factors else then
        kind_type = self.type(then.kind)
        return self.value(
            then.kind,
            f"select {self.type('bool')} {condition.name}, "
            f"{kind_type} {then.name}, {kind_type} {otherwise.name}",
        )

    def both(self, x: Value, y: Value) -> Value:
        """Return the bits that are set in both."""
        return self._binary("and", x, y)

    def either(self, x: Value, y: Value) -> Value:
        """Return the bits that are set in one or both."""
        return self._binary("or", x, y)

    def differing(self, x: Value, y: Value) -> Value:
        """Return the bits that are set in one of them."""
        return self._binary("xor", x, y)

    def opposite(self, x: Value) -> Value:
        """Return all bits turned round."""
        return self._binary("xor", x, self.constant(1 if x.kind == "bool" else -1, x.kind))

    def shift(self, how: str, x: Value, places: Value) -> Value:
        """Return bits shifted by `shl`, `lshr` or `ashr`, also by more places than are."""
        bits = int(_TYPES[x.kind][1:])
        inside = self.compare("lt", places.called(f"uint{bits}"),
                              self.constant(bits, f"uint{bits}"))  # fmt: skip
        zero = self.constant(0, x.kind)
        if how == "ashr":  # only the sign is left
            places = self.select(inside, places, self.constant(bits - 1, x.kind))
            return self._binary(how, x, places)
        places = self.select(inside, places, zero)
        return self.select(inside, self._binary(how, x, places), zero)

    def convert(self, x: Value, kind: str) -> Value:
        """Return a number as another kind; floats too large for it saturate."""
        if x.kind == kind:
            return x
        if x.number is not None and not is_float(kind):
            return self.constant(np.asarray(x.number).astype(kind), kind)
        old, new = self.type(x.kind), self.type(kind)
        if kind == "bool":
            return self.compare("ne", x, self.constant(0, x.kind))
        if is_float(kind):
            if is_float(x.kind):
                how = "fpext" if kind == "float64" else "fptrunc"
            else:
                how = "sitofp" if x.kind.startswith("i") else "uitofp"
            return self.value(kind, f"{how} {old} {x.name} to {new}")
        if is_float(x.kind):
            letter = "s" if kind.startswith("i") else "u"
            into = vector_suffix(_TYPES[kind], self.width)
            outof = vector_suffix(_SHORT[x.kind], self.width)
            function = f"llvm.fpto{letter}i.sat.{into}.{outof}"
            self.declared.add(f"declare {new} @{function}({old})")
            return self.value(kind, f"call {new} @{function}({old} {x.name})")
        before, after = (int(_TYPES[k][1:]) for k in (x.kind, kind))
        if before == after:
            return x.called(kind)
        how = "trunc" if after < before else "sext" if x.kind.startswith("i") else "zext"
        return self.value(kind, f"{how} {old} {x.name} to {new}")

    def bits_as(self, x: Value, kind: str) -> Value:
        """Return the same bits as another kind."""
        if _TYPES[x.kind] == _TYPES[kind]:
            return x.called(kind)
        old, new = self.type(x.kind), self.type(kind)
        return self.value(kind, f"bitcast {old} {x.name} to {new}")

    def _binary(self, operation: str, x: Value, y: Value) -> Value:
        if operation in _KNOWN and x.number is not None and y.number is not None:
            with np.errstate(over="ignore"):
                both = (np.asarray(value.number, x.kind) for value in (x, y))
                return self.constant(_KNOWN[operation](*both), x.kind)
        return self.value(x.kind, f"{operation} {self.type(x.kind)} {x.name}, {y.name}")


@functools.cache
def kind_of(dtype) -> str:
    """Return the name of a dtype, which numpy takes microseconds to find.

    JAX has dtypes that numpy does not know, those of random keys.
    """
    return getattr(dtype, "name", None) or np.dtype(dtype).name


def is_float(kind: str) -> bool:
    """Return whether a kind is one of floating-point numbers."""
    return kind.startswith("float")


def element(kind: str) -> str:
    """Return LLVM's type for one number."""
    return _TYPES[kind]


def known(kind: str) -> bool:
    """Return whether numbers of a kind can be printed."""
    return kind in _TYPES


def vector(type_: str, width: int) -> str:
    """Return LLVM's type for `width` numbers side by side."""
    return type_ if width == 1 else f"<{width} x {type_}>"


def vector_suffix(short: str, width: int) -> str:
    """Return what the names of LLVM's functions end with."""
    return short if width == 1 else f"v{width}{short}"


def literal(number, kind: str) -> str:
    """Return a number as LLVM writes it: floats by their bits."""
    if is_float(kind):
        # LLVM writes a single-precision number by the bits of the double that it is.
        exact = np.float64(np.float32(number)) if kind == "float32" else np.float64(number)
        return "0x" + struct.pack(">d", exact).hex().upper()
    if kind == "bool":
        return "true" if number else "false"
    return str(int(number))
