"""Checked against: the hashes in `experiments/house/hashes.json`, of an earlier run."""

import json

import numpy as np
import pytest

from experiments.house.same_bits import TABLE, WAYS, hashes, run, settings

HASHES = json.loads(TABLE.read_text())
# Each setting once: of one that gives other bits its run tells, and
# `python -m experiments.house.same_bits` then which.
# In three of them all programs are compiled anew: without the studies whose programs are
# of a kind that another study has too.
ANEW = (
    "old-processor",
    "width-4+blas-Haswell+xla-avx2+one-core",
    "width-8+blas-Zen+libc-without-fma+chunks",
)
OF_ONE_KIND = {"bifurcation_diagram", "gear_play", "stability_chart"}
TOGETHER = ["plain", *ANEW, "two-workers+numpy-x86-v2", "blas-SkylakeX"]


def test_a_hash_depends_on_every_bit_except_those_of_nan():
    signed = np.array([np.nan, 1.0])
    signed[0] = -signed[0]
    found = hashes({"x": np.array([np.nan, 1.0]), "n": np.arange(2)})
    assert found == hashes({"n": np.arange(2), "x": signed})
    assert found["hash"] != hashes({"x": signed, "n": np.arange(3)})["hash"]
    moved = hashes({"x": np.nextafter(signed, 2.0), "n": np.arange(2)})
    assert moved["arrays"]["n"] == found["arrays"]["n"]
    assert moved["arrays"]["x"] != found["arrays"]["x"]
    assert hashes({"x": np.zeros(2)}) != hashes({"x": -np.zeros(2)})


def test_every_setting_is_in_one_of_the_runs():
    def of(ways):
        return {setting for way in ways for setting in settings(way).items()}

    assert of(TOGETHER) == of(WAYS)


@pytest.mark.slow  # studies in a process of their own
@pytest.mark.parametrize("way", TOGETHER)
def test_studies_have_the_same_bits_on_every_machine(way):
    names = [name for name in HASHES if way not in ANEW or name not in OF_ONE_KIND]
    found = run(way, names)
    if "left out" in found:
        pytest.skip(found["left out"])
    assert {name: one["hash"] for name, one in found.items()} == {
        name: HASHES[name] for name in names
    }
