"""What a study takes, from a few of its samples."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..analyses.kinds import ANALYSES
from ..config import samples
from ..store.compiling import Compiling
from .chunk import Silent, build
from .computing import compute_part
from .study import Study

_SIZES = (4, 16, 64, 256, 1024)  # samples at a time
_ENOUGH = 10.0  # s, after which no more are tried at a time
_BATCHES = 3  # of the last size, for the spread


def measure(study: Study, started: float) -> dict[str, Any]:
    """Compute some samples, store nothing, and return what `past.remember` takes.

    They are drawn at random from all, more at a time until that takes a while, as lanes
    share what a loop costs; `low` and `high` are the least and most seconds a sample of
    batches of the last size. **Arguments:** `started`: by `time.monotonic`.
    **Raises:** `ValueError` for a study that is computed in one piece.
    """
    kind = ANALYSES[study.analysis.kind]
    if kind.sampled is False or not study.paths or study.sampling.method == "refine":
        raise ValueError(
            f"--measure computes some of the samples, and {study.described()} is computed "
            "in one piece; allowed: studies that sweep a parameter, not refined"
        )
    system = build(study)
    order = np.random.default_rng(0)
    begun = time.monotonic()
    rates: list[float] = []

    def batch(size: int) -> float:
        chosen = order.integers(study.samples, size=size)

        def draw(part: slice) -> Mapping[str, np.ndarray]:
            rows = [_one(study, int(i)) for i in chosen[part]]
            return {path: np.concatenate([row[path] for row in rows]) for path in rows[0]}

        before, made = time.monotonic(), compiling.seconds
        compute_part(study, system, draw, slice(0, size), Silent(), among=size)
        return (time.monotonic() - before - (compiling.seconds - made)) / size

    with Compiling() as compiling:
        sizes = [size for size in _SIZES if size <= study.samples] or [study.samples]
        for size in sizes:
            rates = [batch(size)]
            if time.monotonic() - begun - compiling.seconds > _ENOUGH:
                break
        rates += [batch(size) for _ in range(_BATCHES - 1)]
    return {
        "samples": _BATCHES * size,
        "startup": begun - started,
        "compile": compiling.seconds,
        "backend": compiling.backend_seconds,
        "each": float(np.mean(rates)),
        "low": min(rates),
        "high": max(rates),
        "after": 0.0,
        "cold": compiling.cold,
    }


def _one(study: Study, number: int) -> dict[str, np.ndarray]:
    part = slice(number, number + 1)
    return samples.draw(study.sampling, study.paths, study.run.seed, part)
