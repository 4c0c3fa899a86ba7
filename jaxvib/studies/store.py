"""The result store: one folder per study, committed chunk by chunk.

    DIR/config.toml     the resolved config, every default written out; runs as it is
    DIR/study.json      what the results are and what they depend on (see below)
    DIR/results.zarr    the results, a zarr v3 group
    DIR/journal.jsonl   one line per commit, with the crc32 of each file it wrote
    DIR/times.json      times and host names: all that differs from run to run
    DIR/report.html     the report, drawn from the above alone

`study.json` has the keys `title`, `analysis` and `system` (kinds), `config` (the
resolved config), `samples` (their number) and `chunk` (samples per commit), `grid`
(swept path: number of values, the first path slowest; null unless the samples are a
grid), `coordinates` (the arrays that are coordinates), `axes` (axis: names along it,
`state` and `freedom` for instance), `evidence` (the trust level), `versions`,
`fingerprint` (device, instruction set and flags, on which the last bits depend) and
`git`.

`results.zarr` holds one array per field of the analysis' result, under the field's
name and with the axes (dimension names), `units` and `description` that the field
declares, and one array per swept path, `load.amplitude` say, as a coordinate. A sampled
study (periodic orbits) has the leading axis `sample` throughout, cut into chunks of
`run.chunk` samples; a continuation has the axis `point` instead. The group `traces`
inside has the axis `trace` first: motions of at most 256 samples, evenly chosen, whose
positions along `sample` are its coordinate `sample`.

`xarray.open_zarr(DIR / "results.zarr")` reads it as it lies; `open_study` also checks
every byte against the journal, and gives a grid one dimension per path. Chunks count
from the moment their line is in the journal, so a run may be killed anywhere; the
group's own metadata come last, so that nothing opens a study with absent chunks, which
zarr would read as NaN.
"""

import itertools
import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .fields import Variable
from .journal import Commit, Journal, damaged

RESULTS = "results.zarr"
_METADATA = "zarr.json"
_BYTES_DEPEND_ON = ("config", "versions", "fingerprint")


class Store:
    """A study's folder, open for writing.

    **Fields:** `directory`; `done`: the names of the steps that are committed.
    """

    def __init__(self, directory: Path, record: Mapping, done: set[str]):
        self.directory = directory
        self.done = done
        self._record = record
        self._journal = Journal(directory / "journal.jsonl")

    @classmethod
    def create(cls, directory: Path, record: Mapping, config: str) -> "Store":
        """Start a study in a folder that has none.

        **Arguments:** `record`: what becomes `study.json`; `config`: the text of
        `config.toml`. **Raises:** `FileExistsError` if a study is there already.
        """
        if has_study(directory):
            raise FileExistsError(f"{directory} holds a study already")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "study.json").write_text(_json(record), "utf-8")
        (directory / "config.toml").write_text(config, "utf-8")
        store = cls(directory, record, set())
        store._commit("start", ["study.json", "config.toml"])
        return store

    @classmethod
    def resume(cls, directory: Path, record: Mapping, config: str) -> "Store":
        """Go on with a study; afresh if there is none or nothing of it is done.

        Steps whose files are missing or damaged count as not done. **Raises:**
        `ValueError` if the study there has another config, or would get other bytes
        on this machine or with these versions.
        """
        journal = Journal(directory / "journal.jsonl")
        if (directory / RESULTS).exists() and not journal.path.exists():
            raise OSError(f"{journal.path} is missing, so nothing there can be trusted")
        commits = journal.read()
        if not any(commit.step.startswith(("chunk", "group")) for commit in commits):
            _remove_study(directory)
            return cls.create(directory, record, config)
        intact = _intact(commits, directory)
        _refuse_differences(directory, record)
        done = {commit.step for commit in intact}
        if "complete" not in done:
            _remove_uncommitted(directory, intact)
        journal.rewrite(intact)  # without what was damaged or half written
        return cls(directory, record, done)

    def append(self, chunk: int, fields: Mapping[str, Variable]) -> None:
        """Commit the samples of that chunk: their rows of every array, all at once."""
        length, width = self._record["samples"], self._record["chunk"]
        written = []
        for name, field in fields.items():
            shape = (length, *field.values.shape[1:])
            array = self._array(name, field, shape, (min(width, length), *shape[1:]))
            start = chunk * width
            array[start : start + len(field.values)] = field.values
            if chunk == 0:
                written.append(f"{RESULTS}/{name}/{_METADATA}")
            if field.values.size:
                written.append(_chunk_file(name, (chunk, *(0,) * (len(shape) - 1))))
        self._commit(f"chunk {chunk}", written)

    def add_group(
        self, group: str, fields: Mapping[str, Variable], coordinates: tuple[str, ...] = ()
    ) -> None:
        """Commit whole arrays: a group inside the results, or all of them (`""`)."""
        written = []
        shutil.rmtree(self.directory / RESULTS / group, ignore_errors=True)
        for name, field in fields.items():
            path = f"{group}/{name}".lstrip("/")
            shape = field.values.shape
            self._array(path, field, shape, shape)[...] = field.values
            written.append(f"{RESULTS}/{path}/{_METADATA}")
            if field.values.size:
                written.append(_chunk_file(path, (0,) * len(shape)))
        if group:
            _write_group(self.directory / RESULTS / group, {}, coordinates)
            written.append(f"{RESULTS}/{group}/{_METADATA}")
        self._commit(f"group {group}", written)

    def finish(self) -> None:
        """Commit the whole, which can be opened from now on."""
        attributes = {key: self._record[key] for key in ("title", "analysis", "system")}
        _write_group(self.directory / RESULTS, attributes, self._record["coordinates"])
        self._commit("complete", [f"{RESULTS}/{_METADATA}"])

    def read(self, name: str) -> np.ndarray:
        """Return the values of an array of the results."""
        return read_array(self.directory, name)

    def _commit(self, step: str, files: list[str]) -> None:
        self._journal.append(step, self.directory, files)
        self.done.add(step)

    def _array(self, path: str, field: Variable, shape, chunks):
        import zarr
        from zarr.codecs import ZstdCodec

        folder = self.directory / RESULTS / path
        # A chunk of zeros is written like any other, to be told apart from a missing
        # one; zarr 3.1 takes this from its configuration alone.
        with zarr.config.set({"array.write_empty_chunks": True}):
            if (folder / _METADATA).exists():
                return zarr.open_array(folder, mode="r+")
            return zarr.create_array(
                folder,
                shape=shape,
                chunks=tuple(max(1, size) for size in chunks),
                dtype=field.values.dtype,
                compressors=ZstdCodec(level=3, checksum=True),
                dimension_names=field.axes,
                attributes=field.attributes,
                zarr_format=3,
            )


