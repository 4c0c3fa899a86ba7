"""Compilation of programs to machine code of this CPU, with a persistent cache."""

import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import hashlib
import itertools
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ...foundation.cache import read_entry, write_entry
from ..lower.lowering import Program
from ..lower.workspace import ALIGNMENT
from .handler import handler_text, run_text
from .tiered_compilation import recompile_when
from .vector_memory import VectorMemory

COMPILED = "/jaxvib/kernels/compile_duration"  # named as JAX's own events

# Run time of a call's last tasks, s: long enough to amortise it, short enough to load all
# threads until the end. The first call, whose run time is unknown, has tasks of at most so
# many lanes.
_TASK, _SHARE = 1e-3, 256
# Those before are longer, by this factor at most: Ctrl-C waits for them.
_LONGER = 32
# Tasks per thread, at least, of a program with long arrays, each with memory of its own,
# of a first call, and of the lanes that remain.
_PARTS = 4
# LLVM's optimisation levels for the first and for the final code.
_QUICK, _BEST = 0, 2
# Lines of a program with long arrays that are optimised in half a second, at once.
_SHORT_TEXT = 15_000
# Seconds of run time, and lanes per call, above which the final code is compiled.
_WORTH, MANY = 0.5, 1024


_now = time.perf_counter


class _Code:
    """Machine code loaded into memory."""

    def __init__(self, code: bytes):
        # The library owns the code: it must live as long as the code may be called.
        self._library = _loaded(code)
        self._run = self._library["run"]
        self.run = ctypes.CFUNCTYPE(
            None, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_void_p
        )(self._run)
        self.handler = self._library["handler"]
        self._ticks = ctypes.CFUNCTYPE(ctypes.c_int64)(self._library["ticks"])
        self._begun = self._ticks(), time.perf_counter()

    def seconds(self) -> float:
        """Return the total run time in XLA's calls, s."""
        spent = ctypes.c_int64.from_address(self._library["spent"]).value
        ticks, begun = self._begun
        passed = max(self._ticks() - ticks, 1)
        return spent * (time.perf_counter() - begun) / passed

    def redirect_to(self, better: "_Code") -> None:
        """Redirect XLA's calls of this code to better code."""
        place = ctypes.c_void_p.from_address(self._library["better"])
        place.value = better._run


