"""An emulated device: NVIDIA's driver on the host's memory; `ptx_emulator` launches.

`JAXVIB_CUDA_LIBRARY` names this file; jaxvib then calls its functions through ctypes as
it calls those of libcuda. Calls in a stream are only queued, and carried out when it is
synchronised: memory that is freed or overwritten too early is found. A device's time is
its own, proportional to the instructions that its threads executed.

`EMULATED_CUDA`, such as "devices=2 fault=bit", may have `devices`, `version`, `memory`
(free bytes), `reserved` (those that cannot be had), `display` (1: the driver ends long
launches) and `fault`: "bit" (a wrong bit in lane 77), "long" (the same in long launches
only), "crash", "hang", "slow", "ptx" (refused by the compiler), "entry" (not found in
a loaded module), "launch" (a failure of the fifth launch). `told`: a file that gets the
number of the process whose launch hangs.
"""
# ruff: noqa: N802, RET503 - the driver's names; to return nothing is success

import ctypes
import functools
import itertools
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.kernels.ptx_emulator import EmulatedModule, EmulationError

ERRORS = {
    1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY",
    100: "CUDA_ERROR_NO_DEVICE", 201: "CUDA_ERROR_INVALID_CONTEXT",
    218: "CUDA_ERROR_INVALID_PTX", 400: "CUDA_ERROR_INVALID_HANDLE",
    500: "CUDA_ERROR_NOT_FOUND",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS", 702: "CUDA_ERROR_LAUNCH_TIMEOUT",
    999: "CUDA_ERROR_UNKNOWN",
}  # fmt: skip
INVALID, OUT_OF_MEMORY, NO_CONTEXT, BAD_PTX, BAD_HANDLE, NOT_FOUND = (
    1,
    2,
    201,
    218,
    400,
    500,
)
ILLEGAL, TIMEOUT, UNKNOWN = 700, 702, 999
NAMES = {code: ctypes.create_string_buffer(name.encode()) for code, name in ERRORS.items()}
STEP, LAUNCH = 1e-12, 1e-6  # s of an instruction of a thread, and of a launch beside it
LONGEST = 1.0  # s of a launch on a device with a display
LANE = 77

memory: dict[int, ctypes.Array] = {}  # of devices, by address
owners: dict[int, int] = {}  # devices, by address
pinned: dict[int, ctypes.Array] = {}
objects: dict[int, object] = {}  # streams, events, modules and functions, by handle
handles = itertools.count(0x1000, 16)
current = threading.local()
lock = threading.RLock()
failed = [0]  # the error that every later call returns
launches: list[tuple[int, int, int]] = []  # device, blocks, threads of each
calls: list[tuple[int, str]] = []  # device and name of each that needs a context
modules: dict[int, int] = {}  # devices on which they are loaded, by handle
unloaded: list[int] = []  # handles


class Stream(list):
    """Queued calls.

    **Fields:** `time`: of the device, s; `functions`: those whose launches have not ended.
    """

    time = 0.0

    def __init__(self):
        self.functions: list[int] = []


def option(name: str, default: str) -> str:
    """Return what `EMULATED_CUDA` says of a name."""
    given = os.environ.get("EMULATED_CUDA", "").split()
    return dict(each.split("=") for each in given).get(name, default)


def entry(needs_context: bool = True):
    """Make a function one of the driver's; an exception is an unknown error."""

    def decorated(function):
        @functools.wraps(function)
        def called(*arguments):
            with lock:
                if needs_context and failed[0]:
                    return failed[0]
                if needs_context and getattr(current, "device", None) is None:
                    return NO_CONTEXT
                if needs_context:
                    calls.append((current.device, function.__name__))
                try:
                    return function(*arguments) or 0
                except Exception:
                    traceback.print_exc()
                    return UNKNOWN

        return called

    return decorated


def put(place: int, kind, value) -> None:
    """Write a result."""
    kind.from_address(place).value = value


def handle(value) -> int:
    """Return a new handle."""
    number = next(handles)
    objects[number] = value
    return number


