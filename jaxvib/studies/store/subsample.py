"""Even subsamples, to limit the size of pictures and the memory."""

import math
from collections.abc import Mapping

import numpy as np

MOST_SHOWN = 1 << 20  # samples drawn and summarised


def evenly_chosen(number: int, grid: Mapping[str, int] | None, most: int) -> np.ndarray:
    """Return the positions of an even subsample of at most `most` samples.

    Of a grid, every n-th line along each path is kept, so that the rest is a grid.
    """
    if most < 1:
        return np.zeros(0, int)
    if grid is None:
        return np.unique(np.linspace(0, number - 1, min(most, number)).round().astype(int))
    lines = [
        np.linspace(0, size - 1, count).round().astype(int)
        for size, count in zip(grid.values(), kept(grid, most).values(), strict=True)
    ]
    return np.ravel_multi_index(
        np.meshgrid(*lines, indexing="ij"), tuple(grid.values())
    ).ravel()


def kept(grid: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the number of lines kept along each path for at most `most` samples."""
    left = dict(grid)
    while math.prod(left.values()) > most:
        longest = max(left, key=lambda path: left[path])
        others = [size for path, size in left.items() if path != longest]
        enough = most // math.prod(others)
        # One line at a time, from the longest path; all at once for a single path.
        alone = left[longest] > max(others, default=0)
        left[longest] = max(enough, *others, 1) if alone else left[longest] - 1
    return left
