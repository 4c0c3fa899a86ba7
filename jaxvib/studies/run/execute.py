"""Runs a study: builds the system, computes its samples and stores them by chunks."""

import contextlib
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ...ensemble import Reason, checkpointing, use_executor
from ...ensemble.checkpoint import PrefixedStore
from ...foundation.command import signals
from ...foundation.command.progress import without_progress
from ...kernels.gpu.device_choice import computed_on
from ..analyses.kinds import ANALYSES
from ..config.toml_writer import to_toml
from ..store.evaluations import Evaluations, HeldEvaluations, forget_evaluations
from ..store.store import Store
from ..store.times import Times
from .chunk import build as build
from .chunk import chunk_fields, chunk_numbers, chunk_part
from .computing import CompileTimes
from .distributed.cluster import ClusterSearch, DaskExecutor
from .distributed.cluster import require_dask as require_dask
from .distributed.executors import Executor, Fields, LocalExecutor, dispatch, skipped
from .distributed.processes import ProcessExecutor
from .distributed.worker import task
from .record import record
from .status import LiveStatus
from .study import Study


def open_store(study: Study, directory: Path, device: str, *, resume: bool) -> Store:
    """Return the store of a study, new or resumed.

    **Raises:** `FileExistsError` for a new study if one exists; `ValueError` if the
    existing one differs; `OSError` if it is damaged or not writable.
    """
    begin = Store.resume if resume else Store.create
    return begin(directory, record(study, device), to_toml(study.resolved(directory)))


def execute(study: Study, system: Any, store: Store, progress: Any, started: float) -> None:
    """Compute what is missing, and complete the store unless it is of a share.

    A chunk's bytes depend neither on the executor nor on earlier chunks.
    **Arguments:** `progress`: notified of completed and failed samples; `started`: when
    the session began, by `time.monotonic`.
    """
    kind = ANALYSES[study.analysis.kind]
    run = _run_whole if kind.in_one_piece(bool(study.paths)) else _run_samples
    with (
        Times(store.directory, started, CompileTimes()) as times,
        LiveStatus(store.directory, progress) as status,
    ):
        run(study, system, store, status, times)
        times.sessions[-1]["kernels"] = computed_on()
        if study.share is None and "complete" not in store.done:
            store.finish()
        forget_evaluations(store.directory)


def samples_done(study: Study, store: Store) -> int:
    """Return the number of stored samples of a study."""
    return _samples_in(
        study, (i for i in chunk_numbers(study) if f"chunk {i}" in store.done)
    )


def samples_asked(study: Study) -> int:
    """Return the total number of samples that a run of a study computes."""
    return _samples_in(study, chunk_numbers(study))


def _samples_in(study: Study, numbers: Iterable[int]) -> int:
    parts = (chunk_part(study, number) for number in numbers)
    return sum(part.stop - part.start for part in parts)


def failed(codes: np.ndarray) -> np.ndarray:
    """Return a mask of the reason codes without a usable result."""
    return np.isin(codes, [int(code) for code in Reason if code.failed])


def _run_samples(study, system, store, progress: LiveStatus, times: Times) -> None:
    kind = ANALYSES[study.analysis.kind]
    missing = [i for i in chunk_numbers(study) if f"chunk {i}" not in store.done]

    def store_result(number: int, fields: Fields) -> None:
        if f"chunk {number}" in store.done:
            store.compare(number, fields)
            return
        store.append(number, fields)
        progress.fail(int(np.sum(failed(fields["result"].values))))
        times.note(len(fields["result"].values))

    executor = _executor(study, system, store, progress, len(missing))
    with contextlib.closing(executor):
        progress.follow(executor.workers)
        if not isinstance(executor, LocalExecutor):
            progress.message(f"computed by {executor.where}")
        lost = dispatch(executor, missing, store_result, progress.message)
    if lost:
        raise RuntimeError(skipped(lost))
    for group, compute in kind.groups.items() if study.share is None else ():
        if f"group {group}" not in store.done:
            values = {path: store.rows(path) for path in study.paths}
            fields = compute(system, values, study, store.rows)
            if fields:
                store.add_group(group, fields, ("sample",))


def _executor(study, system, store, progress, missing: int) -> Executor:
    config = to_toml(study.resolved())
    if missing and study.run.cluster is not None:
        like = {key: store.record[key] for key in ("versions", "fingerprint")}
        return DaskExecutor(
            study.run.cluster, lambda number: (task, config, number, like), progress
        )
    if missing > 1 and study.run.workers > 1:
        return ProcessExecutor(config, study.run.workers, store.record, progress)
    kind = ANALYSES[study.analysis.kind]

    def compute(number: int) -> Fields:
        if kind.resumable:
            memory = _memory(store, f"chunk {number}")
            return chunk_fields(study, system, number, progress, memory)
        held = HeldEvaluations(store.directory, f"chunk {number}/")
        with signals.keeping(held.write), checkpointing(held):
            return chunk_fields(study, system, number, progress)

    return LocalExecutor(compute)


def _run_whole(study, system, store, progress, times: Times) -> None:
    kind = ANALYSES[study.analysis.kind]
    if "group " not in store.done:
        memory = _memory(store, "whole")
        more = {"remember": memory} if kind.resumable else {}
        recalled = contextlib.nullcontext() if kind.resumable else checkpointing(memory)
        with (
            _delegating(study, store, progress),
            recalled,
            without_progress(),
        ):  # the study reports progress
            fields = kind.compute(
                system, {}, study.analysis, study.run, progress.advance, **more
            )
        store.add_group("", fields)
        progress.fail(int(np.sum(failed(fields["result"].values))))
        times.note(1)


@contextlib.contextmanager
def _delegating(study: Study, store: Store, progress: LiveStatus) -> Generator[None]:
    """Delegate maps to a cluster, if the study uses one."""
    if study.run.cluster is None:
        yield
        return
    config = to_toml(study.resolved())
    search = ClusterSearch(study.run.cluster, config, store.record, progress)
    with contextlib.closing(search), use_executor(search):
        progress.follow(search.cluster.workers)
        progress.message(f"computed by {search.cluster.where}")
        yield


def _memory(store: Store, name: str) -> PrefixedStore:
    """Return the stored evaluations of a search, to resume it."""
    return PrefixedStore(Evaluations(store.directory), f"{name}/")
