"""An assembled system with contacts and loads in a config: a table for each of them."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from ..._nearest import nearest
from ..config.catalogue import Declared, catalogue
from ..config.document import Document
from ..config.tables import Table, flattened, number, shown, validated
from ..library import library
from .assembly import Modules, assembled, declared_of_modules, first_change, with_modules
from .base import Role, SystemKind

# Which keys say the kind of a contact or of a load, and the classes of their laws.
_LAWS = {
    "contact": {"hertz": "HertzContact", "linear": "LinearContact"},
    "load": {"harmonic": "HarmonicLoad"},
}
_USUAL = ("phase",)  # what may be left out


def _place(given: object) -> object:
    coefficients = flattened(given) if isinstance(given, dict) else {}
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in coefficients.values()
    )
    if not (isinstance(given, str) and given) and not (coefficients and numbers):
        raise ValueError(
            f"{shown(given)} is no place; allowed: a freedom's name, or a table of "
            "freedoms with their coefficients"
        )
    return given


_At = Annotated[
    Any,
    pydantic.BeforeValidator(_place),
    Field(description="where it acts: a freedom, or freedoms with coefficients"),
]


class ImpactAssemblyOptions(Table):
    """Modules, and contacts and loads by names of their own."""

    kind: Literal["impact_assembly"] = Field(description="the kind of system")
    linear: Modules = Field(description="the system between its contacts")
    contacts: dict[str, pydantic.SerializeAsAny[Table]] = Field(
        default={},
        description="tables of contacts",
        json_schema_extra={"allowed": "a table of contacts, such as contacts.stop"},
    )
    loads: dict[str, pydantic.SerializeAsAny[Table]] = Field(
        description="tables of loads",
        json_schema_extra={"allowed": "a table of loads, such as loads.push"},
    )


class ImpactAssemblyKind(SystemKind):
    """Bodies joined by modules that hit stops or each other under harmonic loads."""

    name = "impact_assembly"
    options = ImpactAssemblyOptions  # its modules may be of any kind
    roles = frozenset({Role.PERIODIC})

    def read(self, document: Document):
        """Return the checked table of a config, each part by its own rules."""
        table = dict(document.tables["system"])
        if isinstance(table.get("linear"), dict):
            table["linear"] = with_modules(table["linear"], "system.linear", document)
        for section, key in (("contacts", "contact"), ("loads", "load")):
            parts = table.get(section)
            if isinstance(parts, dict):
                table[section] = {
                    name: _part(key, entry, f"system.{section}.{name}", document)
                    for name, entry in parts.items()
                }
        options = validated(ImpactAssemblyOptions, table, "system", document)
        if not options.loads:
            raise ValueError(
                f"{document.where('system')}: system.loads is empty; allowed: one load or "
                "more, whose period the motions repeat with"
            )
        return options

    def default(self):
        """Return a contact and a load of each kind, whose parameters a config may set."""
        systems = library("systems")
        one, along, gap = np.ones(()), np.ones(1), np.zeros(())
        return {
            "contact_hertz": systems.Contact(along, gap, systems.HertzContact(one)),
            "contact_linear": systems.Contact(along, gap, systems.LinearContact(one)),
            "load_harmonic": systems.AppliedLoad(along, systems.HarmonicLoad(one, one)),
        }

    def declared(self, options) -> dict[str, Declared]:
        """Return what is declared of each number, by path."""
        found = declared_of_modules(options.linear, "linear.")
        for section, key in (("contacts", "contact"), ("loads", "load")):
            for name, table in getattr(options, section).items():
                values = flattened(table.model_dump())
                for path, entry in _fields(f"{key}_{values[key]}").items():
                    found[f"{section}.{name}.{path}"] = dataclasses.replace(
                        entry, default=values[path]
                    )
        return found

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of freedoms, of states and of contacts."""
        system = self.build(options)
        return {
            "freedom": list(system.freedom_names),
            "state": list(system.state_names),
            "contact": list(options.contacts),
        }

    def variation(self, options) -> str:
        """Return a change worth trying: of the first number that is not zero."""
        return first_change(self.declared(options))

    def build(self, options):
        """Return the system. **Raises:** `ValueError` for a wrong topology or place."""
        systems = library("systems")
        linear = assembled(options.linear)
        contacts = tuple(
            systems.Contact(_direction(linear, "contacts", name, table), table.gap,
                    _law("contact", table), name)
            for name, table in options.contacts.items()
        )  # fmt: skip
        loads = tuple(
            systems.AppliedLoad(
                _direction(linear, "loads", name, table), _law("load", table), name
            )
            for name, table in options.loads.items()
        )
        return systems.ImpactSystem(linear, contacts, loads)


@functools.cache
def part_tables() -> dict[str, type[Table]]:
    """Return the table of each kind of contact and load, `contact_hertz` say."""
    found = {}
    for key, laws in _LAWS.items():
        for kind in laws:
            name = f"{key}_{kind}"
            own: dict[str, Any] = {}
            law: dict[str, Any] = {}
            for path, entry in _fields(name).items():
                given = {} if path.endswith(_USUAL) else {"default": ...}
                inner = path.removeprefix("law.")
                (law if inner != path else own)[inner] = number(entry, **given)
            inside = pydantic.create_model(f"{name}_law", __base__=Table, **law)
            fields: dict[str, Any] = {
                key: (Literal[kind], Field(description=f"the kind of {key}")),  # ty: ignore
                "at": (_At, ...),
                **own,
                "law": (inside, Field(description=f"the law of the {key}")),
            }
            found[name] = pydantic.create_model(name, __base__=Table, **fields)
    return found


def _fields(name: str) -> dict[str, Declared]:
    prefix = f"{name}."
    every: Mapping[str, Declared] = catalogue()[ImpactAssemblyKind.name]
    return {
        path.removeprefix(prefix): entry
        for path, entry in every.items()
        if path.startswith(prefix) and not path.endswith("direction")
    }


def _part(key: str, entry, path: str, document: Document) -> Table:
    kinds = _LAWS[key]
    kind = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        near = nearest(str(kind), kinds)
        hint = f'; did you mean "{near}"?' if near else ""
        found = f"is missing ({path} = {shown(entry)})" if kind is None else "is not known"
        given = "" if kind is None else f" = {shown(kind)}"
        raise ValueError(
            f"{document.where(path)}: {path}.{key}{given} {found}; allowed: "
            f"{', '.join(map(shown, kinds))}{hint}"
        )
    return validated(part_tables()[f"{key}_{kind}"], entry, path, document)


def _direction(linear, section: str, name: str, table):
    place = table.at if isinstance(table.at, str) else flattened(table.at)
    try:
        return linear.direction(place)
    except ValueError as error:
        raise ValueError(f"{section}.{name}.at: {error}") from None


def _law(key: str, table):
    systems = library("systems")
    given = table.model_dump()
    return getattr(systems, _LAWS[key][given[key]])(**given["law"])
