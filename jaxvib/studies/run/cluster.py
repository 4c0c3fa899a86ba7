"""Chunks computed by the workers of a Dask cluster, which come and go as they like."""

import collections
import concurrent.futures
import importlib.util
import logging
import queue
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .executors import Failure, Worker

PATIENCE = 60.0  # s without a sign of life, after which a chunk is given to another
_SLOW = 4.0  # times as long as others: so late is a chunk that a second worker is given
_LOOK = 2.0  # s from one look at the cluster to the next
_ANSWER = (
    20.0  # s that a scheduler has to answer: nobody wants to wait longer for a wrong one
)
_AHEAD = 2  # chunks for each thread of the cluster, at work or next


def require_dask(address: str) -> None:
    """Raise `ValueError` where Dask or what it needs for an address is not there."""
    if importlib.util.find_spec("distributed") is None:
        raise ValueError(
            f'run.cluster = "{address}" needs Dask, which is not installed: '
            'pip install "jaxvib[cluster]"'
        )
    if address.startswith("tls:"):
        import distributed

        if distributed.Security().get_connection_args("client")["ssl_context"] is None:
            names = ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")
            settings = ", ".join(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in names)
            raise ValueError(
                f'run.cluster = "{address}" needs certificates; allowed: their files in '
                f"{settings}, or in Dask's configuration"
            )


