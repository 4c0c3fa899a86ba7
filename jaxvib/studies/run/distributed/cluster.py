"""Computes chunks on a Dask cluster, whose workers may join and leave at any time."""

import collections
import concurrent.futures
import functools
import importlib.util
import itertools
import logging
import pickle
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ....foundation.arrays import concatenate_lanes
from .executors import PATIENCE, Executor, Failure, Worker, dispatch, skipped, slow_after
from .worker import task

_LOOK = 2.0  # s between polls of the cluster
_ANSWER = 20.0  # s, timeout of the scheduler, short in case of a wrong address
_AHEAD = 2  # chunks per thread of the cluster, running or queued


def require_dask(address: str) -> None:
    """Raise `ValueError` if Dask or the certificates for an address are missing."""
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


class DaskExecutor(Executor):
    """Computes on a Dask cluster: one chunk per thread at a time.

    Dask replaces dead workers and reassigns their chunks up to three times. Chunks are
    also given to a second worker if theirs has sent no heartbeat for `patience`
    seconds, if the workers they are restricted to are gone, or if the last one takes
    much longer than the others did.

    **Arguments:** `address`: of the scheduler; `call`: the function called by a worker
    for a chunk, which returns the result of `worker.task`, and its arguments;
    `progress`: notified of events, and of completed samples if `counted` gives the
    number in a chunk's results. **Raises:** `OSError` if no scheduler answers.
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
        # Lost connections, logged by Dask, are reported by our own messages.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._address = address
        self._call, self._counts = call, counted
        self._progress = progress
        self._patience = patience
        self._ended: queue.SimpleQueue = queue.SimpleQueue()
        self._at_work: dict[Any, int] = {}  # future: chunk
        self._kept: dict[
            Any, frozenset[str]
        ] = {}  # key: the workers it is restricted to, if any
        self._seconds: collections.deque[float] = collections.deque(maxlen=101)
        self._incompatible: dict[str, str] = {}  # address: the difference
        self._places: dict[str, tuple[str, float]] = {}  # key: worker, since when
        self._heard: dict[str, float] = {}  # worker: s since its last heartbeat
        self._threads = 0
        self._counted: set[int] = set()
        self._asked = 0
        self._poll()
        dashboard = self._client.dashboard_link
        self.where = (
            f"the cluster at {address}, {len(self._heard)} workers; dashboard {dashboard}"
        )

    @property
    def threads(self) -> int:
        """The number of chunks computed at a time, at least 1."""
        return max(1, self._threads)

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Yield each chunk's results or failure as they arrive.

        **Raises:** `OSError` if the scheduler is lost, `RuntimeError` if all workers
        have other versions or processors than this study.
        """
        waiting, left = collections.deque(numbers), set()
        left.update(waiting)
        looked = time.monotonic()
        while left:
            # Duplicates of finished chunks on silent workers are ignored.
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
                self._poll()
                self._duplicate_slow_chunks(left, not waiting)

    def workers(self) -> Sequence[Worker]:
        """Return the workers and their chunks."""
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
        """Cancel pending chunks and disconnect."""
        self._client.close(timeout=2)

    def _give(self, number: int, workers: list[str] | None = None) -> None:
        self._asked += 1
        if workers is None and (
            self._incompatible or max(self._heard.values(), default=0.0) > self._patience
        ):
            workers = self._usable_workers() or None
        future = self._client.submit(
            *self._call(number),
            key=f"jaxvib-{id(self):x}-{self._asked}-chunk-{number}",
            pure=False,
            workers=workers,
            allow_other_workers=workers is not None,  # in case those are gone by then
        )
        self._kept[future.key] = frozenset(workers or ())
        self._at_work[future] = number
        future.add_done_callback(self._ended.put)

    def _usable_workers(self) -> list[str]:
        """Return the responsive workers that match the study."""
        return [
            name
            for name, silence in self._heard.items()
            if silence < self._patience and name not in self._incompatible
        ]

    def _found(self, future, number: int) -> Any:
        """Return a chunk's results; `None` if it has to be reassigned."""
        place = self._places.pop(future.key, None)
        if future.status == "cancelled":
            raise self._lost()
        try:
            if future.status != "finished":
                error = future.exception(timeout=self._patience)
                return Failure(f"{type(error).__name__}: {error}")
            what, *more = future.result(timeout=self._patience)
        except TimeoutError:  # the worker with the results does not respond
            self._progress.message(
                f"chunk {number} is done but cannot be fetched: recomputing it"
            )
            return None
        except (OSError, concurrent.futures.CancelledError) as error:
            raise self._lost(error) from None
        if what == "incompatible":
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

    def _lost(self, *error: BaseException) -> OSError:
        words = "".join(f": {each}" for each in error)
        return OSError(f"the Dask scheduler at {self._address} is lost{words}")

    def _refuse(self, address: str, difference: str) -> None:
        if address not in self._incompatible:
            self._progress.message(f"worker {address} is not used: it has {difference}")
        self._incompatible[address] = difference
        if set(self._heard) <= set(self._incompatible):
            raise RuntimeError(
                f"no worker of the cluster matches the study: one has {difference}"
            )

    def _poll(self) -> None:
        """Poll the workers, their heartbeats, and the location of each chunk."""
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            processing = self._client.processing()
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self._lost(error) from None
        now = time.time()
        self._heard = {name: now - each["last_seen"] for name, each in workers.items()}
        self._threads = sum(each["nthreads"] for each in workers.values())
        before, self._places = self._places, {}
        for worker, keys in processing.items():
            for key in keys:
                same = before.get(key, ("", 0.0))[0] == worker
                self._places[key] = before[key] if same else (worker, now)

    def _has_no_worker(self, key: str) -> bool:
        """Whether all workers that a chunk is restricted to left before it started.

        Dask reassigns it to other present workers, but to none that joins later.
        """
        kept = self._kept[key]
        return bool(kept) and key not in self._places and kept.isdisjoint(self._heard)

    def _duplicate_slow_chunks(self, left: set[int], last: bool) -> None:
        """Give chunks of silent or very slow workers to a second worker."""
        late = slow_after(self._seconds)
        keys_of = collections.defaultdict(list)
        for future, number in self._at_work.items():
            place = self._places.get(future.key, ("", time.time()))
            keys_of[number].append((*place, self._has_no_worker(future.key)))
        able = self._usable_workers()
        for number in left.intersection(keys_of):
            names, since, stranded = zip(*keys_of[number], strict=True)
            silent = all(self._heard.get(name, 0.0) > self._patience for name in names)
            elapsed = time.time() - min(since)
            slow = last and len(names) == 1 and elapsed > max(self._patience, late)
            others = [name for name in able if name not in names]
            if others and all(stranded):
                self._progress.message(
                    f"the workers of chunk {number} are gone: another computes it"
                )
                self._give(number, others)
            elif others and (silent or slow):
                why = "does not respond" if silent else "is slow"
                self._progress.message(
                    f"worker {names[-1]} {why}: chunk {number} is also given to another"
                )
                self._give(number, others)


