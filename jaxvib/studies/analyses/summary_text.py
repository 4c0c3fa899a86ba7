"""Common parts of summaries: swept values of a sample, largest displacements."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def at(read: Callable, study: Any, sample: int | np.integer) -> str:
    """Return the swept values of a sample: `load.amplitude = 500 N`, "" if none."""
    return ", ".join(study.value_text(path, read(path)[sample]) for path in study.paths)


def where(read: Callable, study: Any, sample: int | np.integer) -> str:
    """Return the swept values of a sample after a comma, "" if none."""
    return f", {at(read, study, sample)}" if study.paths else ""


def highest(values: np.ndarray, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield up to five degrees of freedom with the indices of their largest value.

    `values` (samples, n, freedoms): the indices are a sample and a position along n.
    """
    for position, name in enumerate(names[:5]):
        here = values[:, :, position]
        sample, at = np.unravel_index(np.nanargmax(here), here.shape)
        yield name, int(sample), int(at)
