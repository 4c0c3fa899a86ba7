"""Progress reports: a bar on a terminal or in a notebook, otherwise lines."""

import contextlib
import contextvars
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Generator
from typing import Any

from ..text import duration_text

Report = Callable[[int], None] | bool | None

_AFTER = 2.0  # s: shorter calls show no bar
_EVERY = 60.0  # s between two lines without a terminal

_progress_active: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "progress_active", default=False
)


@contextlib.contextmanager
def progress_reporter(
    progress: Report, total: int | None, what: str, unit: str
) -> Generator[Callable[[int], None], None, None]:
    """Yield a callback that takes the number of items finished since its last call.

    `progress`: a function that is called instead; `None` shows a bar after two seconds,
    or, without a terminal, writes a line a minute to stderr; `False` shows nothing.
    Nested calls show nothing.
    """
    if callable(progress) or progress is False or _progress_active.get():
        yield progress if callable(progress) else _ignore
        return
    before = _progress_active.set(True)
    shown = _ProgressDisplay(total, what, unit)
    try:
        yield shown.advance
    finally:
        _progress_active.reset(before)
        shown.close()


@contextlib.contextmanager
def without_progress() -> Generator[None, None, None]:
    """Disable the progress reports of calls in this context."""
    before = _progress_active.set(True)
    try:
        yield
    finally:
        _progress_active.reset(before)


def bar_type() -> Any:
    """Return the class of progress bars of this terminal or notebook."""
    with warnings.catch_warnings():
        # Without ipywidgets the bar is text.
        warnings.filterwarnings("ignore", message="IProgress not found")
        from tqdm.auto import tqdm
    return tqdm


class _ProgressDisplay:
    """A progress bar, or lines without a terminal."""

    def __init__(self, total: int | None, what: str, unit: str):
        self._what, self._unit, self._total = what, unit, total
        self._done, self._began = 0, time.monotonic()
        self._last = self._began
        # A terminal of unknown size gets 80 columns; with none tqdm draws nothing.
        columns, lines = shutil.get_terminal_size()
        self._bar = bar_type()(
            total=total,
            desc=f"{what}: compiling",
            unit=f" {unit}",
            delay=_AFTER,
            disable=None,
            leave=False,
            ncols=columns,
            nrows=lines,
        )

    def advance(self, count: int) -> None:
        self._done += count
        self._bar.set_description_str(self._what, refresh=False)
        self._bar.update(count)
        now = time.monotonic()
        if self._done == count and now - self._began > _AFTER:
            self._bar.refresh()  # replaces "compiling" at once
        if self._bar.disable and now - self._last >= _EVERY:
            self._last = now
            of = "" if self._total is None else f" of {self._total}"
            print(
                f"{self._what}: {self._done}{of} {self._unit}, "
                f"{duration_text(now - self._began)}",
                file=sys.stderr,
            )

    def close(self) -> None:
        self._bar.close()


def _ignore(count: int) -> None:
    pass
