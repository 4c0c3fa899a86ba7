"""Computes samples of a study, isolating those that fail; time spent compiling."""

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ...ensemble import Reason
from ...ensemble.checkpoint import EvaluationStore, PrefixedStore
from ...foundation.command.progress import without_progress
from ...kernels.calls.kernel import LOWERING_EVENT
from ...kernels.cpu.machine_code import COMPILED
from ..analyses.kinds import ANALYSES
from ..store.fields import Variable, joined
from .study import Study

# JAX's events, in order of occurrence.
_BACKEND = "/jax/core/compile/backend_compile_duration"
_TRACED = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    LOWERING_EVENT,
)
_MISSED, _FOUND = "/jax/compilation_cache/cache_misses", "/jax/compilation_cache/cache_hits"
_TRIES = 8  # samples tried to find one that can be computed


def compute_part(
    study: Study,
    system: Any,
    draw: Callable[[slice], Mapping[str, np.ndarray]],
    part: slice,
    progress: Any,
    remember: EvaluationStore | None = None,
    among: int | None = None,
) -> dict[str, Variable]:
    """Return the results of a part of the samples, with reason codes in `result`.

    If the computation of a part fails, its halves are computed, down to the failing
    samples: these get the code `COMPUTATION_FAILED` and no numbers. Parts that run out
    of memory are halved too. A sample's bytes do not depend on the rest of its part, so
    that the others are unaffected.

    **Arguments:** `draw`: returns the values of samples by path; `progress`: notified
    of completed samples and reasons of failures; `remember`: stored evaluations of a
    search; `among`: number of samples known to `draw`, by default all of the study's.
    **Raises:** `RuntimeError` if no sample of a study can be computed, `MemoryError` if
    the memory does not suffice for one, `OSError` from the disk.
    """
    kind = ANALYSES[study.analysis.kind]
    first = part.start
    tell = _counting_once(progress.advance, part.stop - part.start)

    def compute(start: int, stop: int) -> dict[str, Variable]:
        more: dict[str, Any] = {}
        if remember is not None:
            prefix = f"from {start - first}/" if start > first else ""
            more["remember"] = PrefixedStore(remember, prefix)
        if kind.needs_sample_count:
            more["number"] = study.samples
        here = draw(slice(start, stop))
        with without_progress():  # the study has its own progress bar
            return kind.compute(system, here, study.analysis, study.run, tell, **more)

    def halved(start: int, stop: int) -> dict[str, Variable]:
        try:
            return compute(start, stop)
        except OSError:
            raise
        except Exception as error:
            alone, memory = stop - start == 1, _is_out_of_memory(error)
            if alone and memory:
                raise MemoryError(f"sample {start} needs too much memory") from error
            if alone:
                progress.message(f"sample {start}: {_error_text(error)}")
                return _empty_fields(example(error))
            if not memory:
                example(error)  # otherwise each sample would be tried in vain
        middle = (start + stop) // 2
        return joined(halved(start, middle), halved(middle, stop))

    found: list[dict[str, Variable]] = []

    def example(error: Exception) -> dict[str, Variable]:
        """Return the results of a sample that can be computed."""
        number = study.samples if among is None else among
        tried = np.linspace(0, number - 1, min(number, _TRIES)).round().astype(int)
        for place in tried.tolist():
            if found:
                break
            try:
                found.append(compute(place, place + 1))
            except (OSError, MemoryError):
                raise
            except Exception:
                continue
        if not found:
            raise RuntimeError(
                f"no sample can be computed: {_error_text(error)}"
            ) from error
        return found[0]

    fields = halved(part.start, part.stop)
    tell(part.stop - part.start)
    return fields


def _counting_once(advance: Callable[[int], None], most: int) -> Callable[[int], None]:
    """Return a progress callback that counts recomputed samples once."""
    left = most

    def tell(number: int) -> None:
        nonlocal left
        number = min(number, left)
        left -= number
        if number:
            advance(number)

    return tell


def _is_out_of_memory(error: Exception) -> bool:
    words = str(error)
    return isinstance(error, MemoryError) or any(
        sign in words for sign in ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory")
    )


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _empty_fields(fields: dict[str, Variable]) -> dict[str, Variable]:
    """Return the fields of one sample with empty values."""

    def empty(name: str, field: Variable) -> Variable:
        kind = field.values.dtype.kind
        blank = np.nan if kind in "fc" else -1 if kind == "i" else 0
        blank = int(Reason.COMPUTATION_FAILED) if name == "result" else blank
        return dataclasses.replace(field, values=np.full_like(field.values, blank))

    return {name: empty(name, field) for name, field in fields.items()}


class CompileTimes:
    """A stopwatch for compilation by JAX and LLVM while it is open.

    Overlapping intervals (parallel threads or nested events) count once.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._any, self._backend = _Union(), _Union()
        self._new = self._kept = 0

    def __enter__(self) -> "CompileTimes":
        jax.monitoring.register_event_duration_secs_listener(self._on_duration)
        jax.monitoring.register_event_listener(self._on_event)
        return self

    def __exit__(self, *_) -> None:
        jax.monitoring.unregister_event_duration_listener(self._on_duration)
        jax.monitoring.unregister_event_listener(self._on_event)

    @property
    def seconds(self) -> float:
        """Total compile time."""
        return self._any.seconds

    @property
    def backend_seconds(self) -> float:
        """Time spent on cacheable results: by XLA, by LLVM, and lowering of kernels."""
        return self._backend.seconds

    @property
    def cold(self) -> bool:
        """Whether more programs were compiled than loaded from the cache."""
        return self._new > self._kept

    def _on_duration(self, event: str, duration_secs: float, **_: str | int) -> None:
        now = time.monotonic()
        with self._lock:
            self._new += event == COMPILED
            if event in (_BACKEND, COMPILED, LOWERING_EVENT):
                self._backend.add(now, duration_secs)
            if event in (_BACKEND, COMPILED, *_TRACED):
                self._any.add(now, duration_secs)

    def _on_event(self, event: str, **_: str | int) -> None:
        with self._lock:
            self._new += event == _MISSED
            self._kept += event == _FOUND


class _Union:
    """Length of a union of intervals, added in order of their ends."""

    def __init__(self):
        self._spans: list[tuple[float, float]] = []

    def add(self, end: float, seconds: float) -> None:
        start = end - seconds
        while self._spans and self._spans[-1][1] >= start:
            start = min(start, self._spans.pop()[0])
        self._spans.append((start, end))

    @property
    def seconds(self) -> float:
        return sum(end - start for start, end in self._spans)