def read_array(directory: Path, name: str) -> np.ndarray:
    """Return the values of one array of a study's results."""
    import zarr

    return np.asarray(zarr.open_array(directory / RESULTS / name, mode="r")[...])


def has_study(directory: Path) -> bool:
    """Return whether a folder holds a study, finished or not."""
    return any((directory / name).exists() for name in ("study.json", RESULTS))


def _write_group(folder: Path, attributes: Mapping, coordinates) -> None:
    import zarr

    named = {"coordinates": " ".join(coordinates)} if coordinates else {}
    zarr.create_group(folder, attributes={**attributes, **named}, overwrite=False)
    with warnings.catch_warnings():
        # zarr warns that other readers may not know consolidated metadata, and xarray
        # warns where there are none.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(folder)


def _chunk_file(path: str, position: tuple[int, ...]) -> str:
    return "/".join((RESULTS, path, "c", *map(str, position)))


def _intact(commits: list[Commit], directory: Path) -> list[Commit]:
    bad = {commit.step: damaged(commit, directory) for commit in commits}
    if bad["start"]:
        raise OSError(f"{bad['start'][0]} is damaged or missing")
    for path in itertools.chain(*bad.values()):
        path.unlink(missing_ok=True)
    intact = [commit for commit in commits if not bad[commit.step]]
    whole = len(intact) == len(commits)
    return [commit for commit in intact if whole or commit.step != "complete"]


def _remove_uncommitted(directory: Path, commits: list[Commit]) -> None:
    # What a killed process left between a file and its line, temporary files too.
    kept = {directory / file for commit in commits for file in commit.files}
    for path in (directory / RESULTS).rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def _refuse_differences(directory: Path, record: Mapping) -> None:
    before = json.loads((directory / "study.json").read_text("utf-8"))
    now = json.loads(_json(record))
    for state in (before, now):
        state["config"].pop("output", None)  # where the results lie does not change them
    for key in _BYTES_DEPEND_ON:
        if before[key] != now[key]:
            what = _first_difference(before[key], now[key], key)
            raise ValueError(f"{directory} was begun with {what}")


def _first_difference(before, now, path: str) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            if before.get(key) != now.get(key):
                return _first_difference(before.get(key), now.get(key), f"{path}.{key}")
    return f"{path} = {before}, and this run has {now}"


def _remove_study(directory: Path) -> None:
    shutil.rmtree(directory / RESULTS, ignore_errors=True)
    for name in ("study.json", "config.toml", "journal.jsonl"):
        (directory / name).unlink(missing_ok=True)


def _json(record: Mapping) -> str:
    return json.dumps(record, indent=2) + "\n"
