"""Chunks computed by all processes of one job of `jax.distributed`, in step.

Every process of the job runs the same command. The first one drives: it alone has the
store, and it says which chunk each of them computes next. A round of chunks lasts as long
as the slowest of them, and then their results are gathered.
"""

import atexit
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from ..config.writing import to_toml
from .device import choose
from .executors import Failure, Fields, Worker
from .study import Study
from .working import identity, outcome, unlike

_END, _WHO, _NOTHING = -3, -2, -1  # beside the numbers of chunks
_waited_for = False  # whether the others of this process's job wait for what it says


def join(device: str) -> int:
    """Become one of the processes of a job, and return which: 0 is the one that drives.

    To be called before JAX has computed anything. From then on Python alone writes to
    standard output. Address, number and place come from
    SLURM's or Open MPI's environment, as `jax.distributed.initialize` reads it, or from
    `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`.

    **Raises:** `ValueError` where there is no such environment, or no such `device`;
    `OSError` where the other processes do not come.
    """
    global _waited_for
    try:
        number, place = (_whole(f"JAX_{name}") for name in ("NUM_PROCESSES", "PROCESS_ID"))
        _keep_standard_output()
        jax.distributed.initialize(num_processes=number, process_id=place)
    except ValueError as error:
        raise ValueError(
            f"run.distributed = true, and this process belongs to no job: {error} Allowed: "
            "under srun or mpirun, or with JAX_COORDINATOR_ADDRESS (host:port of the first "
            "process), JAX_NUM_PROCESSES and JAX_PROCESS_ID (0, 1, ..) set"
        ) from None
    except RuntimeError as error:
        raise OSError(f"the processes of the job do not meet: {error}") from None
    choose(device)
    _waited_for = jax.process_index() == 0
    return jax.process_index()


def serve(study: Study) -> None:
    """Compute what the first process says, until it dismisses this one.

    **Raises:** `OSError` where another process is lost.
    """
    config = to_toml(study.resolved())
    while _round(config) is not None:
        pass


def dismiss() -> None:
    """Let the others end, once. Without them this process goes on alone."""
    global _waited_for
    if _waited_for:
        _waited_for = False
        _round("", [_END] * jax.process_count())


class Hosts:
    """Computes on all processes of the job that this one drives.

    **Arguments:** `config`: the text of the resolved config; `record`: of the study, which
    the others must be like; `progress`: told of samples done. **Raises:** `RuntimeError`
    where a process cannot compute the study, or would get other bytes; `OSError`, here and
    later, where one is lost.
    """

    def __init__(self, config: str, record: Mapping[str, Any], progress):
        count = jax.process_count()
        self.where = f"the {count} processes of this job"
        self._config = config
        self._progress = progress
        self._at_work = [_NOTHING] * count
        self._since = 0.0
        for place, found in enumerate(_round(config, [_WHO] * count) or ()):
            if isinstance(found, str):
                raise RuntimeError(f"process {place} cannot begin: {found}")
            if difference := unlike(found, record):
                raise RuntimeError(f"process {place} has {difference}")

    def submit(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields | Failure]]:
        """Yield each chunk's results, or why there are none, a round at a time."""
        waiting = deque(numbers)
        while waiting:
            self._since = time.time()
            self._at_work = [
                waiting.popleft() if waiting else _NOTHING for _ in self._at_work
            ]
            for done in _round(self._config, self._at_work) or ():
                if done is None:
                    continue
                what, number, found = done
                if what == "done":
                    self._progress.advance(len(found["result"].values))
                yield number, found

    def workers(self) -> Sequence[Worker]:
        """Return who is at work on what."""
        return [
            Worker(f"process {place}", None if number < 0 else number, self._since)
            for place, number in enumerate(self._at_work)
        ]

    def close(self) -> None:
        """Let the others end."""
        dismiss()


def _round(config: str, asked: Sequence[int] | None = None) -> list[Any] | None:
    """Do what the first process asks of each, and return what all have found.

    `None` once that is the end. **Arguments:** `asked`: given by the first one alone.
    """
    told = np.asarray([_NOTHING] * jax.process_count() if asked is None else asked)
    here = int(_together(multihost_utils.broadcast_one_to_all, told)[jax.process_index()])
    if here == _END:
        jax.distributed.shutdown()
        return None
    found: Any = None
    if here == _WHO:
        try:
            found = identity(config)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    elif here != _NOTHING:
        found = outcome(config, here, None)
    return _gathered(found)


def _gathered(found: Any) -> list[Any]:
    """Return what each process has found, in each of them."""
    packed = np.frombuffer(pickle.dumps(found), np.uint8)
    sizes = _together(multihost_utils.process_allgather, np.asarray(packed.size))
    width = 1 << int(sizes.max() - 1).bit_length()  # few widths: each is compiled for
    filled = np.zeros(width, np.uint8)
    filled[: packed.size] = packed
    every = _together(multihost_utils.process_allgather, filled).reshape(-1, width)
    return [
        pickle.loads(row[:size].tobytes())
        for row, size in zip(every, sizes.ravel(), strict=True)
    ]


def _together(exchange: Callable[[np.ndarray], Any], value: np.ndarray) -> np.ndarray:
    """Return what an exchange among all processes gives. **Raises:** `OSError` if one died.

    JAX tells of that by errors of several types.
    """
    global _waited_for
    try:
        return np.asarray(exchange(value))
    except (RuntimeError, ValueError) as error:
        _waited_for = False
        atexit.register(_end_at_once)
        words = " ".join(str(error).split())
        raise OSError(f"another process of the job is lost: {words}") from None


def _keep_standard_output() -> None:
    """Let what libraries print below Python go to standard error.

    Gloo tells of its connections, in the middle of what may have to be one JSON object.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(
        kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors
    )


def _end_at_once() -> None:
    """End as a broken run does. JAX would wait for the lost process, and then abort."""
    sys.stdout.flush()
    os._exit(3)


def _whole(name: str) -> int | None:
    """Return a whole number of the environment, `None` where it is not there."""
    text = os.environ.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise ValueError(f"{name} = {text!a} is not a whole number.")
    return int(text)
