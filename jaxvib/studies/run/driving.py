"""All chunks of a study from whoever computes them, in whatever order they come.

The process that drives is the only one that writes. What comes first is committed; what
comes again is compared with it and dropped.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from .executors import Executor, Failure

TRIES = 3  # of a chunk: what fails thrice does not do so by chance
_PAUSE = 1.0  # s before the second try, four times as long before the third


def drive(
    executor: Executor,
    numbers: Iterable[int],
    take: Callable[[int, Any], None],
    say: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> dict[int, str]:
    """Hand the chunks of these numbers to `take`, each at least once unless it fails.

    What failed is tried again after all others; what has failed `TRIES` times is set
    aside. **Arguments:** `say`: told why a chunk failed; `pause`: waits so many seconds.
    **Returns:** why chunks were set aside, by their numbers. **Raises:** `RuntimeError`
    for a failure that stands for all chunks; whatever `take` and the executor do.
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
                more = "it is tried again" if attempt + 1 < TRIES else "it is set aside"
                say(f"chunk {number} failed: {found.reason}; {more}")
            else:
                take(number, found)
                failed.pop(number, None)
        left = sorted(failed)
        if not left:
            break
    return failed


def set_aside(failed: dict[int, str]) -> str:
    """Return a message about chunks that have no results, the first few with reasons."""
    reasons = "; ".join(f"chunk {n}: {failed[n]}" for n in sorted(failed)[:3])
    number = f"{len(failed)} chunk{'s' * (len(failed) > 1)}"
    return f"{number} set aside after {TRIES} tries: {reasons}"
