"""Merges studies with different random samples of one config."""

import contextlib
import functools
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...config.samples import DRAWN
from ...nested import differences
from ...store.dataset import groups, verified
from ...store.fields import Variable
from ...store.folder import Folder
from ...store.lock import Lock
from ...store.rows import Rows, rows_of
from ...store.store import Store, check_free

# Config keys in which merged studies may differ.
_FREE = {"run": ("seed", "chunk"), "sweep": ("count",)}


class Part:
    """A study, or a share of one, in its folder; read by `read`, which verifies it."""

    def __init__(self, directory: Path, read: Callable = verified):
        self.directory = directory
        self.record, self.commits = read(directory)
        self.sums = {f: crc for commit in self.commits for f, crc in commit.files.items()}
        self.samples = self.record["samples"]

    @property
    def seed(self) -> int:
        """The seed of its random samples."""
        return self.record["config"]["run"]["seed"]

    @functools.cached_property
    def arrays(self) -> dict[str, Rows]:
        """The arrays of its samples, read on indexing."""
        return self.group("")

    def group(self, name: str) -> dict[str, Rows]:
        """Return the arrays of a group, read on indexing; none if there is none."""
        return rows_of(self.directory, self.commits, name)


def fields_of(pieces: Sequence[tuple[Part, slice]]) -> dict[str, Variable]:
    """Return the fields of samples of several parts, one behind the other."""
    return {
        name: _variable(array, [part.arrays[name][rows] for part, rows in pieces])
        for name, array in pieces[0][0].arrays.items()
    }


