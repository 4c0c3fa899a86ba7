"""Checked against: the names, arguments and keys as of the version that promised them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxvib as jv
from experiments.house import reference, stable
from jaxvib.foundation import suggestions

ROOT = Path(__file__).parents[1]


def test_every_promise_is_kept():
    assert stable.broken() == []


def test_sixty_names_are_stable_and_public():
    assert 55 <= len(reference.STABLE) <= 75
    assert reference.public_names() >= reference.STABLE


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (["system", "new=1", "*", "rtol=1e-8", "also=2"], []),
        (["system", "rtol=1e-8"], []),  # a keyword may become positional
        (["*", "system", "rtol=1e-8"], ["system"]),
        (["new=1", "system", "*", "rtol=1e-8"], ["system"]),
        (["system", "*", "rtol=1e-6"], ["rtol=1e-8"]),
        (["system", "new", "*", "rtol=1e-8"], ["new"]),
        (["system", "*", "new", "rtol=1e-8"], ["new"]),
        (["system"], ["rtol=1e-8"]),
    ],
)
def test_a_call_that_would_fail_or_change_is_found(now, lost):
    assert stable.lost_arguments(["system", "*", "rtol=1e-8"], now) == lost


def test_a_study_folder_has_the_files_and_keys_that_are_promised(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "jaxvib", "run", "tower_modes", "--out", "here",
         "--set", "output.report=false"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    written = {path.name for path in (tmp_path / "here").iterdir()}
    assert written >= set(stable.PROMISES["store"]["files"])
    record = json.loads((tmp_path / "here" / "study.json").read_text())
    assert record.keys() >= set(stable.PROMISES["store"]["study.json"])


def test_the_reference_tells_stable_names_from_provisional_ones():
    assert "*[Stable](../versions.md#stable)*" in reference.part("simulate")
    assert "*[Provisional](../versions.md#provisional)*" in reference.part("orbits.Shock")
    assert "**[`simulate`](motion.md#simulate)**" in reference.index()


GONE = [key.split("'")[1] for key in suggestions._REPLACED if key.startswith("name ")]


@pytest.mark.parametrize("name", GONE)
def test_a_name_that_went_says_what_to_write_and_is_in_the_manual(name):
    with pytest.raises(AttributeError, match=f"{name!r} is no longer there; write") as told:
        getattr(jv, name)
    words = str(told.value).partition("; write ")[2]
    for instead in re.findall(r"\w[\w.]*", words):
        if re.search("[A-Z._]", instead) and not instead.startswith("jax."):
            reference.named(instead)
    page = (ROOT / "docs" / "from_0_1_to_0_2.md").read_text("utf-8")
    assert re.search(rf"[`.]{name}\b", page)
