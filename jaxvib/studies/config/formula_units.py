"""Dimensions of formulas: of what they give, and variables converted once more."""

import ast
import itertools
import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...foundation.expression import CONSTANTS, FUNCTIONS, Expression, named
from ...foundation.units import kind_of, readings, unit_text

# Powers of m, kg, s, rad and A, as in `Unit`.
_NONE = (0.0,) * 5
_TURNING, _RATE = (0, 0, -1, 1, 0), (0, 0, -1, 0, 0)  # powers of rad/s and 1/s
_ACCELERATION = (1, 0, -2, 0, 0)  # powers of m/s^2
_OF_TURNS = (math.pi, 60.0, 1 / 60)  # in conversions of turns and minutes
_MOST_COUNTED = 12  # numbers above are no counts, but quantities without their unit
_MOST_NUMBERS = 8  # of a product, each of whose parts may be a conversion


class Named(NamedTuple):
    """A name in a formula: the powers of its unit, None if it has none.

    `unit`: the one in which it was given; its SI value is `factor` times its number.
    """

    powers: tuple[float, ...] | None = None
    unit: str = ""
    factor: float = 1.0


class _Term(NamedTuple):
    """A product: its powers, its numbers and its names, each with an exponent."""

    powers: tuple[float, ...] | None
    numbers: tuple[tuple[ast.expr, float], ...] = ()
    names: tuple[tuple[str, float], ...] = ()

    def to_the(self, power: float) -> "_Term":
        powers = self.powers and tuple(power * each for each in self.powers)
        numbers = tuple((node, power * n) for node, n in self.numbers)
        return _Term(powers, numbers, tuple((name, power * n) for name, n in self.names))

    def times(self, other: "_Term") -> "_Term":
        powers = None
        if self.powers is not None and other.powers is not None:
            powers = tuple(map(sum, zip(self.powers, other.powers, strict=True)))
        return _Term(powers, self.numbers + other.numbers, self.names + other.names)


class _OnceMoreError(Exception):
    """A product that converts a name once more, and the product to write instead."""

    def __init__(self, name: str, node: ast.expr, instead: ast.expr):
        super().__init__(name)
        self.name, self.node, self.instead = name, node, instead


def named_in(unit: str | None, asked: str | None = None) -> Named:
    """Return a name whose number is in a unit, in the reading that `asked` is in."""
    if not unit:
        return Named()
    try:
        possible = readings(unit)
    except ValueError:  # with an unknown exponent
        return Named()
    wanted = readings(asked or unit)[0].powers
    found = next((each for each in possible if each.powers == wanted), possible[0])
    return Named(found.powers, unit, found.factor)


def unit_of_formula(
    formula: Expression, names: Mapping[str, Named], asked: str | None
) -> tuple[float, ...] | None:
    """Return the powers of what a formula gives, None if names without a unit decide.

    `asked`: the unit of its place, None if unknown. Angles count as numbers, as in
    `unbalance * speed**2`. A number other than a small count may stand for a quantity,
    unless a name was given in a unit that is not of SI. **Raises:** `ValueError` for
    another dimension than that of the place, or a name that is converted once more,
    with the line to write instead.
    """
    try:
        found = _Walk(names).whole(formula.tree)
    except _OnceMoreError as error:
        given = names[error.name]
        instead = ast.unparse(_Replaced(error.node, error.instead).visit(formula.tree))
        raise ValueError(
            f'"{formula.text}" converts {error.name}, given in {given.unit}, once more: in '
            f"formulas it has its value in {unit_text(given.powers or _NONE)} "
            f'(1 {given.unit} is {given.factor:.6g}); write "{instead}"'
        ) from None
    if not found.names or found.powers is None:
        return None
    if asked is None:
        return None if _may_have_units(found, names) else found.powers
    expected = named_in(asked).powers if asked else _NONE
    if expected is None or _fits(found, expected, names):
        return expected
    if {found.powers, expected} == {_RATE, _TURNING}:
        raise ValueError(
            f'"{formula.text}": {kind_of(found.powers)} is given where '
            f"{kind_of(expected, asked)} is expected, 2 pi a turn; give "
            f"{found.names[0][0]} in {'rpm, Hz or ' * (expected == _TURNING)}{asked}"
        )
    missing = tuple(b - a for a, b in zip(found.powers, expected, strict=True))
    raise ValueError(
        f'"{formula.text}": {kind_of(found.powers)} is given where '
        f'{kind_of(expected, asked)} is expected; write "{formula.text} * factor" with '
        f'variables.factor = {{ value = 1.0, unit = "{unit_text(missing)}" }}'
    )


