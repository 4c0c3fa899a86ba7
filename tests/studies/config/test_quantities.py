"""Checked against: the same configs in SI units."""

import json
import math

import pytest

from jaxvib.foundation.units import conversion
from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.config.document import Document, parse
from jaxvib.studies.config.formulas import evaluated
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run.record import record
from jaxvib.studies.run.study import SECTIONS, load_text
from jaxvib.studies.store.recovery import refuse_differences

CONFIG = """
[system]
kind = "two_body_impact"
main.mass = {mass}
gap = {gap}
contact.youngs_moduli = [{modulus}, 2.1e11]
contact.poissons_ratios = [0.3, 0.3]
contact.curvature_sum = 1.0
load.amplitude = 500.0
[analysis]
kind = "periodic_orbit"
[sweep]
load.frequency = {{ linspace = [{low}, {high}, 3] }}
"""
SI = {"mass": 1e3, "gap": 0.05, "modulus": 2.1e11, "low": 5.0, "high": 8.0}
PEOPLES = {
    "mass": '"1 t"', "gap": '"50 mm"', "modulus": '"210 GPa"',
    "low": f'"{5 / (2 * math.pi)!r} Hz"', "high": "8.0",
}  # fmt: skip
CONTINUED = """
[system]
kind = "two_body_impact"
load.frequency = 6.0
[analysis]
kind = "continuation"
path = "load.frequency"
bounds = ["30 rpm", 8.0]
"""


def test_a_config_with_units_is_the_one_in_si():
    other, same = (load_text(CONFIG.format(**each)) for each in (PEOPLES, SI))
    assert other.resolved()["system"] == same.resolved()["system"]
    found = other.paths["load.frequency"].linspace
    assert found == pytest.approx((5.0, 8.0, 3), rel=1e-15)


def test_bounds_are_of_the_path_that_they_stand_beside():
    study = load_text(CONTINUED)
    assert study.analysis.bounds == pytest.approx([math.pi, 8.0], rel=1e-15)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gap": '"5 kN"'}, 'config, line 5: system.gap = "5 kN": kN is given where a '
                            "length in m is expected"),
        ({"low": '"5 Hzz"'}, "line 13: sweep.load.frequency = .*unknown unit 'Hzz'"),
        ({"mass": '"heavy"'}, 'system.main.mass = "heavy" is not a number'),
    ],
)  # fmt: skip
def test_a_wrong_unit_is_reported_with_its_line(change, words):
    with pytest.raises(ValueError, match=words):
        load_text(CONFIG.format(**SI | change))


def test_units_of_pictures_are_known_ones():
    study = load_text(CONFIG.format(**SI) + '[output]\nunits = ["Hz", "mm"]\n')
    assert study.output.units == ["Hz", "mm"]
    with pytest.raises(ValueError, match=r"output\.units.*unknown unit 'Hzz'"):
        load_text(CONFIG.format(**SI) + '[output]\nunits = ["Hzz"]\n')


def test_a_formula_takes_a_number_with_its_unit():
    found = evaluated(
        {"stiffness": "2 kN/mm", "mass": "stiffness / 100"},
        {"stiffness": "N/m", "mass": None}, Document({}, "config", {}), "system",
    )  # fmt: skip
    assert found["mass"] == 2e4
    assert found["stiffness"] == 2e6


SHAKEN = """
[system]
kind = "impact_assembly"
variables.pace = { value = 5.0, unit = "Hz" }
variables.share = { value = 0.2, unit = "g" }
variables.rest = "{REST}"
[system.linear.modules.ground-body]
module = "translation_translation"
mass = 2.0
stiffness = 1e3
damping = 4.0
[system.loads.quake]
base = "harmonic_acceleration"
at = "body"
motion = { amplitude = "share", frequency = "2*pace" }
[analysis]
kind = "periodic_orbit"
[sweep]
variables.pace = [4.0, "5 Hz"]
[output]
units = ["mm"]
""".replace("{REST}", "3 mm")


def test_a_resolved_config_is_in_si_and_is_the_same_study():
    study = load_text(SHAKEN)
    system = study.resolved()["system"]["variables"]
    assert system["pace"] == {"value": 10 * math.pi, "unit": "rad/s"}
    assert system["share"] == {"value": 0.2 * 9.80665, "unit": "m/s^2"}
    assert system["rest"] == {"value": 0.003, "unit": "m"}
    again = load_text(to_toml(study.resolved()), study.name)
    assert again.resolved() == study.resolved()


def test_values_are_shown_in_the_chosen_units_and_then_in_those_of_the_variables():
    study = load_text(SHAKEN)
    assert study.output.units == ["mm", "Hz", "kg", "g"]
    assert study.value_text("variables.pace", 8 * math.pi) == "variables.pace = 4 Hz"
    assert study.value_text("variables.share", 0.980665) == "variables.share = 0.1 g"
    assert study.quantity_text("kg", 2.0) == "2 kg"  # g is that of an acceleration
    assert study.quantity_text("m", 0.02, error=1e-4) == "20 +- 0.1 mm"


