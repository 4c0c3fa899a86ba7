"""Computes chunks in local processes, which may die or hang at any time.

A pool of `concurrent.futures` knows no frozen workers, and waits for ever for one that
was killed while it sent its results.
"""

import collections
import contextlib
import dataclasses
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import jax

from ....foundation.machine import usable_cores
from ....foundation.text import duration_text
from .executors import PATIENCE, Executor, Failure, Fields, Worker
from .worker_tasks import incompatibility

_MOST_WORDS = 4096  # bytes of a worker's last output
_LEAST_DEATHS = 3  # per worker without a result, after which the run fails


@dataclasses.dataclass(frozen=True)
class Share:
    """The cores of a worker (all if empty), and its environment."""

    cores: tuple[int, ...]
    environment: Mapping[str, str]


# Starts a process that serves a connection: an object with `pid`, `kill()` and `ended()`,
# which waits for its end and describes it in a few words.
Start = Callable[[Connection, str, Share], Any]


@dataclasses.dataclass(eq=False)
class _Running:
    # A process, and its current work.
    process: Any  # as `Start` returns it
    connection: Connection
    name: str
    chunk: int | None = None
    since: float = 0.0
    spent: int = 0  # processor time when it was silent, in ticks


class ProcessExecutor(Executor):
    """Computes on local processes, each with its share of the cores or a GPU.

    A thread serves each worker. One that dies, or neither computes nor sends a heartbeat
    for `patience` seconds, is replaced, and its chunk counts as failed.

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
        self._config, self._record, self._progress = config, record, progress
        self._patience, self._start = patience, start or _Command
        self._shares = worker_shares(count, record["fingerprint"]["device"])
        self._running: dict[int, _Running] = {}  # by place: 0, 1, ..
        self._threads: list[threading.Thread] = []
        self._messages: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._deaths = 0  # since the last result
        self._closed = False
        self._shown: dict[int, int] = {}  # chunk: samples reported to the progress

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields | Failure]]:
        """Yield each chunk's results or failure as they arrive.

        **Raises:** `RuntimeError` if workers die before they compute anything.
        """
        waiting = collections.deque(numbers)
        left = set(waiting)
        self._threads = [
            threading.Thread(target=self._serve, args=(place, waiting), daemon=True)
            for place in range(min(len(self._shares), len(left)))
        ]
        for thread in self._threads:
            thread.start()
        while left:
            what, *more = self._messages.get()
            if what == "unable":
                raise more[0]
            if what == "message":
                self._progress.message(*more)
            elif what == "beat":
                self._show(*more)
            else:
                number, found = more
                if what == "done":
                    self._show(number, len(found["result"].values))
                left.discard(number)
                yield number, found

    def workers(self) -> Sequence[Worker]:
        """Return the workers and their chunks."""
        running = sorted(self._running.copy().items())
        return [Worker(each.name, each.chunk, each.since) for _, each in running]

    def close(self) -> None:
        """Stop all workers."""
        self._closed = True
        for worker in list(self._running.values()):
            worker.process.kill()
        for thread in self._threads:
            thread.join()
        for place in list(self._running):
            self._end(place)

    def _serve(self, place: int, waiting: collections.deque[int]) -> None:
        """Compute chunks on a worker, or on those that replace it."""
        try:
            while waiting and not self._closed:
                worker = self._running.get(place) or self._begin(place)
                if worker is None:
                    continue
                with contextlib.suppress(IndexError):  # all are taken by now
                    self._compute(place, worker, waiting.popleft())
        except Exception as error:  # raised by `submit`
            self._messages.put(("unable", error))

    def _begin(self, place: int) -> _Running | None:
        """Start a worker; return `None` if it dies. **Raises:** `RuntimeError`."""
        ours, theirs = Pipe()
        with socket.socket(fileno=os.dup(ours.fileno())) as line:
            # A worker may be stopped in the middle of a message.
            seconds, rest = divmod(self._patience, 1)
            limit = struct.pack("ll", int(seconds), int(1e6 * rest))
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        process = self._start(theirs, self._config, self._shares[place])
        theirs.close()
        name = f"worker {place + 1} (process {process.pid})"
        worker = self._running[place] = _Running(process, ours, name)
        if self._closed:  # since it was looked at
            process.kill()
        try:
            what, found = self._answer(worker)
        except Exception as error:
            how = self._bury(place, error)
            self._messages.put(("message", f"{name} {how}; it is replaced"))
            return None
        if what == "unable":
            raise RuntimeError(f"{name} cannot start: {found}")
        if difference := incompatibility(found, self._record):
            raise RuntimeError(f"{name} does not match the study: it has {difference}")
        return worker

    def _compute(self, place: int, worker: _Running, number: int) -> None:
        worker.chunk, worker.since = number, time.time()
        try:
            worker.connection.send(number)
            answer = self._answer(worker)
            worker.chunk, self._deaths = None, 0
        except Exception as error:
            failure = Failure(f"{worker.name} {self._bury(place, error)}")
            answer = "failed", number, failure
        self._messages.put(answer)

    def _answer(self, worker: _Running) -> tuple:
        """Return a worker's next answer, and pass on what it tells meanwhile."""
        while True:
            while not worker.connection.poll(self._patience):
                spent = _processor_time(worker.process.pid)
                if spent <= worker.spent:
                    raise BlockingIOError
                worker.spent = spent  # in a library that lets no other thread run
            what, *more = worker.connection.recv()
            if what == "beat":
                more = [worker.chunk, *more]
            elif what != "message":
                return what, *more
            self._messages.put((what, *more))

    def _bury(self, place: int, error: Exception) -> str:
        """End a worker after an error of its connection; return what was wrong.

        **Raises:** `RuntimeError` if too many died in a row.
        """
        how = self._end(place)
        if isinstance(error, BlockingIOError):
            how = f"has not responded for {duration_text(self._patience)}"
        with self._lock:
            self._deaths += 1
            deaths = self._deaths
        if deaths > _LEAST_DEATHS * len(self._shares):
            raise RuntimeError(f"{deaths} workers died in a row: {how}")
        return how

    def _end(self, place: int) -> str:
        worker = self._running.pop(place)
        worker.process.kill()  # in case it survives without a connection
        worker.connection.close()
        return worker.process.ended()

    def _show(self, number: int | None, samples: int) -> None:
        """Count completed samples of a chunk, once even if it is computed again."""
        if number is not None and samples > (before := self._shown.get(number, 0)):
            self._shown[number] = samples
            self._progress.advance(samples - before)


