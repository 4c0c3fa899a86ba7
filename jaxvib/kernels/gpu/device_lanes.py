"""Lanes of a program on GPUs, in shares that fit the memory."""

import collections
import concurrent.futures
import contextlib
import itertools
import threading
from collections.abc import Sequence

import numpy as np

from .driver import OUT_OF_MEMORY, DriverError, Layout, LoadedProgram, Queue, Slot


def run_lanes(
    programs: Sequence[LoadedProgram], arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Run a program on the lanes, the last axis of every array, on all its devices.

    Each device has a part of the lanes by its rate, and runs it in shares that fit its
    memory; a share that finds too little is halved. **Raises:** `DriverError`.
    """
    lanes, signature = arrays[0].shape[-1], programs[0].signature
    results = [np.empty((*shape, lanes), kind) for shape, kind in signature.outputs]
    rates = np.array([program.rate for program in programs])
    if not np.isfinite(rates).all():
        rates = np.ones(len(programs))
    ends = np.rint(np.cumsum(rates) / rates.sum() * lanes).astype(int).tolist()
    parts = [slice(*each) for each in itertools.pairwise([0, *ends])]
    stopped = threading.Event()

    def work(program: LoadedProgram, part: slice) -> None:
        try:
            _run_part(program, part, arrays, results, stopped)
        except BaseException:
            stopped.set()
            raise

    with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        try:
            list(pool.map(work, programs, parts))
        except BaseException:  # also Ctrl-C, which only this thread gets
            stopped.set()
            raise
    return results


def _run_part(program: LoadedProgram, part: slice, arrays, results, stopped) -> None:
    """Run the lanes of a device, in shorter shares if memory is too small."""
    program.device.enter()
    program.function()
    program.seconds = 0.0
    most = min(program.most_lanes(), part.stop - part.start)
    while part.start < part.stop and not stopped.is_set():
        shares = [
            slice(first, min(first + most, part.stop))
            for first in range(part.start, part.stop, most)
        ]
        unread = collections.deque(shares)
        try:
            run = _run_large_shares if program.workspace else _run_shares
            run(program, unread, arrays, results, stopped)
        except DriverError as error:
            if error.name != OUT_OF_MEMORY or most <= program.block:
                raise
            program.device.free_slots()
            most = -(-most // 2 // program.block) * program.block
        part = slice(unread[0].start if unread else part.stop, part.stop)


def _run_shares(program: LoadedProgram, unread, arrays, results, stopped) -> None:
    """Run shares, each begun before the last one is read, and remove those read."""
    slots: list[Slot] = []
    size = Layout(program.signature, unread[0].stop - unread[0].start).total
    with contextlib.ExitStack() as lent:
        for number, share in enumerate(list(unread)):
            if stopped.is_set():  # another device has failed
                for slot in slots:
                    slot.wait()
                return
            if number < 2:
                slots.append(lent.enter_context(program.device.slot(size)))
            slots[number % 2].begin(program, share, arrays)
            if number:
                slots[(number - 1) % 2].store(results)
                unread.popleft()
        slots[number % 2].store(results)
        unread.popleft()


def _run_large_shares(program: LoadedProgram, unread, arrays, results, stopped) -> None:
    """Run shares of a program with a workspace one after the other.

    They take too much memory for a second one, or for page-locked memory of the host.
    """
    while unread and not stopped.is_set():
        share = unread[0]
        lanes = share.stop - share.start
        layout = Layout(program.signature, lanes)
        number, forms = 1 + len(program.signature.inputs), layout.arrays(lanes)
        given = [np.array([lanes]), *(array[..., share] for array in arrays)]
        inputs = [
            np.ascontiguousarray(array, kind)
            for array, (_, kind) in zip(given, forms[:number], strict=True)
        ]
        outputs = [np.empty(*form) for form in forms[number:]]
        with contextlib.closing(Queue(program.device.driver)) as queue:
            memory = queue.allocate(layout.total)
            threads = program.blocks(lanes) * program.block
            work = queue.allocate(threads * program.workspace)
            places = [memory + place for place in layout.places]
            queue.record(end=False)
            for array, place in zip(inputs, places[:number], strict=True):
                if array.nbytes:
                    queue.copy_in(place, array.ctypes.data, array.nbytes)
            queue.launch(program, [*places, work], lanes)
            for array, place in zip(outputs, places[number:], strict=True):
                if array.nbytes:
                    queue.copy_out(array.ctypes.data, place, array.nbytes)
            queue.record(end=True)
            queue.finish()
        for result, array in zip(results, outputs, strict=True):
            result[..., share] = array
        unread.popleft()
