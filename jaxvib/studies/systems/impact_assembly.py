"""Assembled systems with contacts, loads, friction and springs in a config."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from ...foundation.expression import Expression
from ..config.catalogue import Declared
from ..config.document import Document
from ..config.formulas import WithFormulas, evaluated
from ..config.quantities import Places
from ..config.tables import Table, flattened, kind_named, number, option, validated
from ..resources import library
from .assembly import (
    Modules,
    angles_of,
    assembled,
    declared_of_modules,
    kinds_of,
    module_tables,
    units_of_modules,
    with_modules,
)
from .base import Role, SystemKind
from .part_units import (
    acts_on_angles,
    fields_of,
    laws_of_springs,
    unit_of_values,
    units_of_parts,
)
from .places import ANNULAR, AT
from .read_loads import describe_what_is_read, with_read_loads
from .two_sided import refuse_negative_plays, with_both_sides, with_plays
from .variations import (
    AROUND,
    FIELD,
    INSIDE,
    KEYS,
    LAWS,
    RECORD_KEYS,
    VARYING,
    Law,
    declared_of_variation,
    is_constant,
    repeats,
    variation_of,
    variation_tables,
    with_variation,
)

_PRESSED: dict[str, Any] = {
    "contact": (str, Field(description="the contact with the normal force, by name"))
}
_FORMULA: dict[str, Any] = {
    "formula": (
        str,
        Field(
            max_length=500,
            description="force by `elongation`, `rate`, variables and parameters, N",
        ),
    )
}
_MOTION = ("elongation", "rate")  # further names in such a formula
# The class of each kind of part, besides frictions, whose laws are parts.
_PARTS = AROUND | {
    "load": "AppliedLoad", "base": "BaseMotion", "stops": "StopMotion",
    "spring": "NonlinearSpring", "element": "StateElement",
}  # fmt: skip


class DriftTable(Table):
    """A coordinate in which motions are periodic up to a shift, see `drifting`."""

    at: AT = option(
        "the drifting degree of freedom, or several with coefficients; the first one "
        "measures the progress"
    )
    step: float | None = option(
        "the period of the equations in this coordinate, if they are not invariant under "
        "every shift: such as 6.283185307179586 for an angle", None, gt=0.0,
        unit="m or rad", allowed="(0, inf) m or rad",
    )  # fmt: skip


class ImpactAssemblyOptions(WithFormulas):
    """Modules, and named contacts, loads, frictions, springs and elements."""

    kind: Literal["impact_assembly"] = option("the kind of system")
    linear: Modules = option("the linear part")
    contacts: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of contacts", {}, allowed="a table of contacts, such as contacts.stop"
    )
    frictions: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of dry frictions", {}, allowed="a table of frictions, such as frictions.pad"
    )
    springs: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of nonlinear springs and dampers", {},
        allowed="a table of springs, such as springs.mount",
    )  # fmt: skip
    elements: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of elements with states, such as circuits", {},
        allowed="a table of elements, such as elements.circuit",
    )  # fmt: skip
    loads: dict[str, pydantic.SerializeAsAny[Table]] = option(
        "tables of loads and of base motions",
        {},
        allowed="a table of loads, such as loads.push",
    )
    drift: DriftTable | None = option("coordinate in which motions drift", None)


class ImpactAssemblyKind(SystemKind):
    """Bodies joined by modules that hit stops or each other under periodic loads."""

    name = "impact_assembly"
    options = ImpactAssemblyOptions  # its modules may be of any kind
    roles = frozenset({Role.PERIODIC, Role.DRIVEN, Role.MODULES})

    def read(self, document: Document) -> Any:
        """Return the validated table of a config, each part by its kind."""
        given = document.tables["system"]
        table = with_both_sides(given, document)
        table = self.read_files(table, document)
        kinds = kinds_of(table.get("linear"), document)
        angles = angles_of(kinds)
        table, scales = with_read_loads(
            table, document, lambda load: unit_of_values(load, angles)
        )
        units = self.units(table, kinds, angles) | scales
        table = evaluated(table, units, document, "system", laws_of_springs(table, angles))
        if isinstance(table.get("linear"), dict):
            table["linear"] = with_modules(table["linear"], "system.linear", document)
        if "drift" in table:
            table["drift"] = validated(DriftTable, table["drift"], "system.drift", document)
        for section, keys in KEYS.items():
            parts = table.get(section)
            if isinstance(parts, dict):
                table[section] = {
                    name: self.read_part(
                        keys, entry, f"system.{section}.{name}", document, angles
                    )
                    for name, entry in parts.items()
                }
        options = validated(self.options, table, "system", document)
        refuse_negative_plays(given, options.contacts, document)
        self._check_formulas(options, document)
        return options

    def units(
        self, table: Mapping, kinds: Mapping[str, object], angles: frozenset[str]
    ) -> dict[str, str | None]:
        """Return the unit of each number that may be a formula, by path.

        `table`: not validated; `kinds`: of its modules; `angles`: freedoms that are.
        """
        return units_of_modules(kinds, "linear.") | units_of_parts(table, angles)

    def read_files(self, table: dict, document: Document) -> dict:
        """Return the table with the files read that its linear part names."""
        return table

    def read_part(self, keys, entry, path: str, document: Document, angles) -> Table:
        """Return the validated table of a contact, load, friction, spring or element."""
        return _part(keys, entry, path, document, angles)

    def refuse_transients(self, options: Any, document: Document) -> None:
        """Raise `ValueError` for a non-periodic load, or if no load depends on time."""
        _refuse_non_periodic(options, document.where("system"))

    def refuse_loads(self, options: Any, document: Document) -> None:
        """Raise `ValueError` for a time-dependent load."""
        for name, load in options.loads.items():
            if (kind := _kind(load)[1]) != "constant":
                raise ValueError(
                    f"{document.where('system')}: system.loads.{name} is {kind}; allowed: "
                    "constant ones, for an autonomous system"
                )
        for name, part in _varying(options).items():
            if not is_constant(part):
                raise ValueError(
                    f"{document.where('system')}: system.{name}.variation is "
                    f"{variation_of(part).load}; allowed: none, for an autonomous system"
                )

    def _check_formulas(self, options, document: Document) -> None:
        """Validate the formulas of springs against the names that exist."""
        known = (*_MOTION, *options.variables, *self.declared(options), *options.formulas)
        for name, table in options.springs.items():
            if (text := table.model_dump().get("law", {}).get("formula")) is None:
                continue
            path = f"system.springs.{name}.law.formula"
            try:
                Expression(text).check_names(known)
            except ValueError as error:
                raise ValueError(f"{document.where(path)}: {path}: {error}") from None

    def schema(self) -> dict:
        """Return the JSON schema of the table, with all kinds of parts."""
        inherited = super().schema()
        parts = part_tables()
        for section, keys in KEYS.items():
            names = [name for name in parts if name.partition("_")[0] in keys]
            tables = [parts[name].model_json_schema() for name in names]
            for name, table in zip(names, tables, strict=True):
                if section == "loads":
                    describe_what_is_read(name, table)
                elif "variation" in table["properties"]:
                    laws = [
                        each.model_json_schema() for each in variation_tables().values()
                    ]
                    table["properties"]["variation"]["oneOf"] = laws
            tables = with_plays(tables) if section == "contacts" else tables
            inherited["properties"][section]["additionalProperties"] = {"oneOf": tables}
        modules = [table.model_json_schema() for table in module_tables().values()]
        for part in inherited["$defs"].values():
            if "modules" in part["properties"]:
                inner = part["properties"]["modules"]
                inner["additionalProperties"] = {"oneOf": modules}
        for own in ("formulas", "own_units"):
            inherited["properties"].pop(own)
        return inherited

    def default(self) -> Any:
        """Return the classes of laws and contacts, which declare their numbers."""
        laws = [law.cls for kinds in LAWS.values() for law in kinds.values()]
        return {n: getattr(library("systems"), n) for n in (*AROUND.values(), *laws)}

    def declared(self, options: Any) -> dict[str, Declared]:
        """Return the declaration of each number, by path."""
        found = self.declared_linear(options.linear)
        angles = _angles(options)
        for section in KEYS:
            for name, table in getattr(options, section).items():
                values = flattened(table.model_dump())
                turned = acts_on_angles(table.at, angles)
                for path, entry in fields_of("_".join(_kind(table)), turned).items():
                    if isinstance(values[path], float):
                        found[f"{section}.{name}.{path}"] = dataclasses.replace(
                            entry, default=values[path]
                        )
                for path, entry in declared_of_variation(table).items():
                    found[f"{section}.{name}.{path}"] = entry
        found |= options.declared_variables()
        return {path: found[path] for path in found if path not in options.formulas}

    def declared_linear(self, linear: Any) -> dict[str, Declared]:
        """Return the declaration of each number of the linear part, by path."""
        return declared_of_modules(linear, "linear.")

    def linear(self, options: Any) -> Any:
        """Build the linear part."""
        return assembled(options.linear)

    def part(self, linear: Any, section: str, name: str, table: Table) -> Any:
        """Build a contact, load, friction, spring or element."""
        along = _direction(linear, section, name, table)
        systems, (key, kind) = library("systems"), _kind(table)
        law, own = LAWS[key][kind], table.model_dump(exclude={key, "at", "variation"})
        if key == "friction":
            return getattr(systems, law.cls)(along, **own, name=name)
        own[INSIDE[key]] = _built(systems, law, own.get(INSIDE[key], {}))
        if key in VARYING:
            own["variation"] = _varies(systems, table)
        if key == "base":
            own["given"] = law.fixed["given"]
        try:
            return getattr(systems, _PARTS[key])(along, **own, name=name)
        except ValueError as error:
            raise ValueError(f"{section}.{name}: {error}") from None

    def places(self, options: Any) -> Places:
        """Return what the numbers of an analysis refer to."""
        return Places(
            self.declared(options),
            _angles(options),
            frozenset(name for name, load in options.loads.items() if "base" in dict(load)),
            tuple(options.elements),
            {
                f"contacts.{name}.law.stiffness": exponent
                for name, part in options.contacts.items()
                if (exponent := part.model_dump().get("law", {}).get("exponent"))
            },
        )

    def axes(self, options: Any) -> dict[str, list[str]]:
        """Return the names of degrees of freedom, of states, contacts and modules."""
        system = self.build(options)
        return {
            "freedom": list(system.freedom_names),
            "state": list(system.state_names),
            "contact": list(options.contacts),
            "module": list(system.linear.module_names()),
        }

    def modules(self, table: Mapping) -> dict[str, Mapping]:
        """Return the modules of a config's table, by name."""
        return table["linear"]["modules"]

    def build(self, options: Any) -> Any:
        """Build the system. **Raises:** `ValueError` for a wrong topology or place."""
        systems = library("systems")
        linear = self.linear(options)
        parts: dict[str, list] = {section: [] for section in KEYS}
        formulas = dict(options.formulas)
        for section, built in parts.items():
            for name, table in getattr(options, section).items():
                if _kind(table) == ("spring", "formula"):
                    along = _direction(linear, section, name, table)
                    law, follows = library("systems.springs").formula_law(table.law.formula)
                    varies = _varies(systems, table)
                    built.append(systems.NonlinearSpring(along, law, name, varies))
                    formulas |= {f"springs.{name}.law.{p}": t for p, t in follows.items()}
                else:
                    built.append(self.part(linear, section, name, table))
        system = systems.ImpactSystem(linear, **{k: tuple(v) for k, v in parts.items()})
        if formulas or options.variables:
            variables = {name: each.value for name, each in options.variables.items()}
            units = {name: each.unit for name, each in options.variables.items()}
            system = systems.derived(system, formulas, variables, units)
        return system if options.drift is None else drifting(system, options.drift)


