"""Checked against: the arrays that were stored, read back by other programs' readers."""

import csv
import json
import subprocess
import sys

import numpy as np
import pandas
import pytest
import xarray
from click.testing import CliRunner
from scipy.io import loadmat

from jaxvib import cli
from jaxvib.studies.store import checked_read
from jaxvib.studies.store.export import export
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store

from .test_store import RECORD, amplitudes, fill, frequencies, traces, whole

COLUMNS = [
    "load.amplitude", "load.frequency",
    "multipliers[0].real", "multipliers[0].imag", "multipliers[1].real",
    "multipliers[1].imag", "multipliers[2].real", "multipliers[2].imag",
    "period", "stable", "states[first]", "states[second]",
]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    fill(Store.create(tmp_path / "study", RECORD, "title = 1\n"))
    return tmp_path / "study"


def table():
    """Return the columns that a table should have."""
    columns = [whole["load.amplitude"].values, whole["load.frequency"].values]
    for each in whole["multipliers"].values.T:
        columns += [each.real, each.imag]
    columns += [whole["period"].values, whole["stable"].values]
    return [*columns, *whole["states"].values.T]


def test_netcdf_has_grid_units_and_groups(study, tmp_path):
    pytest.importorskip("h5netcdf")
    export(study, tmp_path / "out.nc")
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as found:
        np.testing.assert_array_equal(found["load.amplitude"], amplitudes)
        np.testing.assert_array_equal(found["load.frequency"], frequencies)
        assert found["states"].dims == ("load.amplitude", "load.frequency", "state")
        np.testing.assert_array_equal(
            found["states"].values.reshape(6, 2), whole["states"].values
        )
        assert found["states"].attrs["units"] == "m"
        assert found["states"].attrs["description"] == "state"
        expected = whole["multipliers"].values.imag
        np.testing.assert_array_equal(
            found["multipliers.imag"].values.reshape(6, 3), expected
        )
        assert found.attrs["title"] == "A store"
    with xarray.open_dataset(
        tmp_path / "out.nc", engine="h5netcdf", group="traces"
    ) as found:
        np.testing.assert_array_equal(found["course"], traces["course"].values)


def test_csv_has_one_row_for_each_sample(study, tmp_path):
    lines = export(study, tmp_path / "out.csv")
    assert lines[1].endswith("out.csv-metadata.json written: units and descriptions")
    with (tmp_path / "out.csv").open(newline="") as stream:
        names, *rows = csv.reader(stream)
    assert names == COLUMNS
    np.testing.assert_array_equal(np.array(rows, float).T, table())
    about = json.loads((tmp_path / "out.csv-metadata.json").read_text())
    columns = about["tableSchema"]["columns"]
    assert [column["titles"] for column in columns] == COLUMNS
    assert columns[0]["unit:unit"] == "N"
    assert columns[0]["dc:description"] == "load amplitude"


