"""Config tables as pydantic models, and their error messages."""

import math
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, TypeGuard

import pydantic
from annotated_types import Ge, Gt, Le, Lt, MaxLen
from pydantic.fields import FieldInfo

from ...foundation.range import Range
from ...foundation.suggestions import nearest, replaced
from ..nested import flattened as flattened
from .catalogue import Declared
from .document import Document, shortened
from .quantities import HERTZ, Asked, ByKey, Places, Where, in_si


class Table(pydantic.BaseModel):
    """A config table: no unknown keys, no strings or booleans for numbers, no NaN.

    `units_of`: by key, what its numbers take if other keys or the system decide that: a
    function of the table, with the keys of the tables around it, and of the places.
    """

    units_of: ClassVar[Mapping[str, Callable[[Mapping, Places], Asked | ByKey | None]]] = {}
    model_config = pydantic.ConfigDict(
        strict=True, extra="forbid", allow_inf_nan=False, frozen=True
    )


def option(
    description: str,
    default: Any = ...,
    *,
    unit: str | None = None,
    allowed: str | None = None,
    **limits: Any,
) -> Any:
    """Return the field of a key: its description, default and `limits`.

    `unit` and `allowed`: as shown in messages and the schema.
    """
    texts = {"unit": unit, "allowed": allowed}
    extra = {name: text for name, text in texts.items() if text is not None}
    if extra:  # otherwise the annotation's own extra is lost
        limits["json_schema_extra"] = extra
    return pydantic.Field(default, description=description, **limits)


def number(entry: Declared) -> tuple[Any, Any]:
    """Return a field for a declared parameter, as `pydantic.create_model` takes it."""
    extra: dict[str, Any] = {"unit": entry.unit}
    kind: Any = float
    limits: dict[str, Any] = _limits(entry.allowed)
    if entry.size is not None:
        some = f"{entry.size} numbers in {entry}"
        extra["allowed"] = some if entry.size else f"numbers in {entry}, one or more"
        # The numbers of a list of any length are checked by its law.
        each = limits if entry.size else {}
        kind = list[Annotated[float, pydantic.Field(**each)]]
        limits = {"min_length": entry.size or 1, "max_length": entry.size or None}
    elif entry.default is None:
        extra["allowed"] = str(entry)
        kind = float | None
    fields = pydantic.Field(
        default=entry.default, description=entry.description, json_schema_extra=extra,
        **limits,
    )  # fmt: skip
    return kind, fields


def _limits(allowed: Range) -> dict[str, Any]:
    bounds = {"gt": allowed.above, "ge": allowed.at_least, "le": allowed.at_most,
              "lt": allowed.below}  # fmt: skip
    return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


def nested_model(name: str, declared: dict[str, Declared], given: dict[str, tuple]) -> Any:
    """Return a model whose dotted parameter paths are nested tables.

    **Arguments:** `given`: fields that replace those generated from the declarations.
    """
    fields: dict[str, Any] = {}
    inner: dict[str, dict[str, Declared]] = {}
    for path, entry in declared.items():
        first, _, rest = path.partition(".")
        if rest:
            inner.setdefault(first, {})[rest] = entry
        else:
            fields[first] = number(entry)
    for first, entries in inner.items():
        model = nested_model(f"{name}_{first}", entries, {})
        fields[first] = (model, pydantic.Field(default=model()))
    ordered = {**dict.fromkeys(given), **fields, **given}
    return pydantic.create_model(name, __base__=Table, **ordered)  # ty: ignore


def kind_named(
    name: object, kinds: Mapping[str, Any], path: str, document: Document, entry: Any = None
) -> Any:
    """Return the kind that a table names at a path.

    `entry`: the table itself, for the message if it names none. **Raises:**
    `ValueError` with the allowed names and the nearest one.
    """
    if isinstance(name, str) and name in kinds:
        return kinds[name]
    found, hint = f"= {shown(name)} is not known", ""
    if name is None:
        found = f"is missing ({path.rpartition('.')[0]} = {shown(entry)})"
    elif near := nearest(str(name), kinds):
        hint = f'; did you mean "{near}"?'
    allowed = ", ".join(map(shown, kinds))
    raise ValueError(f"{document.where(path)}: {path} {found}; allowed: {allowed}{hint}")


