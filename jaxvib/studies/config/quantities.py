"""Numbers of a config in SI: each is read with the unit that its place asks for."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard

from ...foundation.units import is_quantity, to_si
from .catalogue import Declared
from .document import shortened

# Lists of two numbers and their count.
_SPACED = ("linspace", "logspace", "uniform", "normal")

HERTZ = 1.5  # the exponent of contacts that have none

Where = Callable[[str], str]


class Asked(NamedTuple):
    """What a place asks for: a `unit` of SI, and what a number without one is in it.

    `power`: what stands for n in a unit such as N/m^n; k is the place in a list, from 1.
    """

    unit: str
    bare: float = 1.0
    power: float = HERTZ


class Places(NamedTuple):
    """What the numbers of an analysis refer to: parts of a config's system.

    **Fields:** `declared`: its parameters; `angles`: degrees of freedom that are angles;
    `moved`: the names of its base motions; `elements`: of parts with states of their own;
    `powers`: what stands for n in units such as N/m^n, by path.
    """

    declared: Mapping[str, Declared] = {}
    angles: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    elements: tuple[str, ...] = ()
    powers: Mapping[str, float] = {}

    def parameter(self, path: object) -> Asked | None:
        """Return what a parameter takes, None for an unknown one."""
        entry = self.declared.get(path) if isinstance(path, str) else None
        power = self.powers.get(str(path), HERTZ)
        return None if entry is None else Asked(entry.unit, entry.bare, power)

    def freedom(self, name: object) -> Asked:
        """Return what a displacement is measured in."""
        return Asked("rad" if name in self.angles else "m")

    def state(self, name: str) -> Asked | None:
        """Return what a component of the state is measured in, None for an element's."""
        freedom = name.removeprefix("rate of ")
        if freedom.startswith(self.elements):
            return None
        unit = self.freedom(freedom).unit
        return Asked(unit if freedom == name else f"{unit}/s")


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value of a config is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


ByKey = Callable[[str], Asked | None]


def in_si(value: Any, asked: Asked | ByKey | None, where: Where, path: str) -> Any:
    """Return a value, list or table with its numbers in SI, texts such as `5 Hz` too.

    `asked`: of a table keyed by paths, by path; if None, all is left as it is; `where`:
    returns the origin of a path. **Raises:** `ValueError` naming the origin if a unit
    does not fit.
    """
    if asked is None:
        return value
    if not isinstance(asked, Asked):
        return _by_path(value, asked, where, path) if isinstance(value, Mapping) else value
    if isinstance(value, Mapping):
        return {
            name: [*in_si(each[:2], asked, where, path), *each[2:]]
            if name in _SPACED and isinstance(each, list)
            else in_si(each, asked, where, f"{path}.{name}")
            for name, each in value.items()
        }
    if isinstance(value, list):
        if asked.bare == 1.0 and not any(isinstance(each, str | list) for each in value):
            return value  # it may hold 100000 numbers
        return [
            in_si(each, _with_place(asked, place), where, path)
            for place, each in enumerate(value, 1)
        ]
    if is_number(value):
        return value if asked.bare == 1.0 else value * asked.bare
    if not is_quantity(value):
        return value
    try:
        power = f"^{asked.power:g}"
        return to_si(value.replace("^n", power), asked.unit.replace("^n", power))
    except ValueError as error:
        shown = shortened(value)
        raise ValueError(f'{where(path)}: {path} = "{shown}": {error}') from None


def _with_place(asked: Asked, place: int) -> Asked:
    return asked._replace(unit=asked.unit.replace("^k", f"^{place}"))


def _by_path(table: Mapping, asked: ByKey, where: Where, prefix: str, above="") -> dict:
    """Convert a table whose keys, or nested tables, form the paths of parameters."""
    found = {}
    for key, value in table.items():
        inner = f"{above}.{key}".lstrip(".")
        unit = asked(inner)
        full = f"{prefix}.{key}"
        found[key] = (
            _by_path(value, asked, where, full, inner)
            if unit is None and isinstance(value, Mapping)
            else in_si(value, unit, where, full)
        )
    return found