class Native:
    """A program in memory, callable from Python and from XLA.

    Unoptimised code compiles in a quarter of the time, runs twice as long and gives the
    same bits. It is used until it has run as long as compiling the optimised code
    takes.
    """

    def __init__(
        self, program: Program, features: str | None = None, at_once: bool = False
    ):
        """Compile a program for this processor, or for other `features`.

        `at_once`: whether optimised from the start.
        """
        self.program, self._features = program, features or host_features()
        self._spent, self._lanes, self._lock = 0.0, 0, threading.Lock()
        code, level = _cached_code(program, self._features, _BEST), _BEST
        if code is None:
            # Loops over long arrays take five times as long unoptimised.
            loops = program.workspace and program.text.count("\n") < _SHORT_TEXT
            level = _BEST if loops or at_once else _QUICK
            code = _object(program, self._features, level)
        self._first = _Code(code)
        self._best = self._first if level == _BEST else None

    def best(self) -> _Code:
        """Return the optimised code, compiling it if necessary."""
        with self._lock:
            if self._best is None:
                self._best = _Code(_object(self.program, self._features, _BEST))
                self._first.redirect_to(self._best)
        return self._best

    @property
    def handler(self) -> int:
        """The address of XLA's entry point, valid while this object lives."""
        if self._best is None:
            recompile_when(lambda: self._first.seconds() > _WORTH, self.best)
        return self._first.handler

    def one_vector(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run up to a vector of lanes, the last axis; results have a whole vector."""
        memory, places = self._vector.filled(arrays)
        if self._spent > _WORTH:
            self.best()
        code, width, begun = self._best or self._first, self.program.width, _now()
        address = _address(places)
        outputs = address + len(arrays) * places.itemsize
        code.run(width, 0, width, address, outputs)
        self._spent += _now() - begun
        self._lanes += width
        return self._vector.results(memory)

    @functools.cached_property
    def _vector(self) -> VectorMemory:
        return VectorMemory(self.program.signature, self.program.width)

    def __call__(self, arrays: Sequence[np.ndarray], threads: int) -> list[np.ndarray]:
        """Run the lanes, the last axis of every array and a multiple of the width."""
        width, signature = self.program.width, self.program.signature
        lanes = arrays[0].shape[-1]
        taken = [
            np.ascontiguousarray(array, kind)
            for array, (_, kind) in zip(arrays, signature.inputs, strict=True)
        ]
        given = [np.empty((*shape, lanes), kind) for shape, kind in signature.outputs]
        inputs, outputs = _pointers(taken), _pointers(given)
        arguments, results = _address(inputs), _address(outputs)
        size = self.program.workspace
        if self._spent > _WORTH or lanes > MANY:
            self.best()
        code = self._best or self._first

        def run(first: int, last: int) -> None:
            begun = _now()
            if size:
                memory = _aligned(size)
                own = _pointers([*taken, memory])
                code.run(lanes, first, last, _address(own), results)
            else:
                code.run(lanes, first, last, arguments, results)
            self._spent += _now() - begun
            self._lanes += last - first

        unknown = min(_SHARE, lanes / (_PARTS * threads))
        worth = _TASK * self._lanes / self._spent if self._spent else unknown
        share = max(-(-int(min(worth, lanes)) // width), 1) * width
        if size:  # few lanes take long
            share = min(share, -(-lanes // (_PARTS * threads)))
        shares = _parts(lanes, share, threads, _LONGER if self._spent else 1)
        parts = iter(shares)

        def work() -> None:
            for part in parts:  # shared by the threads
                run(*part)

        # The calling thread works too: others may have long work for the pool.
        helpers = min(threads, len(shares)) - 1
        helping = [_pool(threads).submit(work) for _ in range(helpers)]
        try:
            work()
        finally:  # after Ctrl-C no thread begins another part
            collections.deque(parts, maxlen=0)
        for each in helping:
            if not each.cancel():
                each.result()
        return given


def _parts(lanes: int, share: int, threads: int, longer: int) -> list[tuple[int, int]]:
    """Return ranges of one share of lanes at the end, and of up to `longer` before."""
    found, first = [], 0
    while first < lanes:
        shares = (lanes - first) // (_PARTS * threads * share)
        last = min(first + share * min(max(shares, 1), longer), lanes)
        found.append((first, last))
        first = last
    return found


@functools.cache
def host_width() -> int:
    """Return the number of doubles in a vector of this processor."""
    features = bindings().get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx2") else 2


@functools.lru_cache(maxsize=1)
def _pool(threads: int) -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):  # the child of a fork has no threads of its parent
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _pointers(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([_address(array) for array in arrays] or [0], np.uint64)


def _address(array: np.ndarray) -> int:
    # Takes half the time of `array.ctypes`.
    return array.__array_interface__["data"][0]


def _aligned(size: int) -> np.ndarray:
    """Return memory for a program's arrays, aligned for vectors."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -_address(memory) % ALIGNMENT
    return memory[start : start + size]


@functools.cache
def bindings() -> Any:
    """Return llvmlite's binding module, initialised for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def for_all_targets() -> Any:
    """Return llvmlite's binding module, initialised for all its targets."""
    llvm = bindings()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


@functools.cache
def host_features() -> str:
    """Return this processor's features in LLVM's notation."""
    features = bindings().get_host_cpu_features().flatten()
    # LLVM splits vectors of 8 otherwise.
    return features + ",-prefer-256-bit" if host_width() == 8 else features


def _cached_code(program: Program, features: str, level: int) -> bytes | None:
    """Return a program's machine code from the cache."""
    return read_entry(_entry(program, features, level))


def _entry_points(program: Program) -> str:
    return run_text() + handler_text(program.signature, program.workspace)


def _entry(program: Program, features: str, level: int) -> str:
    """Return the cache key of a program's machine code."""
    import llvmlite

    versions = f"{llvmlite.__version__} {bindings().get_host_cpu_name()} {features}"
    parts = f"{program.key}\n{_entry_points(program)}\n{versions}"
    return f"kernels/{hashlib.sha256(parts.encode()).hexdigest()}.{level}.o"


def _object(program: Program, features: str, level: int) -> bytes:
    """Return a program's machine code, from the cache or compiled.

    `level`: LLVM's optimisation level, which does not change the results.
    """
    cached = _cached_code(program, features, level)
    if cached is not None:
        return cached
    began = time.monotonic()
    llvm = bindings()
    module = llvm.parse_assembly(program.text + _entry_points(program))
    module.triple = llvm.get_process_triple()
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=level, jit=True, cpu=llvm.get_host_cpu_name(), features=features
    )
    with without_rescheduling():
        code = machine.emit_object(module)
    write_entry(_entry(program, features, level), code)
    jax.monitoring.record_event_duration_secs(COMPILED, time.monotonic() - began)
    return code


@contextlib.contextmanager
def without_rescheduling():
    """Keep LLVM from rescheduling instructions.

    In these long programs rescheduling keeps more numbers live than there are
    registers, which takes a third longer to compile and a tenth longer to run. The
    option is global to the process, in which other threads may compile too. Whoever
    compiles takes it, as a program must not depend on what was compiled before it.
    """
    with _ORDER.lock:
        _ORDER.programs += 1
        if _ORDER.programs == 1:
            bindings().set_option("jaxvib", "-enable-misched=0")
    try:
        yield
    finally:
        with _ORDER.lock:
            _ORDER.programs -= 1
            if _ORDER.programs == 0:
                bindings().set_option("jaxvib", "-enable-misched=1")


class _Order:
    """The number of compilations in progress without rescheduling."""

    def __init__(self):
        self.lock, self.programs = threading.Lock(), 0


_ORDER = _Order()


@functools.cache
def _linker():
    llvm = bindings()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_lljit_compiler(target)


def _loaded(code: bytes):
    """Load machine code; the result maps its symbols to addresses."""
    library = bindings().JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in ("run", "handler", "ticks", "spent", "better"):
        library.export_symbol(name)
    return library.link(_linker(), f"jaxvib{next(_LIBRARIES)}")


_LIBRARIES = itertools.count()
