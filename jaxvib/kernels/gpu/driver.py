"""NVIDIA's driver by ctypes: lanes on all GPUs, without JAX, XLA or CUDA's libraries.

A share of the lanes is copied to page-locked memory of the host, from there to a GPU,
computed and copied back in one stream. Every GPU has a thread and two streams, so that
copies of one share run beside the launch of the other. Contexts are the primary ones,
which JAX uses too, and current only in threads of this module.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..lower.lowering import Signature

# A library, or a Python file with functions of these names, loaded instead of the driver.
LIBRARY = "JAXVIB_CUDA_LIBRARY"
# Bytes of one share: a million lanes with four states, many times what a GPU runs at
# once. Two of them stay allocated for later calls: page-locked memory takes longer to
# allocate (0.6 ms per MB) than lanes that fill it to compute.
_STAGED, _KEPT = 2**26, 2
# Part of the free memory for each of two shares; threads need the rest for registers.
_PART = 4
# ... and for the only one of a program with a workspace.
_SHARE_OF_MEMORY = 0.75
# Seconds of a launch on a GPU with a display, whose driver ends those of some 2 s.
_LONGEST = 0.25
_ALIGNMENT = 256  # bytes, as of addresses that the driver allocates
_LOG_BYTES = 8192  # of the log of NVIDIA's compiler, enough for the first errors
# Oldest first: processors that LLVM knows and NVIDIA's driver compiles PTX for.
_PROCESSORS = (70, 75, 80, 86, 89, 90)
# A comment with which a program's text begins: bytes of memory for each thread.
WORKSPACE = "// workspace"

# Values of cuda.h.
OUT_OF_MEMORY, _NO_DEVICE = "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NO_DEVICE"
_TIME_LIMIT, _MAJOR, _MINOR = 17, 75, 76  # attributes of devices
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # options of the compiler
_NON_BLOCKING = 1  # flag of streams: not synchronised with the default stream

_place, _size, _address = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
_ENTRY_POINTS: dict[str, tuple] = {
    "cuInit": (ctypes.c_uint,),
    "cuGetErrorName": (ctypes.c_int, _place),
    "cuDriverGetVersion": (_place,),
    "cuDeviceGetCount": (_place,),
    "cuDeviceGet": (_place, ctypes.c_int),
    "cuDeviceGetName": (_place, ctypes.c_int, ctypes.c_int),
    "cuDeviceGetAttribute": (_place, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (_place, ctypes.c_int),
    "cuCtxSetCurrent": (_place,),
    "cuCtxPushCurrent_v2": (_place,),
    "cuCtxPopCurrent_v2": (_place,),
    "cuMemGetInfo_v2": (_place, _place),
    "cuModuleLoadDataEx": (_place, ctypes.c_char_p, ctypes.c_uint, _place, _place),
    "cuModuleUnload": (_place,),
    "cuModuleGetFunction": (_place, _place, ctypes.c_char_p),
    "cuMemAlloc_v2": (_place, _size),
    "cuMemFree_v2": (_address,),
    "cuMemHostAlloc": (_place, _size, ctypes.c_uint),
    "cuMemFreeHost": (_place,),
    "cuStreamCreate": (_place, ctypes.c_uint),
    "cuStreamSynchronize": (_place,),
    "cuStreamDestroy_v2": (_place,),
    "cuEventCreate": (_place, ctypes.c_uint),
    "cuEventRecord": (_place, _place),
    "cuEventElapsedTime": (_place, _place, _place),
    "cuEventDestroy_v2": (_place,),
    "cuMemcpyHtoDAsync_v2": (_address, _place, _size, _place),
    "cuMemcpyDtoHAsync_v2": (_place, _address, _size, _place),
    "cuLaunchKernel": (_place, *[ctypes.c_uint] * 7, _place, _place, _place),
}


class DriverError(RuntimeError):
    """A failure of the driver. **Fields:** `name`: the driver's name of it."""

    def __init__(self, message: str, name: str = ""):
        super().__init__(message)
        self.name = name


