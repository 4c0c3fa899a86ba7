"""Who computes the chunks of a study: the protocol, and this very process."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..store.fields import Variable

Fields = Mapping[str, Variable]


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a chunk has no results.

    **Fields:** `reason`; `final`: whether another try would end no otherwise, for this
    chunk or any other.
    """

    reason: str
    final: bool = False


@dataclasses.dataclass(frozen=True)
class Worker:
    """One of those that compute, for people to look at.

    **Fields:** `name`; `chunk`: what it is at, `None` if nothing; `since`: when it was
    given that, by `time.time`; `silent`: whether it has not been heard of for long.
    """

    name: str
    chunk: int | None = None
    since: float = 0.0
    silent: bool = False


@runtime_checkable
class Executor(Protocol):
    """Computes chunks by their numbers.

    **Fields:** `where`: a few words about it.
    """

    where: str

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields | Failure]]:
        """Yield each chunk's results, or why there are none, in whatever order.

        It ends once every number has come. A chunk may come more than once: from
        somebody who was thought lost, or from two who were both given it.
        """

    def workers(self) -> Sequence[Worker]:
        """Return who is at work on what. Any thread may ask."""

    def close(self) -> None:
        """End all that still computes."""


class Here:
    """Computes in this process, a chunk when it is asked for."""

    where = "this process"

    def __init__(self, compute: Callable[[int], Fields]):
        self._compute = compute

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields]]:
        """Yield each chunk's results in order. **Raises:** what the computation does."""
        for number in numbers:
            yield number, self._compute(number)

    def workers(self) -> Sequence[Worker]:
        """Return nobody: the bar says how far it is."""
        return ()

    def close(self) -> None:
        """Nothing is left to end."""
