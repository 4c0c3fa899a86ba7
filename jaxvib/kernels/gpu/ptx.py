"""Programs as GPU kernels: one lane per thread, one entry point, no calls.

The IR is that of a CPU with one lane, so results have the same bits. LLVM generates PTX
from it on any machine, and NVIDIA's assembler checks it. Each program is checked on the
user's device before it is used, see `device_check`.
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from ..cpu.machine_code import for_all_targets, without_rescheduling
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import SHORT, needs_memory
from ..lower.lowering import WORK, Lowering, Signature, helpers, lower_lane
from .driver import WORKSPACE, workspace_of

ENTRY = "lanes"
# Threads per block: a thread may have 255 registers with two blocks of 128, or with four
# of 64, each of which can spill 640 bytes per thread to shared memory.
_BLOCK, _SPILLING_BLOCK = 128, 64
# Lanes with much memory are few: in blocks of one warp they take all multiprocessors.
_WARP = 32
_MOST_MEMORY = 2**22  # bytes per thread: a tenth of an H100's memory runs 2000
# CUDA's version that compiles PTX 9.0, with spilling to shared memory.
_SPILLS_TO_SHARED = 13000
_TRIPLE = "nvptx64-nvidia-cuda"
_ACTIVE, _MEET = "i32 @llvm.nvvm.activemask()", "void @llvm.nvvm.bar.warp.sync(i32)"


class DeviceProgram(NamedTuple):
    """A function over lanes as PTX, with its signature.

    `lanes(n, in0, ..., out0, ...)` takes pointers, `n` to the number of lanes; arrays
    are stored element by element, each for all lanes. A program whose long arrays are in
    memory takes one more pointer, to `workspace` bytes for each thread.
    """

    ptx: str
    signature: Signature

    @property
    def workspace(self) -> int:
        """The bytes of memory that each thread needs."""
        return workspace_of(self.ptx)

    @property
    def block(self) -> int:
        """The number of threads per block."""
        found = re.search(r"\.maxntid (\d+)", self.ptx)
        assert found is not None
        return int(found[1])


def device_program(
    closed: ClosedJaxpr,
    processor: str = "sm_90",
    driver: int = 12000,
    *,
    short: int | None = None,
) -> DeviceProgram:
    """Lower the jaxpr of one lane to PTX.

    `driver`: the driver's version of CUDA, 13000 for 13.0. From there on registers are
    spilled to shared memory, which leaves a fifth of the spills in local memory.
    `short`: arrays of more numbers are in memory; by default those of long programs.

    **Raises:** `LoweringError` for unsupported operations.
    """
    if short is None and needs_memory(closed):
        short = SHORT
    lowering = Lowering(1, short, threads=True)
    signature = lower_lane(lowering, closed)
    if lowering.workspace > _MOST_MEMORY:
        raise LoweringError(
            f"its arrays take {lowering.workspace} bytes of memory per lane, of which a "
            f"GPU's thread has at most {_MOST_MEMORY}"
        )
    spilling = driver >= _SPILLS_TO_SHARED and int(processor.removeprefix("sm_")) >= 75
    block = _SPILLING_BLOCK if spilling else _BLOCK
    if lowering.workspace:
        block = _WARP
    ptx = _ptx(_module(lowering, signature, block), processor)
    if lowering.workspace:
        ptx = f"{WORKSPACE} {lowering.workspace}\n{ptx}"
    if spilling:
        ptx = re.sub(r"\.version [\d.]+", ".version 9.0", ptx)
        ptx = ptx.replace("\n{\n", '\n{\n.pragma "enable_smem_spilling";\n', 1)
    return DeviceProgram(ptx, signature)


def _module(lowering: Lowering, signature: Signature, block: int) -> str:
    """Return the IR of a kernel; threads beyond the lanes repeat the last one."""
    a = lowering.assembler
    body = "\n".join([*a.entries, *_with_meetings(a.lines)])
    helper, declared = helpers(a)
    lines = f"{helper.replace('noinline', 'alwaysinline')}{declared}".split("\n")
    own = [f"declare {each}" for each in (_ACTIVE, _MEET)]
    declared = {line for line in lines if line.startswith("declare")}
    declared = "\n".join(sorted(declared.union(own)))
    helper = "\n".join(line for line in lines if not line.startswith("declare"))
    arrays = [f"ptr %in{k}" for k in range(len(signature.inputs))]
    arrays += [f"ptr %out{k}" for k in range(len(signature.outputs))]
    if lowering.workspace:
        arrays.append(f"ptr {WORK}")
    taken = ", ".join(["ptr %number", *arrays])
    tables = "\n".join(lowering.tables)
    return f"""target triple = "{_TRIPLE}"
{declared}
{helper}
{tables}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
define ptx_kernel void @{ENTRY}({taken}) "nvvm.maxntid"="{block}" {{
entry:
%n = load i64, ptr %number
%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%tid64 = zext i32 %tid to i64
%block64 = zext i32 %block to i64
%first = mul i64 %block64, {block}
%thread = add i64 %first, %tid64
%grid = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
%grid64 = zext i32 %grid to i64
%threads = mul i64 %grid64, {block}
%last = sub i64 %n, 1
%within = icmp slt i64 %thread, %last
%i = select i1 %within, i64 %thread, i64 %last
{body}
ret void
}}
"""


def _with_meetings(lines: Sequence[str]) -> list[str]:
    """Return a body with a place at the end of each loop where threads of a warp meet.

    Threads that branch apart wait for each other where their ways join. NVIDIA's assembler
    sees no such place in an empty block that ends a loop: threads that leave an inner loop
    there one by one, or a branch, stay apart from then on. On an H100 loops in
    loops took 4 to 13 times as long without it.
    """
    places: dict[str, int] = {}  # of the blocks so far, by label
    bodies: dict[str, str] = {}  # the first block of a loop, by that which decides
    here, found = "", []
    for line in lines:
        if line.endswith(":"):
            here = line[:-1]
            places[here] = len(places)
        elif match := re.fullmatch(r"br i1 \S+, label %(\S+), label %\S+", line):
            bodies[here] = match[1]
        elif match := re.fullmatch(r"br label %(\S+)", line):
            begin = match[1]
            if begin in places and bodies.get(begin) != here:
                active = f"%active{len(found)}"
                found += [f"{active} = call {_ACTIVE}",
                          f"call {_MEET.replace('i32', f'i32 {active}')}"]  # fmt: skip
        found.append(line)
    return found


def _ptx(text: str, processor: str) -> str:
    llvm = for_all_targets()
    # Every product has its rounding mode, so that NVIDIA's assembler fuses none with a sum.
    llvm.set_option("jaxvib", "-nvptx-fma-level=0")
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(_TRIPLE)
    machine = target.create_target_machine(cpu=processor, features="+ptx80", opt=1)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.run(module, builder)
    with without_rescheduling():
        return machine.emit_assembly(module)


def launched(program: DeviceProgram, arrays: Sequence) -> list[jax.Array]:
    """Run a program on arrays with the lanes as their last axis.

    It is one call in XLA's GPU program. XLA drops a pointer to a buffer that an earlier
    argument has, as equal arrays may, so every argument has a length of its own: what
    the kernel reads, and zeros.
    """
    lanes = arrays[0].shape[-1]
    shapes = [
        jax.ShapeDtypeStruct((*shape, lanes), kind)
        for shape, kind in program.signature.outputs
    ]
    one, block = np.int32(1), np.int32(program.block)
    # The number of lanes as the halves of an integer of 64 bits, which JAX may not have.
    number = jnp.array([lanes % 2**32, lanes // 2**32], jnp.uint32)
    taken, lengths = [], set()
    for array in (number, *arrays):
        more = next(k for k in itertools.count() if array.size + k not in lengths)
        lengths.add(array.size + more)
        zero = jnp.zeros((), array.dtype)
        taken.append(jax.lax.pad(array.reshape(-1), zero, [(0, more, 0)]))
    grid = -(-lanes // program.block)
    if program.workspace:  # scratch memory is one more result
        size = grid * program.block * program.workspace
        shapes.append(jax.ShapeDtypeStruct((size // 8,), float))
    call = jax.ffi.ffi_call("__gpu$xla.gpu.ptx", shapes)
    results = call(
        *taken,
        name=ENTRY, kernel_type="ptx", kernel_data=program.ptx,
        grid_x=np.int32(grid), grid_y=one, grid_z=one,
        block_x=block, block_y=one, block_z=one, shared_mem_bytes=np.int32(0),
    )  # fmt: skip
    return list(results)[: len(program.signature.outputs)]
