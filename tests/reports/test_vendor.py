"""Checked against: the list of parts beside the vendored file, and its own comments."""

import hashlib
import json
import re
from pathlib import Path

import jaxvib.reports

VENDOR = Path(jaxvib.reports.__file__).parent / "vendor"
PARTS = Path(__file__).parents[2] / "packaging" / "sbom.cdx.json"
(PLOTLY, _) = json.loads(PARTS.read_text("utf-8"))["components"]


def test_the_vendored_script_is_the_one_that_was_looked_at():
    script = (VENDOR / "plotly-cartesian.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == PLOTLY["hashes"][0]["content"]
    assert f"v{PLOTLY['version']}\n".encode() in script[:200]


def test_every_library_that_the_script_names_is_listed_with_its_licence():
    script = (VENDOR / "plotly-cartesian.min.js").read_text("utf-8")
    named = script[script.index("/*! Bundled license information:") :]
    parts = dict(re.findall(r"^([\w-]+)/\S+:\n(.*?\*\))$", named, re.DOTALL | re.MULTILINE))
    listed = {
        each["name"]: each["licenses"][0]["license"]["id"] for each in PLOTLY["components"]
    }
    assert len(parts) == 7
    assert listed.keys() == parts.keys()
    assert all(re.search(rf"\b{listed[name]}\b", text) for name, text in parts.items())


def test_its_licence_lies_beside_it():
    assert "MIT License" in (VENDOR / "plotly.LICENSE").read_text("utf-8")


def test_it_can_stand_inside_a_page():
    script = (VENDOR / "plotly-cartesian.min.js").read_text("utf-8")
    assert "</script" not in script.lower()
    assert "<!--" not in script
