"""Measures compile time (tracing, lowering, compiling, loading) over all threads."""

import threading
import time

import jax

from ...kernels.calls.kernel import LOWERING_EVENT
from ...kernels.cpu.machine_code import COMPILED

# JAX's events, in order of occurrence.
_BACKEND = "/jax/core/compile/backend_compile_duration"
_TRACED = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    LOWERING_EVENT,
)
_MISSED, _FOUND = "/jax/compilation_cache/cache_misses", "/jax/compilation_cache/cache_hits"


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