def validated(
    model: type[Table],
    table: object,
    prefix: str,
    document: Document,
    places: Places = Places(),  # noqa: B008
) -> Any:
    """Validate a table as its model, its numbers with units converted to SI.

    **Raises:** `ValueError` for the first fault, naming file, line, path and value,
    what is allowed and the nearest valid key.
    """
    if not isinstance(table, dict):
        raise ValueError(
            f"{document.where(prefix)}: {prefix} = {shown(table)} is not a table; allowed: "
            f"a table of {', '.join(model.model_fields)}"
        )
    table = _in_units(model, table, prefix, document.where, places, {})
    try:
        return model.model_validate(table)
    except pydantic.ValidationError as error:
        # A misspelt key is also missing under its right name: report the misspelling.
        faults = error.errors(include_url=False)
        first = next((e for e in faults if e["type"] == "extra_forbidden"), faults[0])
        message = _message(first, model, prefix, document)
        others = [e for e in faults if e is not first and e["type"] == "missing"]
        if first["type"] == "missing" and others:
            message += f"; also missing: {', '.join(_path(e, prefix) for e in others)}"
        raise ValueError(message) from None


def _in_units(
    model: type[Table], table: dict, prefix: str, where: Where, places: Places, outer: dict
) -> dict:
    """Convert values with units, such as `5 Hz`, to the units of the table's fields."""
    found, given = dict(table), {**outer, **table}

    def inside(inner: type[Table], value: Any, path: str, named: bool) -> Any:
        if isinstance(value, list):
            return [inside(inner, each, path, False) for each in value]
        if not isinstance(value, dict):
            return value
        if named:
            return {k: inside(inner, v, f"{path}.{k}", False) for k, v in value.items()}
        return _in_units(inner, value, path, where, places, given)

    for name, value in table.items():
        field = model.model_fields.get(name)
        if field is None:
            continue
        path = f"{prefix}.{name}".lstrip(".")
        if name in model.units_of:
            found[name] = in_si(value, model.units_of[name](given, places), where, path)
        elif (unit := _extra(field).get("unit")) is not None:
            power = given.get("exponent")
            known = isinstance(power, int | float)
            asked = Asked(unit, power=power if known else HERTZ)
            found[name] = in_si(value, asked, where, path)
        elif (inner := _table_in(field.annotation)) is not None:
            named = typing.get_origin(field.annotation) is dict
            found[name] = inside(inner, value, path, named)
    return found


def units_in(model: type[Table], prefix: str) -> dict[str, str]:
    """Return the units of the keys of a table and its nested tables, by path."""
    found = {}
    for name, field in model.model_fields.items():
        unit, inner = _extra(field).get("unit"), _table_in(field.annotation)
        if unit is not None:
            found[prefix + name] = unit
        elif inner and typing.get_origin(field.annotation) is not dict:
            found |= units_in(inner, f"{prefix}{name}.")
    return found


