"""Checked against: the arrays that were given, read back by xarray alone."""

import json

import numpy as np
import pytest
import xarray

from jaxvib.studies.store.dataset import open_study
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store, has_study
from jaxvib.studies.store.store_metadata import flags

RECORD = {
    "title": "A store",
    "analysis": "pushed",
    "system": "two_body_impact",
    "config": {"run": {"chunk": 4}, "output": {"directory": "here"}},
    "samples": 6,
    "chunk": 4,
    "grid": {"load.amplitude": 2, "load.frequency": 3},
    "coordinates": ["load.amplitude", "load.frequency"],
    "axes": {"state": ["first", "second"]},
    "evidence": "checked",
    "versions": {"jax": "1"},
    "fingerprint": {"device": "cpu"},
    "git": None,
}
amplitudes, frequencies = np.array([100.0, 200.0]), np.array([5.0, 6.0, 7.0])
crossed = np.meshgrid(amplitudes, frequencies, indexing="ij")
random = np.random.default_rng(0)
whole = {
    "load.amplitude": Variable(("sample",), crossed[0].ravel(), "N", "load amplitude"),
    "load.frequency": Variable(("sample",), crossed[1].ravel(), "rad/s", "frequency"),
    "states": Variable(("sample", "state"), random.normal(size=(6, 2)), "m", "state"),
    "multipliers": Variable(("sample", "multiplier"), random.normal(size=(6, 3)) * 1j),
    "stable": Variable(("sample",), np.array([0, 0, 0, 0, 1, -1], np.int8)),
    "period": Variable(("sample",), np.full(6, np.nan), "s", "period"),
}
traces = {
    "sample": Variable(("trace",), np.array([0, 5])),
    "course": Variable(
        ("trace", "time"), np.arange(6, dtype=np.float32).reshape(2, 3), "m"
    ),
}


def part(chunk):
    rows = slice(4 * chunk, 4 * chunk + 4)
    return {
        name: Variable(field.axes, field.values[rows], field.unit, field.description)
        for name, field in whole.items()
    }


def fill(store):
    for chunk in range(2):
        if f"chunk {chunk}" not in store.done:
            store.append(chunk, part(chunk))
    if "group traces" not in store.done:
        store.add_group("traces", traces, ("sample",))
    if "complete" not in store.done:
        store.finish()


@pytest.fixture
def study(tmp_path):
    directory = tmp_path / "study"
    fill(Store.create(directory, RECORD, "title = 1\n"))
    return directory


def array_files(directory):
    files = sorted((directory / "results.zarr").rglob("*"))
    return {str(f.relative_to(directory)): f.read_bytes() for f in files if f.is_file()}


def test_plain_xarray_reads_values_axes_units_and_coordinates(study):
    dataset = xarray.open_zarr(study / "results.zarr")
    for name, field in whole.items():
        np.testing.assert_array_equal(dataset[name], field.values)
        assert dataset[name].dtype == field.values.dtype
        assert dataset[name].dims == field.axes
        meant = flags(name, field.values.dtype)
        label = {"long_name": field.description or name}  # names of one word
        assert dataset[name].attrs == field.attributes | meant | label
    assert set(dataset.coords) == {"load.amplitude", "load.frequency"}
    assert dataset.attrs["title"] == "A store"
    beside = xarray.open_zarr(study / "results.zarr", group="traces")
    np.testing.assert_array_equal(beside["course"], traces["course"].values)
    assert set(beside.coords) == {"sample"}


def test_a_grid_has_one_dimension_per_path(study):
    dataset = open_study(study)
    assert dataset["period"].dims == ("load.amplitude", "load.frequency")
    assert dataset["states"].dims == ("load.amplitude", "load.frequency", "state")
    np.testing.assert_array_equal(dataset["load.amplitude"], amplitudes)
    np.testing.assert_array_equal(dataset["load.frequency"], frequencies)
    assert dataset["load.frequency"].attrs["units"] == "rad/s"
    assert list(dataset["state"].values) == ["first", "second"]
    picked = dataset["states"].sel({"load.amplitude": 200.0, "load.frequency": 6.0})
    np.testing.assert_array_equal(picked, whole["states"].values[4])
    assert open_study(study, "traces").sizes == {"trace": 2, "time": 3}


