"""Checked against: the definition of contrast in WCAG 2.2, at least 4.5 for text."""

import re
from pathlib import Path

import pytest

import jaxvib.reports

ROOT = Path(__file__).parents[2]
CSS = (Path(jaxvib.reports.__file__).parent / "page" / "page.css").read_text("utf-8")
PICTURE = re.search(
    r"<style>(.*?)</style>",
    (ROOT / "docs" / "two_bodies.svg").read_text("utf-8"),
    re.DOTALL,
)[1]
LEAST = 4.5
TEXTS = ("ink", "muted", "accent", "alarm")
GROUNDS = ("paper", "wash")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def schemes(css):
    """Return the colours by name of the light and of the dark scheme."""
    light, dark, *_ = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    first = dict(re.findall(r"--(\w+): (#\w{6})", light))
    return {"light": first, "dark": first | dict(re.findall(r"--(\w+): (#\w{6})", dark))}


def test_black_on_white_has_the_contrast_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0, rel=1e-12)
    assert contrast("#777777", "#ffffff") == pytest.approx(
        4.48, abs=0.005
    )  # just too little


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_of_a_report_stand_out_from_their_ground(scheme):
    colours = schemes(CSS)[scheme]
    for text in TEXTS:
        for ground in GROUNDS:
            assert contrast(colours[text], colours[ground]) >= LEAST, (text, ground)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_rule_that_sets_words_on_a_ground_has_contrast(scheme):
    colours, found = schemes(CSS)[scheme], 0
    for rule in re.findall(r"\{([^{}]*)\}", CSS):
        text = re.search(r"(?<![\w-])color: var\(--(\w+)\)", rule)
        ground = re.search(r"background(?:-color)?: var\(--(\w+)\)", rule)
        if text and ground:
            found += 1
            assert contrast(colours[text[1]], colours[ground[1]]) >= LEAST, rule
    assert found > 2


@pytest.mark.parametrize(("scheme", "ground"), [("light", "#ffffff"), ("dark", "#0d1117")])
def test_words_of_the_moving_picture_stand_out(scheme, ground):
    colours = schemes(PICTURE)[scheme]
    for text in ("ink", "muted"):
        assert contrast(colours[text], ground) >= LEAST
    for body in ("main", "attached"):
        assert contrast(colours["on"], colours[body]) >= LEAST
