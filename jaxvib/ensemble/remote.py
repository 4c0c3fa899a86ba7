"""Delegates batched maps to remote workers, such as those of a cluster."""

import contextlib
import contextvars
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ChunkExecutor(Protocol):
    """An executor of the chunks of maps."""

    def map(
        self,
        function: Callable[[Any], Any],
        chunks: Sequence[Any],
        chunk: int,
        accept: Callable[[int, Any], None],
    ) -> None:
        """Compute `map_samples(function, lanes, chunk=chunk)` for each chunk's lanes.

        **Arguments:** `chunks`: pytrees of arrays, lanes on the first axis; `accept`:
        called once with the index of each chunk and its results, in any order.
        **Raises:** `RuntimeError` if some results are not available.
        """


_current: contextvars.ContextVar[ChunkExecutor | None] = contextvars.ContextVar(
    "executor", default=None
)


@contextlib.contextmanager
def use_executor(others: ChunkExecutor) -> Generator[None]:
    """Delegate every map inside that is longer than one chunk to an executor.

    The bits are those of a local map on a processor of the same kind. **Arguments:**
    `others`: an object with the method `map` of `remote.ChunkExecutor`. **Raises:** in the
    maps inside, `RuntimeError` if some lanes cannot be computed.

    >>> callable(jv.ensemble.use_executor)
    True
    """
    token = _current.set(others)
    try:
        yield
    finally:
        _current.reset(token)


def current_executor() -> ChunkExecutor | None:
    """Return the executor of this thread's maps, `None` for this process."""
    return _current.get()