def test_plots_of_xarray_are_labelled(study):
    import matplotlib.pyplot as plt

    plain = xarray.open_zarr(study / "results.zarr")["period"].plot.line()[0].axes
    assert plain.get_ylabel() == "period [s]"
    plt.close(plain.figure)
    dataset = open_study(study)
    drawn = dataset["states"].sel(state="first").plot()
    labels = [
        drawn.axes.get_ylabel(),
        drawn.axes.get_xlabel(),
        drawn.colorbar.ax.get_ylabel(),
    ]
    assert labels == ["load amplitude [N]", "frequency [rad/s]", "state [m]"]
    assert dataset["state"].attrs == {"long_name": "state"}
    undescribed = Variable(("sample",), np.zeros(6), "N")
    other = {"peak.contact_force": undescribed, **whole}
    store = Store.create(study.with_name("other"), {**RECORD, "chunk": 6}, "")
    store.append(0, other)
    store.finish()
    assert (
        open_study(store.directory)["peak.contact_force"].attrs["long_name"]
        == "peak contact force"
    )
    plt.close(drawn.figure)


def test_samples_that_are_no_grid_keep_their_dimension(tmp_path):
    fill(Store.create(tmp_path / "study", {**RECORD, "grid": None}, ""))
    dataset = open_study(tmp_path / "study")
    assert dataset["load.amplitude"].dims == dataset["period"].dims == ("sample",)


def test_an_unfinished_study_cannot_be_opened(tmp_path):
    store = Store.create(tmp_path, RECORD, "")
    store.append(0, part(0))
    with pytest.raises(ValueError, match=r"is not complete; finish it with `--resume`"):
        open_study(tmp_path)
    with pytest.raises(FileNotFoundError):
        xarray.open_zarr(tmp_path / "results.zarr")


def test_no_study_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match="contains no study"):
        open_study(tmp_path)


def test_each_file_is_missed_and_each_change_noticed_and_mended(study):
    before = array_files(study)
    for number, (name, content) in enumerate(before.items()):
        if number % 2:
            (study / name).unlink()
        else:
            changed = bytearray(content)
            changed[len(changed) // 2] ^= 1
            (study / name).write_bytes(changed)
        with pytest.raises(OSError, match=f"damaged or missing: {study / name};"):
            open_study(study)
        fill(Store.resume(study, RECORD, ""))
        assert array_files(study) == before


@pytest.mark.parametrize("steps", range(5))
def test_a_run_broken_off_after_any_step_ends_with_the_same_bytes(study, tmp_path, steps):
    other = tmp_path / "other"
    store = Store.create(other, RECORD, "title = 1\n")
    actions = [
        lambda: store.append(0, part(0)),
        lambda: store.append(1, part(1)),
        lambda: store.add_group("traces", traces, ("sample",)),
        store.finish,
    ]
    for action in actions[:steps]:
        action()
    journal = other / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b"123 half a li")
    if 0 < steps < 4:  # as if killed between a file and its line
        (other / "results.zarr" / "zarr.json").write_text("{}")
        (other / "results.zarr" / "period" / "c" / "1.partial").write_text("half")
    fill(Store.resume(other, RECORD, "title = 1\n"))
    assert array_files(other) == array_files(study)
    open_study(other)


def test_a_folder_with_a_study_is_not_begun_anew(study):
    assert has_study(study)
    with pytest.raises(FileExistsError, match="already contains a study"):
        Store.create(study, RECORD, "")


def test_resume_with_nothing_done_starts_afresh(tmp_path):
    Store.create(tmp_path, {**RECORD, "config": {"run": 1}}, "old")
    fill(Store.resume(tmp_path, RECORD, "new"))
    open_study(tmp_path)
    assert (tmp_path / "config.toml").read_text() == "new"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": {"run": {"chunk": 8}}}, r"config.run.chunk = 4, and this run has 8"),
        ({"versions": {"jax": "2"}}, r"versions.jax = 1, and this run has 2"),
        ({"fingerprint": {"device": "gpu"}}, "fingerprint.device = cpu, and this run"),
    ],
)
def test_resume_refuses_changes_that_would_give_other_bytes(study, change, message):
    with pytest.raises(ValueError, match=message):
        Store.resume(study, {**RECORD, **change}, "")


def test_resume_does_not_mind_another_folder(study):
    moved = {"run": {"chunk": 4}, "output": {"directory": "there"}}
    assert "complete" in Store.resume(study, {**RECORD, "config": moved}, "").done


def test_results_without_a_journal_are_left_alone(study):
    (study / "journal.jsonl").unlink()
    before = array_files(study)
    with pytest.raises(OSError, match=r"journal\.jsonl is missing"):
        Store.resume(study, RECORD, "")
    assert array_files(study) == before


def test_a_damaged_record_is_not_trusted(study):
    record = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps({**record, "title": "Another"}))
    with pytest.raises(OSError, match=r"study\.json"):
        open_study(study)
    with pytest.raises(OSError, match=r"study\.json is damaged or missing"):
        Store.resume(study, RECORD, "")
