"""Conversion of quantities with units, such as `5 Hz` and `2 kN/mm`, to SI units."""

import functools
import math
import re
from typing import NamedTuple

from .suggestions import did_you_mean

_NUMBER = r"(?>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_UNIT = r"(?:(?<=\s)1/)?[A-Za-zµ°%Ω(][\w°%²³^/*·\s.()-]*?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})\s*")
# A unit or a group of units with its power: mm^1.5, s2, s-2, m², (s/m)^2.
_POWER = r"(?:(?:\^|(?<=[A-Za-z]))\(?(-?\d+(?:\.\d+)?)\)?)?"
_FACTOR = re.compile(rf"(?:([A-Za-zµ°%]+)|\(([^()]*)\)){_POWER}")
_JOIN = re.compile(r"[\s*·.]*(/?)[\s*·.]*")
# The same signs in other writing: a Greek mu, an ohm, superscripts.
_SAME = str.maketrans({
    "μ": "µ", "Ω": "ohm", "\u2126": "ohm", "²": "^2", "³": "^3", "−": "-",
})  # fmt: skip
_GRAVITY = 9.80665  # m/s^2, standard gravity


class Unit(NamedTuple):
    """A unit: its factor to SI units, and its powers of m, kg, s, rad and A."""

    factor: float
    powers: tuple[float, ...]


_BASE = {
    "m": Unit(1.0, (1, 0, 0, 0, 0)),
    "g": Unit(1e-3, (0, 1, 0, 0, 0)),
    "s": Unit(1.0, (0, 0, 1, 0, 0)),
    "rad": Unit(1.0, (0, 0, 0, 1, 0)),
    "N": Unit(1.0, (1, 1, -2, 0, 0)),
    "Pa": Unit(1.0, (-1, 1, -2, 0, 0)),
    "J": Unit(1.0, (2, 1, -2, 0, 0)),
    "W": Unit(1.0, (2, 1, -3, 0, 0)),
    "Nm": Unit(1.0, (2, 1, -2, 0, 0)),
    # A cycle is a whole revolution: 1 Hz is 2 pi rad/s.
    "Hz": Unit(2 * math.pi, (0, 0, -1, 1, 0)),
    "A": Unit(1.0, (0, 0, 0, 0, 1)),
    "V": Unit(1.0, (2, 1, -3, 0, -1)),
    "F": Unit(1.0, (-2, -1, 4, 0, 2)),
    "ohm": Unit(1.0, (2, 1, -3, 0, -2)),
    "H": Unit(1.0, (2, 1, -2, 0, -2)),
}
_PREFIXES = {"": 1.0, "p": 1e-12, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2,
             "k": 1e3, "M": 1e6, "G": 1e9}  # fmt: skip
_OTHERS = {
    "min": Unit(60.0, (0, 0, 1, 0, 0)),
    "h": Unit(3600.0, (0, 0, 1, 0, 0)),
    "sec": Unit(1.0, (0, 0, 1, 0, 0)),
    "t": Unit(1e3, (0, 1, 0, 0, 0)),
    "deg": Unit(math.pi / 180, (0, 0, 0, 1, 0)),
    "°": Unit(math.pi / 180, (0, 0, 0, 1, 0)),
    "rev": Unit(2 * math.pi, (0, 0, 0, 1, 0)),
    "rpm": Unit(2 * math.pi / 60, (0, 0, -1, 1, 0)),
    "gal": Unit(1e-2, (1, 0, -2, 0, 0)),
    "Gal": Unit(1e-2, (1, 0, -2, 0, 0)),
    "bar": Unit(1e5, (-1, 1, -2, 0, 0)),
    "%": Unit(1e-2, (0, 0, 0, 0, 0)),
    "in": Unit(0.0254, (1, 0, 0, 0, 0)),
    "inch": Unit(0.0254, (1, 0, 0, 0, 0)),
    "ft": Unit(0.3048, (1, 0, 0, 0, 0)),
    "lb": Unit(0.45359237, (0, 1, 0, 0, 0)),
    "lbf": Unit(0.45359237 * _GRAVITY, (1, 1, -2, 0, 0)),
}
_NAMED = {
    prefix + name: Unit(factor * unit.factor, unit.powers)
    for name, unit in _BASE.items()
    for prefix, factor in _PREFIXES.items()
} | _OTHERS
_NAMED |= {  # in words: milliseconds
    f"{word}{name}{plural}": Unit(factor * _BASE[unit].factor, _BASE[unit].powers)
    for word, factor in (("", 1.0), ("milli", 1e-3), ("micro", 1e-6), ("kilo", 1e3))
    for name, unit in {"second": "s", "meter": "m", "metre": "m", "newton": "N"}.items()
    for plural in ("", "s")
}
# In accelerations, g and its small parts are gravity; kg is a mass everywhere.
_GRAVITIES = {
    name: Unit(factor * _GRAVITY, (1, 0, -2, 0, 0))
    for name, factor in {"g": 1.0, "G": 1.0, "mg": 1e-3, "µg": 1e-6, "ug": 1e-6}.items()
}
# The name of a dimension, and its SI unit.
_KINDS: dict[tuple[float, ...], tuple[str, str]] = {
    (0, 0, 0, 0, 0): ("a number without unit", ""),
    (1, 0, 0, 0, 0): ("a length", "m"),
    (0, 1, 0, 0, 0): ("a mass", "kg"),
    (0, 0, 1, 0, 0): ("a time", "s"),
    (0, 0, 0, 1, 0): ("an angle", "rad"),
    (0, 0, -1, 1, 0): ("an angular frequency", "rad/s"),
    (0, 0, -1, 0, 0): ("a rate", "1/s"),
    (0, 0, -2, 1, 0): ("an angular acceleration", "rad/s^2"),
    (1, 0, -1, 0, 0): ("a velocity", "m/s"),
    (1, 0, -2, 0, 0): ("an acceleration", "m/s^2"),
    (1, 1, -2, 0, 0): ("a force", "N"),
    (0, 1, -2, 0, 0): ("a stiffness", "N/m"),
    (2, 1, -2, -1, 0): ("a rotational stiffness", "N m/rad"),
    (0, 1, -1, 0, 0): ("a damping", "N s/m"),
    (2, 1, -1, -1, 0): ("a rotational damping", "N m s/rad"),
    (-1, 1, -2, 0, 0): ("a pressure", "Pa"),
    (2, 1, -2, 0, 0): ("a moment", "N m"),
    (2, 1, -3, 0, 0): ("a power", "W"),
    (2, 1, 0, 0, 0): ("a moment of inertia", "kg m^2"),
    (3, 1, -2, 0, 0): ("a bending stiffness", "N m^2"),
    (-1, 1, 0, 0, 0): ("a mass per length", "kg/m"),
    (-1, 0, 0, 0, 0): ("a curvature", "1/m"),
    (-2, -1, 4, 0, 2): ("a capacitance", "F"),
    (2, 1, -3, 0, -2): ("a resistance", "ohm"),
    (2, 1, -2, 0, -2): ("an inductance", "H"),
}  # fmt: skip


def rotational_unit(unit: str) -> str:
    """Return the rotational unit of a translational one: N m/rad for N/m."""
    return re.sub(r"\bN\b", "N m", re.sub(r"\bm\b", "rad", unit))


def is_quantity(value: object) -> bool:
    """Return whether a value is a string of a number and a unit."""
    return (
        isinstance(value, str) and _QUANTITY.fullmatch(value.translate(_SAME)) is not None
    )


def quantity_parts(text: str) -> tuple[float, str]:
    """Return number and unit of a quantity. **Raises:** `ValueError` for another text."""
    found = _QUANTITY.fullmatch(text.translate(_SAME))
    if found is None:
        raise ValueError(f'"{text}" is not a number with a unit')
    return float(found[1]), found[2]


def to_si(text: str, expected: str) -> float:
    """Convert a quantity such as `5 Hz` to the requested SI unit, such as `rad/s`.

    `g` is a gram, or the acceleration of gravity where that fits what is requested, in
    `mg` and `µg` too. **Raises:** `ValueError` for malformed text, an unknown unit (with
    a suggestion), or a unit of another dimension.
    """
    number, unit = quantity_parts(text)
    return number * conversion(unit, expected)


@functools.cache
def conversion(unit: str, expected: str) -> float:
    """Return the factor to the requested unit, or to one of several: `m or rad`.

    **Raises:** as `to_si`.
    """
    kinds = []
    for each in expected.split(" or "):
        try:
            dimension = readings(each)[0]
        except ValueError:  # a symbolic unit, such as N/m^k
            if unit == each:
                return 1.0
            kinds.append(each)
            continue
        for given in readings(unit):
            if given.powers == dimension.powers:
                return given.factor / dimension.factor
        kinds.append(kind_of(dimension.powers, each))
    raise ValueError(f"{unit} is given where {' or '.join(kinds)} is expected")


@functools.cache
def readings(text: str) -> tuple[Unit, ...]:
    """Parse a product of units such as `N s/m`; a `/` applies to the next factor only.

    One with g, mg or µg has two readings: as a mass, and as standard gravity.
    **Raises:** `ValueError` for an unknown unit.
    """
    gravity = _product(text, _NAMED | _GRAVITIES)
    try:
        mass = _product(text, _NAMED)
    except ValueError:  # G
        return (gravity,)
    return (mass,) if mass == gravity else (mass, gravity)


def is_si(text: str) -> bool:
    """Return whether a unit is of SI, or none that is known."""
    try:
        return all(unit.factor == 1.0 for unit in readings(text))
    except ValueError:
        return True


def si_unit(unit: Unit, text: str) -> str:
    """Return the SI unit of a unit's dimension: its own `text` if its factor is 1."""
    return text if unit.factor == 1.0 else unit_text(unit.powers)


def unit_text(powers: tuple[float, ...]) -> str:
    """Return the SI unit with these powers of m, kg, s, rad and A."""
    if powers in _KINDS:
        return _KINDS[powers][1]
    named = dict(zip(("m", "kg", "s", "rad", "A"), powers, strict=True))
    parts = [(name, named[name]) for name in ("kg", "m", "s", "rad", "A") if named[name]]
    written = [(n, p, "" if abs(p) == 1 else f"^{abs(p):g}") for n, p in parts]
    above = " ".join(f"{name}{power}" for name, p, power in written if p > 0)
    return (above or "1") + "".join(f"/{n}{power}" for n, p, power in written if p < 0)


def kind_of(powers: tuple[float, ...], unit: str | None = None) -> str:
    """Return the name of a dimension and its unit: `a length in m`."""
    unit = unit_text(powers) if unit is None else unit
    if powers not in _KINDS:
        return unit
    kind = _KINDS[powers][0]
    return f"{kind} in {unit}" if unit else kind


def _product(text: str, named: dict[str, Unit]) -> Unit:
    text = text.translate(_SAME).replace("**", "^").strip()
    factor, powers, place, sign = 1.0, (0.0,) * 5, 0, 1
    if text == "1" or re.match(r"1\s*/", text):
        place = 1
    while True:
        joined = _JOIN.match(text, place)
        assert joined is not None, "it matches nothing at all too"
        sign = -1 if joined[1] else 1
        place = joined.end()
        if place == len(text) and not joined[1]:
            return Unit(factor, powers)
        match = _FACTOR.match(text, place)
        name = match[1] if match else None
        if match is None or (name and name not in named):
            part = (name or text[place:] or "/")[:20]
            hint = did_you_mean(part, named)
            raise ValueError(f"unknown unit {part!r}{hint}")
        unit = named[name] if name else _product(match[2], named)
        power = sign * float(match[3] or 1)
        factor *= unit.factor**power
        powers = tuple(a + power * b for a, b in zip(powers, unit.powers, strict=True))
        place = match.end()