def _processor_time(pid: int) -> int:
    """Return the processor time of a process in ticks, 0 if it is unknown."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(words[11]) + int(words[12])


class _Command:
    """A worker as a separate command, whose last output is kept."""

    def __init__(self, connection: Connection, config: str, share: Share):
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        number = connection.fileno()
        words = [sys.executable, "-m", "jaxvib.studies.run.distributed.worker", str(number)]
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


def worker_shares(count: int, device: str) -> list[Share]:
    """Return the shares of a number of workers on a device.

    Cores are divided evenly, without overlap if possible; GPUs are assigned in turn.
    """
    cores = _cores()
    if device == "cpu":
        return [Share(_core_share(cores, count, i), {}) for i in range(count)]
    gpus = _gpus()
    # Two workers on one GPU would each claim most of its memory.
    several = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if count > len(gpus) else {}
    return [
        Share(
            _core_share(cores, count, i),
            {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)], **several},
        )
        for i in range(count)
    ]


def _core_share(cores: list[int], count: int, place: int) -> tuple[int, ...]:
    if count >= len(cores):
        return tuple(cores[place % len(cores) :][:1])
    return tuple(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def _cores() -> list[int]:
    affinity = getattr(os, "sched_getaffinity", None)  # not on all systems
    return sorted(affinity(0)) if affinity else list(range(usable_cores()))


def _gpus() -> list[str]:
    given = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return given or [str(each.local_hardware_id) for each in jax.local_devices()]
