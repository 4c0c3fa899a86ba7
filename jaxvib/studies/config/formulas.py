"""Config values given by formulas of other values: `amplitude = "m * X * w**2"`."""

import contextlib
import copy
import math
from collections.abc import Generator, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import pydantic
from pydantic import Field

from ...foundation.expression import FUNCTIONS, Expression
from ...foundation.units import (
    Unit,
    conversion,
    is_quantity,
    quantity_parts,
    readings,
    si_unit,
    unit_text,
)
from .catalogue import Declared
from .document import Document
from .formula_units import Named, named_in, unit_of_formula
from .quantities import Asked, in_si
from .tables import Range, Table, option

VARIABLES = "variables"
_PREFIX = f"{VARIABLES}."
_MOST_TRIED = 50_000  # formulas, each for variables in g as masses and as gravity: 5 s


class Variable(Table):
    """A named number for formulas, in SI, and its unit."""

    value: float = option("the value")
    unit: str = option("its unit", "", max_length=40)


def _variable(given):
    return given if isinstance(given, dict) else {"value": given}


VariablesByName = Annotated[
    dict[str, Annotated[Variable, pydantic.BeforeValidator(_variable)]],
    Field(
        default={},
        description="named numbers for formulas; each is a parameter `variables.name`",
        json_schema_extra={"allowed": "numbers, or tables of value and unit"},
    ),
]


class WithFormulas(Table):
    """A system's table whose numbers may be formulas; formulas are written back.

    `own_units`: those of variables, in which numbers without a unit are given for them;
    not written back, as the numbers of a resolved config are in SI.
    """

    variables: VariablesByName
    formulas: dict[str, str] = option(
        "formulas by the path of the number that they define", {}
    )
    own_units: dict[str, str] = Field(default={}, exclude=True)

    @pydantic.model_serializer(mode="wrap")
    def _written(self, inner) -> dict:
        found = inner(self)
        for path, text in found.pop("formulas", {}).items():
            _set_value(found, path.split("."), text)
        return found

    def declared_variables(self) -> dict[str, Declared]:
        """Return the declaration of each variable, by path."""
        return {
            f"{VARIABLES}.{name}": Declared(
                each.value, each.unit, "a variable of formulas", Range(),
                conversion(self.own_units.get(name, each.unit), each.unit),
            )
            for name, each in self.variables.items()
        }  # fmt: skip


class _Variable(NamedTuple):
    """A variable as given: its number, None for a formula; its unit and its own one."""

    number: float | None
    unit: str
    own: str


class _Given(NamedTuple):
    """The numbers of a table in SI, with what is known of their units; its formulas."""

    values: dict[str, float]
    names: dict[str, Named]
    formulas: dict[str, Expression]
    variables: dict[str, _Variable]


def evaluated(
    table: Mapping,
    units: Mapping[str, str | None],
    document: Document,
    section: str,
    laws: Mapping[str, str] | None = None,
) -> dict:
    """Return a table with its formulas evaluated and its variables in SI.

    A formula is a text given for a number or a variable; their texts are kept under
    `formulas`. **Arguments:** `units`: of the number at each path, None for any; `laws`:
    of formulas that are not evaluated, as they have names of their own. **Raises:**
    `ValueError` for an invalid formula, marking the position, for circular formulas,
    for another dimension than that of the place, or for a unit of a variable that is
    unknown or fits none of its uses.
    """
    table = copy.deepcopy(dict(table))
    table.pop("formulas", None)
    table.pop("own_units", None)
    here = _Here(document, section)
    given = _read(table, units, here)
    if not given.formulas and not given.variables and not laws:
        return table
    rules = {path: (tree, units.get(path)) for path, tree in _in_order(given, here)}
    for path, unit in (laws or {}).items():
        if isinstance(text := _at(table, path), str):
            rules[path] = (here.parsed(path, text), unit)
    own_units = _variables_in_si(table, given, rules, here)
    formulas = {path: given.formulas[path].text for path in rules if path in given.formulas}
    values = _named_values(given.values)
    for path in formulas:
        with here.at(path):
            value = _value(given.formulas[path], values)
        values[path] = value
        values.setdefault(path.removeprefix(_PREFIX), value)
        _set_value(table, path.split("."), value)
    return {**table, "formulas": formulas, "own_units": own_units}


