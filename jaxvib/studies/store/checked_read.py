"""Validation of a stored study before it is read.

A store may be untrusted or damaged. Its journal may only name files of its steps, its
arrays must have the samples and chunks of its record, and their sizes are checked
before decompression.
"""

import math
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pydantic
from pydantic import AfterValidator, Field

from ...foundation.machine import memory
from ...foundation.text import size_text
from .arrays import METADATA, Layout, read_layout
from .folder import Folder
from .journal import Commit
from .share import Share

RESULTS = "results.zarr"
RECORD = "study.json"
MOST_SAMPLES = 1_000_000_000  # the limit of a config
_LEAST_SUSPECT = 1 << 28  # bytes of arrays that are read regardless of file size
_MOST_PACKED = 4000  # maximum ratio of zstd, for almost constant samples
_LOOKED_AT = 1000  # files of an array, a subsample to estimate the total size
_OF_CHUNK = re.compile(rf"{RESULTS}/[^/]+/(?:{METADATA}|c/([0-9]+)(?:/0)*)")
_ROOM = 1 << 12  # overhead of zstd in bytes


class _Record(pydantic.BaseModel, strict=True):
    """What `study.json` holds besides what tells a study's history."""

    title: str
    analysis: str
    system: str
    evidence: str
    coordinates: list[str]
    versions: dict[str, str]
    fingerprint: dict[str, str]
    axes: dict[str, list[str]]
    config: dict[str, Any]
    samples: Annotated[int, Field(gt=0, le=MOST_SAMPLES)]
    chunk: Annotated[int, Field(gt=0)]
    grid: dict[str, Annotated[int, Field(gt=0)]] | None
    share: Annotated[str, AfterValidator(Share.parse)] = "1/1"
    git: dict[str, Any] | None

    @pydantic.model_validator(mode="after")
    def _is_a_grid(self):
        if self.grid is not None and math.prod(self.grid.values()) != self.samples:
            raise ValueError("grid")
        return self


def read_record(folder: Folder) -> dict:
    """Read `study.json`. **Raises:** `OSError` unless it is a valid record."""
    found = folder.read_json(RECORD)
    try:
        _Record.model_validate(found)
    except ValueError:
        raise OSError(
            f"{folder.root / RECORD} is damaged: not a record of a study"
        ) from None
    return found


def belongs(commit: Commit, record: Mapping) -> bool:
    """Return whether a journal's line names only files of its step."""
    kind, _, which = commit.step.partition(" ")
    if commit.step == "start":
        allowed = r"study\.json|config\.toml"
    elif commit.step == "complete":
        allowed = rf"{RESULTS}/{METADATA}"
    elif kind == "chunk" and _number(which, record):
        named = (_OF_CHUNK.fullmatch(file) for file in commit.files)
        return all(one is not None and one[1] in (None, which) for one in named)
    elif kind == "group" and "/" not in which:
        inside = re.escape(f"{which}/") if which else ""
        own = rf"{RESULTS}/{inside}{METADATA}|" if which else ""
        allowed = rf"{own}{RESULTS}/{inside}[^/]+/(?:{METADATA}|c(?:/0)*)"
    else:
        return False
    return all(re.fullmatch(allowed, file) for file in commit.files)


def array_names(commits: Iterable[Commit], group: str = "") -> list[str]:
    """Return the committed arrays of the results or of one of their groups."""
    inside = f"{RESULTS}/{group}/" if group else f"{RESULTS}/"
    found = {}
    for commit in commits:
        sampled = not group and commit.step.startswith("chunk ")
        for file in commit.files if sampled or commit.step == f"group {group}" else ():
            name, _, last = file.removeprefix(inside).rpartition("/")
            if last == METADATA and name and "/" not in name:
                found[name] = None
    return list(found)


def layout_of(directory: Path, name: str) -> Layout:
    """Return the layout of a stored array. **Raises:** `OSError` if it is invalid."""
    file = f"{RESULTS}/{name}/{METADATA}"
    layout = read_layout(Folder(directory).read(file), directory / file)
    if layout.chunks[1:] != tuple(max(1, size) for size in layout.shape[1:]):
        raise OSError(f"{directory / file} does not describe an array of jaxvib")
    return layout


def chunk_files(name: str, layout: Layout) -> list[str]:
    """Return the files of an array's chunks in order."""
    if not math.prod(layout.shape):
        return []
    rows = layout.shape[:1] or (1,)
    number = -(-rows[0] // (layout.chunks[:1] or (1,))[0])
    return [chunk_file(name, layout, chunk) for chunk in range(number)]


def chunk_file(name: str, layout: Layout, chunk: int) -> str:
    """Return the file of one chunk of an array."""
    position = (chunk, *(0,) * len(layout.shape))[: len(layout.shape)]
    return "/".join((RESULTS, name, "c", *map(str, position)))


def check_sizes(directory: Path, layouts: Mapping[str, Layout], share: float = 1.0) -> None:
    """Raise `OSError` for arrays too large for their files or for the memory.

    `share`: fraction of them held in memory at a time.
    """
    folder = Folder(directory)
    claimed = sum(
        math.prod(max(1, size) for size in layout.shape) * layout.dtype.itemsize
        for layout in layouts.values()
    )
    if claimed * share > memory() // 2:
        raise OSError(
            f"{directory / RESULTS} would take {size_text(claimed * share)} of memory; "
            "allowed: open_study(..., most=1_000_000), which reads a subsample"
        )
    if claimed <= _LEAST_SUSPECT:
        return
    stored = 0.0
    for name, layout in layouts.items():
        files = chunk_files(name, layout)
        some = files[:: max(1, len(files) // _LOOKED_AT)]
        stored += sum(map(folder.size, some)) * len(files) / max(1, len(some))
    if claimed > _MOST_PACKED * stored:
        raise OSError(
            f"{directory / RESULTS} claims {size_text(claimed)} in files of "
            f"{size_text(stored)}"
        )


def read_chunk(
    directory: Path, file: str, layout: Layout, crc: int | None = None
) -> np.ndarray:
    """Read one chunk of an array. **Raises:** `OSError` if it is damaged or missing.

    `crc`: the expected crc32 of its file.
    """
    most = layout.chunk_bytes + layout.chunk_bytes // 128 + _ROOM
    content = Folder(directory).read(file, most)
    if crc is not None and zlib.crc32(content) != crc:
        raise OSError(f"{directory / file} is damaged")
    return layout.unpacked(content, f"{directory}/{file}")


def _number(text: str, record: Mapping) -> bool:
    chunks = -(-record["samples"] // record["chunk"])
    return bool(re.fullmatch(r"0|[1-9][0-9]{0,8}", text)) and int(text) < chunks
