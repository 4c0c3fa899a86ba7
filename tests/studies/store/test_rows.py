"""Checked against: the whole arrays, indexed by numpy."""

import numpy as np
import pytest

from jaxvib.studies.store import dataset, finished_study, subsample
from jaxvib.studies.store.dataset import open_study
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.finished_study import read_run
from jaxvib.studies.store.rows import Rows
from jaxvib.studies.store.store import Store
from jaxvib.studies.store.subsample import evenly_chosen, kept

from .test_store import RECORD, fill, whole


@pytest.fixture
def study(tmp_path):
    fill(Store.create(tmp_path / "study", RECORD, "title = 1\n"))
    return tmp_path / "study"


@pytest.mark.parametrize("name", ["states", "stable", "multipliers"])
@pytest.mark.parametrize(
    "key",
    [0, 5, -1, slice(None), slice(1, 5), slice(None, None, 2), [5, 0, 3, 3],
     [[1, 4], [0, 5]], [True, False, True, False, False, True]],
)  # fmt: skip
def test_rows_are_indexed_as_by_numpy(study, name, key):
    key = np.array(key) if isinstance(key, list) else key
    rows, values = Rows(study, name), whole[name].values
    np.testing.assert_array_equal(rows[key], values[key])
    np.testing.assert_array_equal(np.asarray(rows), values)
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), values)
    assert (len(rows), rows.shape, rows.dtype) == (6, values.shape, values.dtype)
    with pytest.raises(IndexError, match="samples are 0 to 5"):
        rows[6]


def test_only_requested_chunks_are_read(study):
    (study / "results.zarr/states/c/0/0").write_bytes(b"")
    rows = Rows(study, "states")
    np.testing.assert_array_equal(rows[4:], whole["states"].values[4:])
    with pytest.raises(OSError, match="c/0/0 is damaged"):
        rows[3]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_of_very_many_samples_some_are_opened(study, most):
    found = open_study(study, most=most)
    sizes = kept(RECORD["grid"], most)
    assert {name: found.sizes[name] for name in sizes} == sizes
    chosen = evenly_chosen(6, RECORD["grid"], most)
    expected = whole["states"].values[chosen]
    np.testing.assert_array_equal(found["states"].values.reshape(expected.shape), expected)
    assert open_study(study, most=6).sizes == open_study(study).sizes


def test_of_very_many_samples_some_are_drawn_and_that_is_said(study, monkeypatch):
    assert read_run(study).chosen is None
    monkeypatch.setattr(finished_study, "MOST_SHOWN", 4)
    run = read_run(study)
    assert run.grid == {"load.amplitude": 2, "load.frequency": 2}
    np.testing.assert_array_equal(run.chosen, [0, 2, 3, 5])
    np.testing.assert_array_equal(run.field("states"), whole["states"].values[[0, 2, 3, 5]])
    assert run.gridded("stable").shape == (2, 2)


def test_very_many_files_are_checked_when_they_are_read(study, monkeypatch):
    monkeypatch.setattr(dataset, "_MOST_FILES", 3)
    file = study / "results.zarr/states/c/1/0"
    other = (study / "results.zarr/states/c/0/0").read_bytes()
    good = file.read_bytes()
    open_study(study)
    file.write_bytes(other)  # a sound chunk, in the place of another
    with pytest.raises(OSError, match="c/1/0 is damaged"):
        open_study(study)
    file.unlink()
    with pytest.raises(OSError, match=r"damaged or missing: .*c/1/0"):
        open_study(study)
    file.write_bytes(good)
    metadata = study / "results.zarr/states/zarr.json"
    metadata.write_bytes(metadata.read_bytes() + b" ")
    with pytest.raises(OSError, match=r"damaged or missing: .*states/zarr.json"):
        open_study(study)


def by_single_lines(grid, most):
    left = list(grid.values())
    while np.prod(left) > most:
        left[left.index(max(left))] -= 1
    return dict(zip(grid, left, strict=True))


@pytest.mark.parametrize(
    "grid", [(7,), (64, 48), (3, 100, 5), (9, 9, 9), (1, 200), (50, 49)]
)
@pytest.mark.parametrize("most", [1, 2, 10, 97, 256, 1000, 10**6])
def test_lines_are_left_out_one_by_one(grid, most):
    named = {f"path{i}": size for i, size in enumerate(grid)}
    assert kept(named, most) == by_single_lines(named, most)


def test_a_line_of_a_thousand_million_samples_is_thinned_at_once():
    assert kept({"only": 10**9}, subsample.MOST_SHOWN) == {"only": 1 << 20}


def test_an_array_without_axes_is_read_too(tmp_path):
    store = Store.create(tmp_path / "study", {**RECORD, "coordinates": []}, "title = 1\n")
    store.add_group("", {"one": Variable((), np.array(3.0))})
    rows = Rows(tmp_path / "study", "one")
    assert rows[()] == np.asarray(rows) == next(rows.blocks()) == 3.0
    np.testing.assert_array_equal(np.asarray(Rows(tmp_path / "study", "one")), 3.0)