class Cluster:
    """Computes on a Dask cluster: each of its threads a chunk at a time.

    Workers that die are replaced by Dask, which gives their chunks to others three times.
    To chunks of one that is not heard of for `patience` seconds, to those kept for workers
    that are gone, and to the last one if it takes much longer than the others did, other
    workers are set as well.

    **Arguments:** `address`: of the scheduler; `call`: what a worker calls for a chunk, a
    function that returns what `worker.task` does, and its arguments; `progress`: told of
    what happens, and of samples done where `counted` says how many a chunk's results are.
    **Raises:** `OSError` where no scheduler answers.
    """

    def __init__(
        self,
        address: str,
        call: Callable[[int], tuple],
        progress,
        *,
        counted: Callable[[Any], int] = lambda fields: len(fields["result"].values),
        patience: float = PATIENCE,
    ):
        import distributed

        try:
            self._client = distributed.Client(
                address, timeout=_ANSWER, set_as_default=False
            )
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise OSError(f"no Dask scheduler answers at {address}: {error}") from None
        # What Dask logs of lost connections is told in our own words.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._address = address
        self._call, self._counts = call, counted
        self._progress = progress
        self._patience = patience
        self._ended: queue.SimpleQueue = queue.SimpleQueue()
        self._at_work: dict[Any, int] = {}  # future: chunk
        self._kept: dict[Any, frozenset[str]] = {}  # key: the only workers asked, if any
        self._seconds: collections.deque[float] = collections.deque(maxlen=101)
        self._strangers: dict[str, str] = {}  # address: in what it differs
        self._places: dict[str, tuple[str, float]] = {}  # key: worker, seen there since
        self._heard: dict[str, float] = {}  # worker: s since it was heard of
        self._threads = 0
        self._counted: set[int] = set()
        self._asked = 0
        self._look()
        dashboard = self._client.dashboard_link
        self.where = (
            f"the cluster at {address}, {len(self._heard)} workers now; dashboard "
            f"{dashboard}"
        )

    @property
    def threads(self) -> int:
        """How many chunks it computes at a time, 1 or more."""
        return max(1, self._threads)

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Yield each chunk's results, or why there are none, as they come.

        **Raises:** `OSError` where the scheduler is lost, `RuntimeError` where all workers
        have other versions or processors than this study.
        """
        waiting, left = collections.deque(numbers), set()
        left.update(waiting)
        looked = time.monotonic()
        while left:
            # What is done, and was also given to one that is silent now, counts no more.
            at_work = len(left.intersection(self._at_work.values()))
            while waiting and at_work < max(_AHEAD, _AHEAD * self._threads):
                self._give(waiting.popleft())
                at_work += 1
            try:
                future = self._ended.get(timeout=_LOOK / 4)
            except queue.Empty:
                pass
            else:
                number = self._at_work.pop(future)
                del self._kept[future.key]
                found = self._found(future, number)
                if found is None:
                    waiting.append(number)
                else:
                    left.discard(number)
                    yield number, found
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                self._look()
                self._double(left, not waiting)

    def workers(self) -> Sequence[Worker]:
        """Return who is at work on what."""
        chunks = {future.key: number for future, number in list(self._at_work.items())}
        places = {
            worker: (chunks.get(key), since)
            for key, (worker, since) in list(self._places.items())
        }
        return [
            Worker(name, *places.get(name, (None, 0.0)), silent=silence > self._patience)
            for name, silence in list(self._heard.items())
        ]

    def close(self) -> None:
        """Take back what is not computed yet, and leave the cluster."""
        self._client.close(timeout=2)

    def _give(self, number: int, workers: list[str] | None = None) -> None:
        self._asked += 1
        if workers is None and (self._strangers or max(self._silence()) > self._patience):
            workers = self._able() or None
        future = self._client.submit(
            *self._call(number),
            key=f"jaxvib-{id(self):x}-{self._asked}-chunk-{number}",
            pure=False,
            workers=workers,
            allow_other_workers=workers is not None,  # should those be gone by then
        )
        self._kept[future.key] = frozenset(workers or ())
        self._at_work[future] = number
        future.add_done_callback(self._ended.put)

    def _silence(self) -> list[float]:
        return [0.0, *self._heard.values()]

    def _able(self) -> list[str]:
        """Return the workers that are heard of and like the study."""
        return [
            name
            for name, silence in self._heard.items()
            if silence < self._patience and name not in self._strangers
        ]

    def _found(self, future, number: int) -> Any:
        """Return what came of a chunk; `None` if it is to be given to another."""
        place = self._places.pop(future.key, None)
        if future.status == "cancelled":
            raise OSError(f"the Dask scheduler at {self._address} is lost")
        try:
            if future.status != "finished":
                error = future.exception(timeout=self._patience)
                return Failure(f"{type(error).__name__}: {error}")
            what, *more = future.result(timeout=self._patience)
        except TimeoutError:  # whoever has the results has frozen since
            self._progress.say(f"chunk {number} is done, but cannot be had: once more")
            return None
        except (OSError, concurrent.futures.CancelledError) as error:
            raise OSError(
                f"the Dask scheduler at {self._address} is lost: {error}"
            ) from None
        if what == "stranger":
            self._refuse(*more)
            return None
        _, found = more
        if what == "done":
            if place:
                self._seconds.append(time.time() - place[1])
            if number not in self._counted:
                self._counted.add(number)
                self._progress.advance(self._counts(found))
        return found

    def _refuse(self, address: str, difference: str) -> None:
        if address not in self._strangers:
            self._progress.say(f"worker {address} is not asked: it has {difference}")
        self._strangers[address] = difference
        if set(self._heard) <= set(self._strangers):
            raise RuntimeError(f"every worker of the cluster differs: {difference}")

    def _look(self) -> None:
        """See who is there, when each was heard of, and where each chunk is computed."""
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            processing = self._client.processing()
        except (OSError, TimeoutError, RuntimeError) as error:
            raise OSError(
                f"the Dask scheduler at {self._address} is lost: {error}"
            ) from None
        now = time.time()
        self._heard = {name: now - each["last_seen"] for name, each in workers.items()}
        self._threads = sum(each["nthreads"] for each in workers.values())
        before, self._places = self._places, {}
        for worker, keys in processing.items():
            for key in keys:
                same = before.get(key, ("", 0.0))[0] == worker
                self._places[key] = before[key] if same else (worker, now)

    def _stranded(self, key: str) -> bool:
        """Whether all workers that a chunk is kept for are gone, before one had it.

        Dask gives it to others that are there by then, and to none that comes later.
        """
        kept = self._kept[key]
        return bool(kept) and key not in self._places and kept.isdisjoint(self._heard)

    def _double(self, left: set[int], last: bool) -> None:
        """Set a second worker to chunks of one that is silent or takes very long."""
        late = _SLOW * statistics.median(self._seconds) if self._seconds else float("inf")
        held = collections.defaultdict(list)
        for future, number in self._at_work.items():
            place = self._places.get(future.key, ("", time.time()))
            held[number].append((*place, self._stranded(future.key)))
        able = self._able()
        for number in left.intersection(held):
            names, since, stranded = zip(*held[number], strict=True)
            silent = all(self._heard.get(name, 0.0) > self._patience for name in names)
            taken = time.time() - min(since)
            slow = last and len(names) == 1 and taken > max(self._patience, late)
            others = [name for name in able if name not in names]
            if others and all(stranded):
                self._progress.say(
                    f"the workers that chunk {number} was kept for are gone: another "
                    "computes it"
                )
                self._give(number, others)
            elif others and (silent or slow):
                why = "is not heard of" if silent else "takes long"
                self._progress.say(
                    f"worker {names[-1]} {why}: another computes chunk {number} too"
                )
                self._give(number, others)
