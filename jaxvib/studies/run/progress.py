"""How far a study is: a bar on a terminal, nothing where the output is piped."""

import shutil
import sys
import threading

# The rate stays samples/s below one a second, where tqdm would turn it round.
_FORMAT = (
    "{desc} {percentage:3.0f}% {bar} {n_fmt}/{total_fmt} "
    "[{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
)


class Progress:
    """A progress bar with rate, remaining time and the number of failed samples.

    It says "compiling" until the first samples are done. Safe to be called from the
    threads that compute.
    """

    def __init__(self, samples: int, done: int = 0):
        from tqdm.auto import tqdm

        # A terminal that tells no size has 80 columns here; in none tqdm draws nothing.
        columns, lines = shutil.get_terminal_size()
        self._lock = threading.Lock()
        self._failed = 0
        self._bar = tqdm(
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
        """Count samples as done."""
        with self._lock:
            self._bar.set_description_str("running", refresh=False)
            self._bar.update(samples)

    def fail(self, samples: int) -> None:
        """Count samples as failed."""
        with self._lock:
            self._failed += samples
            self._bar.set_postfix(failed=self._failed, refresh=False)

    def say(self, line: str) -> None:
        """Print a line above the bar, as an error."""
        with self._lock:
            self._bar.write(line, file=sys.stderr)

    def refresh(self) -> None:
        """Let the clock move on."""
        with self._lock:
            self._bar.refresh()

    def close(self) -> None:
        """End the bar's line."""
        with self._lock:
            self._bar.close()