class _Here(NamedTuple):
    """Where a table is, for messages."""

    document: Document
    section: str

    @contextlib.contextmanager
    def at(self, path: str, value: str = "") -> Generator[None]:
        """Name the origin of a path in errors."""
        full = f"{self.section}.{path}"
        try:
            yield
        except (ValueError, OverflowError) as error:
            place = self.document.where(full)
            raise ValueError(f"{place}: {full}{value}: {error}") from None

    def parsed(self, path: str, text: str) -> Expression:
        """Return a formula. **Raises:** `ValueError` with its place."""
        with self.at(path):
            return Expression(text)


def _read(table: dict, units: Mapping[str, str | None], here: _Here) -> _Given:
    """Sort the numbers, quantities and formulas of a table; quantities become numbers."""
    found = _Given({}, {}, {}, {})
    for steps, value in list(_leaves(table)):
        variable = steps[0] == VARIABLES and steps[1:] and steps[2:] in ([], ["value"])
        path = ".".join(steps[:2] if variable else steps)
        own = _own_unit(table, steps) if variable else ""
        is_formula = isinstance(value, str) and not is_quantity(value)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        if isinstance(value, str) and not variable and path not in units:
            continue
        if isinstance(value, str) and not is_formula and "^n" in str(units.get(path)):
            continue  # read once the formula of n is evaluated
        if is_formula:
            found.formulas[path] = here.parsed(path, value)
            if variable:
                found.variables[path] = _Variable(None, own, own)
        elif variable:
            number, unit = quantity_parts(value) if isinstance(value, str) else (value, own)
            found.variables[path] = _Variable(number, unit, own)
        else:
            asked = units.get(path)
            full = f"{here.section}.{path}"
            if isinstance(value, str):
                number, unit = quantity_parts(value)
                wanted = si_unit(readings(unit)[-1], unit) if asked is None else asked
                value = in_si(value, Asked(wanted), here.document.where, full)
                found.names[path] = named_in(unit, wanted)
                _set_value(table, steps, value)
            else:
                found.names[path] = named_in(asked)
            found.values[path] = value
    return found


def _own_unit(table: Mapping, steps: list[str]) -> str:
    entry = table[VARIABLES].get(steps[1])
    own = entry.get("unit", "") if isinstance(entry, Mapping) else ""
    return own if isinstance(own, str) else ""


def _in_order(given: _Given, here: _Here) -> Iterator[tuple[str, Expression]]:
    """Yield formulas after those that they use. **Raises:** `ValueError` for a ring."""
    left = dict(given.formulas)
    while left:
        names = set(_named_values(left))
        free = [path for path, tree in left.items() if not names & set(tree.names)]
        if not free:
            ring = ", ".join(f"{p} = {t.text!r}" for p, t in left.items())
            path = next(iter(left))
            where = here.document.where(f"{here.section}.{path}")
            raise ValueError(f"{where}: circular formulas: {ring}")
        yield from ((path, left.pop(path)) for path in free)


_Rules = Mapping[str, tuple[Expression, str | None]]


def _variables_in_si(table: dict, given: _Given, rules: _Rules, here: _Here) -> dict:
    """Put values and units of the variables into the table; return their own units."""
    chosen, own_units = _chosen(given, rules, here), {}
    names, faults = _checked(chosen, given, rules, here)
    if faults:
        raise faults[0]
    for path, variable in given.variables.items():
        name = path.partition(".")[2]
        value: float = 0.0  # evaluated later
        if variable.number is None:
            powers = names[path].powers
            unit = unit_text(powers) if powers else ""
            unit = si_unit(chosen[path], variable.own) if variable.own else unit
        else:
            reading = chosen[path]
            scaled = reading.factor != 1.0
            value = variable.number * (reading.factor if scaled else 1)
            given.values[path] = value
            unit = si_unit(reading, variable.unit)
        entry = table[VARIABLES][name]
        table[VARIABLES][name] = {"unit": unit, "value": value}
        if isinstance(entry, dict):
            own = {"unit": unit} if isinstance(entry.get("unit", ""), str) else {}
            table[VARIABLES][name] = {**entry, **own, "value": value}
        if variable.number is not None and variable.own not in ("", unit):
            own_units[name] = variable.own
    return own_units


