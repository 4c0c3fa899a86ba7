"""Executors of chunks: the base class, and computation in this process."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..store.fields import Variable

Fields = Mapping[str, Variable]
PATIENCE = 60.0  # s without a heartbeat, after which a chunk is reassigned
_SLOW = 4.0  # times the usual duration, after which a chunk is duplicated


def slow_after(durations: Sequence[float]) -> float:
    """Return the duration beyond which a chunk is slow, s; infinite if none is known."""
    return _SLOW * statistics.median(durations) if durations else math.inf


@dataclasses.dataclass(frozen=True)
class Failure:
    """The reason why a chunk has no results.

    **Fields:** `reason`; `final`: whether retries are useless, for this and all other
    chunks.
    """

    reason: str
    final: bool = False


@dataclasses.dataclass(frozen=True)
class Worker:
    """The state of a worker, for display.

    **Fields:** `name`; `chunk`: its current chunk, `None` if idle; `since`: its start,
    by `time.time`; `silent`: whether its heartbeat is overdue.
    """

    name: str
    chunk: int | None = None
    since: float = 0.0
    silent: bool = False


class Executor:
    """Computes chunks by number.

    **Fields:** `where`: a short description.
    """

    where: str

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Yield each chunk's results or `Failure`, in any order.

        It ends after every number was yielded. A chunk may be yielded more than once, by
        two workers of a cluster.
        """
        raise NotImplementedError

    def workers(self) -> Sequence[Worker]:
        """Return the workers and their chunks, if there are any. Thread-safe."""
        return ()

    def close(self) -> None:
        """Stop all computations."""


class LocalExecutor(Executor):
    """Computes in this process, one chunk per request."""

    where = "this process"

    def __init__(self, compute: Callable[[int], Fields]):
        self._compute = compute

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields]]:
        """Yield each chunk's results in order. **Raises:** as the computation."""
        for number in numbers:
            yield number, self._compute(number)
