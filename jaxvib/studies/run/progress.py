"""Progress bar of a study; no output without a terminal."""

import shutil
import sys
import threading

from ...foundation.command.progress import bar_type

# Always samples/s: tqdm would invert rates below one.
_FORMAT = (
    "{desc} {percentage:3.0f}% {bar} {n_fmt}/{total_fmt} "
    "[{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
)


class Progress:
    """A progress bar with rate, remaining time and the number of failed samples.

    It shows "compiling" until the first samples are done. Thread-safe.
    """

    def __init__(self, samples: int, done: int = 0):
        # 80 columns if the terminal has no size, for which tqdm would draw nothing.
        columns, lines = shutil.get_terminal_size()
        self._lock = threading.Lock()
        self._failed = 0
        self._bar = bar_type()(
            total=samples,
            initial=done,
            desc="compiling",
            unit=" samples",
            bar_format=_FORMAT,
            postfix={"failed": 0},
            disable=None,
            ncols=columns,
            nrows=lines,
        )

    def advance(self, samples: int) -> None:
        """Count completed samples."""
        with self._lock:
            self._bar.set_description_str("running", refresh=False)
            self._bar.update(samples)

    def fail(self, samples: int) -> None:
        """Count failed samples."""
        with self._lock:
            self._failed += samples
            self._bar.set_postfix(failed=self._failed, refresh=False)

    def message(self, line: str) -> None:
        """Print a line above the bar, to stderr."""
        with self._lock:
            self._bar.write(line, file=sys.stderr)

    def refresh(self) -> None:
        """Update the elapsed time."""
        with self._lock:
            self._bar.refresh()

    def close(self) -> None:
        """Finish the line of the bar."""
        with self._lock:
            self._bar.close()
