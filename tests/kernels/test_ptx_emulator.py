"""Checked against: what NVIDIA's manual says of an instruction, in Python's numbers."""

import math

import numpy as np
import pytest

from tests.kernels.ptx_emulator import EmulatedModule, EmulationError

REGISTERS = """.reg .pred %p<4>;
.reg .b16 %rs<4>;
.reg .b32 %r<4>;
.reg .b64 %rd<8>;
ld.param.b64 %rd6, [lanes_param_0];
ld.param.b64 %rd7, [lanes_param_1];"""


def module(body, local=""):
    return EmulatedModule(
        f""".version 8.0
.target sm_90
.address_size 64
.global .align 8 .b8 table[8] = {{1, 2, 3, 4, 5, 6, 7, 255}};
.visible .entry lanes(
\t.param .u64 .ptr .align 1 lanes_param_0,
\t.param .u64 .ptr .align 1 lanes_param_1
)
.maxntid 4
{{
{local}
{REGISTERS}
{body}
ret;
}}
"""
    )


def launched(program, numbers, results=1, grid=1, block=1):
    """Return what a kernel stores, as bits."""
    given = np.array(numbers, np.uint64)
    found = np.full(results, 7, np.uint64)
    program.memory = {array.ctypes.data: array.nbytes for array in (given, found)}
    program.launch("lanes", grid, block, [given.ctypes.data, found.ctypes.data])
    return found.tolist()


def bits(number):
    return int(np.float64(number).view(np.uint64))


def result(instruction, *numbers):
    """Return what %rd0 holds after an instruction of %rd1, %rd2, %rd3."""
    whole = [bits(n) if isinstance(n, float) else n % 2**64 for n in numbers]
    loads = [f"ld.b64 %rd{k + 1}, [%rd6+{8 * k}];" for k in range(len(numbers))]
    body = "\n".join([*loads, *instruction.split("\n"), "st.b64 [%rd7], %rd0;"])
    return launched(module(body), whole)[0]


ONES, TOP = 2**64 - 1, 2**63


