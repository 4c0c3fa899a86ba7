"""The result store: one folder per study, committed chunk by chunk.

        DIR/config.toml     the resolved config with all defaults; can be run
        DIR/study.json      metadata of the results and their provenance (see below)
        DIR/results.zarr    the results, a zarr v3 group
        DIR/journal.jsonl   one line per commit, with the crc32 of each of its files
        DIR/times.json      times and host names, which differ between runs; optional
        DIR/running.json    during a run: rate, workers, failures; optional
        DIR/run.lock        during a run: its process, host and start
        DIR/report.html     the report, drawn from the above

`study.json` has the keys `title`, `analysis` and `system` (kinds), `config` (the
resolved config), `samples` (their number) and `chunk` (samples per commit), `grid`
(swept path: number of values, the first path slowest; null unless the samples are a
grid), `coordinates` (the arrays that are coordinates), `axes` (axis: names along it,
`state` and `freedom` for instance), `evidence` (how results are checked), `versions`,
`fingerprint` (device, instruction set and flags, on which the last bits depend) and
`git`.

`results.zarr` holds one array per field of the analysis' result, under the field's name
and with the axes (dimension names), `units` and `description` that the field declares,
and one array per swept path, such as `load.amplitude`, as a coordinate. A sampled study
(periodic orbits) has the leading axis `sample` throughout, cut into chunks of
`run.chunk` samples; a continuation has the axis `point` instead. The group `traces` has
the axis `trace` first: motions of at most 256 samples (an even subsample), whose
positions along `sample` are its coordinate `sample`.

`xarray.open_zarr(DIR / "results.zarr")` opens it directly, with attributes for the
meaning of codes, the names along axes, config, seed and versions (`store_metadata`);
`open_study` also verifies every byte against the journal, and gives a grid one
dimension per path. Chunks count as stored once their line is in the journal, so a run
may be killed at any time; the group's metadata are written last, so that a study with
absent chunks, which zarr would read as zeros, cannot be opened.

The folder is untrusted: its content is validated on reading (`stored`, `arrays`), and
neither names nor links can lead outside (`folder`).
"""

import concurrent.futures
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from .arrays import METADATA, Layout, group_metadata
from .checked_read import RECORD, RESULTS, array_names, chunk_file, layout_of
from .fields import Variable
from .folder import Folder
from .journal import SIDE_BY_SIDE, Commit, Journal
from .recovery import has_study, record_text, recover
from .rows import Rows
from .store_metadata import about, flags, long_name

# Files written by a run. If one exists without a study, it belongs to the user.
_WRITTEN = (
    RECORD, "config.toml", "journal.jsonl", RESULTS, "times.json", "running.json",
    "evaluations.jsonl",
    "failed.csv", "report.html", "pictures",
)  # fmt: skip


