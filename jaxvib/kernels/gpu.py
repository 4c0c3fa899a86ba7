"""Programs as GPU kernels: one lane per thread, one entry point, no calls.

The IR is that of a CPU with one lane, so results have the same bits. LLVM generates PTX
from it on any machine, and NVIDIA's assembler checks it. **No GPU has run one yet**: each
program is checked on the user's device before it is used, see `device_check`.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from .cpu import bindings
from .float_remainder import remainder_text
from .lowering import Lowering, Signature, helpers, lower_lane

ENTRY = "lanes"
# Threads per block: with two blocks resident, 255 registers each.
_BLOCK = 128
_TRIPLE = "nvptx64-nvidia-cuda"


class DeviceProgram(NamedTuple):
    """A function over lanes as PTX, with its signature.

    `lanes(n, in0, ..., out0, ...)` takes pointers, `n` to the number of lanes; arrays
    are stored element by element, each for all lanes.
    """

    ptx: str
    signature: Signature


def device_program(closed: ClosedJaxpr, processor: str = "sm_90") -> DeviceProgram:
    """Lower the jaxpr of one lane to PTX.

    **Raises:** `LoweringError` for unsupported operations.
    """
    lowering = Lowering(1, threads=True)
    signature = lower_lane(lowering, closed)
    return DeviceProgram(_ptx(_module(lowering, signature), processor), signature)


def _module(lowering: Lowering, signature: Signature) -> str:
    """Return the IR of a kernel; threads beyond the lanes repeat the last one."""
    a = lowering.assembler
    body, remainder = _with_remainder("\n".join([*a.entries, *a.lines]))
    helper, declared = helpers(a)
    lines = f"{helper.replace('noinline', 'alwaysinline')}{remainder}{declared}".split("\n")
    declared = "\n".join(sorted({line for line in lines if line.startswith("declare")}))
    helper = "\n".join(line for line in lines if not line.startswith("declare"))
    arrays = [f"ptr %in{k}" for k in range(len(signature.inputs))]
    arrays += [f"ptr %out{k}" for k in range(len(signature.outputs))]
    taken = ", ".join(["ptr %number", *arrays])
    return f"""target triple = "{_TRIPLE}"
{declared}
{helper}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @{ENTRY}({taken}) "nvvm.maxntid"="{_BLOCK}" {{
entry:
%n = load i64, ptr %number
%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%tid64 = zext i32 %tid to i64
%block64 = zext i32 %block to i64
%first = mul i64 %block64, {_BLOCK}
%thread = add i64 %first, %tid64
%last = sub i64 %n, 1
%within = icmp slt i64 %thread, %last
%i = select i1 %within, i64 %thread, i64 %last
{body}
ret void
}}
"""


def _with_remainder(body: str) -> tuple[str, str]:
    """Return the body with calls instead of `frem`, and the function that they call."""
    exact = re.sub(
        r"(\S+) = frem float (\S+), (\S+)",
        r"""\1x = fpext float \2 to double
\1y = fpext float \3 to double
\1r = frem double \1x, \1y
\1 = fptrunc double \1r to float""",
        body,
    )
    call = r"call double @remainder(double \1, double \2)"
    exact = re.sub(r"frem double (\S+), (\S+)", call, exact)
    return exact, "" if exact == body else remainder_text()


@functools.cache
def _for_all_targets():
    llvm = bindings()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def _ptx(text: str, processor: str) -> str:
    llvm = _for_all_targets()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(_TRIPLE)
    # At level 0 every product has its rounding mode, so that NVIDIA's assembler fuses
    # none with a sum; higher levels also need more registers.
    machine = target.create_target_machine(cpu=processor, features="+ptx80", opt=0)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.run(module, builder)
    return machine.emit_assembly(module)


def launched(program: DeviceProgram, arrays: Sequence) -> list[jax.Array]:
    """Run a program on arrays with the lanes as their last axis.

    It is one call in XLA's GPU program. XLA drops a pointer to a buffer that an earlier
    argument has, as equal arrays may, so every argument has a length of its own: what
    the kernel reads, and k zeros. Only its lowering is tested, without a GPU.
    """
    lanes = arrays[0].shape[-1]
    shapes = [
        jax.ShapeDtypeStruct((*shape, lanes), kind)
        for shape, kind in program.signature.outputs
    ]
    one = np.int32(1)
    taken = [
        jax.lax.pad(array.reshape(-1), jnp.zeros((), array.dtype), [(0, k, 0)])
        for k, array in enumerate((jnp.full((1,), lanes, jnp.int64), *arrays))
    ]
    call = jax.ffi.ffi_call("__gpu$xla.gpu.ptx", shapes)
    results = call(
        *taken,
        name=ENTRY, kernel_type="ptx", kernel_data=program.ptx,
        grid_x=np.int32(-(-lanes // _BLOCK)), grid_y=one, grid_z=one,
        block_x=np.int32(_BLOCK), block_y=one, block_z=one, shared_mem_bytes=np.int32(0),
    )  # fmt: skip
    return list(results)
