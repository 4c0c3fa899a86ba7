"""Conversion of quantities with units, such as `5 Hz` and `2 kN/mm`, to SI units."""

import functools
import math
import re
from typing import NamedTuple

from .suggestions import nearest

_NUMBER = r"(?>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_UNIT = r"(?:(?<=\s)1/)?[A-Za-zµ°%][\w°%²³^/*·\s.-]*?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})\s*")
_FACTOR = re.compile(r"([A-Za-zµ°%]+)(?:\^(-?\d+(?:\.\d+)?)|([²³]))?")
_GRAVITY = 9.80665  # m/s^2, standard gravity


class Unit(NamedTuple):
    """A unit: its factor to SI units, and its powers of m, kg, s and rad."""

    factor: float
    powers: tuple[float, float, float, float]


_BASE = {
    "m": Unit(1.0, (1, 0, 0, 0)),
    "g": Unit(1e-3, (0, 1, 0, 0)),
    "s": Unit(1.0, (0, 0, 1, 0)),
    "rad": Unit(1.0, (0, 0, 0, 1)),
    "N": Unit(1.0, (1, 1, -2, 0)),
    "Pa": Unit(1.0, (-1, 1, -2, 0)),
    "J": Unit(1.0, (2, 1, -2, 0)),
    "W": Unit(1.0, (2, 1, -3, 0)),
    "Nm": Unit(1.0, (2, 1, -2, 0)),
    # A cycle is a whole revolution: 1 Hz is 2 pi rad/s.
    "Hz": Unit(2 * math.pi, (0, 0, -1, 1)),
}
_PREFIXES = {"": 1.0, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3,
             "M": 1e6, "G": 1e9}  # fmt: skip
_OTHERS = {
    "min": Unit(60.0, (0, 0, 1, 0)),
    "h": Unit(3600.0, (0, 0, 1, 0)),
    "t": Unit(1e3, (0, 1, 0, 0)),
    "deg": Unit(math.pi / 180, (0, 0, 0, 1)),
    "°": Unit(math.pi / 180, (0, 0, 0, 1)),
    "rev": Unit(2 * math.pi, (0, 0, 0, 1)),
    "rpm": Unit(2 * math.pi / 60, (0, 0, -1, 1)),
    "gal": Unit(1e-2, (1, 0, -2, 0)),
    "bar": Unit(1e5, (-1, 1, -2, 0)),
    "%": Unit(1e-2, (0, 0, 0, 0)),
    "in": Unit(0.0254, (1, 0, 0, 0)),
    "ft": Unit(0.3048, (1, 0, 0, 0)),
    "lb": Unit(0.45359237, (0, 1, 0, 0)),
    "lbf": Unit(0.45359237 * _GRAVITY, (1, 1, -2, 0)),
}
_NAMED = {
    prefix + name: Unit(factor * unit.factor, unit.powers)
    for name, unit in _BASE.items()
    for prefix, factor in _PREFIXES.items()
} | _OTHERS
_ACCELERATION = (1, 0, -2, 0)  # powers of m, kg, s and rad
_KINDS = {
    (0, 0, 0, 0): "a number without unit",
    (1, 0, 0, 0): "a length",
    (0, 1, 0, 0): "a mass",
    (0, 0, 1, 0): "a time",
    (0, 0, 0, 1): "an angle",
    (0, 0, -1, 1): "an angular frequency",
    (0, 0, -1, 0): "a rate",
    (0, 0, -2, 1): "an angular acceleration",
    (1, 0, -1, 0): "a velocity",
    _ACCELERATION: "an acceleration",
    (1, 1, -2, 0): "a force",
    (0, 1, -2, 0): "a stiffness",
    (2, 1, -2, -1): "a rotational stiffness",
    (0, 1, -1, 0): "a damping",
    (2, 1, -1, -1): "a rotational damping",
    (-1, 1, -2, 0): "a pressure",
    (2, 1, -2, 0): "a moment",
    (2, 1, 0, 0): "a moment of inertia",
    (3, 1, -2, 0): "a bending stiffness",
    (-1, 1, 0, 0): "a mass per length",
    (-1, 0, 0, 0): "a curvature",
}  # fmt: skip


def rotational_unit(unit: str) -> str:
    """Return the rotational unit of a translational one: N m/rad for N/m."""
    return re.sub(r"\bN\b", "N m", re.sub(r"\bm\b", "rad", unit))


def is_quantity(value: object) -> bool:
    """Return whether a value is a string of a number and a unit."""
    return isinstance(value, str) and _QUANTITY.fullmatch(value) is not None


def quantity_parts(text: str) -> tuple[float, str]:
    """Return number and unit of a quantity, as `is_quantity` has found it."""
    found = _QUANTITY.fullmatch(text)
    assert found is not None, "checked by is_quantity"
    return float(found[1]), found[2]


def to_plain_si(text: str) -> float:
    """Convert a quantity to the SI unit of its dimension; `g` is a gram."""
    number, unit = quantity_parts(text)
    return number * parse_unit(unit).factor


def to_si(text: str, expected: str) -> float:
    """Convert a quantity such as `5 Hz` to the requested SI unit, such as `rad/s`.

    `g` is a gram, or the acceleration of gravity if an acceleration is requested.
    **Raises:** `ValueError` for malformed text, an unknown unit (with a suggestion), or
    a unit of another dimension.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a number with a unit')
    return float(found[1]) * conversion(found[2], expected)


@functools.cache
def conversion(unit: str, expected: str) -> float:
    """Return the factor to the requested SI unit. **Raises:** as `to_si`."""
    try:
        dimension = parse_unit(expected)
    except ValueError:  # a symbolic unit, such as N/m^k
        if unit == expected:
            return 1.0
        raise ValueError(f"{unit} is given where {expected} is expected") from None
    if unit == "g" and dimension.powers == _ACCELERATION:
        return _GRAVITY
    given = parse_unit(unit)
    if given.powers != dimension.powers:
        raise ValueError(f"{unit} is given where {_kind(dimension, expected)} is expected")
    return given.factor / dimension.factor


@functools.cache
def parse_unit(text: str) -> Unit:
    """Parse a product of units such as `N s/m`; a `/` applies to the next factor only.

    **Raises:** `ValueError` for an unknown unit.
    """
    factor, powers, sign = 1.0, (0.0, 0.0, 0.0, 0.0), 1
    for part in re.split(r"([/*·\s]|\.(?=[^\W\d]))", text.replace("**", "^").strip()):
        if part in ("", " ", "*", "·", ".", "1"):
            continue
        if part == "/":
            sign = -1
            continue
        match = _FACTOR.fullmatch(part)
        if match is None or match[1] not in _NAMED:
            near = nearest(part, _NAMED)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"unknown unit {part!r}{hint}")
        unit = _NAMED[match[1]]
        power = sign * float(match[2] or {"²": 2, "³": 3}.get(match[3], 1))
        factor *= unit.factor**power
        pairs = zip(powers, unit.powers, strict=True)
        powers = tuple(have + power * more for have, more in pairs)
        sign = 1
    return Unit(factor, powers)


def _kind(dimension: Unit, expected: str) -> str:
    kind = _KINDS.get(dimension.powers)
    if kind is None:
        return expected
    return f"{kind} in {expected}" if expected else kind
