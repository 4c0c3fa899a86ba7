"""Checked against: what was packed, unpacked here as the page's script does it."""

import json
import struct
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.reports.packing import pack
from jaxvib.studies.pictures.motion import coarse
from jaxvib.studies.pictures.picture import Axis


def unpack(data):
    raw = zlib.decompress(data)
    (length,) = struct.unpack_from("<I", raw)
    return _revived(json.loads(raw[4 : 4 + length]), raw, 4 + length)


def _revived(node, raw, start):
    if isinstance(node, dict) and "$" in node:
        kind, offset, shape = node["$"]
        assert (start + offset) % np.dtype(kind).itemsize == 0
        size = int(np.prod(shape))
        return np.frombuffer(raw, "<" + kind, size, start + offset).reshape(shape)
    if isinstance(node, dict):
        return {key: _revived(each, raw, start) for key, each in node.items()}
    if isinstance(node, list):
        return [_revived(each, raw, start) for each in node]
    return node


def test_arrays_keep_their_values_and_shapes():
    content = {
        "small": np.array([[0, 1], [2, 255]]),
        "signed": np.array([-1, 1], np.int8),
        "wide": np.array([-70000, 3]),
        "truths": np.array([True, False]),
        "numbers": np.array([[1.5, np.nan], [np.inf, -0.25]]),
        "none": np.zeros((0, 3)),
    }
    found = unpack(pack(content))
    for name, values in content.items():
        np.testing.assert_array_equal(found[name], values)


def test_equal_arrays_are_carried_once():
    values = np.random.default_rng(0).normal(size=1000)
    once = len(pack([values]))
    assert len(pack([values, values.copy()])) < once + 100


def test_descriptions_of_pictures_become_words():
    found = unpack(pack(Axis("force (N)")))
    expected = {
        "label": "force (N)",
        "path": "",
        "log": False,
        "low": None,
        "high": None,
        "ticks": [],
    }
    assert found == {"is": "Axis", **expected}


@given(st.lists(st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)))
def test_coarse_numbers_are_near_the_true_ones(numbers):
    values = np.array(numbers)
    np.testing.assert_allclose(coarse(values), values, rtol=2.0**-14)


def test_coarse_keeps_values_that_are_not_numbers():
    np.testing.assert_array_equal(
        coarse(np.array([np.nan, np.inf, -np.inf])), [np.nan, np.inf, -np.inf]
    )
