"""Checked against: the same configs in SI units."""

import math

import pytest

from jaxvib.studies.config.document import Document
from jaxvib.studies.config.formulas import evaluated
from jaxvib.studies.run.study import load_text

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