class Driver:
    """The driver's functions, each raising `DriverError`, and its devices."""

    def __init__(self, place: str):
        self._functions = _loaded(place)
        self("cuInit", 0)
        self.version = self.integer("cuDriverGetVersion")
        self.devices = [Device(self, k) for k in range(self.integer("cuDeviceGetCount"))]

    def __call__(self, name: str, *arguments) -> None:
        """Call a function of the driver."""
        code = self._functions[name](*arguments)
        if code:
            text = ctypes.c_char_p()
            self._functions["cuGetErrorName"](code, ctypes.byref(text))
            error = (text.value or b"error %d" % code).decode()
            raise DriverError(f"{name}: {error}", error)

    def get(self, kind: Callable, name: str, *arguments: Any) -> Any:
        """Return what a function of the driver writes to its first argument."""
        value = kind()
        self(name, ctypes.byref(value), *arguments)
        return value.value

    def integer(self, name: str, *arguments: Any) -> int:
        """Return the integer that a function writes."""
        return self.get(ctypes.c_int, name, *arguments)


class Device:
    """A GPU.

    **Fields:** `identity`: its name, capability and driver; `processor`: as LLVM names
    it; `has_time_limit`: whether the driver ends long launches.
    """

    def __init__(self, driver: Driver, ordinal: int):
        self.driver = driver
        self._slots: list[Slot] = []
        self._lock = threading.Lock()
        self._handle = handle = driver.integer("cuDeviceGet", ordinal)
        name = ctypes.create_string_buffer(256)
        driver("cuDeviceGetName", name, len(name), handle)

        def attribute(which: int) -> int:
            return driver.integer("cuDeviceGetAttribute", which, handle)

        major, minor = attribute(_MAJOR), attribute(_MINOR)
        known = [each for each in _PROCESSORS if each <= 10 * major + minor]
        self.processor = f"sm_{known[-1]}" if known else ""
        self.has_time_limit = bool(attribute(_TIME_LIMIT))
        version = f"{driver.version // 1000}.{driver.version % 1000 // 10}{_build()}"
        self.identity = f"{name.value.decode()} ({major}.{minor}), driver {version}"

    @functools.cached_property
    def _context(self) -> int:
        return self.driver.get(_place, "cuDevicePrimaryCtxRetain", self._handle)

    def enter(self) -> None:
        """Make this the device of the calling thread."""
        self.driver("cuCtxSetCurrent", self._context)

    def unload(self, module: ctypes.c_void_p) -> None:
        """Unload a module, in any thread, which keeps its own device."""
        # In a process that forked, or after a failed launch, every call fails.
        with contextlib.suppress(DriverError):
            self.driver("cuCtxPushCurrent_v2", self._context)
            try:
                self.driver("cuModuleUnload", module)
            finally:
                self.driver.get(_place, "cuCtxPopCurrent_v2")

    def free_memory(self) -> int:
        """Return the number of bytes of the device of this thread that can be had."""
        free, total = _size(), _size()
        self.driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value + sum(slot.size for slot in self._slots)

    @contextlib.contextmanager
    def slot(self, size: int) -> Generator["Slot"]:
        """Lend a stream with memory of this thread's device, kept for later calls."""
        with self._lock:
            slot = self._slots.pop() if self._slots else None
        if slot is not None and slot.size < size:
            slot.close()
            slot = None
        slot = slot or Slot(self.driver, size)
        try:
            yield slot
        except BaseException:
            slot.close()
            raise
        with self._lock:
            kept = len(self._slots) < _KEPT
            if kept:
                self._slots.append(slot)
        if not kept:
            slot.close()

    def free_slots(self) -> None:
        """Free the memory that was kept for later calls."""
        with self._lock:
            slots, self._slots = self._slots, []
        for slot in slots:
            slot.close()


def driver() -> Driver:
    """Return the driver of this machine. **Raises:** `DriverError` without a GPU."""
    default = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    found = _opened(os.environ.get(LIBRARY, default))
    if isinstance(found, DriverError):
        raise found.with_traceback(None)  # kept, it must not collect them
    return found


@functools.cache
def _opened(place: str) -> "Driver | DriverError":
    try:
        found = Driver(place)
        if not found.devices:
            raise DriverError("the driver has no device", _NO_DEVICE)
    except DriverError as error:
        return error
    return found


def _loaded(place: str) -> dict[str, Callable]:
    """Return the entry points of a library, or of a Python file as C functions."""
    if place.endswith(".py"):
        specification = importlib.util.spec_from_file_location("jaxvib_cuda", place)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = module
        specification.loader.exec_module(module)
        return {
            name: ctypes.CFUNCTYPE(ctypes.c_int, *types)(getattr(module, name))
            for name, types in _ENTRY_POINTS.items()
        }
    try:
        library = ctypes.CDLL(place)
        functions = {name: getattr(library, name) for name in _ENTRY_POINTS}
    except (OSError, AttributeError) as error:
        raise DriverError(f"no NVIDIA driver: {error}", _NO_DEVICE) from None
    for name, types in _ENTRY_POINTS.items():
        functions[name].argtypes, functions[name].restype = types, ctypes.c_int
    return functions


