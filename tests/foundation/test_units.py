"""Checked against: definitions of the units (SI brochure, NIST SP 811), by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.foundation.units import is_quantity, to_si

KNOWN = [
    ("5 Hz", "rad/s", 10 * math.pi),
    ("600 rpm", "rad/s", 20 * math.pi),
    ("50 mm", "m", 0.05),
    ("0.5kN", "N", 500.0),
    ("2 kN/mm", "N/m", 2e6),
    ("3 N s/mm", "N s/m", 3e3),
    ("1 N*s/m", "N s/m", 1.0),
    ("9.81 m/s^2", "m/s^2", 9.81),
    ("2 g", "m/s^2", 19.6133),
    ("200 g", "kg", 0.2),
    ("210 GPa", "Pa", 2.1e11),
    ("210 kN/mm²", "Pa", 2.1e11),
    ("1e3 N/mm^1.5", "N/m^1.5", 1e3 * 1e3**1.5),
    ("90 deg", "rad", math.pi / 2),
    ("5 %", "", 0.05),
    ("4 1/mm", "1/m", 4e3),
    ("1 t", "kg", 1e3),
    ("2 min", "s", 120.0),
    ("1 in", "m", 0.0254),
    ("-3 cm", "m", -0.03),
    ("6 N/m^k", "N/m^k", 6.0),
    ("1 J", "N m", 1.0),
    ("2 N.m", "N m", 2.0),
    ("2 kN.m/rad", "N m/rad", 2e3),
    ("3 Nm s/rad", "N m s/rad", 3.0),
    ("2 gal", "m/s^2", 0.02),
]


@pytest.mark.parametrize(("text", "asked", "expected"), KNOWN)
def test_units_are_what_they_are_defined_as(text, asked, expected):
    assert is_quantity(text)
    assert to_si(text, asked) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        ("5 kN", "m", "kN is given where a length in m is expected"),
        ("5 s", "rad/s", "s is given where an angular frequency in rad/s is expected"),
        ("5 m", "", "m is given where a number without unit is expected"),
        ("5 Hzz", "rad/s", "unknown unit 'Hzz'; did you mean 'Hz'?"),
        ("5 Hz", "1/s", "Hz is given where a rate in 1/s is expected"),
        ("5 N/m", "N/m^k", "N/m is given where N/m^k is expected"),
    ],
)
def test_a_unit_that_does_not_fit_is_reported(text, asked, words):
    with pytest.raises(ValueError, match=words.replace("?", r"\?").replace("^", r"\^")):
        to_si(text, asked)


@given(st.floats(-1e6, 1e6), st.sampled_from(["m", "kN", "N s/m", "rpm"]))
def test_numbers_keep_their_digits(number, unit):
    asked = {"kN": "N", "rpm": "rad/s"}.get(unit, unit)
    one = to_si(f"1 {unit}", asked)
    assert to_si(f"{number!r} {unit}", asked) == number * one


@pytest.mark.parametrize(
    "text", ["", "m", "5", "2 * m", "m * X * w**2", "5 + 3", "main", "51/m", "1e3", True]
)
def test_other_texts_are_none(text):
    assert not is_quantity(text)
