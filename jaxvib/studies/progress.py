"""How far a study is: a bar on a terminal, nothing where the output is piped."""

import threading


class Progress:
    """A progress bar with rate, remaining time and the number of failed samples.

    It says "compiling" until the first samples are done. Safe to be called from the
    threads that compute.
    """

    def __init__(self, samples: int, done: int = 0):
        from tqdm.auto import tqdm

        self._lock = threading.Lock()
        self._failed = 0
        self._bar = tqdm(
            total=samples,
            initial=done,
            desc="compiling",
            unit=" samples",
            disable=None,
            dynamic_ncols=True,
        )

    def advance(self, samples: int) -> None:
        """Count samples as done."""
        with self._lock:
            self._bar.set_description("running", refresh=False)
            self._bar.update(samples)

    def fail(self, samples: int) -> None:
        """Count samples as failed."""
        with self._lock:
            self._failed += samples
            self._bar.set_postfix(failed=self._failed, refresh=False)

    def refresh(self) -> None:
        """Let the clock move on."""
        with self._lock:
            self._bar.refresh()

    def close(self) -> None:
        """End the bar's line."""
        with self._lock:
            self._bar.close()
