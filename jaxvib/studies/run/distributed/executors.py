"""Executors of chunks: base class, computation in this process, retries."""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...store.fields import Variable

Fields = Mapping[str, Variable]
TRIES = 3  # of a chunk: three failures are not by chance
_PAUSE = 1.0  # s before the second try; four times that before the third
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


def dispatch(
    executor: Executor,
    numbers: Iterable[int],
    accept: Callable[[int, Any], None],
    message: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> dict[int, str]:
    """Pass each chunk to `accept`, at least once unless it fails; only this process writes.

    Failed chunks are retried after all others; after `TRIES` failures they are set
    aside. **Arguments:** `message`: notified of the reason of a failure; `pause`: waits for
    some seconds. **Returns:** the reasons of the skipped chunks, by number.
    **Raises:** `RuntimeError` for a failure that concerns all chunks; exceptions of
    `accept` and the executor.
    """
    left = list(numbers)
    failed: dict[int, str] = {}
    for attempt in range(TRIES):
        if attempt:
            pause(_PAUSE * 4 ** (attempt - 1))
        failed = {}
        for number, found in executor.submit(left):
            if isinstance(found, Failure):
                if found.final:
                    raise RuntimeError(found.reason)
                failed[number] = found.reason
                more = "it is retried" if attempt + 1 < TRIES else "it is skipped"
                message(f"chunk {number} failed: {found.reason}; {more}")
            else:
                accept(number, found)
                failed.pop(number, None)
        left = sorted(failed)
        if not left:
            break
    return failed


def skipped(failed: dict[int, str]) -> str:
    """Return a message about the skipped chunks, with the first few reasons."""
    reasons = "; ".join(f"chunk {n}: {failed[n]}" for n in sorted(failed)[:3])
    number = f"{len(failed)} chunk{'s' * (len(failed) > 1)}"
    return f"{number} skipped after {TRIES} tries: {reasons}"
