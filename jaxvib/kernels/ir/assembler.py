"""Generation of LLVM IR, for vectors of lanes or for a single lane."""

import dataclasses
import functools
import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

# LLVM's names of JAX's dtypes. LLVM integers have no sign: the dtype gives the
# operation.
_TYPES = {
    "float64": "double",
    "float32": "float",
    "bool": "i1",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_SHORT = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32"}
# Constant folding of integer operations.
_KNOWN = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


class LoweringError(ValueError):
    """Raised if a function cannot be lowered; `place`: the line of the user's code."""

    place = ""

    def __str__(self) -> str:
        return super().__str__() + self.place


@dataclasses.dataclass(slots=True)
class Value:
    """A number of each lane: its name in the IR and its dtype.

    `factors`: those of a floating product, which a sum may fuse into a multiply-add.
    `number`: the value of an integer or boolean constant, such as an array index.
    """

    name: str
    kind: str
    factors: "tuple[Value, Value] | None" = None
    number: int | bool | None = None

    def plain(self) -> "Value":
        """Return the number without its factors, so that no sum fuses it."""
        return Value(self.name, self.kind)

    def reinterpret(self, kind: str) -> "Value":
        """Reinterpret the number as another dtype of the same LLVM type."""
        return Value(self.name, kind)


class _Product(Value):
    """A floating product, emitted at its place of creation once its name is used.

    Most products are fused into a sum and never emitted: a third of all lines.
    """

    __slots__ = ("_assembler", "_both", "_line", "_lines", "_name")

    def __init__(self, assembler: "Assembler", x: Value, y: Value):
        self.kind, self.factors, self.number = x.kind, (x, y), None
        self._assembler, self._both, self._name = assembler, (x, y), ""
        self._lines, self._line = assembler.lines, assembler.reserve_line()

    @property
    def name(self) -> str:  # ty: ignore
        """The name; its first use emits the instruction."""
        if not self._name:
            a, (x, y) = self._assembler, self._both
            self._name = a.name()
            text = f"fmul {a.type(self.kind)} {x.name}, {y.name}"
            self._lines[self._line] = f"{self._name} = {text}"
        return self._name


class Assembler:
    """The IR of one function, one instruction per line, for `width` lanes at once.

    A product in a sum is emitted as a fused multiply-add, and LLVM may not fuse,
    reorder or approximate anything else: every vector width and every processor gives
    the same bits.
    """

    def __init__(self, width: int):
        self.width = width
        self.lines: list[str] = []
        self.entries: list[str] = []
        self.declared: set[str] = set()
        self.block = "entry"
        self._names = 0
        self._labels = 0

    # Types, names and instructions.

    def type(self, kind: str) -> str:
        """Return the LLVM type of a number of each lane."""
        return vector(_TYPES[kind], self.width)

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append(text)

    def name(self) -> str:
        """Return a new name."""
        self._names += 1
        return f"%v{self._names}"

    def assign(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def value(self, kind: str, text: str, factors: Any = None) -> Value:
        """Append an instruction and return its result."""
        return Value(self.assign(text), kind, factors)

    def constant(self, number: Any, kind: str) -> Value:
        """Return the same number for all lanes."""
        written = literal(number, kind)
        if self.width > 1:
            written = f"splat ({_TYPES[kind]} {written})"
        if is_float(kind):
            return Value(written, kind)
        return Value(written, kind, None, bool(number) if kind == "bool" else int(number))

    def entry(self, text: str) -> str:
        """Append an instruction to the entry block and return its result's name."""
        name = self.name()
        self.entries.append(f"{name} = {text}")
        return name

    def intrinsic(self, name: str, *x: Value) -> Value:
        """Call an LLVM intrinsic on numbers of one dtype."""
        kind = x[0].kind
        short = _SHORT.get(kind, _TYPES[kind])
        suffix = short if self.width == 1 else f"v{self.width}{short}"
        kind_type = self.type(kind)
        self.declared.add(
            f"declare {kind_type} @llvm.{name}.{suffix}({', '.join([kind_type] * len(x))})"
        )
        arguments = ", ".join(f"{kind_type} {value.name}" for value in x)
        return self.value(kind, f"call {kind_type} @llvm.{name}.{suffix}({arguments})")

    def call_each(self, name: str, kinds: Sequence[str], *x: Value) -> list[str]:
        """Call a function of the program for each lane; return the names of its results."""
        self.declared.add(name)
        types = [_TYPES[kind] for kind in kinds]
        whole = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
        results = ["poison"] * len(types)
        for lane in range(self.width):
            given = [value.name for value in x]
            if self.width > 1:
                given = [
                    self.assign(f"extractelement {self.type(v.kind)} {v.name}, i32 {lane}")
                    for v in x
                ]
            pairs = zip(x, given, strict=True)
            arguments = ", ".join(f"{_TYPES[v.kind]} {one}" for v, one in pairs)
            found = self.assign(f"call {whole} @{name}({arguments})")
            for k, (type_, kind) in enumerate(zip(types, kinds, strict=True)):
                one = found
                if len(types) > 1:
                    one = self.assign(f"extractvalue {whole} {found}, {k}")
                if self.width > 1:
                    text = f"{self.type(kind)} {results[k]}, {type_} {one}, i32 {lane}"
                    one = self.assign(f"insertelement {text}")
                results[k] = one
        return results

    def copy_bytes(self, target: str, source: str, size: int) -> None:
        """Copy bytes from a pointer to another."""
        self.declared.add("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        self.line(
            f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, "
            f"i64 {size}, i1 false)"
        )

    def loaded(self, kind: str, name: str) -> Value:
        """Return a number as it was loaded from memory, where booleans are bytes."""
        if kind == "bool":
            zero = self.constant(0, "uint8").name
            name = self.assign(f"icmp ne {self.type('uint8')} {name}, {zero}")
        return Value(name, kind)

    def storable(self, value: Value) -> str:
        """Return the name of a number as it is stored in memory."""
        if value.kind != "bool":
            return value.name
        return self.assign(f"zext {self.type('bool')} {value.name} to {self.type('uint8')}")

    def same(self, value: Value, width: int) -> Value:
        """Return a single number in each place of a vector."""
        if width == 1:
            return value
        if value.number is not None:
            return self.constant(value.number, value.kind)
        single = _TYPES[value.kind]
        several = vector(single, width)
        first = self.assign(f"insertelement {several} poison, {single} {value.name}, i64 0")
        zeros = f"<{width} x i32> zeroinitializer"
        name = self.assign(f"shufflevector {several} {first}, {several} poison, {zeros}")
        return Value(name, value.kind)

    # Basic blocks and phi nodes.

    def label(self) -> str:
        """Return a new label."""
        self._labels += 1
        return f"b{self._labels}"

    def begin(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End a block with an unconditional branch."""
        self.lines.append(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End a block with a conditional branch."""
        self.lines.append(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def reserve_line(self) -> int:
        """Reserve a line that is filled later, and return its index."""
        self.lines.append("")
        return len(self.lines) - 1

    def phi(self, type_: str, *sources: tuple[str, str]) -> str:
        """Return the text of a phi node of (name, block) pairs."""
        pairs = ", ".join(f"[ {name}, %{block} ]" for name, block in sources)
        return f"phi {type_} {pairs}"

    def any(self, condition: Value) -> str:
        """Return the name of a bit: whether a condition holds in any lane."""
        if self.width == 1:
            return condition.name
        # Compared as one integer: LLVM would scalarise a reduction.
        bits = f"i{self.width}"
        packed = self.assign(f"bitcast {self.type('bool')} {condition.name} to {bits}")
        return self.assign(f"icmp ne {bits} {packed}, 0")

    # Arithmetic.

    def add(self, x: Value, y: Value) -> Value:
        """Return x + y, with a product among them fused."""
        if not is_float(x.kind):
            return self._binary("add", x, y)
        if y.factors:
            return self.fma(*y.factors, x)
        if x.factors:
            return self.fma(*x.factors, y)
        return self._binary("fadd", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        """Return x - y, with a product among them fused."""
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
        """Return x / y; integers by 0, and the least one by -1, as in JAX."""
        if is_float(x.kind):
            return self._binary("fdiv", x, y)
        return self._whole_division(x, y)[0]

    def remainder(self, x: Value, y: Value) -> Value:
        """Return the remainder of x / y, with the sign of x."""
        if is_float(x.kind):
            both = [self.convert(value, "float64") for value in (x, y)]
            (rest,) = self.call_each("remainder", ["float64"], *both)
            return self.convert(Value(rest, "float64"), x.kind)
        return self._whole_division(x, y)[1]

    def _whole_division(self, x: Value, y: Value) -> tuple[Value, Value]:
        signed = x.kind.startswith("i")
        zero, one = self.constant(0, x.kind), self.constant(1, x.kind)
        nothing = self.compare("eq", y, zero)
        minus = self.constant(-1, x.kind)
        harmless = nothing
        if signed:  # the least integer by -1 overflows
            flips = self.compare("eq", y, minus)
            harmless = self.bitwise_or(nothing, flips)
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

    def bitwise_and(self, x: Value, y: Value) -> Value:
        """Return the bitwise and."""
        return self._binary("and", x, y)

    def bitwise_or(self, x: Value, y: Value) -> Value:
        """Return the bitwise or."""
        return self._binary("or", x, y)

    def bitwise_xor(self, x: Value, y: Value) -> Value:
        """Return the bitwise exclusive or."""
        return self._binary("xor", x, y)

    def bitwise_not(self, x: Value) -> Value:
        """Return the bitwise complement."""
        return self._binary("xor", x, self.constant(1 if x.kind == "bool" else -1, x.kind))

    def shift(self, how: str, x: Value, places: Value) -> Value:
        """Shift by `shl`, `lshr` or `ashr`, also by more than the number of bits."""
        bits = int(_TYPES[x.kind][1:])
        inside = self.compare("lt", places.reinterpret(f"uint{bits}"),
                              self.constant(bits, f"uint{bits}"))  # fmt: skip
        zero = self.constant(0, x.kind)
        if how == "ashr":  # only the sign remains
            places = self.select(inside, places, self.constant(bits - 1, x.kind))
            return self._binary(how, x, places)
        places = self.select(inside, places, zero)
        return self.select(inside, self._binary(how, x, places), zero)

    def convert(self, x: Value, kind: str) -> Value:
        """Convert to another dtype; floats out of its range saturate."""
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
            return x.reinterpret(kind)
        how = "trunc" if after < before else "sext" if x.kind.startswith("i") else "zext"
        return self.value(kind, f"{how} {old} {x.name} to {new}")

    def bitcast(self, x: Value, kind: str) -> Value:
        """Bitcast to another dtype."""
        if _TYPES[x.kind] == _TYPES[kind]:
            return x.reinterpret(kind)
        old, new = self.type(x.kind), self.type(kind)
        return self.value(kind, f"bitcast {old} {x.name} to {new}")

    def _binary(self, operation: str, x: Value, y: Value) -> Value:
        if operation in _KNOWN and x.number is not None and y.number is not None:
            with np.errstate(over="ignore"):
                both = (np.asarray(value.number, x.kind) for value in (x, y))
                return self.constant(_KNOWN[operation](*both), x.kind)
        return self.value(x.kind, f"{operation} {self.type(x.kind)} {x.name}, {y.name}")


@functools.cache
def kind_of(dtype: Any) -> str:
    """Return the name of a dtype; cached, as NumPy takes microseconds to find it.

    JAX has dtypes unknown to NumPy, those of random keys.
    """
    return getattr(dtype, "name", None) or np.dtype(dtype).name


@functools.cache
def is_float(kind: str) -> bool:
    """Return whether a dtype is floating."""
    return kind.startswith("float")


def storage(kind: str) -> str:
    """Return the LLVM type of a scalar in memory."""
    return "i8" if kind == "bool" else _TYPES[kind]


def known(kind: str) -> bool:
    """Return whether a dtype can be lowered."""
    return kind in _TYPES


@functools.cache
def vector(type_: str, width: int) -> str:
    """Return the LLVM type of a vector of `width` numbers."""
    return type_ if width == 1 else f"<{width} x {type_}>"


def vector_suffix(short: str, width: int) -> str:
    """Return the type suffix of an LLVM intrinsic."""
    return short if width == 1 else f"v{width}{short}"


def literal(number: Any, kind: str) -> str:
    """Return an LLVM literal; floats by their bits."""
    if is_float(kind):
        # LLVM spells a single-precision literal by the bits of the equal double.
        exact = np.float64(np.float32(number)) if kind == "float32" else np.float64(number)
        return "0x" + struct.pack(">d", exact).hex().upper()
    if kind == "bool":
        return "true" if number else "false"
    return str(int(number))
