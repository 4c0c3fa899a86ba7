"""Config values given by formulas of other values: `amplitude = "m * X * w**2"`."""

import copy
import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import pydantic
from pydantic import Field

from ...foundation.expression import FUNCTIONS, Expression
from ...foundation.units import is_quantity, to_plain_si
from .catalogue import Declared
from .document import Document
from .tables import Range, Table, option

VARIABLES = "variables"


class Variable(Table):
    """A named number for formulas, with its unit."""

    value: float = option("the value")
    unit: str = option("its unit, shown on axes", "", max_length=40)


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
    """A system's table whose numbers may be formulas; formulas are written back."""

    variables: VariablesByName
    formulas: dict[str, str] = option(
        "formulas by the path of the number that they define", {}
    )

    @pydantic.model_serializer(mode="wrap")
    def _written(self, inner) -> dict:
        found = inner(self)
        for path, text in found.pop("formulas", {}).items():
            _set_value(found, path.split("."), text)
        return found

    def declared_variables(self) -> dict[str, Declared]:
        """Return the declaration of each variable, by path."""
        description = "a variable of formulas"
        return {
            f"{VARIABLES}.{name}": Declared(each.value, each.unit, description, Range())
            for name, each in self.variables.items()
        }


def evaluated(
    table: Mapping, numbers: Collection[str], document: Document, section: str
) -> dict:
    """Return a table with formulas evaluated; their texts are kept under `formulas`.

    A formula is a text given for a number or a variable. `numbers`: the last keys of
    the paths of all numbers. **Raises:** `ValueError` for an invalid formula, marking
    the position, or for circular formulas.
    """
    table = copy.deepcopy(dict(table))
    table.pop("formulas", None)
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for steps, value in _leaves(table):
        path = _path(steps)
        if isinstance(value, str) and (steps[-1] in numbers or steps[0] == VARIABLES):
            if steps[0] == VARIABLES and steps[2:] == ["unit"]:
                continue
            if is_quantity(value):
                values[path] = _in_si(path, value, document, section)
                if steps[0] == VARIABLES:
                    _set_value(table, path.split("."), values[path])
            else:
                texts[path] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            values[path] = value
    if not texts:
        return table
    formulas: dict[str, str] = {}
    trees = {path: _parsed(path, text, document, section) for path, text in texts.items()}
    while trees:
        known = _named_values(values)
        names = set(_named_values(dict.fromkeys(trees)))
        free = [path for path, tree in trees.items() if not names & set(tree.names)]
        if not free:
            path, tree = next(iter(trees.items()))
            where = document.where(f"{section}.{path}")
            ring = ", ".join(f"{p} = {t.text!r}" for p, t in trees.items())
            raise ValueError(f"{where}: circular formulas: {ring}")
        for path in free:
            tree = trees.pop(path)
            where = document.where(f"{section}.{path}")
            try:
                value = float(tree.value(known, FUNCTIONS))
            except (ValueError, OverflowError) as error:
                raise ValueError(f"{where}: {section}.{path}: {error}") from None
            if not math.isfinite(value):
                raise ValueError(
                    f"{where}: {section}.{path} = {tree.text!r} is {value}, not finite"
                )
            values[path] = value
            formulas[path] = tree.text
            _set_value(table, path.split("."), value)
    return {**table, "formulas": formulas}


def with_formulas_for_numbers(schema: Any) -> Any:
    """Return a JSON schema that allows a formula for each number."""
    if isinstance(schema, list):
        return [with_formulas_for_numbers(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number" and "unit" in schema:
        kept = {key: schema[key] for key in ("description", "unit") if key in schema}
        formula = {"type": "string", "description": "a formula of parameters, variables"}
        return {**kept, "anyOf": [schema, formula]}
    return {key: with_formulas_for_numbers(value) for key, value in schema.items()}


def _parsed(path: str, text: str, document: Document, section: str) -> Expression:
    try:
        return Expression(text)
    except ValueError as error:
        where = document.where(f"{section}.{path}")
        raise ValueError(f"{where}: {section}.{path}: {error}") from None


def _in_si(path: str, text: str, document: Document, section: str) -> float:
    try:
        return to_plain_si(text)
    except ValueError as error:
        where = document.where(f"{section}.{path}")
        raise ValueError(f'{where}: {section}.{path} = "{text}": {error}') from None


def _path(steps: list[str]) -> str:
    # The path of a variable's value is the variable's name.
    return ".".join(steps[:-1] if _of_variable(steps) else steps)


def _of_variable(steps: list[str]) -> bool:
    return steps[0] == VARIABLES and steps[2:] == ["value"]


def _named_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their paths, variables also by their names."""
    prefix = f"{VARIABLES}."
    short = {p.removeprefix(prefix): v for p, v in values.items() if p.startswith(prefix)}
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