@contextlib.contextmanager
def new_store(directory: Path, record: Mapping, config: str) -> Generator[Store]:
    """Yield the store of a new study, which no other run can write to."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = Lock(directory)
    lock.acquire()
    try:
        yield Store.create(directory, record, config)
    finally:
        lock.release()


def merge(directories: Sequence[Path], out: Path) -> list[str]:
    """Merge the samples of several studies into a new one; return messages.

    The studies have the same config, with random or Sobol samples of different seeds;
    machines may differ, versions may not. Samples are concatenated in order. Records of
    the parts are stored under `merged`, and the result cannot be resumed.
    **Raises:** `ValueError` for incompatible studies, `FileExistsError` if `out` is not
    free; as `open_study`.
    """
    if len({directory.resolve() for directory in directories}) < 2:
        raise ValueError(f"{len(directories)} folder; allowed: two different ones or more")
    check_free(out)
    parts = [Part(directory) for directory in directories]
    for part in parts:
        _check(parts[0], part)
    _check_samples(parts)
    seeds = ", ".join(str(part.seed) for part in parts)
    text = Folder(parts[0].directory).read("config.toml").decode("utf-8", "replace")
    text = f"# Merged from studies with run.seed = {seeds}.\n{text}"
    with new_store(out, _record(parts), text) as store:
        return _written(parts, store)


def _written(parts: Sequence[Part], store: Store) -> list[str]:
    starts = np.cumsum([0, *(part.samples for part in parts)])
    width, total = store.record["chunk"], store.record["samples"]
    for number, first in enumerate(range(0, total, width)):
        last = min(first + width, total)
        pieces = [
            (part, slice(max(0, first - start), min(part.samples, last - start)))
            for part, start in zip(parts, starts.tolist(), strict=False)
            if start < last and first < start + part.samples
        ]
        store.append(number, fields_of(pieces))
    lines = [f"{store.directory} written: {total} samples from {len(parts)} studies"]
    for group in groups(parts[0].commits):
        lines += _merge_group(store, parts, group, starts.tolist())
    store.finish()
    return [*lines, *_different_machines(parts)]


def _merge_group(store: Store, parts, group: str, starts: list[int]) -> list[str]:
    """Concatenate the groups of all studies, if they are compatible."""
    each = [part.group(group) for part in parts]
    if any(_shapes(arrays) != _shapes(each[0]) for arrays in each):
        return [f"left out: {group}, which differs between the studies"]
    fields = {}
    for name, array in each[0].items():
        columns = [np.asarray(arrays[name]) for arrays in each]
        if name == "sample":  # positions in all samples
            columns = [
                column + start for column, start in zip(columns, starts, strict=False)
            ]
        shared = array.dims[:1] != each[0]["sample"].dims
        fields[name] = _variable(array, columns[:1] if shared else columns)
    store.add_group(group, fields, ("sample",))
    return []


def _shapes(arrays: Mapping[str, Rows]) -> dict[str, tuple]:
    return {name: (each.dims, each.shape[1:], each.dtype) for name, each in arrays.items()}


def _variable(array: Rows, columns: list[np.ndarray]) -> Variable:
    """Return stored columns as a field."""
    attributes: dict[str, Any] = dict(array.attrs)
    unit, words = attributes.pop("units", ""), attributes.pop("description", "")
    return Variable(array.dims, np.concatenate(columns), unit, words, attributes)


def _check(first: Part, other: Part) -> None:
    """Raise `ValueError` unless two studies differ only in the allowed keys."""
    if not any(commit.step.startswith("chunk ") for commit in other.commits):
        raise ValueError(
            f"{other.directory} has no samples: it is stored as a whole; allowed: studies "
            "with a sweep"
        )
    for key, allowed in (
        ("config", "run.seed, run.chunk, sweep.count"),
        ("versions", "none"),
    ):
        both = ({key: _compared(part.record[key])} for part in (first, other))
        for path, one, two in differences(*both):
            raise ValueError(
                f"{path} = {two} in {other.directory}, and {one} in {first.directory}; "
                f"allowed to differ: {allowed}"
            )
    if _shapes(first.arrays) != _shapes(other.arrays):
        raise ValueError(f"{other.directory} has different arrays from {first.directory}")


def _compared(table: Mapping) -> dict[str, Any]:
    kept = {key: value for key, value in table.items() if key not in ("output", "title")}
    for section, keys in _FREE.items():
        if isinstance(kept.get(section), dict):
            kept[section] = {k: v for k, v in kept[section].items() if k not in keys}
    return kept


def _check_samples(parts: Sequence[Part]) -> None:
    method = parts[0].record["config"].get("sweep", {}).get("method", "grid")
    if method not in DRAWN:
        raise ValueError(
            f'sweep.method = "{method}": all studies have the same samples; allowed '
            f"for merging: {', '.join(DRAWN)}"
        )
    seen: dict[int, Path] = {}
    for part in parts:
        if part.record.get("merged"):
            raise ValueError(f"{part.directory} is itself merged; use its parts")
        if part.seed in seen:
            raise ValueError(
                f"run.seed = {part.seed} in {seen[part.seed]} and in {part.directory}: the "
                "same samples twice; allowed: seeds that differ"
            )
        seen[part.seed] = part.directory


def _record(parts: Sequence[Part]) -> dict:
    first = parts[0].record
    prints = [part.record["fingerprint"] for part in parts]
    alike = {
        key: value if all(each.get(key) == value for each in prints) else "several"
        for key, value in prints[0].items()
    }
    merged = [
        {
            "seed": part.seed,
            "samples": part.samples,
            "fingerprint": part.record["fingerprint"],
            "git": part.record["git"],
            "study.json": f"{part.sums['study.json']:08x}",
        }
        for part in parts
    ]
    samples = sum(part.samples for part in parts)
    config = json.loads(json.dumps(first["config"]))
    config["sweep"]["count"] = samples
    changed = {"config": config, "samples": samples, "fingerprint": alike, "merged": merged}
    return {**first, **changed}


def _different_machines(parts: Sequence[Part]) -> list[str]:
    prints = [part.record["fingerprint"] for part in parts]
    differing = [
        key for key in prints[0] if any(p.get(key) != prints[0][key] for p in prints)
    ]
    if not differing:
        return []
    return [f"machines   differ in {', '.join(differing)}: see study.json"]