def test_parquet_has_the_same_columns_with_units(study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(study, tmp_path / "out.parquet")
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names == COLUMNS
    for name, expected in zip(COLUMNS, table(), strict=True):
        np.testing.assert_array_equal(found[name].to_numpy(), expected)
    assert found.schema.field("states[first]").metadata[b"units"] == b"m"
    assert found["stable"].to_numpy().dtype == np.int8


def test_matlab_has_a_struct_for_each_array(study, tmp_path):
    export(study, tmp_path / "out.mat")
    found = loadmat(tmp_path / "out.mat", simplify_cells=True)
    states = found["states"]
    assert states["values"].shape == (2, 3, 2)
    np.testing.assert_array_equal(states["values"].reshape(6, 2), whole["states"].values)
    assert states["axes"].tolist() == ["load.amplitude", "load.frequency", "state"]
    assert (states["units"], states["description"]) == ("m", "state")
    np.testing.assert_array_equal(found["load_amplitude"]["values"], amplitudes)
    multipliers = found["multipliers"]["values"].reshape(6, 3)
    np.testing.assert_array_equal(multipliers, whole["multipliers"].values)
    np.testing.assert_array_equal(
        found["traces"]["course"]["values"], traces["course"].values
    )
    assert found["study"]["analysis"] == "pushed"


LONG = "modules.upper_floor_of_the_left_tower-pendulum_of_steel_and_lead"
ALIKE = ["variables.\u00e4", "variables.\u00f6", "variables._", "a.b", "a_b", "a-b",
         "a_b_2", f"{LONG}.length", f"{LONG}.stiffness", f"{LONG}.mass", "study", "1", "x1",
         "c", "c.real", "c.imag", "d[0]", "d", "e[p]", "e", "traces_", "end"]  # fmt: skip


@pytest.fixture
def alike(tmp_path):
    """Return a study of arrays with similar names, and their values by name."""
    values = {name: np.arange(4.0) + 10 * k for k, name in enumerate(ALIKE)}
    values["c"] = values["c"] * (1 + 2j)
    values |= {name: np.stack([values[name], -values[name]], 1) for name in ("d", "e")}
    axes = {"d": ("point", "side"), "e": ("point", "end_")}
    record = {**RECORD, "coordinates": [], "axes": {"end_": ["p", "p"]}}
    store = Store.create(tmp_path / "alike", record, "title = 1\n")
    fields = {
        name: Variable(axes.get(name, ("point",)), array, description=name)
        for name, array in values.items()
    }
    store.add_group("", fields)
    store.add_group("traces", {"x.y": fields["a.b"], "x_y": fields["a_b"]})
    store.finish()
    return tmp_path / "alike", values


def test_matlab_keeps_each_array_under_a_name_of_its_own(alike, tmp_path):
    study, values = alike
    export(study, tmp_path / "out.mat")
    found = loadmat(tmp_path / "out.mat", simplify_cells=True)
    structs = [each for each in found.values() if isinstance(each, dict)]
    back = {each["name"]: each["values"] for each in structs if "name" in each}
    assert back.keys() == values.keys() | {"end_"}  # and the labels of an axis
    for name, array in values.items():
        np.testing.assert_array_equal(back[name], array)
    assert all(len(name) <= 63 for name in found)
    inside = {each["name"]: each["values"] for each in found["traces"].values()}
    np.testing.assert_array_equal(inside["x.y"], values["a.b"])
    np.testing.assert_array_equal(inside["x_y"], values["a_b"])
    assert found["study"]["analysis"] == "pushed"


def test_netcdf_keeps_each_array_under_a_name_of_its_own(alike, tmp_path):
    pytest.importorskip("h5netcdf")
    study, values = alike
    export(study, tmp_path / "out.nc")
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as found:
        back = {}
        for field in found.variables.values():
            back.setdefault(field.attrs.get("description"), []).append(field.values)
    for name, array in values.items():
        parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
        np.testing.assert_array_equal(back[name], parts)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_keep_each_column_under_a_name_of_its_own(alike, tmp_path, kind):
    study, values = alike
    export(study, tmp_path / f"out.{kind}")
    if kind == "csv":
        with (tmp_path / "out.csv").open(newline="") as stream:
            names, *rows = csv.reader(stream)
        about = json.loads((tmp_path / "out.csv-metadata.json").read_text())
        columns = about["tableSchema"]["columns"]
        assert [column["titles"] for column in columns] == names
        labels = [column["dc:description"] for column in columns]
        arrays = np.array(rows, float).T
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        found = parquet.read_table(tmp_path / "out.parquet")
        names = found.column_names
        labels = [found.schema.field(n).metadata[b"description"].decode() for n in names]
        arrays = [found[name].to_numpy() for name in names]
    assert len(set(names)) == len(names)
    for name, array in values.items():
        parts = (
            [array.real, array.imag] if np.iscomplexobj(array) else array.reshape(4, -1).T
        )
        back = [each for label, each in zip(labels, arrays, strict=True) if label == name]
        np.testing.assert_array_equal(back, np.reshape(parts, (-1, 4)))


def test_unknown_columns_are_named(tmp_path):
    store = Store.create(tmp_path / "study", {**RECORD, "coordinates": []}, "title = 1\n")
    fields = {
        "parameter": Variable(("point",), np.arange(4.0), "N"),
        "result": Variable(("point",), np.zeros(4, np.int32)),
        "best": Variable((), np.array(2)),
    }
    store.add_group("", fields)
    store.finish()
    lines = export(tmp_path / "study", tmp_path / "out.csv")
    assert lines[-1] == "left out: best, which have no axis point; .nc has all"
    assert (tmp_path / "out.csv").read_text().splitlines()[2] == "1.0,0"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("out.xls", "ends in .xls; allowed: .nc, .mat, .csv, .parquet"),
        ("there.csv", "already exists"),
        ("study/nothing.csv/out", "ends in nothing"),
        ("nowhere/out.csv", "nowhere is not an existing folder"),
        ("described.csv", "described.csv-metadata.json already exists"),
        ("link.nc", "link.nc already exists"),
    ],
)
def test_bad_export_files_are_refused(study, tmp_path, file, message):
    mine = ["there.csv", "described.csv-metadata.json"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / "link.nc").symlink_to(tmp_path / "elsewhere.nc")  # which is not there
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(cli.main, ["export", str(study), str(tmp_path / file)])
    assert done.exit_code == 2
    assert message in done.output
    assert sorted(tmp_path.iterdir()) == before
    assert [(tmp_path / name).read_text() for name in mine] == ["mine", "mine"]


