"""Some of many samples, evenly chosen: what a picture can show and a memory can hold."""

import math
from collections.abc import Mapping

import numpy as np

MOST_SHOWN = 1 << 20  # samples that are drawn and summed up


def evenly_chosen(number: int, grid: Mapping[str, int] | None, most: int) -> np.ndarray:
    """Return the positions of at most `most` samples, spread over all of them.

    Of a grid, whole lines are left out in every direction, so that the rest is a grid.
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
    """Return how many lines of a grid stay along each path, where at most `most` do."""
    left = dict(grid)
    while math.prod(left.values()) > most:
        longest = max(left, key=lambda path: left[path])
        others = [size for path, size in left.items() if path != longest]
        enough = most // math.prod(others)
        # One line at a time, from whichever path has most; in one go while that is one.
        alone = left[longest] > max(others, default=0)
        left[longest] = max(enough, *others, 1) if alone else left[longest] - 1
    return left
