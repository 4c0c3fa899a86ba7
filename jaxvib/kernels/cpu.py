"""Programs as machine code of this processor, kept from one process to the next."""

import concurrent.futures
import contextlib
import ctypes
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._environment import kernel_folder
from .._machine import usable_cores
from .handler import handler_text, run_text
from .printer import Program

# Lanes that one thread takes at a time: few enough to share out, enough to be worth it.
_SHARE = 256
_DIGEST = hashlib.sha256().digest_size


class Native:
    """A program in memory, ready to be called by Python and by XLA."""

    def __init__(self, program: Program, features: str | None = None):
        """Compile a program for this processor, or with other `features` of its make."""
        self.program = program
        # The engine owns the code: it must live as long as anybody may call it.
        self._engine = _loaded(_object(program, features or host_features()))
        self._lanes = ctypes.CFUNCTYPE(
            None, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_void_p
        )(self._engine.get_function_address("run"))
        self.handler = self._engine.get_function_address("handler")

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

        def run(first: int) -> None:
            last = min(first + share, lanes)
            self._lanes(lanes, first, last, inputs.ctypes.data, outputs.ctypes.data)

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


def default_threads() -> int:
    """Return how many threads lanes are shared out to."""
    return usable_cores()


def _pointers(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays] or [0], np.uint64)


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


def _object(program: Program, features: str) -> bytes:
    """Return a program's machine code, from the disk where it has been compiled before."""
    text = program.text + run_text() + handler_text(program.signature)
    kept = kept_file(f"{_key(text, features)}.o")
    if kept is not None and (known := read_kept(kept)) is not None:
        return known
    llvm = bindings()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=2, jit=True, cpu=llvm.get_host_cpu_name(), features=features
    )
    with _in_written_order():
        code = machine.emit_object(module)
    if kept is not None:
        write_kept(kept, code)
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


def _key(text: str, features: str) -> str:
    """Return a name for a text's machine code that no other has."""
    import llvmlite

    versions = f"{llvmlite.__version__} {bindings().get_host_cpu_name()} {features}"
    return hashlib.sha256(f"{versions}\n{text}".encode()).hexdigest()


def kept_file(name: str) -> Path | None:
    """Return where something is kept under a name; `None` where nothing can be."""
    folder = Path(kernel_folder())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None  # a home that cannot be written to: compiled anew each time
    return folder / name


def read_kept(path: Path) -> bytes | None:
    """Return what is kept in a file unless it is missing or damaged."""
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    guard, code = whole[:_DIGEST], whole[_DIGEST:]
    return code if hashlib.sha256(code).digest() == guard else None


def write_kept(path: Path, code: bytes) -> None:
    """Keep something in a file, whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(file.name, path)
    except OSError:
        pass  # a full disk: compiled anew next time
