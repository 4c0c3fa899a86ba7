"""Checked against: the bytes of a study that nothing happened to."""

import json
import os

import numpy as np
import pytest

from jaxvib.studies.store import store as stores
from jaxvib.studies.store.dataset import open_study
from jaxvib.studies.store.journal import Journal
from jaxvib.studies.store.store import Store

from .test_store import RECORD, array_files, fill, part

CONFIG = "title = 1\n"


def all_files(directory):
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def study(tmp_path):
    directory = tmp_path / "study"
    fill(Store.create(directory, RECORD, CONFIG))
    return directory


def mend(study):
    computed = []
    store = Store.resume(study, RECORD, CONFIG)
    append = store.append
    store.append = lambda chunk, fields: (computed.append(chunk), append(chunk, fields))
    fill(store)
    open_study(study)
    return computed


def test_a_missing_or_damaged_line_is_noticed_and_its_chunk_computed_again(study):
    before, arrays = all_files(study), array_files(study)
    lines = before["journal.jsonl"].splitlines(keepends=True)
    assert len(lines) == 5
    for place in range(len(lines)):
        flipped = bytearray(lines[place])
        flipped[len(flipped) // 2] ^= 1
        for other in ([], [bytes(flipped)], [lines[place]] * 2):
            changed = [*lines[:place], *other, *lines[place + 1 :]]
            (study / "journal.jsonl").write_bytes(b"".join(changed))
            with pytest.raises((OSError, ValueError), match=r"--resume"):
                open_study(study)
            mend(study)
            assert array_files(study) == arrays
            (study / "journal.jsonl").write_bytes(before["journal.jsonl"])
            assert all_files(study) == before


@pytest.mark.parametrize("damage", ["removed", "changed", "link", "folder"])
def test_the_config_is_written_anew(study, damage, tmp_path):
    before = all_files(study)
    (tmp_path / "mine").write_text("mine")
    config = study / "config.toml"
    config.unlink()
    if damage == "changed":
        config.write_text("title = 2\n")
    elif damage == "link":
        config.symlink_to(tmp_path / "mine")
    elif damage == "folder":
        config.mkdir()
        (config / "more").write_text("more")
    with pytest.raises(OSError, match=r"config\.toml"):
        open_study(study)
    assert mend(study) == []
    assert all_files(study) == before
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_link_in_place_of_a_chunk_is_removed_and_not_followed(study, tmp_path):
    before = array_files(study)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "0").write_text("mine")
    chunk = study / "results.zarr" / "states" / "c"
    os.rename(chunk, tmp_path / "away")
    chunk.symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="damaged or missing"):
        open_study(study)
    assert mend(study) == [0, 1]
    assert array_files(study) == before
    assert (tmp_path / "mine" / "0").read_text() == "mine"


def test_an_array_that_lost_its_chunks_is_never_filled_in(tmp_path):
    store = Store.create(tmp_path / "study", RECORD, CONFIG)
    store.append(0, part(0))
    (tmp_path / "study/results.zarr/period/c/0").unlink()
    with pytest.raises(OSError, match=r"period/c/0 is missing"):
        np.asarray(store.rows("period"))
    more = {**part(1), "another": part(1)["period"]}
    with pytest.raises(OSError, match="another of chunk 1 differs from"):
        store.append(1, more)


def test_bytes_that_come_back_otherwise_are_not_committed(tmp_path, monkeypatch):
    store = Store.create(tmp_path / "study", RECORD, CONFIG)
    write = stores.Folder.write

    def lossy(self, name, content, **options):
        write(self, name, content[:-1] if "states/c" in name else content, **options)

    monkeypatch.setattr(stores.Folder, "write", lossy)
    with pytest.raises(OSError, match="differs from what was written"):
        store.append(0, part(0))
    steps = [c.step for c in Journal(tmp_path / "study/journal.jsonl").read()]
    assert steps == ["start"]


@pytest.mark.parametrize(
    "name",
    ["config.toml", "report.html", "pictures", "failed.csv", "times.json", "journal.jsonl"],
)
@pytest.mark.parametrize("begin", [Store.create, Store.resume])
def test_a_file_of_somebody_else_is_not_written_over(tmp_path, name, begin):
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=f"{name} exists and belongs to no study"):
        begin(tmp_path, RECORD, CONFIG)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine"}


def test_a_record_that_is_not_ours_is_not_removed(tmp_path):
    (tmp_path / "study.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(OSError, match=r"study\.json is damaged"):
        Store.resume(tmp_path, RECORD, CONFIG)
    assert (tmp_path / "study.json").exists()


def test_a_finished_study_is_not_removed_for_another_config_when_its_journal_is_lost(study):
    before = array_files(study)
    (study / "journal.jsonl").write_bytes(b"")
    with pytest.raises(ValueError, match=r"config\.run\.chunk = 4, and this run has 8"):
        Store.resume(study, {**RECORD, "config": {"run": {"chunk": 8}}}, CONFIG)
    assert array_files(study) == before


def test_a_store_whose_header_exceeds_its_files_is_not_read(tmp_path):
    record = {**RECORD, "samples": 10_000_000, "chunk": 1_000_000, "grid": None}
    store = Store.create(tmp_path / "study", record, CONFIG)
    zeros = np.zeros((1_000_000, 7))
    field = part(0)["states"]
    for chunk in range(10):
        store.append(chunk, {"states": type(field)(field.axes, zeros)})
    with pytest.raises(OSError, match=r"claims 560 MB in files of [\d.]+ kB"):
        np.asarray(store.rows("states"))


def test_the_bytes_of_another_chunk_are_not_taken_for_those_of_this_one(tmp_path):
    record = {**RECORD, "samples": 8, "grid": None}
    store = Store.create(tmp_path / "study", record, CONFIG)
    for chunk in range(2):
        store.append(chunk, part(0))
    store.finish()
    before = array_files(tmp_path / "study")
    phase = tmp_path / "study/results.zarr/load.amplitude/c"
    (phase / "1").write_bytes((phase.parents[1] / "load.frequency/c/1").read_bytes())
    store = Store.resume(tmp_path / "study", record, CONFIG)
    assert store.done == {"start", "chunk 0"}
    store.append(1, part(0))
    store.finish()
    assert array_files(tmp_path / "study") == before


def test_a_study_killed_before_its_first_chunk_begins_anew(tmp_path, study):
    store = Store.create(tmp_path / "killed", RECORD, CONFIG)
    (tmp_path / "killed" / "times.json").write_text("{}")
    store._write("results.zarr/period/zarr.json", b"{}")
    assert mend(tmp_path / "killed") == [0, 1]
    assert array_files(tmp_path / "killed") == array_files(study)