@entry(needs_context=False)
def cuInit(flags):
    return 100 if option("devices", "1") == "0" else 0


@entry(needs_context=False)
def cuGetErrorName(code, place):
    put(place, ctypes.c_void_p, ctypes.addressof(NAMES[code]))


@entry(needs_context=False)
def cuDriverGetVersion(place):
    put(place, ctypes.c_int, int(option("version", "13000")))


@entry(needs_context=False)
def cuDeviceGetCount(place):
    put(place, ctypes.c_int, int(option("devices", "1")))


@entry(needs_context=False)
def cuDeviceGet(place, ordinal):
    put(place, ctypes.c_int, ordinal)


@entry(needs_context=False)
def cuDeviceGetName(place, length, device):
    name = b"Emulated GPU\0"
    ctypes.memmove(place, name, min(len(name), length))


@entry(needs_context=False)
def cuDeviceGetAttribute(place, attribute, device):
    values = {17: int(option("display", "0")), 75: 9, 76: 0}
    put(place, ctypes.c_int, values[attribute])


@entry(needs_context=False)
def cuDevicePrimaryCtxRetain(place, device):
    put(place, ctypes.c_void_p, 0x100 + device)


@entry(needs_context=False)
def cuCtxSetCurrent(context):
    current.device = context - 0x100


@entry(needs_context=False)
def cuCtxPushCurrent_v2(context):
    current.below = [*getattr(current, "below", []), getattr(current, "device", None)]
    current.device = context - 0x100


@entry()
def cuCtxPopCurrent_v2(place):
    put(place, ctypes.c_void_p, 0x100 + current.device)
    current.device = current.below.pop()


def free_bytes() -> int:
    """Return the free memory of the thread's device."""
    taken = sum(len(b) for at, b in memory.items() if owners[at] == current.device)
    return int(option("memory", str(2**33))) - taken


@entry()
def cuMemGetInfo_v2(free, total):
    put(free, ctypes.c_size_t, free_bytes())
    put(total, ctypes.c_size_t, 2**33)


def allocated(among: dict, size: int) -> int:
    """Return the address of memory, filled with what no program has written."""
    block = (ctypes.c_ubyte * size)()
    ctypes.memset(block, 0xCD, size)
    address = ctypes.addressof(block)
    among[address] = block
    return address


@entry()
def cuMemAlloc_v2(place, size):
    if size == 0:
        return INVALID
    # Fragments: what is free is not all to be had.
    if size > free_bytes() - int(option("reserved", "0")):
        return OUT_OF_MEMORY
    address = allocated(memory, size)
    owners[address] = current.device
    put(place, ctypes.c_uint64, address)


@entry()
def cuMemFree_v2(address):
    if pending() or memory.pop(address, None) is None:
        return INVALID


@entry()
def cuMemHostAlloc(place, size, flags):
    put(place, ctypes.c_void_p, allocated(pinned, size))


@entry()
def cuMemFreeHost(address):
    if pending() or pinned.pop(address, None) is None:
        return INVALID


def pending() -> bool:
    """Return whether the calling thread's device has queued calls."""
    streams = [each for each in objects.values() if isinstance(each, Stream)]
    return any(each and each.device == current.device for each in streams)


def within(among: dict, address: int, size: int) -> bool:
    """Return whether a range of memory is allocated."""
    return any(at <= address and address + size <= at + len(b) for at, b in among.items())


class Function(NamedTuple):
    """A kernel of a loaded module, which is known by its handle."""

    module: int
    name: str


@entry()
def cuModuleLoadDataEx(place, image, number, options, values):
    if option("fault", "") == "ptx":
        text = b"ptxas application ptx input, line 7; error: unknown instruction\0"
        log = ctypes.c_void_p.from_address(values).value
        ctypes.memmove(log, text, len(text))
        return BAD_PTX
    number = handle(module(image))
    modules[number] = current.device
    put(place, ctypes.c_void_p, number)