def _may_have_units(found: _Term, names: Mapping[str, Named]) -> bool:
    """Return whether a number may stand for a quantity: no count, and all else in SI."""
    of_si = all(_named(names, name).factor == 1.0 for name, _ in found.names)
    return of_si and not all(_is_count(_number(node)) for node, _ in found.numbers)


def _fits(found: _Term, expected: tuple, names: Mapping[str, Named]) -> bool:
    assert found.powers is not None, "known"
    if _may_have_units(found, names):
        return True
    if found.powers in (_RATE, _TURNING) and expected in (_RATE, _TURNING):
        # Revolutions and radians per second differ by 2 pi: only a formula tells them
        # apart, v / r or 2 pi n.
        whole = any(_named(names, name).powers == found.powers for name, _ in found.names)
        turned = any(_number(node) == math.pi for node, _ in found.numbers)
        return found.powers == expected or not whole or turned
    return _same(found.powers, expected)


def _named(names: Mapping[str, Named], name: str) -> Named:
    return names.get(name, Named())


def _same(first: tuple, second: tuple) -> bool:
    """Return whether dimensions are equal but for angles."""
    apart = [abs(a - b) for a, b in zip(first, second, strict=True)]
    return max(apart[:3] + apart[4:]) < 1e-9  # powers of roots are rounded


def _is_count(number: float) -> bool:
    """Return whether a number counts: 2, 1/2, 3/4, pi."""
    return number == math.pi or (
        abs(number) <= _MOST_COUNTED and float(_MOST_COUNTED * number).is_integer()
    )