def _chosen(given: _Given, rules: _Rules, here: _Here) -> dict[str, Unit]:
    """Return the unit of each variable; one in g is a mass or gravity by its uses."""
    chosen, unsure = {}, {}
    for path, (number, unit, own) in given.variables.items():
        with here.at(path, f' = "{number:g} {unit}"' if number is not None else ""):
            possible = readings(unit)
            if own:
                asked = [each.powers for each in readings(own)]
                possible = tuple(each for each in possible if each.powers in asked)
            if not possible:
                raise ValueError(f'{unit} is given where unit = "{own}"')
        if len(possible) == 1:
            chosen[path] = possible[0]
        else:
            unsure[path] = possible
    if len(unsure) ** 2 * len(rules) > _MOST_TRIED:
        where = here.document.where(f"{here.section}.{VARIABLES}")
        raise ValueError(
            f"{where}: {len(unsure)} variables in g and {len(rules)} formulas; write kg or "
            "m/s^2"
        )
    used = {name for tree, _ in rules.values() for name in tree.names}
    decided = True
    while unsure and decided:
        decided = False
        usual = len(_checked(chosen, given, rules, here)[1])
        for path, possible in list(unsure.items()):
            faults = [
                len(_checked({**chosen, path: unit}, given, rules, here)[1])
                for unit in possible
            ]
            best = faults.index(min(faults))
            unused = not used & {path, path.partition(".")[2]}
            if unused or len({*faults}) > 1 or min(faults) > usual:
                chosen[path] = possible[best if len({*faults}) > 1 or unused else 1]
                del unsure[path]
                decided = True
    if unsure and (faults := _checked(chosen, given, rules, here)[1]):
        raise faults[0]
    for path, possible in unsure.items():
        number, unit, _ = given.variables[path]
        either = " or ".join(
            f"{(number or 1) * u.factor:g} {unit_text(u.powers)}" for u in possible
        )
        with here.at(path, f' = "{number or 1:g} {unit}"'):
            raise ValueError(f"a mass or an acceleration; write {either}")
    return chosen


def _checked(
    chosen: Mapping[str, Unit], given: _Given, rules: _Rules, here: _Here
) -> tuple[dict[str, Named], list[ValueError]]:
    """Return what is known of the units of all names, and the formulas that misfit."""
    names, faults = _named_values(given.names), []

    def put(path: str, name: Named) -> None:
        names[path] = name
        names.setdefault(path.removeprefix(_PREFIX), name)

    for path, variable in given.variables.items():
        if path in chosen and variable.unit:
            unit = variable.own or variable.unit
            put(path, named_in(unit, unit_text(chosen[path].powers)))
    for path, (tree, asked) in rules.items():
        own = given.variables[path].own if path in given.variables else ""
        if own:
            asked = unit_text(chosen[path].powers) if path in chosen else None
        powers = None
        try:
            with here.at(path):
                powers = unit_of_formula(tree, names, asked)
                if own and powers is None and path in chosen and chosen[path].factor != 1.0:
                    raise ValueError(
                        "a formula gives its value in SI; write unit = "
                        f'"{asked}" for "{own}"'
                    )
        except ValueError as error:
            faults.append(error)
        names.pop(path.removeprefix(_PREFIX), None)
        put(path, Named(powers) if powers is not None else named_in(asked))
    return names, faults


def _value(tree: Expression, known: Mapping[str, float]) -> float:
    value = float(tree.value(known, FUNCTIONS))
    if not math.isfinite(value):
        raise ValueError(f"{tree.text!r} is {value}, not finite")
    return value


def _at(table: Any, path: str) -> Any:
    """Return the value at a path of nested tables, None without one."""
    for step in path.split("."):
        table = table.get(step) if isinstance(table, Mapping) else None
    return table


def _named_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their paths, variables also by their names."""
    short = {p.removeprefix(_PREFIX): v for p, v in values.items() if p.startswith(_PREFIX)}
    return {**short, **values}


def _leaves(table: Mapping, above: tuple[str, ...] = ()):
    for key, value in table.items():
        steps = (*above, *key.split("."))
        if isinstance(value, dict):
            yield from _leaves(value, steps)
        else:
            yield list(steps), value


def _set_value(table: dict, steps: list[str], value) -> None:
    """Replace a value at a path; keys of the tables may contain dots."""
    for count in range(len(steps), 0, -1):
        key, rest = ".".join(steps[:count]), steps[count:]
        if key not in table:
            continue
        if not rest and isinstance(table[key], dict):
            table[key]["value"] = value  # of a variable
        elif not rest:
            table[key] = value
        elif isinstance(table[key], dict):
            _set_value(table[key], rest, value)
        return
