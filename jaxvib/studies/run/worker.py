"""A process that computes chunks for another one: python -m jaxvib.studies.run.worker.

It writes nothing anywhere. Whoever started it holds the other end of its connection, and
when that closes it ends, whatever it is at.
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

from ..._environment import use_compilation_cache

BEAT = 1.0  # s from one sign of life to the next, of 60 that are waited for one


def main() -> None:
    """Serve a connection, whose file number is given, and the cores to run on.

    The config is on standard input.
    """
    connection = Connection(int(sys.argv[1]))
    cores = [int(core) for core in sys.argv[2:]]
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):  # cores that were taken from us meanwhile
            os.sched_setaffinity(0, cores)
    serve(connection, sys.stdin.read())


def serve(connection: Connection, config: str) -> None:
    """Compute the chunks that are asked for until the connection closes.

    Sends `("who", identity)` or `("unable", reason)` once, then `("done", number, fields)`
    or `("failed", number, failure)` for each chunk, and in between `("beat", samples)`,
    with the samples of the chunk that are done, and `("say", line)`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for whoever started us
    line = _Line(connection)
    asked: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, asked), daemon=True).start()
    told = Told(line.send)
    threading.Thread(target=_beat, args=(line.send, told), daemon=True).start()
    try:
        from .working import identity, outcome  # and JAX, once the heart beats

        line.send("who", identity(config))
    except Exception as error:
        line.send("unable", f"{type(error).__name__}: {error}")
        return
    while True:
        number = asked.get()
        told.samples = 0
        line.send(*outcome(config, number, told))


def task(config: str, number: int, record: Mapping[str, Any]) -> tuple:
    """Return what `outcome` does, as a task of Dask on one of its workers.

    `("stranger", address, difference)` from a worker that is not like the record.
    """
    return _as_task(config, record, "outcome", config, number, None)


def lanes_task(
    config: str, number: int, record: Mapping[str, Any], function: bytes, lanes: bytes,
    chunk: int,
) -> tuple:  # fmt: skip
    """Return what `lanes_outcome` does, as `task` returns an outcome."""
    return _as_task(config, record, "lanes_outcome", number, function, lanes, chunk)


def _as_task(config: str, record: Mapping[str, Any], name: str, *arguments) -> tuple:
    use_compilation_cache()
    from distributed import get_worker

    from . import working  # and JAX, which reads its settings now

    if difference := working.unlike(working.identity(config), record):
        return "stranger", get_worker().address, difference
    return getattr(working, name)(*arguments)


class Told:
    """The samples of a chunk that are done, and lines that are passed on."""

    def __init__(self, send):
        self.samples = 0
        self._send = send

    def advance(self, samples: int) -> None:
        """Count samples as done."""
        self.samples += samples

    def say(self, line: str) -> None:
        """Pass a line on."""
        self._send("say", line)


class _Line:
    """What is said to whoever started us, one at a time; without them, the end."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        try:
            with self._lock:
                self._connection.send(message)
        except OSError:
            os._exit(0)


def _listen(connection: Connection, asked: queue.SimpleQueue) -> None:
    try:
        while True:
            asked.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)  # a chunk in compiled code cannot be stopped otherwise


def _beat(send, told: Told) -> None:
    never = threading.Event()
    while not never.wait(BEAT):
        send("beat", told.samples)


if __name__ == "__main__":
    main()
