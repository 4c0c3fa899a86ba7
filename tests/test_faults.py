"""Checked against: the bytes of a study that nothing happened to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.faults import GOOD, PARTS, RESULTS

ROOT = Path(__file__).parents[1]
QUICK = ["failing operations", "damages", "changed configs", "names"]
ALL = [part for part in PARTS if part != "kills of whole commands"]


@pytest.mark.parametrize(
    ("share", "parts"),
    [
        ("0.0005", QUICK),
        pytest.param("0.008", ALL, marks=pytest.mark.slow),  # kills 30 runs, 75 s
    ],
    ids=["a few", "of all kinds"],
)
def test_no_fault_ends_with_other_bytes_a_traceback_or_in_silence(share, parts, tmp_path):
    out = tmp_path / "faults.json"
    words = ["--share", share, "--out", str(out), "--parts", *parts]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.faults", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr + out.read_text()
    found = json.loads(out.read_text())["parts"]
    for part in parts:
        assert set(found[part]["outcomes"]) <= set(GOOD)
        assert found[part]["cases"] > 1 or "skipped" in found[part]


def test_the_stored_campaign_has_no_bad_case():
    for part in json.loads(RESULTS.read_text())["parts"].values():
        assert set(part["outcomes"]) <= set(GOOD)
