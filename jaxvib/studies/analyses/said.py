"""What summaries of several kinds say alike: where a sample is, how far it moves."""

from collections.abc import Callable, Iterator

import numpy as np


def where(read: Callable, study, sample) -> str:
    """Return `, load.amplitude = 500`: the swept values of a sample, "" of none."""
    return "".join(f", {path} = {read(path)[sample]:.5g}" for path in study.paths)


def highest(values: np.ndarray, names) -> Iterator[tuple[str, int, int]]:
    """Yield names of at most five degrees of freedom, and where `values` are highest.

    `values` (samples, n, freedoms): the place is a sample, and a position among n.
    """
    for position, name in enumerate(names[:5]):
        here = values[:, :, position]
        sample, at = np.unravel_index(np.nanargmax(here), here.shape)
        yield name, int(sample), int(at)
