"""Lazily read arrays of samples."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .checked_read import (
    array_names,
    check_sizes,
    chunk_file,
    chunk_files,
    layout_of,
    read_chunk,
)
from .journal import Commit


class Rows:
    """One array of a study's results, samples along its first axis.

    `rows[place]`, `rows[first:last]` and `rows[places]` read only the chunks needed;
    `numpy.asarray(rows)` reads all. **Arguments:** `sums`: crc32 by file, to verify
    each chunk; without them the files have been verified already; `some`: the samples in
    `values`, by default all. `values`, `dims` and `attrs` are those of an
    `xarray.Variable`. **Raises:** `OSError` on reading damaged or missing files.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        sums: Mapping[str, int] | None = None,
        some: np.ndarray | None = None,
    ):
        self._directory, self.name = directory, name
        self._sums, self._some = sums, some
        self.layout = layout_of(directory, name)
        self.shape, self.dtype = self.layout.shape, self.layout.dtype
        self.dims, self.attrs = self.layout.axes, dict(self.layout.attributes)

    @functools.cached_property
    def values(self) -> np.ndarray:
        """The values, of the chosen samples only, read now."""
        return np.asarray(self) if self._some is None else self[self._some]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if self._sums is None:
            check_sizes(self._directory, {self.name: self.layout})
        values = np.empty(self.shape, self.dtype)
        for number, block in enumerate(self.blocks()):
            place = slice(number * self._width, (number + 1) * self._width)
            values[place if self.shape else ...] = block
        return values if dtype is None else values.astype(dtype)

    def __getitem__(self, key) -> Any:
        if not self.shape:
            return np.asarray(self)[key]
        if isinstance(key, slice):
            places = np.arange(*key.indices(len(self)))
        else:
            places = np.asarray(key)
            if places.dtype == bool:
                places = np.flatnonzero(places)
            places = np.where(places < 0, places + len(self), places)
        return self._taken(places.ravel()).reshape(places.shape + self.shape[1:])[()]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the values chunk by chunk, in order."""
        for number, file in enumerate(chunk_files(self.name, self.layout)):
            yield self._chunk(number, file)

    @property
    def _width(self) -> int:
        return (self.layout.chunks[:1] or (1,))[0]

    def _taken(self, places: np.ndarray) -> np.ndarray:
        if places.size and not (places.min() >= 0 and places.max() < len(self)):
            raise IndexError(f"samples are 0 to {len(self) - 1}")
        found = np.empty((len(places), *self.shape[1:]), self.dtype)
        if not found.size:
            return found
        order = np.argsort(places, kind="stable")
        numbers = places[order] // self._width
        for mine in np.split(order, np.flatnonzero(np.diff(numbers)) + 1):
            number = int(places[mine[0]]) // self._width
            rows = self._chunk(number, chunk_file(self.name, self.layout, number))
            found[mine] = rows[places[mine] - number * self._width]
        return found

    def _chunk(self, number: int, file: str) -> np.ndarray:
        expected = None if self._sums is None else self._sums[file]
        chunk = read_chunk(self._directory, file, self.layout, expected)
        if not self.shape:
            return chunk
        rows = len(self) - number * self._width
        return chunk[:rows][slice(None), *map(slice, self.shape[1:])]


def rows_of(
    directory: Path,
    commits: Iterable[Commit],
    group: str = "",
    some: np.ndarray | None = None,
) -> dict[str, Rows]:
    """Return the arrays of a study's results, or of one of its groups, by name.

    `some`: the samples in their `values`, by default all.
    """
    commits = list(commits)
    sums = {file: crc for commit in commits for file, crc in commit.files.items()}
    return {
        name: Rows(directory, f"{group}/{name}".lstrip("/"), sums, some)
        for name in array_names(commits, group)
    }