FULL = """
import os, resource, sys
from pathlib import Path
from jaxvib.studies.store.export import export

study, file = map(Path, sys.argv[1:])
before = sorted(os.listdir(file.parent))
for most in (0, 64, 700):  # bytes that a file may have: none, and within each of them
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        export(study, file)
    except OSError as error:
        print(error.strerror)
    assert sorted(os.listdir(file.parent)) == before
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
export(study, file)
"""


@pytest.mark.parametrize("kind", ["nc", "mat", "csv", "parquet"])
def test_a_disk_that_is_full_leaves_nothing_and_the_repeat_works(study, tmp_path, kind):
    if kind in ("nc", "parquet"):
        pytest.importorskip({"nc": "h5netcdf", "parquet": "pyarrow"}[kind])
    file = tmp_path / f"out.{kind}"
    words = [sys.executable, "-c", FULL, str(study), str(file)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["File too large"] * 3
    assert file.stat().st_size > 700
    assert file.stat().st_mode == (study / "study.json").stat().st_mode
    assert len(list(tmp_path.iterdir())) == (3 if kind == "csv" else 2)


def test_a_name_that_is_taken_meanwhile_is_left_alone(study, tmp_path, monkeypatch):
    """Somebody else writes the same name while this export is at it."""
    file = tmp_path / "out.csv"
    written = pandas.DataFrame.to_csv

    def meanwhile(*given, **how):
        written(*given, **how)
        file.write_text("mine")

    monkeypatch.setattr(pandas.DataFrame, "to_csv", meanwhile)
    with pytest.raises(ValueError, match=r"out\.csv already exists"):
        export(study, file)
    assert file.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [file, tmp_path / "study"]


def test_a_missing_package_is_named_with_the_way_to_get_it(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(ValueError, match=r'needs h5netcdf: pip install "jaxvib\[export\]"'):
        export(study, tmp_path / "out.nc")
    assert not (tmp_path / "out.nc").exists()


def test_a_damaged_store_is_not_exported(study, tmp_path):
    (study / "results.zarr/period/c/0").write_bytes(b"")
    done = CliRunner().invoke(cli.main, ["export", str(study), str(tmp_path / "out.csv")])
    assert done.exit_code == 3
    assert "damaged or missing" in done.output


@pytest.mark.parametrize("kind", ["nc", "mat", "csv", "parquet"])
def test_results_above_the_memory_are_refused_with_their_size(
    study, tmp_path, kind, monkeypatch
):
    monkeypatch.setattr(checked_read, "memory", lambda: 400.0)
    file = tmp_path / f"out.{kind}"
    done = CliRunner().invoke(cli.main, ["export", str(study), str(file)])
    assert done.exit_code == 3
    assert "would take 0.534 kB of memory" in done.output
    assert not file.exists()