_EACH = 4  # parts of a map per thread of the cluster, for load balance


class ClusterSearch:
    """Computes maps on a Dask cluster; the rest of the search runs in the driver.

    Failed parts are retried like chunks of samples, and lost workers do not change any
    bit. **Arguments:** `address`: of the scheduler; `config`: the text of the resolved
    config; `record`: of the study, which workers must match; `progress`: notified of
    events. **Raises:** `OSError` if no scheduler answers.
    """

    def __init__(self, address: str, config: str, record: Mapping[str, Any], progress):
        self._config, self._progress = config, progress
        self._record = {key: record[key] for key in ("versions", "fingerprint")}
        self._numbers = itertools.count()  # of parts, over all maps
        self._parts: dict[int, tuple[bytes, bytes, int]] = {}
        self.cluster = DaskExecutor(address, self._call, progress, counted=lambda _: 0)

    def map(
        self,
        function: Callable[[Any], Any],
        chunks: Sequence[Any],
        chunk: int,
        accept: Callable[[int, Any], None],
    ) -> None:
        """Pass on the results of each chunk of lanes as they arrive.

        **Raises:** `RuntimeError` if a part failed on every try; `OSError` if the
        scheduler is lost.
        """
        number = -(-len(chunks) // (_EACH * self.cluster.threads))
        places: dict[int, range] = {}
        for start in range(0, len(chunks), number):
            some = range(start, min(start + number, len(chunks)))
            lanes = concatenate_lanes([chunks[place] for place in some])
            part = next(self._numbers)
            self._parts[part] = _pickled(function), pickle.dumps(lanes), chunk
            places[part] = some

        def take_part(part: int, found: bytes) -> None:
            some = places.pop(part, None)
            if some is None:  # a duplicate, or of a finished map
                return
            lengths = [len(jax.tree.leaves(chunks[place])[0]) for place in some]
            for place, result in zip(some, _cut(pickle.loads(found), lengths), strict=True):
                accept(place, result)

        try:
            lost = dispatch(self.cluster, list(places), take_part, self._progress.message)
        finally:
            self._parts.clear()
        if lost:
            raise RuntimeError(skipped(lost))

    def close(self) -> None:
        """Disconnect from the cluster."""
        self.cluster.close()

    def _call(self, part: int) -> tuple:
        return task, self._config, part, self._record, *self._parts[part]


@functools.lru_cache(maxsize=64)
def _pickled(function) -> bytes:
    import cloudpickle  # a dependency of Dask that pickles nested functions

    return cloudpickle.dumps(function)


def _cut(results: Any, lengths: Sequence[int]) -> list[Any]:
    """Split results into parts of given numbers of lanes."""
    ends = np.cumsum(lengths).tolist()
    return [
        jax.tree.map(lambda leaf, a=end - length, b=end: leaf[a:b], results)
        for end, length in zip(ends, lengths, strict=True)
    ]
