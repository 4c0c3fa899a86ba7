"""Programs as machine code of this processor, kept from one process to the next."""

import concurrent.futures
import contextlib
import ctypes
import functools
import hashlib
import threading
import time
from collections.abc import Sequence

import jax
import numpy as np

from .._cache import read_entry, write_entry
from .handler import handler_text, run_text
from .printer import Program
from .waiting import improve_when

COMPILED = "/jaxvib/kernels/compile_duration"  # as JAX names its own

# Lanes that one thread takes at a time: few enough to share out, enough to be worth it.
_SHARE = 256
# How hard LLVM tries: not at all, or as hard as pays.
_QUICK, _BEST = 0, 2
# Seconds of running, and lanes at once, from where on the best code is worth compiling.
_WORTH, MANY = 0.5, 1024


class _Code:
    """Machine code in memory."""

    def __init__(self, code: bytes):
        # The engine owns the code: it must live as long as anybody may call it.
        self._engine = _loaded(code)
        self._run = self._engine.get_function_address("run")
        self.run = ctypes.CFUNCTYPE(
            None, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_void_p
        )(self._run)
        self.handler = self._engine.get_function_address("handler")
        ticks = self._engine.get_function_address("ticks")
        self._ticks = ctypes.CFUNCTYPE(ctypes.c_int64)(ticks)
        self._begun = self._ticks(), time.perf_counter()

    def seconds(self) -> float:
        """Return for how long XLA has run it, s."""
        spent = ctypes.c_int64.from_address(self._address("spent")).value
        ticks, begun = self._begun
        passed = max(self._ticks() - ticks, 1)
        return spent * (time.perf_counter() - begun) / passed

    def give_way(self, better: "_Code") -> None:
        """Have XLA's calls of this code run better one."""
        place = ctypes.c_void_p.from_address(self._address("better"))
        place.value = better._run

    def _address(self, name: str) -> int:
        return self._engine.get_global_value_address(name)


class Native:
    """A program in memory, ready to be called by Python and by XLA.

    Code in which LLVM looks for nothing better takes a quarter of the time to compile and
    twice as long to run, and gives the same bits: it is what is called until it has run
    for as long as it takes to compile the better one.
    """

    def __init__(self, program: Program, features: str | None = None):
        """Compile a program for this processor, or with other `features` of its make."""
        self.program, self._features = program, features or host_features()
        self._spent, self._lock = 0.0, threading.Lock()
        kept = _kept(program, self._features, _BEST)
        self._first = _Code(kept or _object(program, self._features, _QUICK))
        self._best = self._first if kept else None

    def best(self) -> _Code:
        """Return the code that runs fastest, compiled now unless it has been."""
        with self._lock:
            if self._best is None:
                self._best = _Code(_object(self.program, self._features, _BEST))
                self._first.give_way(self._best)
        return self._best

    @property
    def handler(self) -> int:
        """Where XLA calls the program, for as long as this object lives."""
        if self._best is None:
            improve_when(lambda: self._first.seconds() > _WORTH, self.best)
        return self._first.handler

    def __call__(self, arrays: Sequence[np.ndarray], threads: int) -> list[np.ndarray]:
        """Return the results of lanes, the last axis of every array, a whole of widths."""
        width, signature = self.program.width, self.program.signature
        lanes = arrays[0].shape[-1]
        taken = [
            np.ascontiguousarray(array, kind)
            for array, (_, kind) in zip(arrays, signature.inputs, strict=True)
        ]
        given = [np.empty((*shape, lanes), kind) for shape, kind in signature.outputs]
        inputs, outputs = _pointers(taken), _pointers(given)
        if self._spent > _WORTH or lanes > MANY:
            self.best()
        code = self._best or self._first

        def run(first: int) -> None:
            last, begun = min(first + share, lanes), time.perf_counter()
            code.run(lanes, first, last, inputs.ctypes.data, outputs.ctypes.data)
            self._spent += time.perf_counter() - begun

        share = max(-(-_SHARE // width), 1) * width
        starts = range(0, lanes, share)
        if threads == 1 or len(starts) == 1:
            for first in starts:
                run(first)
        else:
            list(_pool(threads).map(run, starts))
        return given


@functools.cache
def host_width() -> int:
    """Return how many doubles this processor's vectors hold."""
    features = bindings().get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx2") else 2


@functools.lru_cache(maxsize=1)
def _pool(threads: int) -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(threads)


def _pointers(arrays: Sequence[np.ndarray]) -> np.ndarray:
    # Half the time that `array.ctypes` takes.
    places = [array.__array_interface__["data"][0] for array in arrays]
    return np.array(places or [0], np.uint64)


@functools.cache
def bindings():
    """Return llvmlite's module, ready for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def host_features() -> str:
    """Return this processor's features as LLVM writes them."""
    features = bindings().get_host_cpu_features().flatten()
    # Vectors of 8 are taken apart otherwise.
    return features + ",-prefer-256-bit" if host_width() == 8 else features


def _kept(program: Program, features: str, level: int) -> bytes | None:
    """Return a program's machine code if it has been compiled and kept."""
    return read_entry(_entry(_text(program), features, level))


def _text(program: Program) -> str:
    return program.text + run_text() + handler_text(program.signature)


def _entry(text: str, features: str, level: int) -> str:
    """Return the name in the cache of a text's machine code, which no other has."""
    import llvmlite

    versions = f"{llvmlite.__version__} {bindings().get_host_cpu_name()} {features}"
    key = hashlib.sha256(f"{text}\n{versions}".encode()).hexdigest()
    return f"kernels/{key}.{level}.o"


def _object(program: Program, features: str, level: int) -> bytes:
    """Return a program's machine code, from the disk where it has been compiled before.

    `level`: how hard LLVM tries, which changes no bit of what comes out.
    """
    known = _kept(program, features, level)
    if known is not None:
        return known
    began = time.monotonic()
    llvm, text = bindings(), _text(program)
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=level, jit=True, cpu=llvm.get_host_cpu_name(), features=features
    )
    with _in_written_order():
        code = machine.emit_object(module)
    write_entry(_entry(text, features, level), code)
    jax.monitoring.record_event_duration_secs(COMPILED, time.monotonic() - began)
    return code


@contextlib.contextmanager
def _in_written_order():
    """Have LLVM leave instructions in the order in which they are written down.

    Put in another order, more of these long programs' numbers are under way at a time
    than there are registers: that takes a third longer to compile and a tenth longer to
    run. LLVM has this option for a whole process only, where others may compile too.
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
    """How many programs are compiled just now in the order that is written."""

    def __init__(self):
        self.lock, self.programs = threading.Lock(), 0


_ORDER = _Order()


def _loaded(code: bytes):
    llvm = bindings()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
