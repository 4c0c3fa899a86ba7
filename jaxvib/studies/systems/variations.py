"""Laws of parts in a config, and variations of contacts and springs in time."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pydantic
from pydantic import Field

from ..config.catalogue import Declared, declared_part
from ..config.document import Document
from ..config.quantities import HERTZ
from ..config.tables import Table, flattened, kind_named, number, validated


class Law(NamedTuple):
    """The class of a law, fixed arguments of its kind, and usual values.

    A number with its usual value is no parameter.
    """

    cls: str
    fixed: Mapping[str, str] = {}
    usual: Mapping[str, float] = {}


# Keys that give the kind of a contact, a load or a motion of a base or of stops, and the
# laws of each kind. For a motion the fixed argument names the quantity that the law gives.
LAWS = {
    "contact": {
        "hertz": Law("HertzContact"),
        "linear": Law("LinearContact"),
        "hard": Law("RestitutionContact"),
        "hunt_crossley": Law("HuntCrossleyContact", usual={"exponent": HERTZ}),
        "kelvin_voigt": Law("KelvinVoigtContact"),
        "power": Law("PowerContact"),
        "piecewise_linear": Law("PiecewiseLinearContact"),
    },
    "load": {
        "constant": Law("ConstantLoad"),
        "harmonic": Law("HarmonicLoad"),
        "fourier": Law("FourierLoad"),
        "record": Law("RecordLoad"),
        "step": Law("StepLoad"),
        "ramp": Law("RampLoad"),
        "chirp": Law("ChirpLoad"),
    }
    | {
        shape: Law("PulseLoad", {"shape": shape})
        for shape in ("half_sine", "rectangle", "triangle")
    },
    "base": {
        f"{law}_{given}": Law(cls, {"given": given})
        for law, cls in (("harmonic", "HarmonicLoad"), ("fourier", "FourierLoad"))
        for given in ("displacement", "velocity", "acceleration")
    }
    | {
        f"{law}_acceleration": Law(cls, {"given": "acceleration"})
        for law, cls in (
            ("record", "RecordLoad"),
            ("step", "StepLoad"),
            ("ramp", "RampLoad"),
            ("chirp", "ChirpLoad"),
        )
    }
    | {
        f"{shape}_acceleration": Law("PulseLoad", {"shape": shape, "given": "acceleration"})
        for shape in ("half_sine", "rectangle", "triangle")
    },
    "stops": {
        law: Law(cls, {"given": "displacement"})
        for law, cls in (("harmonic", "HarmonicLoad"), ("fourier", "FourierLoad"))
    },
    "friction": {"coulomb": Law("CoulombFriction"), "contact": Law("ContactFriction")},
    "spring": {
        "polynomial": Law("PolynomialLaw"),
        "polynomial_damper": Law("PolynomialDamperLaw"),
        "piecewise_linear": Law("PiecewiseLinearLaw"),
        "formula": Law("FunctionLaw"),
    },
    "element": {
        "piezoelectric": Law("PiezoelectricCircuit"),
        "coil": Law("CoilCircuit"),
        "maxwell": Law("MaxwellElement"),
    },
}
# An annular contact has any law with a force.
LAWS["annular"] = {kind: law for kind, law in LAWS["contact"].items() if kind != "hard"}
KEYS = {  # of each section
    "contacts": ("contact", "annular"),
    "loads": ("load", "base", "stops"),
    "frictions": ("friction",),
    "springs": ("spring",),
    "elements": ("element",),
}
AROUND = {"contact": "Contact", "annular": "AnnularContact"}  # with numbers of their own
INSIDE = dict.fromkeys(LAWS, "law") | dict.fromkeys(
    ("base", "stops"), "motion"
)  # key of the law's table

VARYING = ("contact", "annular", "spring")  # kinds of parts whose force may vary in time
_LAWS = LAWS["load"]
# Keys of a record's table besides its numbers.
RECORD_KEYS: dict[str, Any] = {
    "periodic": (bool, Field(default=False, description="whether the record is periodic")),
    "interpolation": (
        Literal["linear", "cubic"],
        Field(default="linear", description="interpolation between the values"),
    ),
    "source": (
        str,
        Field(default="", max_length=2000, description="the file of the record"),
    ),
}
NEVER_AGAIN = ("step", "ramp", "chirp")
FIELD: Any = (
    pydantic.SerializeAsAny[Table] | None,
    Field(
        default=None,
        description="v(t) of the factor 1 + v(t) of the force",
        json_schema_extra={"allowed": "a table of a load law, such as load = 'harmonic'"},
    ),
)


@functools.cache
def variation_tables() -> dict[str, type[Table]]:
    """Return the table of a variation by each load law, by kind."""
    found = {}
    for kind in _LAWS:
        numbers: dict[str, Any] = {
            path: number(entry) for path, entry in _declared(kind).items()
        }
        records = RECORD_KEYS if "values" in numbers else {}
        word = Literal[kind], Field(description="the kind of load law")  # ty: ignore
        found[kind] = pydantic.create_model(
            f"variation_{kind}", __base__=Table, load=word, **numbers, **records
        )
    return found


def with_variation(entry: dict, path: str, document: Document) -> dict:
    """Return the table of a part with its variation validated, if it has one."""
    given = entry.get("variation")
    if given is None:
        return entry
    path = f"{path}.variation"
    kind: Any = given.get("load") if isinstance(given, dict) else None
    kind_named(kind, _LAWS, f"{path}.load", document, given)
    return {
        **entry,
        "variation": validated(variation_tables()[kind], given, path, document),
    }


def declared_of_variation(table: Table) -> dict[str, Declared]:
    """Return the declaration of each number of a part's variation, by path in the part."""
    given = variation_of(table)
    if given is None:
        return {}
    values = flattened(given.model_dump())
    return {
        f"variation.{path}": dataclasses.replace(entry, default=values[path])
        for path, entry in _declared(values["load"]).items()
        if isinstance(values[path], float)
    }


def units_of_variation(kind: object) -> dict[str, str]:
    """Return the unit of each number of a variation by a load law, by path."""
    return {path: entry.unit for path, entry in _declared(kind).items()}


def variation_of(table: Table) -> Any:
    """Return the variation in a part's table, None without one."""
    return getattr(table, "variation", None)


def is_constant(table: Any) -> bool:
    """Return whether a part has no variation in time."""
    given = variation_of(table)
    return given is None or given.load == "constant"


def repeats(kind: str, law: Mapping) -> bool:
    """Return whether a load law of a kind is periodic or constant."""
    if kind in NEVER_AGAIN:
        return False
    return law.get("periodic", True) and law.get("every", 0.0) is not None


def _declared(kind: Any) -> dict[str, Declared]:
    """Return the declarations of a load law's numbers, relative ones instead of N."""
    law = _LAWS.get(str(kind))
    found = {} if law is None else declared_part("impact_assembly", law.cls)
    return {
        path: dataclasses.replace(entry, unit="" if entry.unit == "N" else entry.unit)
        for path, entry in found.items()
    }
