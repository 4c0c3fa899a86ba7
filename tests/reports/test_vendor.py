"""Checked against: the sha256 that the note beside the vendored file gives."""

import hashlib
import re
from pathlib import Path

import jaxvib.reports

VENDOR = Path(jaxvib.reports.__file__).parent / "vendor"


def test_the_vendored_script_is_the_one_that_was_looked_at():
    note = (VENDOR / "README.md").read_text("utf-8")
    (expected,) = re.findall(r"`([0-9a-f]{64})`", note)
    script = (VENDOR / "plotly-cartesian.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == expected


def test_its_licence_lies_beside_it():
    assert "MIT License" in (VENDOR / "plotly.LICENSE").read_text("utf-8")


def test_it_can_stand_inside_a_page():
    script = (VENDOR / "plotly-cartesian.min.js").read_text("utf-8")
    assert "</script" not in script.lower()
    assert "<!--" not in script
