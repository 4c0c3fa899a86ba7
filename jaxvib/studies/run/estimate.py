"""Estimates samples, memory and run time of a study, the time from a few samples."""

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s

from ...foundation.cache import programs_kept
from ...foundation.machine import memory
from ...foundation.text import duration_text, size_text
from ..analyses.kinds import ANALYSES
from ..config import samples
from ..config.values import Values
from ..store.store import has_study
from .chunk import Silent, build, number_of_chunks
from .computing import CompileTimes, compute_part
from .device import choose
from .execute import execute, open_store
from .memory import needed, too_large
from .study import Study
from .summary import summary

_TAKEN = "already contains a study"
_UNKNOWN = "not predicted; --measure computes a few samples to predict it"


def estimate(
    study: Study,
    directory: Path,
    measured_from: float | None = None,
    draw: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Return samples and memory of a study and, measured, its run time.

    Nothing is stored. **Arguments:** `measured_from`: when the command began, by
    `time.monotonic`, to predict the run time from a few samples (`measure`); otherwise
    `time` is `None`. `draw`: draws the report of a study's folder, which is included.
    **Raises:** `ValueError` for a study that cannot run here.
    """
    device, line = choose(study.run.device)
    build(study)
    took = None
    if measured_from is not None:
        took = measure(study, measured_from, device, draw)
    return {
        "study": study.title,
        "described": study.sampling_text(),
        "samples": study.samples,
        "analysis": study.analysis.kind,
        "system": study.system.kind,
        "evidence": study.run.evidence,
        "rtol": study.run.rtol,
        "chunks": number_of_chunks(study),
        "further_work": ANALYSES[study.analysis.kind].further_work(study.analysis),
        "device": line,
        "cores": os.cpu_count() or 1,
        "memory_needed": needed(study),
        "memory_here": memory(),
        "fits": too_large(study) is None,
        "stored": study.samples
        * ANALYSES[study.analysis.kind].sample_bytes(study.analysis),
        "time": took,
        "results": str(directory),
        "free": not has_study(directory),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the result of `estimate` as text."""
    memory = size_text(found["memory_needed"])
    here = f" (available: {size_text(found['memory_here'])})"
    number = found["chunks"]
    further = f"; {found['further_work']}" if found["further_work"] else ""
    return [
        f"samples    {found['described']}",
        f"work       {found['analysis']}, evidence {found['evidence']}, rtol "
        f"{found['rtol']:g}; stored in {number} chunk{'s' * (number > 1)}{further}",
        f"device     {found['device']}, {found['cores']} cores",
        f"memory     about {memory}{'' if found['fits'] else here}, "
        f"and {size_text(found['stored'])} on disk",
        f"time       {_UNKNOWN if found['time'] is None else _time_text(found['time'])}",
        f"results    {found['results']} {'(new folder)' if found['free'] else _TAKEN}",
    ]


def _time_text(time: dict[str, Any]) -> str:
    least, seconds, most = (
        duration_text(time[key]) for key in ("least", "seconds", "most")
    )
    around = f" ({least} to {most})" if least != most else ""
    cold = f", {duration_text(time['cold'])} without compiled programs"
    parts = ", ".join(
        f"{duration_text(time[key])} to {what}"
        for key, what in (
            ("startup", "start"),
            ("compile", "load programs" if time["kept"] else "compile"),
            ("computing", "compute"),
            ("after", "summarise and draw"),
        )
    )
    return (
        f"about {seconds}{around}{cold if time['kept'] else ''}: {parts}; "
        f"measured from {time['samples']} samples"
    )


_SIZES = (4, 16, 64, 256, 1024)  # samples per batch
_ENOUGH = 10.0  # s, from which batches are not enlarged further
_BATCHES = 3  # of the last size, for the spread
_DRAWN = 64  # maximum size of the small study that is stored and drawn
_APART = 1.5  # minimum ratio of batch sizes to separate a fixed time from a rate


def measure(
    study: Study, started: float, device: str, draw: Callable[[Path], object]
) -> dict[str, Any]:
    """Predict the run time of a study from some samples, which are discarded.

    Samples are drawn at random in growing batches, since lanes share the fixed cost of
    a loop. Then a small study is run completely, to measure storing, summary and
    report. **Arguments:** `started`: by `time.monotonic`; `device`: as recorded;
    `draw`: draws the report of a study's folder.

    **Returns:** seconds to start (`startup`), to `compile`, `computing`, and `after`;
    their sum `seconds` between `least` and `most`, from the spread of the last batches;
    `cold`: the sum without compiled programs; `kept`: whether they are cached now;
    `samples`: the number measured.

    **Raises:** `ValueError` for a study that is computed in one piece.
    """
    if not study.paths or study.sampling.how.refined:
        raise ValueError(
            f"--measure computes some of the samples, and {study.sampling_text()} is "
            "computed in one piece; allowed: studies that sweep a parameter, not refined"
        )
    system = build(study)
    order = np.random.default_rng(0)
    begun = time.monotonic()
    took: dict[int, list[float]] = {}  # seconds without compilation, by size

    def batch(size: int) -> None:
        chosen = order.integers(study.samples, size=size)

        def draw(part: slice) -> Mapping[str, np.ndarray]:
            rows = [_one(study, int(i)) for i in chosen[part]]
            return {path: np.concatenate([row[path] for row in rows]) for path in rows[0]}

        before, made = time.monotonic(), compiling.seconds
        compute_part(study, system, draw, slice(0, size), Silent(), among=size)
        spent = time.monotonic() - before - (compiling.seconds - made)
        took.setdefault(size, []).append(spent)

    with CompileTimes() as compiling:
        sizes = [size for size in _SIZES if size <= study.samples] or [study.samples]
        batch(sizes[0])
        cold = compiling.cold  # later, these programs are in the cache
        first = took.pop(sizes[0])[0]  # includes imports
        for size in sizes:
            batch(size)
            if time.monotonic() - begun - compiling.seconds > _ENOUGH:
                break
        for _ in range(_BATCHES - 1):
            batch(size)
        few = max(n for n in took if n <= _DRAWN)
        after = _complete_run(study, few, device, draw, compiling) - took[few][0]
    mean = float(np.mean(took[size]))
    rates = [(number, float(np.mean(each))) for number, each in took.items()]
    low, high = computing_time(rates, study.samples)
    kept = programs_kept()
    made = compiling.seconds
    loaded = made - compiling.backend_seconds if kept and cold else made
    startup = begun - started + max(0.0, first - took[sizes[0]][0])
    fixed = startup + max(0.0, after)
    return {
        "samples": _BATCHES * size,
        "startup": startup,
        "compile": loaded,
        "computing": high,
        "after": max(0.0, after),
        "least": fixed + loaded + low * min(took[size]) / mean,
        "seconds": fixed + loaded + high,
        "most": fixed + loaded + high * max(took[size]) / mean,
        "cold": fixed + made + high,
        "kept": kept and cold,
    }


def computing_time(batches: Sequence[Sequence[float]], number: int) -> tuple[float, float]:
    """Return bounds of the seconds to compute a number of samples.

    `batches`: sizes and seconds. A batch takes a fixed time plus a time per sample:
    fitted by relative least squares, both non-negative. If all had similar sizes, the
    split is unknown and the bounds cover both extremes.
    """
    sizes, seconds = np.asarray(batches, float).T
    if sizes.max() < _APART * sizes.min():
        low, high = sorted((seconds[-1], seconds[-1] * number / sizes[-1]))
        return float(low), float(high)
    weights = 1 / np.maximum(seconds, 1e-3)  # s, the precision of the clock
    terms = np.stack([np.ones_like(sizes), sizes], axis=1) * weights[:, None]
    (fixed, each), _ = scipy.optimize.nnls(terms, seconds * weights)
    expected = float(fixed + each * number)
    return expected, expected


def _complete_run(
    study: Study, few: int, device: str, draw, compiling: CompileTimes
) -> float:
    """Return the seconds of a complete run of a few samples, without compilation."""
    small = _fewer_samples(study, few)
    before, made = time.monotonic(), compiling.seconds
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        store = open_store(small, place, device, resume=False)
        execute(small, build(small), store, Silent(), before)
        summary(small, place)
        if small.output.report:
            draw(place)
        return time.monotonic() - before - (compiling.seconds - made)


def _fewer_samples(study: Study, number: int) -> Study:
    """Return a study with fewer samples; of a grid the next smaller one."""
    sampling, paths = study.sampling, study.paths
    if sampling.count is not None:
        sampling = sampling.model_copy(update={"count": number})
    else:
        along = len(paths) if sampling.how.grid else 1
        each = max(1, int(number ** (1 / along) + 1e-9))
        paths = {path: _some(values, each) for path, values in paths.items()}
    alone = {"workers": 1, "cluster": None}
    return dataclasses.replace(
        study,
        sampling=sampling,
        paths=paths,
        samples=samples.number_of(sampling, paths),
        run=study.run.model_copy(update=alone),
    )


def _some(values: Values, number: int) -> Values:
    listed = values.listed()
    places = np.linspace(0, len(listed) - 1, min(number, len(listed))).round().astype(int)
    return Values(values=listed[places].tolist())


def _one(study: Study, number: int) -> dict[str, np.ndarray]:
    part = slice(number, number + 1)
    return samples.draw(study.sampling, study.paths, study.run.seed, part)
