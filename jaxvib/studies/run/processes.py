"""Computes chunks in local processes, which may die or hang at any time."""

import collections
import contextlib
import dataclasses
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any, Protocol, runtime_checkable

from ...foundation.text import duration_text
from .executors import PATIENCE, Failure, Fields, Worker, slow_after
from .worker_shares import Share, worker_shares
from .worker_tasks import incompatibility

_MOST_WORDS = 4096  # bytes of a worker's last output
_LOOK = 0.5  # s between checks for silent workers
_LEAST_DEATHS = 3  # per worker without a result, after which the run fails


@runtime_checkable
class Process(Protocol):
    """A worker's process."""

    pid: int

    def kill(self) -> None:
        """Kill it."""

    def ended(self) -> str:
        """Wait for its end and describe it in a few words."""


Start = Callable[[Connection, str, Share], Process]


@dataclasses.dataclass(eq=False)
class _Running:
    # A process, its index (0, 1, ..) and its current work.
    process: Process
    connection: Connection
    place: int
    heard: float
    ready: bool = False
    chunk: int | None = None
    since: float = 0.0
    samples: int = 0
    silent: bool = False

    @property
    def name(self) -> str:
        return f"worker {self.place + 1} (process {self.process.pid})"


class ProcessExecutor:
    """Computes on local processes, each with its share of the cores or a GPU.

    A dead worker is replaced, and its chunk counts as failed. A worker without
    heartbeat for `patience` seconds is kept in case it recovers, but its chunk is given
    to another; so is the last chunk if it takes much longer than the others did.

    **Arguments:** `config`: the text of the resolved config; `record`: of the study,
    which workers must match; `progress`: notified of completed samples and events;
    `start`: starts a process that serves a connection.
    """

    def __init__(
        self,
        config: str,
        count: int,
        record: Mapping[str, Any],
        progress,
        *,
        patience: float = PATIENCE,
        start: Start | None = None,
    ):
        self.where = f"{count} worker processes"
        self._config = config
        self._count = count
        self._record = record
        self._progress = progress
        self._patience = patience
        self._start = start or _Command
        self._shares = worker_shares(count, record["fingerprint"]["device"])
        self._messages: queue.SimpleQueue[tuple[_Running, tuple]] = queue.SimpleQueue()
        self._running: list[_Running] = []
        self._waiting: collections.deque[int] = collections.deque()
        self._open: set[int] = set()
        self._seconds: collections.deque[float] = collections.deque(maxlen=101)
        self._deaths = 0  # since the last result
        self._shown: dict[int, int] = {}  # chunk: samples reported to the progress

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields | Failure]]:
        """Yield each chunk's results or failure as they arrive.

        **Raises:** `RuntimeError` if workers die before they compute anything.
        """
        self._waiting = collections.deque(numbers)
        self._open = set(self._waiting)
        looked = time.monotonic()
        while self._open:
            self._fill()
            self._assign_chunks()
            try:
                worker, message = self._messages.get(timeout=_LOOK)
            except queue.Empty:
                pass
            else:
                found = self._handle_message(worker, *message)
                if found is not None:
                    self._assign_chunks()  # they compute while results are written
                    yield found
            # After all messages are read, since this process may have been suspended.
            if self._messages.empty() and time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                self._check_heartbeats(looked)
                self._duplicate_slow_chunks(looked)

    def workers(self) -> Sequence[Worker]:
        """Return the workers and their chunks."""
        return [
            Worker(each.name, each.chunk, each.since, each.silent)
            for each in list(self._running)
        ]

    def close(self) -> None:
        """Stop all workers."""
        for worker in self._running:
            worker.process.kill()
        for worker in self._running:
            worker.process.ended()
            worker.connection.close()
        self._running.clear()

    def _fill(self) -> None:
        """Start missing processes, as far as there is work for them."""
        number = min(self._count, len(self._open))
        for _ in range(sum(not each.silent for each in self._running), number):
            places = {each.place for each in self._running if not each.silent}
            place = next(i for i in range(self._count) if i not in places)
            ours, theirs = Pipe()
            process = self._start(theirs, self._config, self._shares[place])
            theirs.close()
            worker = _Running(process, ours, place, time.monotonic())
            self._running.append(worker)
            threading.Thread(target=self._listen, args=(worker,), daemon=True).start()

    def _listen(self, worker: _Running) -> None:
        # In a thread: a worker stopped in the middle of a message blocks nothing else.
        try:
            while True:
                self._messages.put((worker, worker.connection.recv()))
        except Exception:  # closed, or killed in the middle of a message
            self._messages.put((worker, ("gone",)))

    def _assign_chunks(self) -> None:
        for worker in self._running:
            if not self._waiting:
                return
            if worker.ready and worker.chunk is None and not worker.silent:
                self._send_chunk(worker, self._waiting.popleft())

    def _send_chunk(self, worker: _Running, number: int) -> None:
        worker.chunk, worker.since, worker.samples = number, time.time(), 0
        with contextlib.suppress(OSError):  # its end is handled by the listener
            worker.connection.send(number)

    def _handle_message(self, worker: _Running, what: str, *more):
        """Handle a worker's message; return a chunk's number and results, if any."""
        worker.heard = time.monotonic()
        if worker.silent and what != "gone":
            worker.silent = False
            self._progress.message(f"{worker.name} responds again")
        if what == "who":
            if difference := incompatibility(more[0], self._record):
                raise RuntimeError(
                    f"{worker.name} does not match the study: it has {difference}"
                )
            worker.ready = True
        elif what == "unable":
            raise RuntimeError(f"{worker.name} cannot start: {more[0]}")
        elif what == "beat":
            self._show(worker, more[0])
        elif what == "message":
            self._progress.message(more[0])
        elif what == "gone":
            return self._handle_exit(worker)
        else:
            return self._received(worker, what, *more)
        return None

    def _received(self, worker: _Running, what: str, number: int, found):
        self._seconds.append(time.time() - worker.since)
        self._open.discard(number)
        if what == "done":
            self._deaths = 0
            self._show(worker, len(found["result"].values))
        worker.chunk = None
        return number, found

    def _handle_exit(self, worker: _Running):
        if worker not in self._running:
            return None
        self._running.remove(worker)
        worker.process.kill()  # in case it survives without a connection
        how = worker.process.ended()
        worker.connection.close()
        self._deaths += 1
        number = worker.chunk
        if self._deaths > _LEAST_DEATHS * self._count:
            raise RuntimeError(f"{self._deaths} workers died in a row: {how}")
        if number is None or number not in self._open or self._has_another(number):
            self._progress.message(f"{worker.name} {how}; it is replaced")
            return None
        self._open.discard(number)
        return number, Failure(f"{worker.name} {how}")

    def _has_another(self, number: int) -> bool:
        at_work = any(each.chunk == number and not each.silent for each in self._running)
        return at_work or number in self._waiting

    def _check_heartbeats(self, now: float) -> None:
        for worker in self._running:
            if worker.silent or now - worker.heard < self._patience:
                continue
            worker.silent = True
            words = (
                f"{worker.name} has not responded for {duration_text(now - worker.heard)}"
            )
            number = worker.chunk
            if number in self._open and not self._has_another(number):
                self._waiting.appendleft(number)
                words += f"; chunk {number} is given to another"
            self._progress.message(words)

    def _duplicate_slow_chunks(self, now: float) -> None:
        """Give chunks that take very long to a second, idle worker."""
        if self._waiting or not self._seconds:
            return
        late = max(self._patience, slow_after(self._seconds))
        idle = [w for w in self._running if w.ready and w.chunk is None and not w.silent]
        at_work = collections.Counter(w.chunk for w in self._running if not w.silent)
        for worker in list(self._running):
            alone = worker.chunk in self._open and at_work[worker.chunk] == 1
            if idle and alone and time.time() - worker.since > late:
                self._progress.message(
                    f"{worker.name} is slow: chunk {worker.chunk} is also given to another"
                )
                self._send_chunk(idle.pop(), worker.chunk)

    def _show(self, worker: _Running, samples: int) -> None:
        """Count completed samples of a chunk, once even if it is duplicated."""
        if worker.chunk is None:
            return
        more = samples - self._shown.get(worker.chunk, 0)
        if more > 0:
            self._shown[worker.chunk] = samples
            self._progress.advance(more)


class _Command:
    """A worker as a separate command, whose last output is kept."""

    def __init__(self, connection: Connection, config: str, share: Share):
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        number = connection.fileno()
        words = [sys.executable, "-m", "jaxvib.studies.run.worker", str(number)]
        with tempfile.TemporaryFile() as text:
            text.write(config.encode())
            text.seek(0)
            self._process = subprocess.Popen(
                [*words, *map(str, share.cores)],
                stdin=text,
                stdout=self._words,
                stderr=self._words,
                pass_fds=[number],
                env={**os.environ, **share.environment},
                start_new_session=True,  # Ctrl-C is handled by the driver
            )
        self.pid = self._process.pid

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def ended(self) -> str:
        """Wait for its end and describe it in a few words."""
        code = self._process.wait()
        with self._words as words:
            if code < 0:
                return f"was ended by {signal.Signals(-code).name}"
            words.seek(max(0, words.seek(0, os.SEEK_END) - _MOST_WORDS))
            last = words.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"ended with code {code}{': ' * bool(last)}{''.join(last)}"
