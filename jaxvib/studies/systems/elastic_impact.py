"""Elastic structures with contacts and loads at named points in a config."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from ..config.catalogue import Declared, catalogue
from ..config.document import Document
from ..config.tables import Table, flattened, option, shown, units_in, validated
from ..resources import library
from .assembly import Modules, assembled
from .base import Role
from .impact_assembly import ImpactAssemblyKind, ImpactAssemblyOptions
from .places import AT, is_number, is_place

_SOURCES = ("beam", "modules", "modal")
_NEEDED = {"modes": "[1, 512]", "points": "a table of points, such as points.tip"}
_DAMPING = ("damping_ratio", "mass_damping", "stiffness_damping")


_PATH = "system.linear.matrices"


class MatricesTable(Table):
    """Matrix files of a structure, relative to the config."""

    mass: str = option("file of the mass matrix: .mtx, .mat, .npz, .npy or .op4", unit="kg")
    stiffness: str = option("file of the stiffness matrix", unit="N/m")
    damping: str | None = option("file of the damping matrix", None, unit="N s/m")


class ModalTable(Table):
    """Modes of unit modal mass, computed from matrix files or identified in tests."""

    frequencies: list[float] = option(
        "natural frequencies, 0 for rigid-body modes", min_length=1, max_length=512,
        allowed="a list of numbers from 0 on", unit="rad/s",
    )  # fmt: skip
    shapes: dict[str, list[float]] = option(
        "components of the modes at each point, by its name", min_length=1,
        allowed="a list for each point, such as shapes.tip, as long as frequencies",
        unit="1/kg^0.5",
    )  # fmt: skip
    damping_ratios: list[float] | None = option("of each mode", None, unit="")
    residual: list[list[float]] | None = option(
        "static flexibility of the modes left out between the points", None, unit="m/N"
    )
    source: str = option("where they come from", "", max_length=2000)


class BeamTable(Table):
    """A uniform Euler-Bernoulli beam."""

    length: float = option("length of the beam", gt=0.0, unit="m")
    mass_per_length: float = option("mass of the beam per length", gt=0.0, unit="kg/m")
    bending_stiffness: float = option("bending stiffness E J", gt=0.0, unit="N m^2")
    ends: list[Literal["clamped", "hinged", "sliding", "free"]] = option(
        "supports of the left and right end", ["clamped", "free"], min_length=2,
        max_length=2, allowed="two of clamped, hinged, sliding, free",
    )  # fmt: skip


def _place(given: object) -> object:
    if is_number(given) or is_place(given):
        return given
    raise ValueError(
        f"{shown(given)} is not a point; allowed: a position on the beam (m), or a degree "
        "of freedom of the modules, or several with coefficients"
    )


_Point = Annotated[Any, pydantic.BeforeValidator(_place), Field()]


class ElasticLinear(Modules):
    """A beam, an assembly of modules, or matrices from files in their lowest modes."""

    modules: dict[str, pydantic.SerializeAsAny[Table]] | None = option(  # ty: ignore
        "tables of modules, named after what they join", None,
        allowed="a table of modules, such as modules.ground-cart, or a beam",
    )  # fmt: skip
    beam: BeamTable | None = option("a uniform beam, instead of modules", None)
    matrices: MatricesTable | None = option("matrix files, instead of modules", None)
    modal: ModalTable | None = option("the modes themselves, instead of modules", None)
    modes: int | None = option(
        "number of modes kept, in each plane", None, ge=1, le=512, allowed="[1, 512]"
    )
    planes: Literal[1, 2] = option(
        "planes of vibration: with 2, a point `middle` becomes `middle.x` and `middle.y`",
        1,
    )
    points: dict[str, _Point] = option(
        "points by name: a position (m) or a degree of freedom", {}, unit="m",
        allowed="a table of points, such as points.tip",
    )  # fmt: skip
    damping_ratio: float | None = option("modal damping ratio", None, ge=0.0, unit="")
    mass_damping: float | None = option("damping per mass", None, ge=0.0, unit="1/s")
    stiffness_damping: float | None = option(
        "damping per stiffness", None, ge=0.0, unit="s"
    )

    @pydantic.model_validator(mode="after")
    def _one_source(self):
        given = [name for name in _SOURCES if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(
                f"{found} given; allowed: one of beam, modules, matrices, modal"
            )
        for name in ("modes", "points"):
            if bool(getattr(self, name)) == bool(self.modal):
                words = "is given with modal" if self.modal else "is missing"
                allowed = "its shapes by points" if self.modal else _NEEDED[name]
                raise ValueError(f"{name} {words}; allowed: {allowed}")
        return self


class ElasticImpactOptions(ImpactAssemblyOptions):
    """A structure in its modes with named contacts, loads, frictions and springs."""

    kind: Literal["elastic_impact"] = option("the kind of system")  # ty: ignore
    linear: ElasticLinear = option("the structure")


class StopTable(Table):
    """A stop in series with the flexibility of the modes left out."""

    contact: Literal["stop"] = option("the kind of contact")
    at: AT = option("where it acts: a point, or several with coefficients")
    gap: float = option("gap at static equilibrium", unit="m")
    stiffness: float | None = option(
        "stiffness of the stop, rigid without", None, gt=0.0, unit="N/m"
    )


class ElasticImpactKind(ImpactAssemblyKind):
    """An elastic structure in its modes that hits stops or itself at named points."""

    name = "elastic_impact"
    options = ElasticImpactOptions
    roles = frozenset({Role.PERIODIC, Role.DRIVEN})

    def read_files(self, table: dict, document: Document) -> dict:
        """Return the table with modes of the matrix files that it names."""
        return with_read_matrices(table, document)

    def units(self, table: Mapping, kinds: Any, angles: Any) -> dict[str, str | None]:
        """Return the unit of each number that may be a formula, by path."""
        found = super().units(table, kinds, angles) | units_in(ElasticLinear, "linear.")
        contacts = table.get("contacts")
        for name, part in contacts.items() if isinstance(contacts, Mapping) else ():
            if isinstance(part, Mapping) and part.get("contact") == "stop":
                found |= units_in(StopTable, f"contacts.{name}.")
        return found

    def read_part(self, keys, entry, path: str, document: Document, angles) -> Table:
        """Return the validated table of a part; a contact may be a `stop`."""
        if isinstance(entry, dict) and entry.get("contact") == "stop" and "contact" in keys:
            return validated(StopTable, entry, path, document)
        moved = {"base": "a base motion", "stops": "a motion of stops"}
        for key in moved.keys() & (entry if isinstance(entry, dict) else {}):
            raise ValueError(
                f"{document.where(path)}: {path} is {moved[key]}; allowed: loads at points"
            )
        return super().read_part(keys, entry, path, document, angles)

    def default(self) -> Any:
        """Return a structure, to declare its parameters."""
        systems = library("systems")
        return {"linear": systems.ElasticStructure([1.0], [[1.0]], ["point"])}

    def declared(self, options: Any) -> dict[str, Declared]:
        """Return the declaration of each number, by path."""
        found = super().declared(options)
        gap = catalogue()[ImpactAssemblyKind.name]["Contact.gap"]
        for name, table in options.contacts.items():
            path = f"contacts.{name}.gap"
            if isinstance(table, StopTable) and path not in options.formulas:
                found[path] = dataclasses.replace(gap, default=table.gap)
        return found

    def declared_linear(self, linear: Any) -> dict[str, Declared]:
        """Return the declaration of each damping; frequencies follow from the source."""
        every = catalogue()[self.name]
        return {
            f"linear.{name}": dataclasses.replace(every[f"linear.{name}"], default=value)
            for name in _DAMPING
            if (value := getattr(linear, name)) is not None
        }

    def axes(self, options: Any) -> dict[str, list[str]]:
        """Return the names of modes, of states and of contacts."""
        system = self.build(options)
        return {
            "freedom": list(system.freedom_names),
            "state": list(system.state_names),
            "contact": list(options.contacts),
        }

    def modules(self, table: Any) -> dict:
        """Return no modules: sweeps cannot change those of a structure in its modes."""
        return {}

    def linear(self, options: Any) -> Any:
        """Build the structure in its modes."""
        systems, given = library("systems"), options.linear
        damping = {n: v for n in _DAMPING if (v := getattr(given, n)) is not None}
        if given.modal is not None:
            structure = _of_modal(given.modal, damping)
            return structure.in_two_planes() if given.planes == 2 else structure
        if given.beam is None:
            source = assembled(given)
            points = {name: _mapping(place) for name, place in given.points.items()}
        else:
            source = systems.BeamWithBodies(systems.Beam(**given.beam.model_dump()))
            points = {name: _position(name, x) for name, x in given.points.items()}
        build = library("modes").elastic_structure
        structure = build(source, given.modes, points, **damping)
        return structure.in_two_planes() if given.planes == 2 else structure

    def part(self, linear: Any, section: str, name: str, table: Table) -> Any:
        """Build a contact, load, friction, spring or element."""
        if not isinstance(table, StopTable):
            return super().part(linear, section, name, table)
        try:
            return linear.stop(_mapping(table.at), table.gap, table.stiffness, name)
        except ValueError as error:
            raise ValueError(f"{section}.{name}: {error}") from None


def _of_modal(table: ModalTable, damping: dict) -> Any:
    if not damping and table.damping_ratios is not None:
        damping = {"damping_ratio": table.damping_ratios}
    shapes = list(table.shapes.values())
    try:
        return library("systems").ElasticStructure(
            table.frequencies,
            shapes,
            list(table.shapes),
            residual=table.residual,
            **damping,
        )
    except ValueError as error:
        raise ValueError(f"linear.modal: {error}") from None


def _mapping(place: Any) -> Any:
    # A dot in a freedom's name makes a nested table.
    return flattened(place) if isinstance(place, dict) else place


def _position(name: str, place: Any) -> float:
    if isinstance(place, int | float):
        return float(place)
    raise ValueError(
        f"linear.points.{name} = {shown(place)}; allowed on a beam: a position, m"
    )


def with_read_matrices(table: dict, document: Document) -> dict:
    """Return a system's table with the modes of the matrix files that it names, if any.

    `matrices`, `modes` and `points` of the linear part become `modal`, so that the study
    contains its input. **Raises:** `ValueError` naming the key, for an unreadable file
    and as `read_matrices` and `elastic_structure`.
    """
    linear = table.get("linear")
    if not isinstance(linear, dict) or "matrices" not in linear:
        return table
    where = document.where(_PATH)
    for other in ("beam", "modules", "modal"):
        if other in linear:
            raise ValueError(
                f"{where}: both matrices and {other} given in system.linear; allowed: one"
            )
    files = validated(MatricesTable, linear["matrices"], _PATH, document)
    points = linear.get("points")
    if not isinstance(points, dict) or not points:
        raise ValueError(
            f'{where}: system.linear.points is missing; allowed: a table such as tip = "12"'
        )
    try:
        modal = _modal(files, Path(document.name).parent, linear, points)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"{where}: {_PATH}: {error}") from None
    left = {k: v for k, v in linear.items() if k not in ("matrices", "modes", "points")}
    return {**table, "linear": {**left, "modal": modal}}


def _modal(files: MatricesTable, folder: Path, linear: dict, points: dict) -> dict:
    given = {n: text for n, text in files.model_dump().items() if text is not None}
    read = library("systems").read_matrices(**{n: folder / t for n, t in given.items()})
    replaced = {"damping_ratio", "mass_damping", "stiffness_damping"} & set(linear)
    places = {
        name: flattened(place) if isinstance(place, dict) else place
        for name, place in points.items()
    }
    for name, place in places.items():
        if not isinstance(place, str | dict):
            raise ValueError(
                f"points.{name} = {place!r}; allowed: a degree of freedom as text, from "
                '"0" on, or several with coefficients'
            )
    damping: dict[str, Any] = {"damping_ratio": 0.0} if replaced else {}
    build = library("modes").elastic_structure
    structure = build(read, linear.get("modes"), places, **damping)
    digests = [
        f"{name} {text}, sha256 {_digest(folder, text)}" for name, text in given.items()
    ]
    modal: dict[str, Any] = {
        "frequencies": np.asarray(structure.frequencies).tolist(),
        "shapes": dict(
            zip(structure.names, np.asarray(structure.shapes).tolist(), strict=True)
        ),
        "residual": np.asarray(structure.residual).tolist(),
        "source": "; ".join([*digests, str(read)]),
    }
    if not replaced:
        modal["damping_ratios"] = np.asarray(structure.damping_ratio).tolist()
    return modal


def _digest(folder: Path, text: str) -> str:
    file = folder / text.partition(":")[0]
    return hashlib.sha256(file.read_bytes()).hexdigest()