class _Walk:
    """Evaluates the dimensions of a formula's parts."""

    def __init__(self, names: Mapping[str, Named]):
        self.names = names

    def whole(self, node) -> _Term:
        """Return the term of a part that is no factor of a product."""
        found = self.term(node)
        for name, power in found.names:
            if some := self._once_more(found, name, power):
                instead = self._instead(node, found, name, power, some)
                raise _OnceMoreError(name, node, instead)
        return found

    def term(self, node) -> _Term:
        name = named(node)
        if name in CONSTANTS:
            return _Term(_NONE, ((node, 1.0),))
        if name is not None:
            return _Term(_named(self.names, name).powers, (), ((name, 1.0),))
        if isinstance(node, ast.Constant):
            return _Term(_NONE, ((node, 1.0),))
        if isinstance(node, ast.UnaryOp):
            return self.term(node.operand)
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._sum([node.left, node.right])
        left = self.term(node.left)
        if isinstance(node.op, ast.Pow):
            return self._power(left, node.right)
        right = self.term(node.right)
        return left.times(right.to_the(-1.0) if isinstance(node.op, ast.Div) else right)

    def _power(self, base: _Term, node) -> _Term:
        exponent = Expression(ast.unparse(node))
        if exponent.names:
            return _Term(base.powers if base.powers and not any(base.powers) else None)
        return base.to_the(exponent.value({}, FUNCTIONS))

    def _called(self, node) -> _Term:
        name = node.func.id
        if name == "sqrt":
            return self.term(node.args[0]).to_the(0.5)
        if name in ("abs", "min", "max", "hypot"):
            return self._sum(node.args)
        found = self._sum(node.args) if name == "atan2" else self.whole(node.args[0])
        wrong = found.names and found.powers and not _same(found.powers, _NONE)
        if wrong and name != "atan2" and not _may_have_units(found, self.names):
            raise ValueError(f"{name} of {kind_of(found.powers)}; allowed: of a number")
        return _Term(None if found.powers is None else _NONE)

    def _sum(self, nodes) -> _Term:
        terms = [self.whole(node) for node in nodes]
        known = [t.powers for t in terms if t.names and t.powers is not None]
        for powers in known:
            if not _same(powers, known[0]):
                raise ValueError(f"adds {kind_of(known[0])} and {kind_of(powers)}")
        names = tuple(each for term in terms for each in term.names)
        bare = [node for node, t in zip(nodes, terms, strict=True) if not t.names]
        bare = [node for node in bare if Expression(ast.unparse(node)).value({}, FUNCTIONS)]
        for name, _ in names if bare else ():
            given = _named(self.names, name)
            if given.factor != 1.0:
                raise ValueError(
                    f"{ast.unparse(bare[0])} has no unit beside {name}, given in "
                    f"{given.unit}; make it a variable with its unit"
                )
        return _Term(known[0] if known else None, (), names)

    def _once_more(self, term: _Term, name: str, power: float) -> Collection[ast.expr]:
        """Return the numbers of a product by which it converts a name once more."""
        given = _named(self.names, name)
        if given.factor == 1.0 or given.powers is None or not power:
            return ()
        numbers = [node for node, _ in term.numbers]
        values = {node: _number(node) for node in numbers}
        if 0.0 in values.values():
            return ()
        factors = given.factor**power, given.factor**-power  # the wrong way round too
        few = term.numbers[:_MOST_NUMBERS]
        for count in range(1, len(few) + 1):
            for some in itertools.combinations(few, count):
                product = math.prod(values[node] ** n for node, n in some)
                if any(math.isclose(abs(product), f, rel_tol=1e-3) for f in factors):
                    return [node for node, _ in some]
        if given.powers == _ACCELERATION:
            return [node for node in numbers if 9.8 <= abs(values[node]) <= 9.81]
        if given.powers != _TURNING or "." in name:  # a path, as of a 60th harmonic
            return ()
        # 12.566 is 2 * 6.283; 44, the teeth of a wheel, is not 7 * 6.283.
        ratio = self._ratio(term, given, power)
        known = [(value, each) for value in values.values() for each in _OF_TURNS]
        if any(value % 1 for value in values.values()):
            known += [(ratio, count) for count in (1 / 4, 1 / 2, 2, 3, 4)]
        turned = any(math.isclose(a, b, rel_tol=1e-3) for a, b in known)
        return numbers if turned else ()

    def _ratio(self, term: _Term, given: Named, power: float) -> float:
        """Return what is left of a product's numbers without the conversion."""
        numbers = math.prod(_number(node) ** n for node, n in term.numbers)
        return abs(numbers / given.factor**power)

    def _instead(self, node, term: _Term, name: str, power: float, some) -> ast.expr:
        """Return a product without some of its numbers; with what is left, if all."""
        plain = _without(node, some) or node
        if len(some) < len(term.numbers):
            return plain
        ratio = self._ratio(term, self.names[name], power)
        if _is_near_count(ratio):
            ratio = round(_MOST_COUNTED * ratio) / _MOST_COUNTED
        elif not any(math.isclose(_number(each), math.pi, rel_tol=1e-3) for each in some):
            return plain
        if ratio == 1.0:
            return plain
        left = int(ratio) if ratio % 1 == 0 else float(f"{ratio:.6g}")
        return ast.BinOp(ast.Constant(left), ast.Mult(), plain)


def _number(node: ast.expr) -> float:
    name = named(node)
    return CONSTANTS[name] if name in CONSTANTS else float(node.value)  # ty: ignore


def _is_near_count(ratio: float) -> bool:
    near = round(_MOST_COUNTED * ratio) / _MOST_COUNTED
    return ratio <= _MOST_COUNTED and math.isclose(ratio, near, rel_tol=2e-3)


def _without(node: ast.expr, some: Collection[ast.expr]) -> ast.expr | None:
    """Return a product without some of its numbers, None if nothing is left."""
    if isinstance(node, ast.UnaryOp):
        inner = _without(node.operand, some)
        return inner and ast.UnaryOp(node.op, inner)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base = _without(node.left, some)
        return base and ast.BinOp(base, node.op, node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        left, right = (_without(each, some) for each in (node.left, node.right))
        if right is None:
            return left
        if left is None and isinstance(node.op, ast.Mult):
            return right
        return ast.BinOp(left or ast.Constant(1), node.op, right)
    return None if any(node is each for each in some) else node


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the new part for the old one."""
        return self.new if node is self.old else super().generic_visit(node)
