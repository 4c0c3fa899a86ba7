"""Config names of contacts, loads, frictions, springs and elements, and their laws."""

from collections.abc import Mapping
from typing import NamedTuple

from ..config.quantities import HERTZ


class Law(NamedTuple):
    """The class of a law, fixed arguments of its kind, and numbers it can do without."""

    cls: str
    fixed: Mapping[str, str] = {}
    optional: Mapping[str, float] = {}


# Keys that give the kind of a contact, a load or a base motion, and the laws of each
# kind. For a base motion the fixed argument names the quantity that the law gives.
LAWS = {
    "contact": {
        "hertz": Law("HertzContact"),
        "linear": Law("LinearContact"),
        "hard": Law("RestitutionContact"),
        "hunt_crossley": Law("HuntCrossleyContact", optional={"exponent": HERTZ}),
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
INSIDE = dict.fromkeys(LAWS, "law") | {"base": "motion"}  # key of the law's table
# Optional, with a default.
USUAL = ("phase", "mean", "speed", "scale", "friction_coefficient", "surface_speed")
UNLESS = ("every", "static", "stribeck", "regularization")  # optional, None if omitted
EXAMPLES = {
    "HertzContact": {"stiffness": 1.0},
    "LinearContact": {"stiffness": 1.0},
    "RestitutionContact": {"restitution": 1.0},
    "HuntCrossleyContact": {"stiffness": 1.0, "damping": 1.0, "exponent": 2.0},
    "KelvinVoigtContact": {"stiffness": 1.0, "damping": 1.0},
    "PowerContact": {"stiffness": 1.0, "exponent": 1.0},
    "PiecewiseLinearContact": {"stiffness": [1.0, 1.0], "depths": [1.0]},
    "PolynomialLaw": {"coefficients": [1.0]},
    "PolynomialDamperLaw": {"coefficients": [1.0]},
    "PiecewiseLinearLaw": {"stiffness": [1.0, 1.0], "breaks": [1.0]},
    "FunctionLaw": {"function": max, "parameters": {}},
    "PiezoelectricCircuit": {"capacitance": 1.0, "resistance": 1.0, "coupling": 1.0},
    "CoilCircuit": {"inductance": 1.0, "resistance": 1.0, "coupling": 1.0},
    "MaxwellElement": {"stiffness": 1.0, "damping": 1.0},
    "CoulombFriction": {"force": 1.0, "static": 1.0, "speed": 0.0, "stribeck": 1.0},
    "ContactFriction": {
        "contact": 0, "coefficient": 1.0, "static": 1.0, "speed": 0.0, "stribeck": 1.0,
    },
    "FourierLoad": {"frequency": 1.0, "cosine": [1.0], "sine": [1.0]},
    "PulseLoad": {"amplitude": 1.0, "start": 0.0, "duration": 1.0, "every": 1.0},
    "RecordLoad": {"times": [0.0, 1.0], "values": [1.0, 1.0], "periodic": True},
    "HarmonicLoad": {"amplitude": 1.0, "frequency": 1.0},
    "ConstantLoad": {"force": 1.0},
    "StepLoad": {"amplitude": 1.0, "start": 0.0},
    "RampLoad": {"amplitude": 1.0, "start": 0.0, "duration": 1.0},
    "ChirpLoad": {
        "amplitude": 1.0, "first_frequency": 1.0, "last_frequency": 1.0, "duration": 1.0,
        "start": 0.0,
    },
}  # fmt: skip
