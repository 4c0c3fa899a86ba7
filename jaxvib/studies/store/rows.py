"""Lazily read arrays of samples."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .checked_read import check_sizes, chunk_file, chunk_files, layout_of, read_chunk


class Rows:
    """One array of a study's results, samples along its first axis.

    `rows[place]`, `rows[first:last]` and `rows[places]` read only the chunks needed;
    `numpy.asarray(rows)` reads all. **Arguments:** `sums`: crc32 by file, to verify
    each chunk; without them the files have been verified already. **Raises:** `OSError`
    on reading damaged or missing files.
    """

    def __init__(self, directory: Path, name: str, sums: Mapping[str, int] | None = None):
        self._directory = directory
        self._name = name
        self._sums = sums
        self._layout = layout_of(directory, name)
        self.shape, self.dtype = self._layout.shape, self._layout.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if self._sums is None:
            check_sizes(self._directory, {self._name: self._layout})
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
        for number, file in enumerate(chunk_files(self._name, self._layout)):
            yield self._chunk(number, file)

    @property
    def _width(self) -> int:
        return (self._layout.chunks[:1] or (1,))[0]

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
            rows = self._chunk(number, chunk_file(self._name, self._layout, number))
            found[mine] = rows[places[mine] - number * self._width]
        return found

    def _chunk(self, number: int, file: str) -> np.ndarray:
        expected = None if self._sums is None else self._sums[file]
        chunk = read_chunk(self._directory, file, self._layout, expected)
        if not self.shape:
            return chunk
        rows = len(self) - number * self._width
        return chunk[:rows][slice(None), *map(slice, self.shape[1:])]
