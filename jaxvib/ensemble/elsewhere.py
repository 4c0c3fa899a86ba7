"""Maps whose lanes others compute, such as the workers of a cluster."""

import contextlib
import contextvars
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Others(Protocol):
    """Who computes the chunks of maps."""

    def map(
        self,
        function: Callable[[Any], Any],
        chunks: Sequence[Any],
        chunk: int,
        take: Callable[[int, Any], None],
    ) -> None:
        """Hand what `map_samples(function, lanes, chunk=chunk)` is of each chunk's lanes.

        **Arguments:** `chunks`: pytrees of arrays, lanes on the first axis; `take`: is
        given the place of each chunk and its results once, in whatever order. **Raises:**
        `RuntimeError` where some cannot be had.
        """


_current: contextvars.ContextVar[Others | None] = contextvars.ContextVar(
    "elsewhere", default=None
)


@contextlib.contextmanager
def computed_by(others: Others) -> Generator[None]:
    """Have others compute every map inside that is longer than one chunk.

    The bits are those of a map that is computed here, on a processor of the same kind.
    **Arguments:** `others`: have a method `map` as `elsewhere.Others` says. **Raises:** in
    the maps inside, `RuntimeError` where the others cannot compute some lanes.

    >>> callable(jv.ensemble.computed_by)
    True
    """
    token = _current.set(others)
    try:
        yield
    finally:
        _current.reset(token)


def elsewhere() -> Others | None:
    """Return who computes this thread's maps, `None` where that is this process."""
    return _current.get()
