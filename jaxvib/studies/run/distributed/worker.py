"""A worker process: python -m jaxvib.studies.run.distributed.worker.

It writes no files. It ends as soon as its parent closes the connection, even during a
computation.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from ....foundation.environment import use_compilation_cache

BEAT = 1.0  # s between heartbeats; the driver waits 60


def main() -> None:
    """Serve a connection, given as file descriptor, on the given cores.

    The config is on standard input.
    """
    connection = Connection(int(sys.argv[1]))
    cores = [int(core) for core in sys.argv[2:]]
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):  # cores that are no longer available
            os.sched_setaffinity(0, cores)
    serve(connection, sys.stdin.read())


def serve(connection: Connection, config: str) -> None:
    """Compute requested chunks until the connection closes.

    Sends `("who", identity)` or `("unable", reason)` once, then `("done", number,
    fields)` or `("failed", number, failure)` for each chunk, and in between `("beat",
    samples)`, with the completed samples of the chunk, and `("message", line)`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the parent
    line = _Line(connection)
    requests: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, requests), daemon=True).start()
    progress = WorkerProgress(line.send)
    threading.Thread(
        target=_send_heartbeats, args=(line.send, progress), daemon=True
    ).start()
    try:
        # Imports JAX, after the heartbeat has started.
        from .worker_tasks import identity, run_chunk

        line.send("who", identity(config))
    except Exception as error:
        line.send("unable", f"{type(error).__name__}: {error}")
        return
    while True:
        number = requests.get()
        progress.samples = 0
        line.send(*run_chunk(config, number, progress))


def task(config: str, number: int, record: Mapping[str, Any], *lanes: Any) -> tuple:
    """Return the result of `run_chunk`, or of `run_lanes`, as a task on a Dask worker.

    `("incompatible", address, difference)` from a worker that does not match the record.
    """
    use_compilation_cache()
    from distributed import get_worker

    from . import worker_tasks

    if difference := worker_tasks.incompatibility(worker_tasks.identity(config), record):
        return "incompatible", get_worker().address, difference
    if lanes:
        return worker_tasks.run_lanes(number, *lanes)
    return worker_tasks.run_chunk(config, number, None)


class WorkerProgress:
    """The completed samples of a chunk, and forwarded messages."""

    def __init__(self, send):
        self.samples = 0
        self._send = send

    def advance(self, samples: int) -> None:
        """Count completed samples."""
        self.samples += samples

    def message(self, line: str) -> None:
        """Forward a line."""
        self._send("message", line)


class _Line:
    """Messages to the parent, one at a time; the process exits if it is gone."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        try:
            with self._lock:
                self._connection.send(message)
        except OSError:
            os._exit(0)


def _listen(connection: Connection, requests: queue.SimpleQueue) -> None:
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)  # compiled code cannot be interrupted otherwise


def _send_heartbeats(send, progress: WorkerProgress) -> None:
    never = threading.Event()
    while not never.wait(BEAT):
        send("beat", progress.samples)


if __name__ == "__main__":
    main()
