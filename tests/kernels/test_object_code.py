"""Checked against: Python's integers and bytes; NumPy; readelf; the CPU's kernels."""

import ctypes
import math
import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.kernels.cpu.machine_code import for_all_targets
from jaxvib.kernels.export.missing_functions import integer_text, with_own_copies
from jaxvib.kernels.export.object_code import CFunction, object_code, target_of

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
needs_readelf = pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf")
rng = np.random.default_rng(0)
# Of all lengths in bits, and the ends of the range.
BITS = rng.integers(0, 64, 300)
SIGNED = [-(2**63), 2**63 - 1, 2**53 + 1, -1, 0, 1]
SIGNED += (rng.integers(-(2**63), 2**63 - 1, 300) >> BITS).tolist()
UNSIGNED = [n % 2**64 for n in SIGNED]


@pytest.fixture(scope="module")
def here():
    """Return a function that compiles internal functions for this process."""
    llvm = for_all_targets()
    engines = []

    def functions(text):
        # This processor has no convention of ARM, and reaches no internal function.
        text = text.replace("internal ", "").replace("arm_aapcscc ", "")
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
        engine.finalize_object()
        engines.append(engine)
        return lambda name, *types: ctypes.CFUNCTYPE(*types)(
            engine.get_function_address(name)
        )

    return functions


def test_integers_become_the_nearest_doubles(here):
    for name, integer, numbers in (
        ("__aeabi_l2d", ctypes.c_int64, SIGNED),
        ("__aeabi_ul2d", ctypes.c_uint64, UNSIGNED),
    ):
        convert = here(integer_text([name]))(name, ctypes.c_double, integer)
        assert [convert(n) for n in numbers] == [float(n) for n in numbers]


def test_doubles_become_integers_towards_zero(here):
    scaled = [n / 2.0**k for n, k in zip(SIGNED, [0, 11, *BITS], strict=False)]
    positive = [-0.7, 2.0**64 - 2.0**11, *map(abs, scaled)]
    for name, integer, numbers in (
        ("__aeabi_d2lz", ctypes.c_int64, scaled),
        ("__aeabi_d2ulz", ctypes.c_uint64, positive),
    ):
        convert = here(integer_text([name]))(name, integer, ctypes.c_double)
        assert [convert(x) for x in numbers] == [math.trunc(x) for x in numbers]


class Both(ctypes.Structure):
    _fields_ = (("quotient", ctypes.c_int64), ("rest", ctypes.c_int64))


def test_quotients_and_rests_are_those_of_python(here):
    for name, integer, numbers in (
        ("__aeabi_ldivmod", ctypes.c_int64, SIGNED),
        ("__aeabi_uldivmod", ctypes.c_uint64, UNSIGNED),
    ):
        divide = here(integer_text([name]))(name, Both, integer, integer)
        divisors = [d for d in [*numbers[:6], *reversed(numbers)] if d]
        for n, d in zip([*numbers[:6], *numbers], divisors, strict=False):
            quotient = abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1)
            both = divide(n, d)
            assert integer(both.quotient).value == integer(quotient).value, (n, d)
            assert integer(both.rest).value == n - quotient * d, (n, d)


@pytest.mark.parametrize("size", [24, 23])
@pytest.mark.parametrize(("to", "source"), [(0, 40), (0, 9), (9, 0), (8, 0), (5, 5)])
def test_copies_are_those_of_bytes_even_where_they_overlap(here, size, to, source):
    text = f"""define void @copy(ptr %to, ptr %from) {{
call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 {size}, i1 false)
ret void
}}"""
    whole = with_own_copies(text)
    assert "memmove" not in whole
    copy = here(whole)("copy", None, ctypes.c_void_p, ctypes.c_void_p)
    memory = np.arange(64, dtype=np.uint8)
    expected = memory.tobytes()
    moved = expected[:to] + expected[source : source + size] + expected[to + size :]
    copy(memory.ctypes.data + to, memory.ctypes.data + source)
    assert memory.tobytes() == moved


