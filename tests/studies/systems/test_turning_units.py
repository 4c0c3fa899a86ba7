"""Checked against: the same configs in SI units, and what the built system declares."""

import math

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load_text
from jaxvib.studies.systems.assembly import angles_of

CONFIG = """
[system]
kind = "impact_assembly"
[system.linear.modules]
cart = {{ module = "point_mass", mass = 2.0 }}
ground-cart = {{ module = "spring", stiffness = 100.0 }}
rotor = {{ module = "point_inertia", inertia = "{inertia}" }}
ground-rotor = {{ module = "angular_spring", stiffness = "{stiffness}", damping = "{damping}" }}
[system.contacts]
stop = {{ contact = "linear", at = "rotor", gap = "{gap}", law.stiffness = "{law}" }}
back = {{ contact = "power", at = {{ rotor = -1.0 }}, gap = "{gap}", law = {{ stiffness = 9.0, exponent = 1.5 }} }}
tooth = {{ contact = "linear", at = {{ rotor = 0.1, cart = -1.0 }}, gap = "2 mm", law.stiffness = "1 kN/m" }}
[system.frictions]
pad = {{ friction = "coulomb", at = "rotor", force = "{friction}", speed = "{speed}" }}
[system.springs]
shaft = {{ spring = "piecewise_linear", at = "rotor", law = {{ stiffness = ["{law}", "{law}"], breaks = ["{gap}"] }} }}
[system.loads]
motor = {{ load = "harmonic", at = "rotor", law = {{ amplitude = "{torque}", frequency = "2 Hz" }} }}
push = {{ load = "constant", at = "cart", law.force = "{push}" }}
twist = {{ base = "harmonic_displacement", at = "rotor", motion = {{ amplitude = "{gap}", frequency = "2 Hz" }} }}
[analysis]
kind = "periodic_orbit"
[sweep]
loads.motor.law.amplitude = {{ linspace = ["{low}", 8.0, 3] }}
"""  # noqa: E501
SI = {
    "inertia": "0.3 kg m^2", "stiffness": "90 N m/rad", "damping": "0.5 N m s/rad",
    "gap": "0.1 rad", "law": "200 N m/rad", "friction": "5 N m", "speed": "0.5 rad/s",
    "torque": "2 N m", "push": "3 N", "low": "1 N m",
}  # fmt: skip


def text(**given):
    return CONFIG.format(**SI | given)


def test_moments_in_peoples_units_are_those_in_si():
    others = {
        "inertia": "300 kg m mm", "stiffness": f"{math.pi / 2 * 1e-3!r} kN m/deg",
        "damping": "0.5 N.m.s/rad", "gap": f"{18 / math.pi!r} deg", "law": "0.2 kNm/rad",
        "friction": "5 N*m", "speed": f"{90 / math.pi!r} deg/s", "torque": "0.002 kN m",
        "low": "1000 mN m",
    }  # fmt: skip
    other, same = load_text(text(**others)), load_text(text())
    mine, theirs = jv.parameters(build(other)), jv.parameters(build(same))
    for path, entry in theirs.items():
        np.testing.assert_allclose(mine[path].value, entry.value, rtol=1e-15)
    found = other.paths["loads.motor.law.amplitude"].linspace
    assert found == pytest.approx((1.0, 8.0, 3), rel=1e-15)


def test_a_config_declares_the_units_that_the_system_has():
    study = load_text(text())
    units = {path: one.unit for path, one in jv.parameters(build(study)).items()}
    declared = SYSTEMS["impact_assembly"].declared(study.system)
    assert declared["loads.motor.law.amplitude"].unit == "N m"
    assert declared["frictions.pad.speed"].unit == "rad/s"
    assert declared["contacts.back.law.stiffness"].unit == "N m/rad^n"
    assert declared["contacts.tooth.gap"].unit == "m"
    assert {path: units[path] for path in declared} == {
        path: entry.unit for path, entry in declared.items()
    }


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("torque", "2 N", "law.amplitude = .*: N is given where a moment in N m is"),
        ("push", "2 N m", "law.force = .*: N m is given where a force in N is"),
        ("gap", "2 mm", "stop.gap = .*: mm is given where an angle in rad is"),
        ("law", "2 N/m", "N/m is given where a rotational stiffness in N m/rad is"),
        ("friction", "2 kN", "pad.force = .*: kN is given where a moment in N m is"),
        ("speed", "2 m/s", "m/s is given where an angular frequency in rad/s is"),
        ("low", "1 N", r"sweep\..*amplitude = .*: N is given where a moment in N m is"),
        ("inertia", "2 kg", "kg is given where a moment of inertia in kg m.2 is"),
    ],
)
def test_a_unit_of_another_dimension_is_reported(name, value, words):
    with pytest.raises(ValueError, match=f"config, line .*{words}"):
        load_text(text(**{name: value}))


def test_angles_are_known_before_a_system_is_built_of_modules_of_every_kind():
    m = jv.systems
    flat = {"axial_stiffness": 1.0, "bending_stiffness": 1.0}
    modules = [
        m.PointMass("cart", 1.0),
        m.TranslationRotation("cart", "rod", mass=1.0, length=1.0),
        m.RodOnRod("cart", "rod", "tip", mass=1.0, length=1.0, first_length=1.0),
        m.AngularSpring("ground", "wheel", stiffness=1.0),
        m.PointInertia("wheel", 1.0),
        m.BeamModule(
            "ground", "end", length=1.0, bending_stiffness=1.0, mass_per_length=1.0
        ),
        m.PlaneFrameModule("ground", "p", along=[1.0, 0.0], mass_per_length=1.0, **flat),
        m.FrameModule(
            "ground", "f", along=[1.0, 0.0, 0.0], side=[0.0, 1.0, 0.0], axial_stiffness=1.0,
            torsional_stiffness=1.0, bending_stiffness=[1.0, 1.0], mass_per_length=1.0,
            inertia_per_length=1.0,
        ),
        m.SpinningDisc("d", mass=1.0, diametral_inertia=1.0, polar_inertia=1.0),
    ]  # fmt: skip
    whole = m.assemble(modules)
    kinds = (
        "point_mass", "translation_rotation", "rod_on_rod", "angular_spring",
        "point_inertia", "beam", "plane_frame", "frame", "spinning_disc",
    )  # fmt: skip
    known = angles_of(dict(zip(whole.module_names(), kinds, strict=True)))
    turning = {
        name for name, turns in zip(whole.names, whole.rotations(), strict=True) if turns
    }
    assert {name for name in known if not name.startswith("ground")} == turning
