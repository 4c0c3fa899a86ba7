"""Config names of contacts, loads, frictions, springs and elements, and their laws."""

from collections.abc import Mapping
from typing import NamedTuple

from ..config.quantities import HERTZ


class Law(NamedTuple):
    """The class of a law, fixed arguments of its kind, and usual values.

    A number with its usual value is no parameter.
    """

    cls: str
    fixed: Mapping[str, str] = {}
    usual: Mapping[str, float] = {}


# Keys that give the kind of a contact, a load or a base motion, and the laws of each
# kind. For a base motion the fixed argument names the quantity that the law gives.
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
    "loads": ("load", "base"),
    "frictions": ("friction",),
    "springs": ("spring",),
    "elements": ("element",),
}
AROUND = {"contact": "Contact", "annular": "AnnularContact"}  # with numbers of their own
INSIDE = dict.fromkeys(LAWS, "law") | {"base": "motion"}  # key of the law's table