@functools.cache
def part_tables(turned: bool = False) -> dict[str, type[Table]]:
    """Return the table of each kind of contact and load, such as `contact_hertz`.

    `turned`: of those that act on angles only, in N m and rad.
    """
    found = {}
    for key, laws in LAWS.items():
        for kind in laws:
            name = f"{key}_{kind}"
            own: dict[str, Any] = {}
            law: dict[str, Any] = {}
            for path, entry in fields_of(name, turned).items():
                inner = path.removeprefix(f"{INSIDE[key]}.")
                (law if inner != path else own)[inner] = number(entry)
            if "values" in law:
                law |= RECORD_KEYS
            if kind == "formula":
                law |= _FORMULA
            if (key, kind) == ("friction", "contact"):
                own = _PRESSED | own
            if key == "annular":
                own |= ANNULAR
            if key in VARYING:
                own["variation"] = FIELD
            description = Field(description=f"the law of the {_SAID[key]}")
            inside = pydantic.create_model(f"{name}_law", __base__=Table, **law)
            laws: dict[str, Any] = {INSIDE[key]: (inside, description)} if law else {}
            fields: dict[str, Any] = {
                key: (Literal[kind], Field(description=f"the kind of {_SAID[key]}")),  # ty: ignore
                "at": (AT, ...),
                **own,
                **laws,
            }
            found[name] = pydantic.create_model(name, __base__=Table, **fields)
    return found


