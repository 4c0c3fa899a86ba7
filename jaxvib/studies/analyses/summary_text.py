"""Common parts of summaries: swept values of a sample, largest displacements."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def where(read: Callable, study: Any, sample: int | np.integer) -> str:
    """Return the swept values of a sample: `, load.amplitude = 500`, "" if none."""
    return "".join(f", {path} = {read(path)[sample]:.5g}" for path in study.paths)


def highest(values: np.ndarray, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield up to five degrees of freedom with the indices of their largest value.

    `values` (samples, n, freedoms): the indices are a sample and a position along n.
    """
    for position, name in enumerate(names[:5]):
        here = values[:, :, position]
        sample, at = np.unravel_index(np.nanargmax(here), here.shape)
        yield name, int(sample), int(at)
