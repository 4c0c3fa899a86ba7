"""Distributes the maps of a search over the workers of a cluster."""

import functools
import itertools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...foundation.arrays import concatenate_lanes
from .cluster import DaskExecutor
from .dispatch import dispatch, skipped
from .worker import task

_EACH = 4  # parts of a map per thread of the cluster, for load balance


class ClusterSearch:
    """Computes maps on a Dask cluster; the rest of the search runs in the driver.

    Failed parts are retried like chunks of samples, and lost workers do not change any
    bit. **Arguments:** `address`: of the scheduler; `config`: the text of the resolved
    config; `record`: of the study, which workers must match; `progress`: notified of
    events. **Raises:** `OSError` if no scheduler answers.
    """

    def __init__(self, address: str, config: str, record: Mapping[str, Any], progress):
        self._config, self._progress = config, progress
        self._record = {key: record[key] for key in ("versions", "fingerprint")}
        self._numbers = itertools.count()  # of parts, over all maps
        self._parts: dict[int, tuple[bytes, bytes, int]] = {}
        self.cluster = DaskExecutor(address, self._call, progress, counted=lambda _: 0)

    def map(
        self,
        function: Callable[[Any], Any],
        chunks: Sequence[Any],
        chunk: int,
        accept: Callable[[int, Any], None],
    ) -> None:
        """Pass on the results of each chunk of lanes as they arrive.

        **Raises:** `RuntimeError` if a part failed on every try; `OSError` if the
        scheduler is lost.
        """
        number = -(-len(chunks) // (_EACH * self.cluster.threads))
        places: dict[int, range] = {}
        for start in range(0, len(chunks), number):
            some = range(start, min(start + number, len(chunks)))
            lanes = concatenate_lanes([chunks[place] for place in some])
            part = next(self._numbers)
            self._parts[part] = _pickled(function), pickle.dumps(lanes), chunk
            places[part] = some

        def take_part(part: int, found: bytes) -> None:
            some = places.pop(part, None)
            if some is None:  # a duplicate, or of a finished map
                return
            lengths = [len(jax.tree.leaves(chunks[place])[0]) for place in some]
            for place, result in zip(some, _cut(pickle.loads(found), lengths), strict=True):
                accept(place, result)

        try:
            lost = dispatch(self.cluster, list(places), take_part, self._progress.message)
        finally:
            self._parts.clear()
        if lost:
            raise RuntimeError(skipped(lost))

    def close(self) -> None:
        """Disconnect from the cluster."""
        self.cluster.close()

    def _call(self, part: int) -> tuple:
        return task, self._config, part, self._record, *self._parts[part]


@functools.lru_cache(maxsize=64)
def _pickled(function) -> bytes:
    import cloudpickle  # a dependency of Dask that pickles nested functions

    return cloudpickle.dumps(function)


def _cut(results: Any, lengths: Sequence[int]) -> list[Any]:
    """Split results into parts of given numbers of lanes."""
    ends = np.cumsum(lengths).tolist()
    return [
        jax.tree.map(lambda leaf, a=end - length, b=end: leaf[a:b], results)
        for end, length in zip(ends, lengths, strict=True)
    ]
