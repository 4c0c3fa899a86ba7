"""Fault injection into processes: workers, driver and scheduler killed or frozen."""

import asyncio
import contextlib
import functools
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from jaxvib.studies.run import execute
from jaxvib.studies.run.distributed import cluster, executors
from jaxvib.studies.run.distributed.processes import ProcessExecutor
from jaxvib.studies.run.distributed.worker import serve

from .stores import Judge
from .study import folder, outside, run

SLOW = (
    "--set", "analysis.seconds=0.008", "--set", "run.chunk=2",
    "--set", "sweep.load.amplitude.linspace=[100.0, 400.0, 20]",
)  # fmt: skip
_PATIENCE = 0.5  # s, in which a worker is forked even where many processes run


def install() -> None:
    """Let runs have forked workers, and little patience with them."""
    executors._PAUSE = 0.01
    execute.ProcessExecutor = functools.partial(
        ProcessExecutor, patience=_PATIENCE, start=Forked
    )
    execute.DaskExecutor = functools.partial(cluster.DaskExecutor, patience=1.0)
    cluster._LOOK = 0.1
    cluster._ANSWER = 5.0


class Forked:
    """A worker that is forked from the run, with all that is imported there."""

    def __init__(self, connection, config: str, share):
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for number in range(3, 256):  # others' connections, which must end
                    if number != connection.fileno():
                        with contextlib.suppress(OSError):
                            os.close(number)
                serve(connection, config)
            finally:
                os._exit(0)

    def kill(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> str:
        """Wait for its end and return how it ended."""
        _, status = os.waitpid(self.pid, 0)
        return f"ended with {os.waitstatus_to_exitcode(status)}"


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(words[1]) == pid and words[0] != "Z":
                    found.append(int(entry.name))
    return found


def send(number: int, *pids: int) -> None:
    """Send a signal to processes, of which some may be no more."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _one(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGKILL, *rng.sample(workers, min(1, len(workers))))


def _several(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGKILL, *rng.sample(workers, min(2, len(workers))))


def _all(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGKILL, *workers)


def _driver(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGKILL, driver)


def _driver_and_workers(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGKILL, driver, *workers)


def _frozen(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGSTOP, *rng.sample(workers, min(1, len(workers))))


def _frozen_for_a_while(driver: int, workers: list[int], rng: random.Random) -> None:
    some = rng.sample(workers, min(2, len(workers)))
    send(signal.SIGSTOP, *some)
    time.sleep(rng.uniform(0, 3 * _PATIENCE))
    send(signal.SIGCONT, *some)


def _driver_frozen(driver: int, workers: list[int], rng: random.Random) -> None:
    send(signal.SIGSTOP, driver)
    time.sleep(rng.uniform(0, 3 * _PATIENCE))
    send(signal.SIGCONT, driver)


_DEEDS: dict[str, Callable[[int, list[int], random.Random], None]] = {
    "one worker killed": _one,
    "two workers killed": _several,
    "all workers killed": _all,
    "the driver killed": _driver,
    "the driver and all workers killed": _driver_and_workers,
    "a worker frozen": _frozen,
    "workers frozen for a while": _frozen_for_a_while,
    "the driver frozen for a while": _driver_frozen,
}


def workers(cases: range, rng: random.Random) -> dict:
    """Kill or freeze workers and drivers of runs on local processes at random instants."""
    judge, kinds = Judge(*SLOW), Counter()
    began = time.perf_counter()
    assert run(folder("timed"), *SLOW, "--workers", "3").code == 0
    seconds = time.perf_counter() - began
    for case in cases:
        name, deed = list(_DEEDS.items())[case % len(_DEEDS)]
        where = folder("workers")
        before, seen = outside(where), []

        def meddle(driver: int, deed=deed, seen=seen) -> None:
            for _ in range(rng.randrange(1, 3)):
                time.sleep(rng.uniform(0, seconds))
                there = _children(driver)
                seen.extend(there)
                deed(driver, there, rng)

        count = str(rng.randrange(2, 5))
        first = run(where, *SLOW, "--resume", "--workers", count, meddle=meddle)
        send(signal.SIGKILL, *seen)  # frozen ones that nobody is left to end
        kinds[f"{name}: the run {'was killed' if first.code < 0 else first.code}"] += 1
        again = str(rng.randrange(1, 4))
        last = run(where, *SLOW, "--resume", "--workers", again)
        judge.end(f"{name} {case}", where, before, first, last)
    return judge.result() | {"kinds": dict(sorted(kinds.items()))}


def dask(cases: range, rng: random.Random) -> dict:
    """Kill or freeze workers, scheduler and driver of runs on a Dask cluster."""
    judge, kinds = Judge(*SLOW), Counter()
    # Of deeds that local workers know as well, a quarter.
    deeds = [*_DEEDS, *4 * ["the scheduler killed"]]
    for case in cases:
        name = deeds[case % len(deeds)]
        where = folder("dask")
        before = outside(where)
        port = free_port()
        address = f"tcp://127.0.0.1:{port}"
        scheduler = forked(schedule, port)
        some = [forked(work, address) for _ in range(2)]

        def meddle(driver: int, name=name, some=some, where_to=(scheduler, address)):
            time.sleep(rng.uniform(0.2, 1.2))
            if name == "the scheduler killed":
                send(signal.SIGKILL, where_to[0])
                return
            _DEEDS[name](driver, some, rng)
            if name.startswith(("all", "two")):
                some.append(forked(work, where_to[1]))  # they may come and go

        try:
            first = run(where, *SLOW, "--cluster", address, meddle=meddle)
        finally:
            send(signal.SIGKILL, scheduler, *some)
            for pid in (scheduler, *some):
                os.waitpid(pid, 0)
        kinds[f"{name}: the run {'was killed' if first.code < 0 else first.code}"] += 1
        last = run(where, *SLOW, "--resume", "--workers", str(rng.randrange(1, 3)))
        judge.end(f"{name} {case}", where, before, first, last)
    return judge.result() | {"kinds": dict(sorted(kinds.items()))}


def forked(function: Callable, *given) -> int:
    """Return the process that a coroutine goes on in."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(120)
            quiet = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(quiet, stream)
            asyncio.run(function(*given))
        finally:
            os._exit(0)
    return pid


async def schedule(port: int) -> None:
    """Be the scheduler."""
    from distributed import Scheduler

    async with Scheduler(
        host="127.0.0.1", port=port, dashboard=False, dashboard_address=None
    ) as scheduler:
        await scheduler.finished()


async def work(address: str, port: int = 0, known_as: str | None = None) -> None:
    """Be a worker; on a port of one's own, where others come by another address."""
    from distributed import Worker

    where = {"port": port, "contact_address": known_as} if known_as else {}
    async with Worker(
        address, nthreads=1, memory_limit=0, dashboard=False, **where
    ) as worker:
        await worker.finished()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