_SAID = {key: key for key in LAWS} | {
    "base": "base motion", "stops": "motion of stops", "annular": "annular contact",
}  # fmt: skip


def _varying(options) -> dict[str, Table]:
    """Return the tables of contacts and springs by path."""
    return {
        f"{section}.{name}": table
        for section in ("contacts", "springs")
        for name, table in getattr(options, section).items()
    }


def _refuse_non_periodic(options, where: str) -> None:
    for name, load in options.loads.items():
        if not _is_periodic(load):
            raise ValueError(
                f"{where}: system.loads.{name} is not periodic; allowed: periodic "
                "loads (by `every` or `periodic`), or the analysis `response`, "
                "which needs no period"
            )
    parts = _varying(options)
    for name, part in parts.items():
        given = variation_of(part)
        if given is not None and not repeats(given.load, given.model_dump()):
            raise ValueError(
                f"{where}: system.{name}.variation is not periodic; allowed: periodic "
                "ones, or the analysis `response`, which needs no period"
            )
    still = all(_kind(load)[1] == "constant" for load in options.loads.values())
    if still and all(map(is_constant, parts.values())):
        found = "constant" if options.loads else "empty"
        raise ValueError(
            f"{where}: system.loads is {found}; allowed: one or more "
            "periodic loads; with the analyses `periodic_orbit` and `basins` constant "
            "ones and their `analysis.period`"
        )