@functools.cache
def _build() -> str:
    """Return the driver's build, which the version of its interface omits."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    found = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text)
    return f" ({found[0]})" if found else ""


def workspace_of(ptx: str) -> int:
    """Return the bytes of memory that each thread of a program needs."""
    found = re.match(rf"{WORKSPACE} (\d+)\n", ptx)
    return int(found[1]) if found else 0


class LoadedProgram:
    """A program in the memory of one GPU, unloaded when nothing refers to it any more.

    **Arguments:** `ptx`: with one entry, whose arguments are addresses of the number of
    lanes, of inputs and of outputs; `rate`: measured lanes/s, by which devices share
    lanes, and launches are kept short on a GPU with a time limit. **Fields:** `seconds`:
    of its last launches, those of one call of `run_lanes`.
    """

    def __init__(self, ptx: str, signature: Signature, device: Device, rate=np.inf):
        self.device, self.signature, self.seconds = device, signature, 0.0
        self._ptx, self.rate = ptx, rate
        entry = re.search(r"\.entry (\w+)\(", ptx)
        threads = re.search(r"\.maxntid (\d+)", ptx)
        assert entry is not None
        assert threads is not None
        self._entry, self.block = entry[1].encode(), int(threads[1])
        self.workspace = workspace_of(ptx)
        self._lock = threading.Lock()
        self._loaded: int | None = None

    def function(self) -> int:
        """Return the handle of the entry, compiled by the driver on the first call."""
        with self._lock:
            if self._loaded is None:
                call, module = self.device.driver, _place()
                log = ctypes.create_string_buffer(_LOG_BYTES)
                options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
                values = (_place * 2)(ctypes.addressof(log), len(log))
                text = self._ptx.encode()
                try:
                    call(
                        "cuModuleLoadDataEx", ctypes.byref(module), text, 2, options, values
                    )
                except DriverError as error:
                    said = " ".join(log.value.decode(errors="replace").split())
                    raise DriverError(f"{error}; {said[:300]}", error.name) from None
                # A launch refers to its program, so that none runs then. At the end of
                # the process the driver unloads it, perhaps before Python could.
                weakref.finalize(self, self.device.unload, module).atexit = False
                self._loaded = call.get(_place, "cuModuleGetFunction", module, self._entry)
        return self._loaded

    def blocks(self, lanes: int) -> int:
        """Return the number of blocks of threads that compute so many lanes."""
        return -(-lanes // self.block)

    def most_lanes(self) -> int:
        """Return how many lanes a launch may have, a multiple of the block."""
        each = Layout(self.signature, self.block).total / self.block
        free = self.device.free_memory()
        if self.workspace:
            most = _SHARE_OF_MEMORY * free / (each + self.workspace)
        else:
            most = min(free / _PART, _STAGED) / each
        if self.device.has_time_limit:
            most = min(most, _LONGEST * self.rate)
        return max(int(most) // self.block, 1) * self.block


class Layout:
    """Where arrays of some lanes are in a block of memory, inputs first.

    **Fields:** `signature`; `places`: of the number of lanes and of each array, in bytes;
    `outputs`: where outputs begin; `total`: the size.
    """

    def __init__(self, signature: Signature, lanes: int):
        self.signature, self.places, end = signature, [0], _ALIGNMENT
        self.outputs = end
        for entries in signature:
            self.outputs = end
            for shape, kind in entries:
                self.places.append(end)
                size = lanes * int(np.prod(shape, dtype=int)) * np.dtype(kind).itemsize
                end += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.total = end

    def arrays(self, lanes: int) -> list[tuple[tuple[int, ...], str]]:
        """Return the shapes and dtypes of the number of lanes and of all arrays."""
        inputs, outputs = self.signature
        return [
            ((1,), "int64"),
            *(((*shape, lanes), kind) for shape, kind in inputs + outputs),
        ]


class Queue:
    """A stream of a device, and the memory that its work needs."""

    def __init__(self, call: Driver):
        self._call = call
        self._program: LoadedProgram | None = None  # while its lanes are computed
        self._open = contextlib.ExitStack()
        try:
            events = ("cuEventDestroy_v2", "cuEventCreate", 0)
            self._events = [self._made(_place, *events) for _ in range(2)]
            self.stream = self._made(
                _place, "cuStreamDestroy_v2", "cuStreamCreate", _NON_BLOCKING
            )
        except DriverError:
            self._open.close()
            raise

    def _made(self, kind: Callable, free: str, name: str, *arguments) -> int:
        value = self._call.get(kind, name, *arguments)
        self._open.callback(_quietly, self._call, free, value)
        return value

    def allocate(self, size: int) -> int:
        """Return the address of new memory of the device."""
        return self._made(_address, "cuMemFree_v2", "cuMemAlloc_v2", size)

    def allocate_on_host(self, size: int) -> int:
        """Return the address of new page-locked memory of the host."""
        return self._made(_place, "cuMemFreeHost", "cuMemHostAlloc", size, 0)

    def copy_in(self, memory: int, host: int, size: int) -> None:
        """Copy bytes from the host to the device."""
        self._call("cuMemcpyHtoDAsync_v2", memory, host, size, self.stream)

    def copy_out(self, host: int, memory: int, size: int) -> None:
        """Copy bytes from the device to the host."""
        self._call("cuMemcpyDtoHAsync_v2", host, memory, size, self.stream)

    def launch(self, program: LoadedProgram, addresses: Sequence[int], lanes: int) -> None:
        """Launch lanes; the program's arguments are at addresses of the device."""
        self._program, number = program, len(addresses)
        values = (_address * number)(*addresses)
        pointers = (_place * number)(
            *(ctypes.addressof(values) + 8 * k for k in range(number))
        )
        self._call(
            "cuLaunchKernel", program.function(), program.blocks(lanes), 1, 1,
            program.block, 1, 1, 0, self.stream, pointers, None,
        )  # fmt: skip

    def record(self, end: bool) -> None:
        """Record the device's time at the begin or the end of a share's work."""
        self._call("cuEventRecord", self._events[end], self.stream)

    def wait(self) -> None:
        """Wait for the stream, which then needs no program any more."""
        self._call("cuStreamSynchronize", self.stream)
        self._program = None

    def finish(self) -> None:
        """Wait for a share; add the seconds between its begin and its end."""
        program, passed = self._program, ctypes.c_float()
        assert program is not None
        self.wait()
        self._call("cuEventElapsedTime", ctypes.byref(passed), *self._events)
        program.seconds += passed.value / 1e3  # shares overlap: at most too long

    def close(self) -> None:
        """Free the memory when the stream is done with it."""
        with contextlib.suppress(DriverError):
            self.wait()
        self._open.close()


