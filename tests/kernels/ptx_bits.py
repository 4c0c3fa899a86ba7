"""Comparison of a kernel's PTX, emulated, with the CPU's kernel, bit by bit."""

import numpy as np

from jaxvib.kernels.cpu.machine_code import Native, host_width
from jaxvib.kernels.gpu import ptx
from jaxvib.kernels.lower.lowering import lower_lanes
from tests.kernels.ptx_emulator import EmulatedModule

# A block has 64 or 128 threads: one lane, blocks that are full, and one lane more or less.
LAUNCHES = (1, 2, 127, 128, 129, 1000)
UNWRITTEN = 0xCD


def emulated(
    program: ptx.DeviceProgram, module: EmulatedModule, arrays
) -> list[np.ndarray]:
    """Return the results of a launch on arrays with the lanes last."""
    lanes = arrays[0].shape[-1]
    outputs = program.signature.outputs
    results = [np.empty((*shape, lanes), kind) for shape, kind in outputs]
    for result in results:
        result.view(np.uint8)[...] = UNWRITTEN
    number = np.array([lanes])
    blocks = -(-lanes // module.block)
    work = np.full(blocks * module.block * program.workspace, UNWRITTEN, np.uint8)
    buffers = [array for array in (number, *arrays, *results, work) if array.size]
    before = [array.tobytes() for array in arrays]
    module.memory = {array.ctypes.data: array.nbytes for array in buffers}
    taken = [number, *arrays, *results, *([work] if work.size else [])]
    pointers = [array.ctypes.data for array in taken]
    module.launch(ptx.ENTRY, blocks, module.block, pointers)
    assert [array.tobytes() for array in arrays] == before
    return results


def different(found, expected) -> np.ndarray:
    """Return which lanes differ in any bit; one NaN is as good as another."""
    lanes = np.zeros(expected[0].shape[-1], bool)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        same = one.view(f"u{one.itemsize}") == other.view(f"u{one.itemsize}")
        if one.dtype.kind == "f":
            same |= np.isnan(one) & np.isnan(other)
        lanes |= ~same.reshape(-1, lanes.size).all(axis=0)
    return lanes


def check_bits(
    closed, arrays, launches=LAUNCHES, driver=13000, short: int | None = None
) -> EmulatedModule:
    """Check that a GPU would give the CPU's bits, in launches of so many lanes.

    `arrays`: inputs with the lanes first, as many as the largest launch or fewer: they
    are repeated. `short`: in programs whose arrays of more numbers are in memory.
    """
    program = ptx.device_program(closed, driver=driver, short=short)
    module = EmulatedModule(program.ptx)
    most = max(launches)
    inputs = [
        np.resize(np.asarray(array, kind), (most, *shape))
        for array, (shape, kind) in zip(arrays, program.signature.inputs, strict=True)
    ]
    last = [np.ascontiguousarray(np.moveaxis(array, 0, -1)) for array in inputs]
    width = host_width()
    whole = -(-most // width) * width
    padded = [
        np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, whole - most)], "edge")
        for array in last
    ]
    expected = Native(lower_lanes(closed, width, short))(padded, 1)
    for lanes in launches:
        part = [np.ascontiguousarray(array[..., :lanes]) for array in last]
        found = emulated(program, module, part)
        wanted = [array[..., :lanes] for array in expected]
        bad = np.flatnonzero(different(found, wanted))
        assert not bad.size, f"lanes {bad[:5]} of {lanes}"
    return module