@pytest.mark.parametrize(
    ("instruction", "numbers", "expected"),
    [
        ("add.rn.f64 %rd0, %rd1, %rd2;", (0.1, 0.2), 0.1 + 0.2),
        ("sub.rn.f64 %rd0, %rd1, 0d3FF0000000000000;", (0.5,), -0.5),
        ("fma.rn.f64 %rd0, %rd1, %rd2, %rd3;", (1 + 2**-30, 1 - 2**-30, -1.0), -(2.0**-60)),
        ("div.rn.f64 %rd0, %rd1, %rd2;", (1.0, 3.0), 1 / 3),
        ("rcp.rn.f64 %rd0, %rd1;", (-0.0,), -math.inf),
        ("sqrt.rn.f64 %rd0, %rd1;", (2.0,), math.sqrt(2)),
        ("neg.f64 %rd0, %rd1;", (0.0,), -0.0),
        ("abs.f64 %rd0, %rd1;", (-2.5,), 2.5),
        ("copysign.f64 %rd0, %rd1, %rd2;", (-0.0, 3.0), -3.0),
        ("max.f64 %rd0, %rd1, %rd2;", (-0.0, 0.0), 0.0),
        ("max.f64 %rd0, %rd1, %rd2;", (math.nan, -4.0), -4.0),
        ("max.f64 %rd0, %rd1, %rd2;", (-4.0, math.nan), -4.0),
        ("min.f64 %rd0, %rd1, %rd2;", (0.0, -0.0), -0.0),
        ("min.f64 %rd0, %rd1, %rd2;", (math.inf, math.nan), math.inf),
        ("cvt.rni.f64.f64 %rd0, %rd1;", (2.5,), 2.0),
        ("cvt.rmi.f64.f64 %rd0, %rd1;", (-2.5,), -3.0),
        ("cvt.rpi.f64.f64 %rd0, %rd1;", (-2.5,), -2.0),
        ("cvt.rzi.f64.f64 %rd0, %rd1;", (-2.5,), -2.0),
        ("cvt.rzi.s64.f64 %rd0, %rd1;", (-2.9,), -2),
        ("cvt.rzi.s64.f64 %rd0, %rd1;", (1e300,), TOP - 1),
        ("cvt.rzi.s64.f64 %rd0, %rd1;", (math.nan,), TOP),
        ("cvt.rzi.u64.f64 %rd0, %rd1;", (-1.0,), 0),
        ("cvt.rzi.s32.f64 %r0, %rd1;\ncvt.s64.s32 %rd0, %r0;", (-1e300,), -(2**31)),
        ("cvt.rzi.s32.f64 %r0, %rd1;\ncvt.s64.s32 %rd0, %r0;", (math.nan,), 0),
        ("cvt.rn.f64.s64 %rd0, %rd1;", (-3,), -3.0),
        ("cvt.rn.f64.u64 %rd0, %rd1;", (-1,), 2.0**64),
        ("cvt.u32.u64 %r0, %rd1;\ncvt.u64.u32 %rd0, %r0;", (-1,), 2**32 - 1),
        ("shl.b64 %rd0, %rd1, 64;", (3,), 0),
        ("shl.b64 %rd0, %rd1, 62;", (3,), 3 << 62),
        ("shr.u64 %rd0, %rd1, 64;", (-1,), 0),
        ("shr.s64 %rd0, %rd1, 200;", (-7,), -1),
        ("mov.b32 %r0, -8;\nshr.s32 %r0, %r0, 2;\ncvt.s64.s32 %rd0, %r0;", (), -2),
        ("cvt.u16.u64 %rs0, %rd1;\nshl.b16 %rs0, %rs0, 12;\ncvt.u64.u16 %rd0, %rs0;",
         (0x1239,), 0x9000),
        ("mov.b16 %rs0, -2;\nshr.s16 %rs0, %rs0, 16;\ncvt.s64.s16 %rd0, %rs0;", (), -1),
        ("bfe.u64 %rd0, %rd1, 56, 7;", (0xFF << 56,), 0x7F),
        ("bfe.s64 %rd0, %rd1, 4, 4;", (0x80,), -8),
        ("bfe.s64 %rd0, %rd1, 60, 9;", (TOP,), -8),
        ("mov.b64 {%r0, %r1}, %rd1;\nshf.l.wrap.b32 %r0, %r0, %r1, 36;\n"
         "cvt.u64.u32 %rd0, %r0;", (0x123456789ABCDEF0,), 0x23456789),
        ("mov.b64 {%r0, %r1}, %rd1;\nmov.b64 %rd0, {%r1, %r0};", (5 << 32 | 9,),
         9 << 32 | 5),
        ("clz.b64 %r0, %rd1;\ncvt.u64.u32 %rd0, %r0;", (0,), 64),
        ("mul.hi.u64 %rd0, %rd1, %rd2;", (-1, -1), ONES - 1),
        ("mul.hi.s64 %rd0, %rd1, %rd2;", (-1, -1), 0),
        ("mul.lo.s64 %rd0, %rd1, %rd2;", (-3, 5), -15),
        ("min.s64 %rd0, %rd1, %rd2;", (-3, 5), -3),
        ("min.u64 %rd0, %rd1, %rd2;", (-3, 5), 5),
        ("neg.s64 %rd0, %rd1;", (5,), -5),
        ("add.cc.s64 %rd3, %rd1, %rd2;\naddc.s64 %rd0, %rd1, 0;", (-1, 1), 0),
        ("sub.cc.s64 %rd3, %rd1, %rd2;\nsubc.cc.s64 %rd0, %rd1, 0;", (1, 2), 0),
        ("setp.lt.f64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (math.nan, 1.0), 0),
        ("setp.ltu.f64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (math.nan, 1.0), 1),
        ("setp.ne.f64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (math.nan, 1.0), 0),
        ("setp.num.f64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (0.0, 1.0), 1),
        ("setp.lt.s64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (-1, 1), 1),
        ("setp.lt.u64 %p0, %rd1, %rd2;\nselp.b64 %rd0, 1, 0, %p0;", (-1, 1), 0),
        ("mov.pred %p0, -1;\nnot.pred %p1, %p0;\nselp.b64 %rd0, 1, 2, %p1;", (), 2),
        ("mov.b64 %rd1, table;\nld.b8 %rd0, [%rd1+7];", (), 255),
        ("mov.b64 %rd1, table;\nld.s8 %rd0, [%rd1+7];", (), -1),
    ],
)  # fmt: skip
def test_an_instruction_does_what_the_manual_says(instruction, numbers, expected):
    found = result(instruction, *numbers)
    if isinstance(expected, float):
        assert found == bits(expected)
    else:
        assert found == expected % 2**64


@pytest.mark.parametrize(
    "instruction", ["add.rn.f64 %rd0, %rd1, %rd1;", "neg.f64 %rd0, %rd1;"]
)
def test_the_bits_of_an_invalid_result_are_nobody_s(instruction):
    # neither of x86 (sign set), nor of ARM and NVIDIA, nor of the operand
    found = result(instruction, bits(math.nan) | 5)
    assert math.isnan(np.uint64(found).view(np.float64))
    assert found not in {0xFFF8 << 48, 0x7FF8 << 48, 2**63 - 1, bits(math.nan) | 5}


def test_threads_of_all_blocks_run_with_their_numbers():
    program = module("""mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mul.lo.s32 %r2, %r1, %r2;
add.s32 %r2, %r2, %r0;
cvt.u64.u32 %rd0, %r2;
shl.b64 %rd1, %rd0, 3;
add.s64 %rd1, %rd7, %rd1;
st.b64 [%rd1], %rd0;""")
    assert launched(program, [0], 12, grid=4, block=3) == list(range(12))
    # two of parameters, nine here and the return
    assert program.steps == 12 * 12
    assert "mul.lo.s32" in program.instructions


LOOP = """mov.b64 %rd0, 0;
$L__BB0_1:
add.s64 %rd0, %rd0, 1;
setp.lt.s64 %p0, %rd0, {};
@%p0 bra $L__BB0_1;
bra.uni $L__BB0_2;
$L__BB0_2:
st.b64 [%rd7], %rd0;"""


def test_branches_go_where_they_say():
    program = module(LOOP.format(5))
    assert launched(program, [0]) == [5]
    # three at the beginning, three of each turn, the jump, the store and the return
    assert program.steps == 3 + 5 * 3 + 1 + 2


LOCAL = ".local .align 16 .b8 __local_depot0[32];\n.reg .b64 %SP;\n.reg .b64 %SPL;"
STACK = "mov.b64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\n"


def test_local_memory_holds_stored_values():
    body = (
        STACK
        + """st.v2.b64 [%SP+16], {5, 6};
ld.b64 %rd0, [%SP+24];
ld.local.b32 %r0, [%SPL+16];
cvt.u64.u32 %rd1, %r0;
st.b64 [%rd7], %rd0;
st.b64 [%rd7+8], %rd1;"""
    )
    assert launched(module(body, LOCAL), [0], 2) == [6, 5]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("st.b64 [%rd7+8], %rd6;", "store outside the arrays: 8 bytes"),
        ("ld.b64 %rd0, [%rd6+-8];", "load outside the arrays: 8 bytes"),
        ("ld.v2.b64 {%rd0, %rd1}, [%rd6];", "load outside the arrays: 16 bytes"),
        ("ld.b32 %rd0, [%rd6+2];", "misaligned: 4 bytes"),
        (STACK + "ld.b64 %rd0, [%SP+8];", "local memory read before it is written"),
        (STACK + "st.b64 [%SP+32], 1;", "store outside the arrays"),
        (STACK + "st.b64 [%SPL], 1;", "store outside the arrays"),
        (STACK + "st.b32 [%SP], 1;\nld.b64 %rd0, [%SP];", "local memory read before"),
        (LOOP.format(2**40), "no end"),
        ("mov.b64 %rd1, table;\nst.b64 [%rd1+8], 1;", "store outside the arrays"),
    ],
)
def test_operations_forbidden_in_a_thread_are_reported(body, message):
    program = module(body, LOCAL if "SP" in body else "")
    program.limit = 10**6
    # 16 bytes aligned, so that only what is beyond the first 8 is outside
    given, found = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    places = [-(-array.ctypes.data // 16) * 16 for array in (given, found)]
    program.memory = dict.fromkeys(places, 8)
    with pytest.raises(EmulationError, match=message):
        program.launch("lanes", 1, 1, places)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("add.f64 %rd0, %rd6, %rd6;", "unknown instruction add.f64"),
        ("mad.rn.f64 %rd0, %rd6, %rd6;", "unknown instruction mad.rn.f64"),
        ("bar.sync 0;", "unknown instruction bar.sync"),
        ("@%p0 add.s64 %rd0, %rd6, %rd6;", "unknown instruction @%p0"),
        ("ld.volatile.b64 %rd0, [%rd6];", "unknown instruction ld.volatile"),
        ("st.b64 [%rd7], %rd0;", "%rd0 is read before it is written"),
        ("bra.uni $L__BB0_9;", "no block .L__BB0_9"),
        (LOOP.format(5).partition("\n")[2], "%rd0 is read before it is written"),
        ("setp.lt.s64 %p0, %rd6, 5;\n@%p0 bra $L__BB0_1;\nmov.b64 %rd0, 1;\n"
         "$L__BB0_1:\nst.b64 [%rd7], %rd0;", "%rd0 is read before it is written"),
        ("addc.s64 %rd0, %rd6, 0;", "carry is read before it is written"),
    ],
)  # fmt: skip
def test_unknown_ptx_is_refused(body, message):
    with pytest.raises(EmulationError, match=message):
        module(body)


def test_a_launch_of_another_kernel_or_block_is_refused():
    program = module("")
    for arguments in (
        ("other", 1, 1, [0, 0]),
        ("lanes", 1, 1, [0]),
        ("lanes", 1, 5, [0, 0]),
    ):
        with pytest.raises(EmulationError):
            program.launch(*arguments)
