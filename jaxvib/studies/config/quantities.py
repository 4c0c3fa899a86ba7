"""Converts config values with units, such as `load.frequency = "5 Hz"`, to SI."""

from collections.abc import Callable, Mapping
from typing import Any

from ...foundation.units import is_quantity, to_si
from .catalogue import Declared

# Keys whose values have the unit of the parameter named by another key of the table.
_OF_PATH = {"bounds": "path", "second_bounds": "second_path"}


Where = Callable[[str], str]


def in_units(value: Any, unit: str | None, where: Where, path: str) -> Any:
    """Convert texts with units, such as `5 Hz`, in a value or list to numbers.

    `unit`: the SI unit required; if `None` (unknown), texts are left unchanged;
    `where`: returns the origin of a path. **Raises:** `ValueError` naming the origin if
    a unit does not fit.
    """
    if isinstance(value, list):
        if not any(isinstance(each, str | list) for each in value):
            return value  # it may hold 100000 numbers
        return [in_units(each, unit, where, path) for each in value]
    if unit is None or not is_quantity(value):
        return value
    try:
        return to_si(value, unit)
    except ValueError as error:
        raise ValueError(f'{where(path)}: {path} = "{value}": {error}') from None


def of_parameters(
    table: Mapping,
    declared: Mapping[str, Declared],
    where: Where,
    prefix: str,
    path: str = "",
) -> dict:
    """Convert values with units in a table keyed by paths of parameters.

    Nested tables form the paths, which begin with `path`; `bounds` belong to the `path`
    in the same table. `where`: returns the origin of a key.
    """
    found = {}
    for key, value in table.items():
        inner = f"{path}.{key}".lstrip(".")
        full = f"{prefix}.{key}"
        named = table.get(_OF_PATH.get(key, ""))
        entry = declared.get(named if isinstance(named, str) else inner)
        if isinstance(value, Mapping) and entry is None:
            # A table of parameters nested deeper: paths start there.
            fresh = "" if key in ("variables", "over", "grid", "limits") else inner
            found[key] = of_parameters(value, declared, where, full, fresh)
        elif isinstance(value, Mapping):
            assert entry is not None
            found[key] = {
                name: in_units(each, entry.unit, where, f"{full}.{name}")
                for name, each in value.items()
            }
        else:
            unit = None if entry is None else entry.unit
            found[key] = in_units(value, unit, where, full)
    return found
