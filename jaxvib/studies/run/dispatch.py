"""Drives an executor: collects all chunks of a study in any order, with retries.

Only the driving process writes. The first result of a chunk is committed; duplicates
are compared with it and dropped.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from .executors import Executor, Failure

TRIES = 3  # of a chunk: three failures are not by chance
_PAUSE = 1.0  # s before the second try; four times that before the third


def dispatch(
    executor: Executor,
    numbers: Iterable[int],
    accept: Callable[[int, Any], None],
    message: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> dict[int, str]:
    """Pass each chunk to `accept`, at least once unless it fails.

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