def test_a_study_begun_with_the_old_meaning_of_a_unit_is_not_resumed(tmp_path):
    new = record(load_text(SHAKEN), "cpu")
    old = json.loads(json.dumps(new))  # as it was: the number of its unit
    old["config"]["system"]["variables"]["pace"] = {"value": 5.0, "unit": "Hz"}
    refuse_differences(tmp_path, new, new)
    with pytest.raises(ValueError, match=r"variables\.pace"):
        refuse_differences(tmp_path, old, new)


@pytest.mark.parametrize(
    ("assignment", "value"),
    [("variables.pace=6", 12 * math.pi), ("variables.pace=600 rpm", 20 * math.pi),
     ("variables.pace=6.5 Hz", 13 * math.pi), ("variables.rest=2", 2.0),
     ("variables.rest=2 mm", 2e-3), ("variables.share=0.1", 0.980665),
     ("variables.share=100 mg", 0.980665), ("variables.share=1 m/s^2", 1.0),
     ("variables.pace={ value = 6, unit = 'rad/s' }", 6.0),
     ("variables.pace=share / rest / pace", None)],
)  # fmt: skip
def test_an_assignment_is_in_the_unit_of_its_variable(assignment, value):
    document = parse(SHAKEN.replace('[4.0, "5 Hz"]', "[4.0]"), "config")
    document = Document(
        document.tables | {"sweep": {"loads.quake.motion.phase": [0.0]}},
        "config", document.origins,
    )  # fmt: skip
    changed = document.override([assignment], SECTIONS)
    name = assignment.partition("=")[0].removeprefix("variables.")
    if value is None:
        with pytest.raises(ValueError, match="circular"):
            SYSTEMS["impact_assembly"].read(changed)
    else:
        found = SYSTEMS["impact_assembly"].read(changed)
        assert found.variables[name].value == pytest.approx(value, rel=4e-16)


UNITS = {
    "Hz": 2 * math.pi, "kHz": 2e3 * math.pi, "rpm": math.pi / 30, "deg/s": math.pi / 180,
    "mm": 1e-3, "µm": 1e-6, "in": 0.0254, "km/h": 1 / 3.6, "kN": 1e3,
    "lbf": 4.4482216152605,
    "N/mm": 1e3, "kN s/mm": 1e6, "ms": 1e-3, "min": 60.0, "deg": math.pi / 180, "t": 1e3,
    "MPa": 1e6, "g mm^2": 1e-9, "%": 1e-2, "kohm": 1e3, "nF": 1e-9, "1/min": 1 / 60,
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("given", ["{{ value = 3.0, unit = '{}' }}", "'3 {}'"])
def test_a_variable_has_its_value_in_si_whatever_its_unit(unit, given):
    text = SHAKEN.replace('"3 mm"', given.format(unit))
    found = load_text(text).system.variables["rest"]
    assert found.value == pytest.approx(3 * UNITS[unit], rel=4e-16)
    assert conversion(unit, found.unit) == pytest.approx(UNITS[unit], rel=4e-16)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("[1, 2]", "system.variables = .*is not a table|variables"),
        ('"5 Hz"', "variables"),
        ("{ x = [1.0] }", "variables.x.value = .* is not a number"),
        ("{ x = true }", "is not a number"),
        ('{ x = { value = 5.0, unit = 3 } }', "variables.x.unit = 3 is not a text"),
        ('{ x = { value = 5.0, units = "Hz" } }', 'x.units = "Hz" is not a known key'),
        ('{ x = { value = "2*3", units = "Hz" } }', 'x.units = "Hz" is not a known key'),
        ('{ x = { unit = "Hz" } }', "variables.x.value is missing"),
        ('{ x = { value = "2*3", unit = "Hz" } }', 'write unit = "rad/s" for "Hz"'),
        ('{ x = "2 m)" }', r"unknown unit '\)'"), ('{ x = "2 m^" }', "unknown unit"),
        ('{ x = "2 m//s" }', "unknown unit '/s'"),
    ],
)  # fmt: skip
def test_what_is_no_variable_is_refused(given, words):
    text = f"""
[system]
kind = "impact_assembly"
variables = {given}
linear.modules.ground-body = {{ module = "translation_translation", mass = 2.0 }}
[analysis]
kind = "natural_modes"
"""
    with pytest.raises(ValueError, match=words):
        load_text(text)


def test_a_formula_gives_its_value_in_si_whatever_unit_its_variable_names():
    text = SHAKEN.replace('"3 mm"', '{ value = "2*pace", unit = "Hz" }')
    found = load_text(text).system.variables["rest"]
    assert (found.value, found.unit) == (20 * math.pi, "rad/s")