class Slot(Queue):
    """A queue with memory for a share of lanes on the GPU and on the host.

    **Fields:** `size`: bytes of each.
    """

    def __init__(self, call: Driver, size: int):
        super().__init__(call)
        self.size = size
        try:
            self._memory = self.allocate(size)
            self._host = self.allocate_on_host(size)
        except DriverError:
            self.close()
            raise

    def begin(
        self, program: LoadedProgram, part: slice, arrays: Sequence[np.ndarray]
    ) -> None:
        """Start the copies and the launch of some lanes."""
        lanes, self._part = part.stop - part.start, part
        layout = self._layout = Layout(program.signature, lanes)
        views = self._views(layout, lanes)
        views[0][...] = lanes
        for view, array in zip(views[1:], arrays, strict=False):
            np.copyto(view, array[..., part], casting="unsafe")
        self.record(end=False)
        self.copy_in(self._memory, self._host, layout.outputs)
        self.launch(program, [self._memory + place for place in layout.places], lanes)
        start, size = layout.outputs, layout.total - layout.outputs
        if size:
            self.copy_out(self._host + start, self._memory + start, size)
        self.record(end=True)

    def store(self, results: Sequence[np.ndarray]) -> None:
        """Wait for the lanes begun last and store their results."""
        self.finish()
        views = self._views(self._layout, self._part.stop - self._part.start)
        for result, view in zip(results, views[-len(results) :], strict=True):
            result[..., self._part] = view

    def _views(self, layout: Layout, lanes: int) -> list[np.ndarray]:
        """Return the number of lanes and the arrays, in the host's memory."""
        whole = memoryview((ctypes.c_ubyte * layout.total).from_address(self._host))
        return [
            np.ndarray(shape, kind, whole, place)
            for (shape, kind), place in zip(
                layout.arrays(lanes), layout.places, strict=True
            )
        ]


def _quietly(call: Callable, *arguments) -> None:
    # After a failed launch every call fails, and the memory is lost with its context.
    with contextlib.suppress(DriverError):
        call(*arguments)
