"""Running a study: the system built once, its samples computed and stored by chunks."""

import contextlib
from pathlib import Path

import numpy as np

from ...ensemble import Reason, recalling
from ...systems import parameters
from ..analyses.kinds import ANALYSES, SYSTEMS
from ..config import samples
from ..config.writing import to_toml
from ..store.evaluations import Evaluations, Under
from ..store.fields import Variable, with_coordinates
from ..store.store import Store
from ..store.times import Times
from .computing import compute_chunk
from .record import record
from .study import Study


def open_store(study: Study, directory: Path, device: str, *, resume: bool) -> Store:
    """Return the store of a study, new or begun earlier.

    **Raises:** `FileExistsError` for a new study where there is one; `ValueError` for
    one that was begun otherwise; `OSError` for one that cannot be trusted or written.
    """
    begin = Store.resume if resume else Store.create
    resolved = study.resolved()
    resolved["output"]["directory"] = str(directory)
    return begin(directory, record(study, device), to_toml(resolved))


def execute(study: Study, system, store: Store, progress, started: float) -> None:
    """Compute what is not done yet, and complete the store.

    Each chunk is committed before the next one begins; its bytes do not depend on what
    was done before. **Arguments:** `progress`: told of samples done and failed;
    `started`: when the session began, by `time.monotonic`.
    """
    kind = ANALYSES[study.analysis.kind]
    alone = not study.paths and kind.whole
    run = _run_whole if kind.sampled is False or alone else _run_samples
    with Times(store.directory, started) as times:
        run(study, system, store, progress, times)
        if "complete" not in store.done:
            store.finish()
        if run is _run_whole or kind.remembers:
            Evaluations(store.directory).forget()


def build(study: Study):
    """Return the system of a study. **Raises:** `ValueError` if it cannot be built."""
    system = SYSTEMS[study.system.kind].build(study.system)
    values = {
        path: float(np.asarray(entry.value))
        for path, entry in parameters(system).items()
        if np.ndim(entry.value) == 0
    }
    declared = SYSTEMS[study.system.kind].declared(study.system)
    ANALYSES[study.analysis.kind].check(study.analysis, values, declared, system)
    return system


def chunks(study: Study) -> list[tuple[int, slice]]:
    """Return each chunk's number and the samples that are in it."""
    width = study.run.chunk
    starts = range(0, study.samples, width)
    return [(i, slice(s, min(s + width, study.samples))) for i, s in enumerate(starts)]


def samples_done(study: Study, store: Store) -> int:
    """Return how many samples of a study are stored already."""
    done = [part for i, part in chunks(study) if f"chunk {i}" in store.done]
    return sum(part.stop - part.start for part in done)


def failed(codes: np.ndarray) -> np.ndarray:
    """Return which reason codes stand for a sample without a usable result."""
    return np.isin(codes, [int(code) for code in Reason if code.failed])


def _run_samples(study, system, store, progress, times: Times) -> None:
    kind = ANALYSES[study.analysis.kind]
    declared = SYSTEMS[study.system.kind].declared(study.system)
    values = samples.draw(study.sampling, study.paths, study.run.seed)
    for number, part in chunks(study):
        if f"chunk {number}" in store.done:
            continue
        more = _remembered(kind, store, f"chunk {number}")
        fields = compute_chunk(study, system, values, part, progress, **more)
        here = {path: column[part] for path, column in values.items()}
        store.append(number, with_coordinates(fields, _coordinates(here, declared)))
        progress.fail(int(np.sum(failed(fields["result"].values))))
        times.note(part.stop - part.start)
    for group in kind.groups:
        if f"group {group}" not in store.done:
            fields = kind.group(group, system, values, study, store.read)
            if fields:
                store.add_group(group, fields, kind.groups[group])


def _run_whole(study, system, store, progress, times: Times) -> None:
    kind = ANALYSES[study.analysis.kind]
    if "group " not in store.done:
        memory = Under(Evaluations(store.directory), "whole")
        more = {"remember": memory} if kind.remembers else {}
        with contextlib.nullcontext() if kind.remembers else recalling(memory):
            fields = kind.compute(
                system, {}, study.analysis, study.run, progress.advance, **more
            )
        store.add_group("", fields)
        progress.fail(int(np.sum(failed(fields["result"].values))))
        times.note(1)


def _remembered(kind, store: Store, name: str) -> dict:
    """Return what a search goes on from after a stop, for kinds that search."""
    if not kind.remembers:
        return {}
    return {"remember": Under(Evaluations(store.directory), name)}


def _coordinates(values, declared) -> dict[str, Variable]:
    return {
        path: Variable(("sample",), column, declared[path].unit, declared[path].description)
        for path, column in values.items()
    }
