"""Checked against: the arrays that were stored, and the memory that Python allocates."""

import json
import tracemalloc

import numpy as np
import pytest

from jaxvib.studies.store.evaluations import (
    FILE,
    Evaluations,
    HeldEvaluations,
    forget_evaluations,
)

SIZE, NUMBER = 1 << 14, 64  # numbers of an array, and arrays: 8 MB together


@pytest.fixture
def folder(tmp_path):
    record = {"config": {"output": {}, "a": 1}, "versions": {}, "fingerprint": ""}
    (tmp_path / "study.json").write_text(json.dumps(record))
    return tmp_path


def stored(folder, number):
    known = Evaluations(folder)
    for i in range(number):
        known.put(f"key {i}", [np.full(SIZE, float(i)), np.array(i)])
    return known


def test_stored_arrays_come_back_without_holding_the_file_in_memory(folder):
    stored(folder, NUMBER)
    length = (folder / FILE).stat().st_size
    assert length > 8 * SIZE * NUMBER
    tracemalloc.start()
    try:
        again = Evaluations(folder)
        whole, number = again.get(f"key {NUMBER - 1}")
        forgotten = again.get("another key")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(whole, np.full(SIZE, NUMBER - 1.0))
    assert (int(number), forgotten) == (NUMBER - 1, None)
    assert (folder / FILE).stat().st_size == length
    assert held < length / 8


def test_lines_after_a_damaged_one_are_ignored_and_overwritten(folder):
    stored(folder, 3)
    file = folder / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[2].replace(b"key", b"kex"), lines[3]]))
    known = Evaluations(folder)
    assert [known.get(f"key {i}") is None for i in range(3)] == [False, True, True]
    known.put("key 1", [np.zeros(2)])
    (found,) = Evaluations(folder).get("key 1")
    np.testing.assert_array_equal(found, np.zeros(2))
    forget_evaluations(folder)
    assert not file.exists()


def test_a_file_that_changes_under_a_run_is_not_read_on(folder):
    stored(folder, 1)
    known = Evaluations(folder)
    (folder / FILE).write_bytes(b"x" * 1000)
    with pytest.raises(OSError, match=r"evaluations\.jsonl has been changed"):
        known.get("key 0")


def test_held_evaluations_are_stored_when_asked_and_found_again(folder):
    held = HeldEvaluations(folder, "chunk 3/")
    assert held.get("0/a") is None
    held.put("0/a", [np.arange(3.0)])
    np.testing.assert_array_equal(held.get("0/a"), [np.arange(3.0)])
    assert not (folder / FILE).exists()
    held.write()
    np.testing.assert_array_equal(
        HeldEvaluations(folder, "chunk 3/").get("0/a"), [np.arange(3.0)]
    )
    assert HeldEvaluations(folder, "chunk 4/").get("0/a") is None