def _angles(options: Any) -> frozenset[str]:
    modules = options.linear.modules or {}
    return angles_of({n: m.model_dump()["module"] for n, m in modules.items()})


def _part(keys, entry, path: str, document: Document, angles: frozenset[str]) -> Table:
    given = entry if isinstance(entry, dict) else {}
    key = next((key for key in keys if key in given), keys[0])
    kinds = LAWS[key]
    kind = given.get(key)
    law_kind = kind_named(kind, kinds, f"{path}.{key}", document, entry)
    entry = with_variation(entry, path, document) if key in VARYING else entry
    if law_kind.usual and isinstance(law := given.get("law"), dict):
        # The usual value is the law's own, without a parameter.
        usual = law_kind.usual.items()
        entry = {**entry, "law": {k: v for k, v in law.items() if (k, v) not in usual}}
    # Called without the default argument, which would be a different cache key.
    turned = acts_on_angles(given.get("at"), angles)
    tables = part_tables(turned=True) if turned else part_tables()
    return validated(tables[f"{key}_{kind}"], entry, path, document)


def _kind(table) -> tuple[str, str]:
    """Return the key that gives the kind of a part, and the kind."""
    given = table.model_dump()
    # Reversed: a friction may also name its contact.
    return next((key, given[key]) for key in reversed(LAWS) if key in given)


def _is_periodic(table) -> bool:
    """Return whether a load is periodic or constant."""
    key, kind = _kind(table)
    return repeats(kind.removesuffix("_acceleration"), table.model_dump()[INSIDE[key]])


def _direction(linear, section: str, name: str, table):
    plane = table.at if isinstance(table.at, list) else [table.at]
    places = [place if isinstance(place, str) else flattened(place) for place in plane]
    try:
        found = [linear.direction(place) for place in places]
    except ValueError as error:
        raise ValueError(f"{section}.{name}.at: {error}") from None
    return np.stack(found) if isinstance(table.at, list) else found[0]


def _built(systems, law: Law, numbers: Mapping[str, object]):
    fixed = {name: word for name, word in law.fixed.items() if name != "given"}
    given = {name: number for name, number in numbers.items() if name != "source"}
    return getattr(systems, law.cls)(**fixed, **given)


def _varies(systems, table):
    """Return the law of a part's variation, None without one."""
    if (given := variation_of(table)) is None:
        return None
    return _built(systems, LAWS["load"][given.load], given.model_dump(exclude={"load"}))


def drifting(system: Any, drift: DriftTable) -> Any:
    """Return a system with a drift. **Raises:** `ValueError` if it is restrained."""
    along = flattened(drift.at) if isinstance(drift.at, dict) else drift.at
    try:
        return library("systems").drifting(system, along, drift.step)
    except ValueError as error:
        raise ValueError(f"drift.at: {error}") from None
