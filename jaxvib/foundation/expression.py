"""A parser and evaluator of formulas such as `m * X * w**2`."""

import ast
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .suggestions import did_you_mean, nearest

# Limits on characters and syntax nodes: far above any readable formula, and low enough
# that a hostile one costs nothing.
_LONGEST, _MOST_NODES = 500, 200
CONSTANTS = {"pi": math.pi}
FUNCTIONS = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "abs": abs, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "atan2": math.atan2, "hypot": math.hypot,
    "min": min, "max": max,
}  # fmt: skip
_ARGUMENTS = {"atan2": 2, "hypot": 2, "min": 2, "max": 2}  # 1 for all others
_OPERATIONS: dict[type, Callable] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.UAdd: lambda a: a,
    ast.USub: lambda a: -a,
}
ALLOWED = (
    "numbers, names, + - * / ** and brackets, pi, " + ", ".join(sorted(FUNCTIONS)) + "; "
    "names with other characters are quoted"
)


class Expression:
    """A formula: numbers, names, `+ - * / **`, brackets, and a few functions.

    A name is a word or words joined by dots, `loads.road.law.frequency`; one with other
    characters is quoted, `'modules.ground-cart.mass'`. **Raises:** `ValueError` with
    the position of the first invalid character. No part of the text is executed.
    """

    def __init__(self, text: str):
        self.text = text
        if len(text) > _LONGEST:
            raise ValueError(f"a formula of {len(text)} characters; allowed: {_LONGEST}")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            place = max((getattr(error, "offset", None) or 1) - 1, 0)
            raise ValueError(self._message_at(place, "is not a formula")) from None
        if sum(1 for _ in ast.walk(tree)) > _MOST_NODES:
            raise ValueError(f"{text[:40]!r}... has more than {_MOST_NODES} parts")
        self.tree = tree.body
        self._places: dict[str, int] = {}
        self._check(self.tree)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order of appearance, without pi."""
        return tuple(self._places)

    def value(self, values: Mapping[str, Any], functions: Mapping[str, Callable]) -> Any:
        """Evaluate the formula with these values of its names and these functions.

        **Raises:** `ValueError` for a name that is missing in `values`, with its
        position, or if the formula has no value.
        """
        self.check_names(values)
        try:
            return self._evaluate_node(self.tree, values, functions)
        except (ArithmeticError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"{self.text!r} has no value: {reason}") from None

    def check_names(self, known: Collection[str]) -> None:
        """Raise `ValueError` for an unknown name, with its position."""
        for name in self.names:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near!r}? " if near else ""
                fault = self._message_at(self._places[name], f"{name!r} is not known")
                raise ValueError(f"{fault}; {hint}known: {', '.join(list(known)[:12])}")

    def _evaluate_node(self, node, values, functions):
        if isinstance(node, ast.BinOp):
            left = self._evaluate_node(node.left, values, functions)
            power = isinstance(node.op, ast.Pow) and _integer_exponent(node.right)
            # An integer power, for any base: JAX's `x ** 2.0` has no slope below 0.
            right = power or self._evaluate_node(node.right, values, functions)
            found = _OPERATIONS[type(node.op)](left, right)
            if isinstance(found, complex):
                raise ArithmeticError("root of a negative number")
            return found
        if isinstance(node, ast.UnaryOp):
            return _OPERATIONS[type(node.op)](
                self._evaluate_node(node.operand, values, functions)
            )
        if isinstance(node, ast.Call):
            arguments = [self._evaluate_node(each, values, functions) for each in node.args]
            return functions[node.func.id](*arguments)
        name = named(node)
        if name is None:
            return float(node.value)  # ensured by `_check`
        return CONSTANTS[name] if name in CONSTANTS else values[name]

    def _check(self, node) -> None:
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            if type(node.op) not in _OPERATIONS:
                raise ValueError(self._refused(node))
            parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [
                node.operand
            ]  # fmt: skip
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in FUNCTIONS:
                hint = did_you_mean(name, FUNCTIONS)
                raise ValueError(f"{self._refused(node)}{hint}")
            count = _ARGUMENTS.get(name, 1)
            if node.keywords or len(node.args) != count:
                fault = f"{name} takes {count} argument{'s' * (count > 1)}"
                raise ValueError(self._message_at(node.col_offset, fault))
            parts = node.args
        elif name := named(node):
            if name not in CONSTANTS:
                self._places.setdefault(name, node.col_offset)
            parts = []
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            parts = []
            if not abs(node.value) < 1e300:
                raise ValueError(self._message_at(node.col_offset, "is too large"))
        else:
            raise ValueError(self._refused(node))
        for part in parts:
            self._check(part)

    def _refused(self, node) -> str:
        place = node.col_offset
        return f"{self._message_at(place, 'is not allowed')}; allowed: {ALLOWED}"

    def _message_at(self, place: int, fault: str) -> str:
        text = self.text.strip()
        token = text[place : place + 20] or "the end"
        return f"formula {text!r}, character {place + 1}, at {token!r}: {fault}"


def named(node: ast.AST) -> str | None:
    """Return the name that a part of a formula is, None if it is another part."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        return node.value
    if isinstance(node, ast.Attribute):
        above = named(node.value) if not isinstance(node.value, ast.Constant) else None
        return above and f"{above}.{node.attr}"
    return None


def _integer_exponent(node) -> int | None:
    """Return a literal integer exponent from 1 to 16, else `None`."""
    known = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if known and 1 <= node.value <= 16 else None
