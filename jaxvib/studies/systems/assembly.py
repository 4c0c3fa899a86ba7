"""A linear system assembled from modules, in a config: one table per module."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

import pydantic
from pydantic import Field

from ..config.catalogue import Declared, declared_part
from ..config.document import Document
from ..config.quantities import Places
from ..config.tables import (
    Table,
    kind_named,
    nested_model,
    option,
    shown,
    validated,
)
from ..resources import library
from .base import Role, SystemKind


@dataclasses.dataclass(frozen=True)
class _Part:
    """A kind of module: its class, what it joins, and its keys besides the numbers.

    `turns`: which of these are angles; `angles`: angular motions of each body.
    """

    cls: str
    joins: tuple[str, ...]
    keys: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    angles: tuple[str, ...] = ()


_PAIR = ("first", "second")
_PARTS = {
    "translation_translation": _Part("TranslationTranslation", _PAIR),
    "translation_rotation": _Part(
        "TranslationRotation", _PAIR, ("standing",), turns=("second",)
    ),
    "rod_on_rod": _Part("RodOnRod", _PAIR, ("carrier", "standing"), turns=_PAIR),
    "spring": _Part("Spring", _PAIR),
    "angular_spring": _Part("AngularSpring", _PAIR, turns=_PAIR),
    "point_mass": _Part("PointMass", ("freedom",)),
    "point_inertia": _Part("PointInertia", ("freedom",), turns=("freedom",)),
    "beam": _Part("BeamModule", _PAIR, angles=("angle",)),
    "frame": _Part("FrameModule", _PAIR, angles=("angle_x", "angle_y", "angle_z")),
    "plane_frame": _Part("PlaneFrameModule", _PAIR, angles=("angle",)),
    "spinning_disc": _Part("SpinningDisc", ("body",), angles=("angle_x", "angle_y")),
}
_KEYS = {
    "standing": (
        bool,
        Field(default=False, description="whether the rod stands (is inverted)"),
    ),
    "carrier": (str, Field(description="the translating body of the first rod")),
}


class Modules(Table):
    """The modules by name; the name gives what they join: `ground-cart`, `tip.y`."""

    modules: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of modules, named after what they join",
        allowed="a table of modules, such as modules.ground-cart",
    )
    fixed: list[str] = option(
        "fixed degrees of freedom",
        [],
        allowed="names of degrees of freedom",
    )


class AssemblyOptions(Modules):
    """A system of modules only."""

    kind: Literal["assembly"] = option("the kind of system")


class AssemblyKind(SystemKind):
    """Bodies that translate, rotate or both, joined by springs, rods, beams, frames."""

    name = "assembly"
    options = AssemblyOptions  # its modules may be of any kind
    roles = frozenset({Role.LINEAR, Role.MODULES})

    def read(self, document: Document) -> Any:
        """Return the validated table of a config, module by module."""
        table = with_modules(document.tables["system"], "system", document)
        return validated(AssemblyOptions, table, "system", document)

    def default(self) -> Any:
        """Return the class of each kind of module, which declares its numbers."""
        return {kind: getattr(library("systems"), p.cls) for kind, p in _PARTS.items()}

    def declared(self, options: Any) -> dict[str, Declared]:
        """Return the declaration of each number of the modules, by path."""
        return declared_of_modules(options)

    def places(self, options: Any) -> Places:
        """Return what the numbers of an analysis refer to."""
        kinds = {n: m.model_dump()["module"] for n, m in options.modules.items()}
        return Places(self.declared(options), angles_of(kinds))

    def axes(self, options: Any) -> dict[str, list[str]]:
        """Return the names of degrees of freedom and modules."""
        system = self.build(options)
        return {"freedom": list(system.names), "module": list(system.module_names())}

    def freedom_units(self, options: Any) -> list[str]:
        """Return the unit of each degree of freedom's displacement."""
        return ["rad" if turns else "m" for turns in self.build(options).rotations()]

    def modules(self, table: Mapping) -> dict[str, Mapping]:
        """Return the modules of a config's table, by name."""
        return table["modules"]

    def build(self, options: Any) -> Any:
        """Return the assembled system. **Raises:** `ValueError` for a wrong topology."""
        return assembled(options)


def with_modules(table: dict, section: str, document: Document) -> dict:
    """Return a table with its `modules` validated, each by its kind."""
    if "modules" not in table:
        return dict(table)
    prefix = f"{section}.modules"
    found = _modules(table["modules"], prefix, document)
    checked = {
        name: _module(name, entry, prefix, document) for name, entry in found.items()
    }
    return {**table, "modules": checked}