@entry()
def cuModuleUnload(number):
    functions = [at for at, each in objects.items() if isinstance(each, Function)]
    functions = [at for at in functions if objects[at].module == number]
    streams = [each for each in objects.values() if isinstance(each, Stream)]
    if any(at in each.functions for each in streams for at in functions):
        return INVALID
    if modules.get(number) != current.device:
        return BAD_HANDLE
    for at in (number, *functions):
        del objects[at]
    del modules[number]
    unloaded.append(number)


@functools.cache
def module(image: bytes) -> EmulatedModule:
    """Return a compiled module."""
    return EmulatedModule(image.decode())


@entry()
def cuModuleGetFunction(place, module, name):
    if option("fault", "") == "entry":
        return NOT_FOUND
    put(place, ctypes.c_void_p, handle(Function(module, name.decode())))


@entry()
def cuStreamCreate(place, flags):
    stream = Stream()
    stream.device = current.device
    put(place, ctypes.c_void_p, handle(stream))


@entry()
def cuStreamSynchronize(stream):
    queue = objects[stream]
    if not isinstance(queue, Stream):
        return BAD_HANDLE
    while queue:
        error = queue.pop(0)() or 0
        if error:
            queue.clear()
            queue.functions.clear()
            failed[0] = error if error >= ILLEGAL else 0
            return error
    queue.functions.clear()


@entry()
def cuStreamDestroy_v2(stream):
    if objects.pop(stream):
        return INVALID


@entry()
def cuEventCreate(place, flags):
    put(place, ctypes.c_void_p, handle([0.0]))


@entry()
def cuEventRecord(event, stream):
    queue, time = objects[stream], objects[event]

    def record():
        time[0] = queue.time

    queue.append(record)


@entry()
def cuEventElapsedTime(place, first, second):
    put(place, ctypes.c_float, 1e3 * (objects[second][0] - objects[first][0]))


@entry()
def cuEventDestroy_v2(event):
    del objects[event]


@entry()
def cuMemcpyHtoDAsync_v2(address, host, size, stream):
    return copied(address, host, host, address, size, stream)


@entry()
def cuMemcpyDtoHAsync_v2(host, address, size, stream):
    return copied(host, address, host, address, size, stream)


def copied(target, source, host, address, size, stream):
    """Copy within a stream; the driver waits for copies of memory that may be paged."""
    if not within(memory, address, size):
        return INVALID
    objects[stream].append(lambda: ctypes.memmove(target, source, size) and 0)
    if not within(pinned, host, size):
        return cuStreamSynchronize(stream)
    return None


@entry()
def cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
    if 0 in (gx, bx) or bx > 1024 or (gy, gz, by, bz) != (1, 1, 1, 1):
        return INVALID
    module, name = objects[function]
    emulated = objects[module]
    count = len(emulated._parameters)
    places = (ctypes.c_void_p * count).from_address(parameters)
    pointers = [ctypes.c_uint64.from_address(place).value for place in places]
    queue, device = objects[stream], current.device
    queue.functions.append(function)
    queue.append(lambda: run(emulated, name, gx, bx, pointers, queue, device))


def run(emulated, name, grid, block, pointers, queue, device) -> int:
    """Launch a kernel, as far as the device does what it should."""
    fault = option("fault", "")
    launches.append((device, grid, block))
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if told := option("told", ""):
        Path(told).write_text(str(os.getpid()))
    while fault == "hang":
        time.sleep(1.0)
    if fault == "launch" and len(launches) == 5:
        return ILLEGAL
    emulated.memory = {at: len(each) for at, each in memory.items() if owners[at] == device}
    try:
        emulated.launch(name, grid, block, pointers)
    except EmulationError as error:
        print(error, file=sys.stderr)
        return ILLEGAL
    seconds = LAUNCH + emulated.steps * STEP * (1e9 if fault == "slow" else 1.0)
    if option("display", "0") == "1" and seconds > LONGEST:
        return TIMEOUT
    queue.time += seconds
    lanes = ctypes.c_int64.from_address(pointers[0]).value
    if (fault == "bit" and lanes > LANE) or (fault == "long" and lanes > 1000):
        ctypes.c_ubyte.from_address(pointers[-1] + 8 * LANE).value ^= 1
    return 0