def undefined(code, folder):
    """Return the undefined symbols of an object file by readelf."""
    (folder / "it.o").write_bytes(code)
    words = ["readelf", "-W", "-s", "it.o"]
    read = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    symbols = [line.split() for line in read.stdout.splitlines() if " UND " in line]
    return [symbol[7] for symbol in symbols if len(symbol) > 7]


def passed_on(first, second):
    """Copy long arrays in a loop, which are in memory."""

    def step(both, _):
        first, second = both
        return (jnp.roll(first, 1, 0) + second, first), first[0]

    return *jax.lax.scan(step, (first, second), length=3)[0], second[::-1]


LONG = {"first": np.zeros((300, 300)), "second": np.zeros((300, 300))}
PASSED_ON = CFunction(passed_on, LONG, ("sum", "last", "back"))


@needs_compiler
@needs_readelf
def test_programs_with_long_arrays_call_no_library(tmp_path):
    assert not undefined(
        object_code({"go": PASSED_ON}, target_of("cortex-m7")).code, tmp_path
    )
    found = object_code({"go": PASSED_ON}, target_of("host"))
    assert not undefined(found.code, tmp_path)
    words = ["gcc", "-shared", "-nostdlib", "-o", "it.so", "it.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    go = ctypes.CDLL(str(tmp_path / "it.so")).go
    given = rng.normal(size=(2, 300, 300))
    made = np.zeros((3, 300, 300))
    memory = np.zeros(found.workspace + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :]
    arrays = [*given, *made, memory]
    go(*(ctypes.c_void_p(each.ctypes.data) for each in arrays))
    first, second = given
    for _ in range(3):
        first, second = np.roll(first, 1, 0) + second, first
    np.testing.assert_array_equal(made, [first, second, given[1, ::-1]])


def whole_numbers(x, y, n, m):
    return jnp.fmod(x, y), n // m, n % m, x.astype(jnp.int64), n.astype(float)


WIDE = {"x": 0.0, "y": 0.0, "n": np.int64(0), "m": np.int64(0)}
WHOLE_NUMBERS = CFunction(whole_numbers, WIDE, ("rest", "q", "r", "whole", "number"))


@needs_readelf
@pytest.mark.parametrize("machine", [("cortex-m7",), ("arm-none-eabi", "cortex-a55")])
def test_integers_of_64_bits_need_no_library_on_processors_of_32(tmp_path, machine):
    found = object_code({"go": WHOLE_NUMBERS}, target_of(*machine))
    assert not undefined(found.code, tmp_path)


@needs_readelf
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m55", "thumbv7em-none-eabihf"])
def test_arm_gets_numbers_in_registers_of_doubles(tmp_path, name):
    half = CFunction(lambda x: x / 2, {"x": 0.0}, ("return",))
    processor = "cortex-m7" if "thumb" in name else ""
    code = object_code({"half": half}, target_of(name, processor)).code
    (tmp_path / "half.o").write_bytes(code)
    words = ["readelf", "-A", "half.o"]
    read = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Tag_ABI_VFP_args: VFP registers" in read.stdout


def test_optional_functions_that_need_more_are_left_out_with_the_reason():
    single = CFunction(lambda n: n.astype(jnp.float32), {"n": np.int64(0)}, ("return",))
    half = CFunction(lambda x: x / 2, {"x": 0.0}, ("return",))
    given, machine = {"single": single, "half": half}, target_of("cortex-m7")
    found = object_code(given, machine, optional=["single", "half"])
    assert list(found.declarations) == ["half"]
    needed = "single needs functions that processor 'cortex-m7' of .* lack: __aeabi_l2f"
    assert re.fullmatch(needed, found.left_out["single"])
    with pytest.raises(ValueError, match=needed):
        object_code({"single": single}, machine)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("cortex-m7", "cortex-m9"), r"processor = 'cortex-m9'; did you .*cortex-m55, "),
        (("host", "", "+avx9"), "feature = 'avx9'; did you mean 'avx'?"),
        (("host", "", "avx2"), r"features = 'avx2'; allowed: \+NAME,-NAME"),
        (("cortex-m8",), r"target = 'cortex-m8'; allowed: host, (?!.*cortex-m4)"),
    ],
)
def test_unknown_machines_are_named_with_those_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        target_of(*options)