def declared_of_modules(options: Modules, prefix: str = "") -> dict[str, Declared]:
    """Return the declaration of each number of the modules, by path."""
    found = {}
    for name, table in options.modules.items():
        given = table.model_dump()
        for field, entry in _fields(given["module"]).items():
            value = given[field]
            if isinstance(value, float):
                path = f"{prefix}modules.{name}.{field}"
                found[path] = dataclasses.replace(entry, default=value)
    return found


def units_of_modules(kinds: Mapping[str, object], prefix: str = "") -> dict[str, Any]:
    """Return the unit of each number of modules of these kinds, by path."""
    return {
        f"{prefix}modules.{name}.{path}": entry.unit
        for name, kind in kinds.items()
        for path, entry in _fields(str(kind)).items()
    }


def angles_of(kinds: Mapping[str, object]) -> frozenset[str]:
    """Return the freedoms that are angles; invalid modules are skipped."""
    found = set()
    for name, kind in kinds.items():
        part = _PARTS.get(kind) if isinstance(kind, str) else None
        ends = [] if part is None else _joined(name, part)
        if part is None or not ends:
            continue
        joined = dict(zip(part.joins, ends, strict=True))
        found |= {joined[end] for end in part.turns}
        found |= {f"{body}.{angle}" for body in ends for angle in part.angles}
    return frozenset(found)


def kinds_of(linear: object, document: Document) -> dict[str, object]:
    """Return the kinds of the modules in a config's unvalidated table."""
    if not isinstance(linear, dict) or "modules" not in linear:
        return {}
    found = _modules(linear["modules"], "system.linear.modules", document)
    return {name: entry["module"] for name, entry in found.items()}


def assembled(options: Modules) -> Any:
    """Return the system of modules. **Raises:** `ValueError` for a wrong topology."""
    systems = library("systems")
    modules = []
    for name, table in options.modules.items():
        values = table.model_dump(exclude_none=True)
        part = _PARTS[values.pop("module")]
        joined = dict(zip(part.joins, _joined(name, part), strict=True))
        modules.append(getattr(systems, part.cls)(**joined, **values))
    system = systems.assemble(modules, options.fixed)
    for name, own in zip(options.modules, system.module_names(), strict=True):
        if name != own:
            raise ValueError(f"module {name!r} is {own!r} on parameter paths")
    return system


@functools.cache
def module_tables() -> dict[str, type[Table]]:
    """Return the table of each kind of module."""
    return {kind: _table(kind, part) for kind, part in _PARTS.items()}


def _table(kind: str, part: _Part) -> type[Table]:
    own = Literal[kind]  # ty: ignore[invalid-type-form]
    given = {"module": (own, Field(description="the kind of module"))}
    given |= {key: _KEYS[key] for key in part.keys}
    numbers = sorted(  # those that must be given first, then those without a default
        _fields(kind).items(),
        key=lambda each: (each[1].default is not ..., each[1].default is not None),
    )
    return nested_model(kind, dict(numbers), given)


def _fields(kind: str) -> dict[str, Declared]:
    return declared_part(AssemblyKind.name, kind)


def _modules(table, prefix: str, document: Document) -> dict[str, dict]:
    # A dot in a freedom's name makes a nested table: `modules.tip.y` is `tip.y`.
    if not isinstance(table, dict) or not table:
        raise ValueError(
            f"{document.where(prefix)}: {prefix} = {shown(table)} is not a module; "
            f"allowed: a table with module = {', '.join(map(shown, _PARTS))}"
        )
    found = {}
    for name, entry in table.items():
        path = f"{prefix}.{name}"
        if isinstance(entry, dict) and "module" in entry:
            found[name] = entry
        else:
            inner = _modules(entry, path, document)
            found |= {f"{name}.{rest}": each for rest, each in inner.items()}
    return found


def _module(name: str, entry: dict, prefix: str, document: Document) -> Table:
    path = f"{prefix}.{name}"
    kind = entry["module"]
    part = kind_named(kind, _PARTS, f"{path}.module", document)
    if not _joined(name, part):
        form = "-".join(part.joins)
        raise ValueError(
            f"{document.where(path)}: {path} does not name what it joins; allowed for "
            f"module = {shown(kind)}: a name of the form {form}"
        )
    return validated(module_tables()[kind], entry, path, document)


def _joined(name: str, part: _Part) -> list[str]:
    """Return what a module joins, by its name; a second one of a pair ends in `-2`."""
    ends = name.split("-")
    if len(ends) == len(part.joins) + 1 and ends[-1].isdigit():
        ends.pop()
    return ends if len(ends) == len(part.joins) and all(ends) else []
