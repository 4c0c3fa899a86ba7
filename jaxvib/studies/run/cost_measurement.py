"""Measures the cost of a study from a few of its samples."""

import dataclasses
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s

from ...foundation.cache import programs_kept
from ..config import samples
from ..config.values import Values
from ..store.compile_times import CompileTimes
from .chunk import Silent, build
from .computing import compute_part
from .execute import execute, open_store
from .study import Study
from .summary import summary

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