class Store:
    """A study's folder, open for writing.

    **Fields:** `directory`; `done`: names of the committed steps; `record`: content of
    `study.json`.
    """

    def __init__(self, directory: Path, record: Mapping, commits: Iterable[Commit]):
        self.directory = directory
        commits = list(commits)
        self.done = {commit.step for commit in commits}
        self.record = record
        self._layouts = {name: layout_of(directory, name) for name in array_names(commits)}
        self._folder = Folder(directory)
        self._journal = Journal(directory / "journal.jsonl")
        self._written: dict[str, int] = {}  # since the last commit: file, crc32
        self._pool = concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE)

    @classmethod
    def create(cls, directory: Path, record: Mapping, config: str) -> "Store":
        """Start a study in a folder without one.

        **Arguments:** `record`: content of `study.json`; `config`: text of
        `config.toml`.
        **Raises:** `FileExistsError` if a study exists, or a foreign file would be
        overwritten.
        """
        check_free(directory)
        directory.mkdir(parents=True, exist_ok=True)
        return cls._begin(directory, record, config)

    @classmethod
    def _begin(cls, directory: Path, record: Mapping, config: str) -> "Store":
        store = cls(directory, record, ())
        store._write(RECORD, record_text(record))
        store._write("config.toml", config.encode())
        store._commit("start")
        return store

    @classmethod
    def resume(cls, directory: Path, record: Mapping, config: str) -> "Store":
        """Resume a study; start it if there is none or no step is done.

        Steps with missing or damaged files are redone; the journal is repaired
        (`recover`). **Raises:** `ValueError` if the study has another config, or its
        bytes would differ on this machine or with these versions; `OSError` if
        `study.json` or the journal is lost.
        """
        if not has_study(directory):
            return cls.create(directory, record, config)
        commits = recover(directory, record, config)
        if commits is None:
            return cls._begin(directory, record, config)
        return cls(directory, record, commits)

    def append(self, chunk: int, fields: Mapping[str, Variable]) -> None:
        """Commit the samples of a chunk atomically: their rows of every array.

        Chunks may come in any order. **Raises:** `OSError` for arrays that do not match
        those of earlier chunks, and for disk errors.
        """
        layouts = self._full_layouts(fields)
        # All metadata are written before the first values, so that a stored chunk
        # implies that no array is missing.
        if not self._layouts:
            for name, layout in layouts.items():
                self._write(f"{RESULTS}/{name}/{METADATA}", layout.metadata())
        elif other := self._incompatible_array(layouts):
            raise OSError(f"{other} of chunk {chunk} differs from earlier chunks")
        # In parallel, to hide the latency of remote or busy file systems.
        written = [
            self._pool.submit(self._write_chunk, name, layout, chunk, fields[name].values)
            for name, layout in layouts.items()
        ]
        concurrent.futures.wait(written)
        for each in written:
            each.result()
        self._commit(f"chunk {chunk}")
        self._layouts = self._layouts or layouts

    def compare(self, chunk: int, fields: Mapping[str, Variable]) -> None:
        """Raise `OSError` unless a committed chunk has the bytes of these fields."""
        layouts = self._full_layouts(fields)
        other = [
            name
            for name, layout in layouts.items()
            if fields[name].values.size
            and self._folder.read(chunk_file(name, layout, chunk))
            != layout.packed(fields[name].values)
        ]
        other = other[0] if other else self._incompatible_array(layouts)
        if other:
            raise OSError(
                f"chunk {chunk} was computed twice with different bytes of {other}: the "
                "workers differ"
            )

    def _full_layouts(self, fields: Mapping[str, Variable]) -> dict[str, Layout]:
        """Return the layouts of the full arrays of a chunk's fields."""
        length, width = self.record["samples"], self.record["chunk"]
        layouts = {}
        for name, field in fields.items():
            shape = (length, *field.values.shape[1:])
            layouts[name] = _layout(name, field, shape, (min(width, length), *shape[1:]))
        return layouts

    def _incompatible_array(self, layouts: Mapping[str, Layout]) -> str:
        """Return an array that differs from earlier chunks, `""` if none does."""
        for name in {**layouts, **self._layouts}:
            before, now = self._layouts.get(name), layouts.get(name)
            if before is None or now is None or not before.holds(now):
                return name
        return ""

    def add_group(
        self, group: str, fields: Mapping[str, Variable], coordinates: tuple[str, ...] = ()
    ) -> None:
        """Commit whole arrays: as a group inside the results, or as results (`""`)."""
        self._folder.remove(f"{RESULTS}/{group}".rstrip("/"))
        members = {}
        for name, field in fields.items():
            path = f"{group}/{name}".lstrip("/")
            layout = _layout(name, field, field.values.shape, field.values.shape)
            members[name] = layout.document()
            self._write(f"{RESULTS}/{path}/{METADATA}", layout.metadata())
            self._write_chunk(path, layout, 0, field.values)
        if group:
            described = group_metadata(_coordinates(coordinates), members)
            self._write(f"{RESULTS}/{group}/{METADATA}", described)
        self._commit(f"group {group}")

    def finish(self) -> None:
        """Commit the whole study, which can then be opened."""
        config = self._folder.read("config.toml").decode()
        attributes = about(self.record, config)
        attributes |= _coordinates(self.record["coordinates"])
        members = {}
        for file in self._folder.files(RESULTS):
            name, _, last = file.removeprefix(f"{RESULTS}/").rpartition("/")
            if last == METADATA and name:
                members[name] = self._folder.read_json(file)
        self._write(f"{RESULTS}/{METADATA}", group_metadata(attributes, members))
        self._commit("complete")

    def rows(self, name: str) -> Rows:
        """Return an array of the results, read on indexing."""
        return Rows(self.directory, name)

    def _write(self, name: str, content: bytes, *, sync: bool = True) -> None:
        self._folder.write(name, content, sync=sync)
        self._written[name] = zlib.crc32(content)

    def _write_chunk(self, path: str, layout: Layout, chunk: int, values) -> None:
        if values.size:
            # Flushed by the journal before the commit, which is early enough.
            name = chunk_file(path, layout, chunk)
            self._write(name, layout.packed(values), sync=False)

    def _commit(self, step: str) -> None:
        written, self._written = self._written, {}
        self._journal.append(step, self.directory, written, written)
        self.done.add(step)


def check_free(directory: Path) -> None:
    """Raise `FileExistsError` if a study would overwrite something in a folder."""
    if has_study(directory):
        raise FileExistsError(f"{directory} already contains a study")
    if directory.exists() and not directory.is_dir():
        raise FileExistsError(f"{directory} is a file; choose a folder with --out")
    folder = Folder(directory)
    for name in _WRITTEN:
        if folder.kind(name):
            raise FileExistsError(
                f"{directory / name} exists and belongs to no study; choose another "
                "folder with --out"
            )


def _layout(name: str, field: Variable, shape, chunks) -> Layout:
    chunks = tuple(max(1, size) for size in chunks)
    known = long_name(name, field.description) | flags(name, field.values.dtype)
    attributes = field.attributes | known
    return Layout(tuple(shape), chunks, field.values.dtype, tuple(field.axes), attributes)


def _coordinates(names) -> dict[str, str]:
    return {"coordinates": " ".join(names)} if names else {}