def shown(value: object) -> str:
    """Format a value as in a config, truncated for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return shortened(f'"{value}"')
    if isinstance(value, list):
        items = [shown(item) for item in value[:4]]
        return f"[{', '.join(items)}{', ...' if len(value) > 4 else ''}]"
    if isinstance(value, dict):
        return "{...}"
    return shortened(str(value))


def _message(error, model, prefix: str, document: Document) -> str:
    path = _path(error, prefix)
    names = [step for step in error["loc"] if isinstance(step, str)]
    where = document.where(".".join([prefix, *names]).lstrip("."))
    value = error["input"]
    if error["type"] == "extra_forbidden":
        return f"{where}: {_unknown(path, value, model, prefix)}"
    if error["type"] == "value_error":
        return f"{where}: {path}: {error['ctx']['error']}"
    allowed = _allowed(_field(model, names))
    if error["type"] == "missing":
        return f"{where}: {path} is missing; allowed: {allowed}"
    if error["type"] == "literal_error":
        options = typing.get_args(_kind(_field(model, names)))
        near = nearest(str(value), map(str, options))
        hint = f'; did you mean "{near}"?' if near else ""
        if instead := replaced(names[-1], value):
            hint = f"; {instead}"
        return f"{where}: {path} = {shown(value)} is not known; allowed: {allowed}{hint}"
    return f"{where}: {path} = {shown(value)} {_fault(error)}; allowed: {allowed}"


def _path(error, prefix: str) -> str:
    inner = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error["loc"])
    return f"{prefix}{inner}".lstrip(".")


_FAULTS = {
    "finite_number": "is not finite",
    "float_type": "is not a number",
    "int_type": "is not a whole number",
    "bool_type": "is neither true nor false",
    "string_type": "is not a text",
    "list_type": "is not a list",
    "model_type": "is not a table",
}


def _fault(error) -> str:
    return _FAULTS.get(error["type"], "is out of range")


def _unknown(path: str, value, model, prefix: str) -> str:
    if isinstance(value, dict) and value:
        inner, value = next(iter(flattened(value).items()), ("", value))
        path = f"{path}.{inner}".rstrip(".")
    known = {f"{prefix}.{name}": field for name, field in leaves(model).items()}
    near = nearest(path, known)
    if near is None:
        hint = f"known: {', '.join(sorted(known))}"
    else:
        hint = f"did you mean {near}? allowed: {_allowed(known[near])}"
    return f"{shortened(path)} = {shown(value)} is not a known key; {hint}"


def leaves(model: type[Table], prefix: str = "") -> dict[str, FieldInfo]:
    """Return all keys of a table and its nested tables, by dotted path."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        if _is_table(field.annotation):
            found |= leaves(field.annotation, f"{prefix}{name}.")
        else:
            found[prefix + name] = field
    return found


def _field(model, names: list[str]) -> FieldInfo:
    field, rest = model.model_fields[names[0]], names[1:]
    while rest:
        table = _table_in(field.annotation)
        if typing.get_origin(field.annotation) is dict:
            rest = rest[1:]  # an arbitrary key of a table of tables
        if table is None or not rest or rest[0] not in table.model_fields:
            break  # arbitrary keys, such as paths in a table of bounds
        field, rest = table.model_fields[rest[0]], rest[1:]
    return field


def _table_in(kind) -> type[Table] | None:
    """Return the table class in a field's type (plain, optional or in a mapping)."""
    inner = (kind, *typing.get_args(kind))
    return next((each for each in inner if _is_table(each)), None)


def _is_table(kind) -> TypeGuard[type[Table]]:
    return isinstance(kind, type) and issubclass(kind, Table)


def _extra(field: FieldInfo) -> dict[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def _kind(field: FieldInfo) -> Any:
    """Return the type of a field, of an optional one that of its value."""
    inner = [each for each in typing.get_args(field.annotation) if each is not type(None)]
    optional = type(None) in typing.get_args(field.annotation)
    return inner[0] if optional and len(inner) == 1 else field.annotation


def _allowed(field: FieldInfo) -> str:
    extra = _extra(field)
    if "allowed" in extra:
        return extra["allowed"]
    kind = _kind(field)
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(f'"{option}"' for option in typing.get_args(kind))
    if kind is bool:
        return "true, false"
    if kind is str:
        longest = [item.max_length for item in field.metadata if isinstance(item, MaxLen)]
        return f"a text of at most {longest[0]} characters" if longest else "a text"
    if kind in (int, float):
        integers = "whole numbers in " if kind is int else ""
        return f"{integers}{_range(field)} {extra.get('unit', '')}".rstrip()
    return f"a table of {', '.join(kind.model_fields)}" if _is_table(kind) else "a table"


def _range(field: FieldInfo) -> Range:
    names = {Gt: ("above", "gt"), Ge: ("at_least", "ge"), Le: ("at_most", "le")}
    names[Lt] = ("below", "lt")
    bounds = {}
    for item in field.metadata:
        if type(item) in names:
            ours, theirs = names[type(item)]
            bounds[ours] = getattr(item, theirs)
    return Range(**bounds)
