"""Checked against: the samples of the studies themselves, one behind the other."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.store.dataset import open_study
from jaxvib.studies.store.store import Store

from ..store.test_store import RECORD, fill

STUDIES = {
    "first": {"seed": 1},
    "second": {"seed": 2, "device": "gpu"},
    "again": {"seed": 1},
    "grid1": {"seed": 1, "method": "grid"},
    "grid2": {"seed": 2, "method": "grid"},
    "heavier": {"seed": 9, "mass": 2.0},
}


def command(*words):
    return CliRunner().invoke(cli.main, [str(word) for word in words])


@pytest.fixture
def studies(tmp_path):
    return make(tmp_path)


def make(tmp_path):
    for name, given in STUDIES.items():
        config = {
            "run": {"seed": given["seed"]},
            "sweep": {"method": given.get("method", "random"), "count": 6},
            "system": {"main": {"mass": given.get("mass", 1.0)}},
        }
        prints = {"device": given.get("device", "cpu"), "machine": "x"}
        record = {**RECORD, "config": config, "fingerprint": prints, "grid": None}
        fill(Store.create(tmp_path / name, record, "title = 1\n"))
    return tmp_path


def test_samples_stand_one_behind_the_other(studies):
    done = command("merge", studies / "first", studies / "second", "--out", studies / "all")
    assert done.exit_code == 0, done.output
    assert f"{studies / 'all'} written: 12 samples from 2 studies" in done.output
    assert "machines   differ in device: see study.json" in done.output
    merged, one = open_study(studies / "all"), open_study(studies / "first")
    assert set(merged.variables) == set(one.variables)
    for name, field in merged.variables.items():
        if field.dims[:1] == ("sample",):
            expected = np.concatenate([one[name].values] * 2)
            np.testing.assert_array_equal(field.values, expected)
        assert field.attrs == one[name].attrs
    traces = open_study(studies / "all", "traces")
    np.testing.assert_array_equal(traces["sample"], [0, 5, 6, 11])
    assert traces["course"].shape == (4, 3)
    record = json.loads((studies / "all/study.json").read_text())
    assert [part["seed"] for part in record["merged"]] == [1, 2]
    assert record["samples"] == record["config"]["sweep"]["count"] == 12
    assert record["fingerprint"] == {"device": "several", "machine": "x"}


def test_a_merged_share_is_not_resumed(studies):
    command("merge", studies / "first", studies / "second", "--out", studies / "all")
    before = (studies / "all/journal.jsonl").read_bytes()
    record = json.loads((studies / "all/study.json").read_text())
    with pytest.raises(ValueError, match="was merged from other studies"):
        Store.resume(studies / "all", record, "title = 1\n")
    assert (studies / "all/journal.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["first"], "1 folder; allowed: two different ones or more"),
        (["first", "first"], "allowed: two different ones or more"),
        (["first", "nowhere"], "nowhere"),
        (["first", "again"], "the same samples twice; allowed: seeds that differ"),
        (["first", "heavier"], "config.system.main.mass = 2.0 in"),
        (["grid1", "grid2"], 'sweep.method = "grid": all studies have the same'),
    ],
)
def test_studies_that_cannot_be_merged_are_refused(studies, names, message):
    done = command("merge", *(studies / name for name in names), "--out", studies / "new")
    assert done.exit_code in (2, 3)
    assert message in done.output
    assert not (studies / "new").exists()


def test_a_folder_with_a_study_and_a_damaged_part_are_left_alone(studies):
    both = (studies / "first", studies / "second")
    done = command("merge", *both, "--out", studies / "again")
    assert (done.exit_code, "already contains a study" in done.output) == (2, True)
    (studies / "second/results.zarr/period/c/0").write_bytes(b"")
    done = command("merge", *both, "--out", studies / "new")
    assert (done.exit_code, "damaged or missing" in done.output) == (3, True)
    assert not (studies / "new").exists()
