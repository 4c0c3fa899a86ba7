"""Functions over items in threads, for work that releases Python's lock."""

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import TypeVar

from .machine import usable_cores

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """Return a function's results in order, from so many threads, by default one a core.

    A single item needs no thread.
    """
    items = list(items)
    if len(items) < 2:
        return list(map(function, items))
    with concurrent.futures.ThreadPoolExecutor(threads or usable_cores()) as pool:
        return list(pool.map(function, items))
