"""Operator overloading for doubles in LLVM IR."""

from collections.abc import Sequence

from .argument_reduction import KIND
from .assembler import Assembler, Value


class Numbers:
    """A double with overloaded operators."""

    def __init__(self, assembler: Assembler, value: Value):
        self.assembler, self.value = assembler, value

    def _as_value(self, other) -> Value:
        if isinstance(other, Numbers):
            return other.value
        return self.assembler.constant(other, KIND)

    def _new(self, value: Value) -> "Numbers":
        return Numbers(self.assembler, value)

    def __add__(self, other):
        return self._new(self.assembler.add(self.value, self._as_value(other)))

    def __radd__(self, other):
        return self._new(self.assembler.add(self._as_value(other), self.value))

    def __sub__(self, other):
        return self._new(self.assembler.subtract(self.value, self._as_value(other)))

    def __rsub__(self, other):
        return self._new(self.assembler.subtract(self._as_value(other), self.value))

    def __mul__(self, other):
        return self._new(self.assembler.multiply(self.value, self._as_value(other)))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._new(self.assembler.divide(self.value, self._as_value(other)))

    def __rtruediv__(self, other):
        return self._new(self.assembler.divide(self._as_value(other), self.value))

    def __neg__(self):
        return self._new(self.assembler.negative(self.value))

    def __abs__(self):
        return self._new(self.assembler.intrinsic("fabs", self.value))

    def same(self, number: float) -> "Numbers":
        """Return a constant."""
        return self._new(self.assembler.constant(number, KIND))

    def root(self) -> "Numbers":
        """Return the square root."""
        return self._new(self.assembler.intrinsic("sqrt", self.value))

    def nearest(self) -> "Numbers":
        """Return the nearest integer."""
        return self._new(self.assembler.intrinsic("rint", self.value))

    def fused(self, factor: "Numbers | float", summand: "Numbers | float") -> "Numbers":
        """Return self * factor + summand, rounded once."""
        operands = self._as_value(factor), self._as_value(summand)
        return self._new(self.assembler.fma(self.value, *operands))

    def rounded(self) -> "Numbers":
        """Return the rounded number, which no sum fuses."""
        return self._new(self.value.plain())

    def is_(self, how: str, other: "Numbers | float") -> Value:
        """Return whether self is `lt`, `gt`, ... another number."""
        return self.assembler.compare(how, self.value, self._as_value(other))

    def where(self, condition: Value, other: "Numbers | float") -> "Numbers":
        """Return self where a condition holds, otherwise the other number."""
        return self._new(
            self.assembler.select(condition, self.value, self._as_value(other))
        )

    def signed_as(self, other: "Numbers") -> "Numbers":
        """Return |self| with the sign of another number."""
        return self._new(self.assembler.intrinsic("copysign", self.value, other.value))

    def polynomial(self, coefficients: Sequence[float]) -> "Numbers":
        """Evaluate a polynomial; the constant coefficient comes first."""
        total = self.same(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.fused(self, coefficient)
        return total

    def whole(self) -> Value:
        """Convert an integral value of moderate size to int64."""
        return self.assembler.convert(self.value, "int64")
