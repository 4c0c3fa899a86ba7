"""Checked against: the kernels in Python, bit for bit; scipy; a closed form; readelf.

Programs are compiled and run where a C compiler is.
"""

import ctypes
import inspect
import re
import shutil
import subprocess

import jax.numpy as jnp
import numpy as np
import pytest
import scipy
from click.testing import CliRunner

import jaxvib as jv
from jaxvib import cli
from jaxvib.foundation.command.command_failures import BAD_INPUT
from jaxvib.kernels.export.object_code import object_code, target_of
from jaxvib.programs.c_program import CProgram
from jaxvib.programs.motion_functions import RTOL, MotionFunctions
from tests import independent

SOFT = 35041219.07  # N/m^1.5
BODIES = independent.TwoBody()
needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
needs_readelf = pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf")

# A Cortex-M begins at the second address of the first section, without its FPU.
START = """
#include <stdint.h>
extern void _start(void);
void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm volatile("dsb\\n isb");
    _start();
}
__attribute__((section(".vectors"), used)) const void *const vectors[] = {
    (const void *)0x7fff0, (const void *)reset};
"""


def cortex(processor, board, *options):
    """Return the words that compile for a Cortex-M and that emulate it."""
    compiler = ["arm-none-eabi-gcc", f"-mcpu={processor}", "-mthumb", "-mfloat-abi=hard"]
    compiler += [*options, "--specs=rdimon.specs", "-Wl,--section-start=.vectors=0"]
    emulator = ["qemu-system-arm", "-M", board, "-nographic", "-monitor", "none"]
    emulator += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    return [*compiler, "start.c"], [*emulator, "-kernel"]


EMULATED = {
    "aarch64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"]),
    "riscv64": (["riscv64-linux-gnu-gcc", "-static"], ["qemu-riscv64"]),
    "cortex-m7": cortex("cortex-m7", "mps2-an500", "-mfpu=fpv5-d16"),
    "cortex-m55": cortex("cortex-m55", "mps3-an547"),
}


@pytest.fixture(scope="module")
def bodies():
    return jv.two_body_impact(contact=jv.HertzContact(SOFT))


@pytest.fixture(scope="module")
def folder(bodies, tmp_path_factory):
    return jv.programs.export_c(bodies, tmp_path_factory.mktemp("c") / "new", name="bodies")


def library(folder, name):
    """Link an object file to a shared library."""
    subprocess.run(
        ["gcc", "-shared", "-nostdlib", "-o", "all.so", f"{name}.o"], cwd=folder, check=True
    )
    return ctypes.CDLL(str(folder / "all.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def called(function, *arguments, sizes, workspace=0):
    """Call a function of C: the returned number, and arrays of some sizes."""
    memory = np.zeros(workspace + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :]
    made = [np.full(size, 7.0) for size in sizes]
    given = [
        pointer(np.ascontiguousarray(each, float))
        if np.ndim(each)
        else ctypes.c_double(each)
        for each in arguments
    ]
    last = [pointer(memory)] if workspace else []
    return function(*given, *map(pointer, made), *last), *made


def vector(system):
    return MotionFunctions(system).parameters


@needs_compiler
def test_the_example_prints_the_bits_of_flow_and_scipys_motion(bodies, folder):
    strict = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(
        ["gcc", *strict, "-o", "run", "example.c", "bodies.o"], cwd=folder, check=True
    )
    printed = subprocess.run([folder / "run"], capture_output=True, text=True, check=True)
    rows = np.array([line.split() for line in printed.stdout.splitlines()], float)
    times = np.concatenate([[0.0], rows[:, 0]])
    motion = jv.simulate(bodies, bodies.rest(), times)
    np.testing.assert_array_equal(rows[:, 1:5], motion.states[1:])
    np.testing.assert_array_equal(rows[:, 5:], motion.contact_force[1:])
    by_scipy = independent.motion(BODIES, BODIES.rest, 0.0, times[-1])
    np.testing.assert_allclose(rows[-1, 1:5], by_scipy.state, atol=1e-9)


@needs_compiler
def test_a_response_has_the_monodromy_matrix_and_the_peak_force_of_scipy(bodies, folder):
    by_scipy = independent.motion(BODIES, BODIES.rest, 0.0, BODIES.period, names=())
    response = library(folder, "bodies").bodies_response
    given = vector(bodies).values, 0.0, 1e-10, BODIES.rest
    code, after, monodromy, peaks = called(response, *given, sizes=(4, 16, 1))
    assert code == jv.Reason.SUCCESS
    np.testing.assert_allclose(after, by_scipy.state, atol=1e-9)
    scale = abs(by_scipy.monodromy).max()
    np.testing.assert_allclose(
        monodromy.reshape(4, 4), by_scipy.monodromy, atol=1e-7 * scale
    )
    strongest = max(meeting.peak_force for meeting in by_scipy.meetings)
    np.testing.assert_allclose(peaks, strongest, rtol=1e-7)


@needs_compiler
def test_a_sensitivity_is_the_column_of_scipys_variational_equations(bodies, folder):
    by_scipy = independent.motion(
        BODIES, BODIES.rest, 0.0, 1.3, names=("gap", "load_amplitude")
    )
    numbers = vector(bodies)
    paths = [number.path for number in numbers.numbers]
    go = library(folder, "bodies").bodies_sensitivity
    for column, path in enumerate(["gap", "load.amplitude"]):
        direction = np.zeros(len(paths))
        direction[paths.index(path)] = 1.0
        given = numbers.values, 0.0, 1.3, 1e-10, BODIES.rest, direction, 0.0, 0.0
        code, _, change = called(go, *given, np.zeros(4), sizes=(4, 4))
        assert code == jv.Reason.SUCCESS
        expected = by_scipy.columns[:, column]
        np.testing.assert_allclose(change, expected, atol=1e-6 * abs(expected).max())


@needs_compiler
def test_arguments_out_of_range_give_a_code_and_nan(bodies, folder):
    go, values = library(folder, "bodies").bodies_motion, vector(bodies).values
    rest = np.asarray(bodies.rest())
    negative, unknown = values.copy(), values.copy()
    negative[0], unknown[7] = -1.0, np.nan
    cases = {
        "a negative mass": (negative, 0.0, 1.0, 1e-10, rest),
        "NaN": (unknown, 0.0, 1.0, 1e-10, rest),
        "backwards": (values, 1.0, 0.0, 1e-10, rest),
        "no tolerance": (values, 0.0, 1.0, 0.0, rest),
        "an infinite state": (values, 0.0, 1.0, 1e-10, rest + np.inf),
    }
    for case, given in cases.items():
        code, after, force = called(go, *given, sizes=(4, 1))
        assert code == jv.Reason.BAD_PARAMETER, case
        assert np.isnan([*after, *force]).all(), case


@needs_compiler
def test_a_dropped_ball_bounces_as_the_closed_form_and_then_rests(tmp_path):
    height, gravity, restitution = 0.8, 9.81, 0.6
    ball = jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[0.0]], [[0.0]]),
        contacts=[jv.Contact([-1.0], height, jv.RestitutionContact(restitution), "floor")],
        loads=[jv.AppliedLoad([1.0], jv.ConstantLoad(-2.0 * gravity), "weight")],
    )
    jv.programs.export_c(ball, tmp_path, name="ball")
    loaded, values = library(tmp_path, "ball"), vector(ball).values
    assert not hasattr(loaded, "ball_period")
    first = np.sqrt(2 * height / gravity)
    speed = restitution * gravity * first
    later = 0.3 * speed / gravity
    given = values, 0.0, first + later, 1e-10, np.zeros(2)
    code, after, force = called(loaded.ball_motion, *given, sizes=(2, 1))
    expected = speed * later - gravity * later**2 / 2 - height, speed - gravity * later
    assert code == jv.Reason.SUCCESS
    np.testing.assert_allclose(after, expected, rtol=1e-12)
    assert force == 0
    code, after, force = called(
        loaded.ball_motion, values, 0.0, 9.0, 1e-10, np.zeros(2), sizes=(2, 1)
    )
    np.testing.assert_allclose(after, [-height, 0.0], atol=1e-12)
    np.testing.assert_allclose(force, 2.0 * gravity)
    state = np.array([-height, -3.0])
    struck = np.zeros(2)
    loaded.ball_impact(pointer(values), ctypes.c_int32(0), pointer(state), pointer(struck))
    np.testing.assert_allclose(struck, [-height, 3.0 * restitution])


@pytest.mark.slow  # the program with a table, and scipy's: 8 s
@needs_compiler
def test_elements_with_states_and_long_records(tmp_path):
    times = np.linspace(0.0, 1.0, 101)
    values = np.sin(7 * times) * times * (1 - times)
    record = jv.RecordLoad(times, values)
    circuit = jv.PiezoelectricCircuit(1e-6, 1e5, 1e-3)
    beam = jv.ImpactSystem(
        jv.LinearSystem([[0.1]], [[0.05]], [[400.0]]),
        contacts=[jv.Contact([1.0], 1e-4, jv.LinearContact(5e3), "stop")],
        loads=[jv.AppliedLoad([1.0], record, "quake")],
        elements=[jv.StateElement([1.0], circuit, "circuit")],
    )
    functions = MotionFunctions(beam)
    assert functions.parameters.constants == (
        "loads.quake.law.times",
        "loads.quake.law.values",
    )
    found = object_code({"go": functions.motion()}, target_of("host"))
    (tmp_path / "go.o").write_bytes(found.code)
    given = functions.parameters.values, 0.0, 0.9, 1e-10, np.zeros(3)
    code, after, _ = called(
        library(tmp_path, "go").go, *given, sizes=(3, 1), workspace=found.workspace
    )
    assert code == jv.Reason.SUCCESS
    np.testing.assert_array_equal(after, jv.flow(beam, beam.rest(), 0.0, 0.9))

    def rates(t, y):
        displacement, velocity, voltage = y
        contact = 5e3 * max(displacement - 1e-4, 0.0)
        pull = 0.05 * velocity + 400.0 * displacement + contact + 1e-3 * voltage
        acceleration = (np.interp(t, times, values) - pull) / 0.1
        return [velocity, acceleration, (1e-3 * velocity - voltage / 1e5) / 1e-6]

    tolerances = {"rtol": 1e-10, "atol": 1e-14, "max_step": 5e-3}
    by_scipy = scipy.integrate.solve_ivp(
        rates, (0.0, 0.9), np.zeros(3), "DOP853", **tolerances
    )
    np.testing.assert_allclose(after, by_scipy.y[:, -1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("target", "machine"),
    [("aarch64", "AArch64"), ("cortex-m7", "ARM"), ("riscv64", "RISC-V")],
)
@needs_readelf
def test_object_files_for_other_machines_need_no_other_file(
    bodies, tmp_path, target, machine
):
    functions = MotionFunctions(bodies)
    chosen = {"go": functions.motion(), "rest": functions.rest()}
    found = object_code(chosen, target_of(target))
    assert found.machine == machine
    (tmp_path / "go.o").write_bytes(found.code)
    words = ["readelf", "-W", "-h", "-s", "go.o"]
    read = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.search(rf"Machine: +{machine}", read.stdout)
    symbols = [line.split() for line in read.stdout.splitlines() if "GLOBAL" in line]
    assert {line[-1] for line in symbols if line[6] != "UND"} == {"go", "rest"}
    assert not [line for line in symbols if line[6] == "UND"]


@needs_compiler
def test_without_fused_multiply_adds_results_differ_by_rounding(bodies, tmp_path):
    functions = MotionFunctions(bodies)
    older = target_of("x86_64-unknown-linux-gnu", "x86-64-v2")
    found = object_code({"go": functions.motion()}, older)
    assert not found.fused
    (tmp_path / "go.o").write_bytes(found.code)
    given = vector(bodies).values, 0.0, 3.0, 1e-10, BODIES.rest
    _, after, _ = called(library(tmp_path, "go").go, *given, sizes=(4, 1))
    np.testing.assert_allclose(after, jv.flow(bodies, BODIES.rest, 0.0, 3.0), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "cortex-m4"}, "cortex-m4.*no instructions for float64"),
        ({"target": "vax"}, "target = 'vax'; allowed: host, x86-64"),
        ({"target": "wasm32-unknown-unknown"}, "has no ELF object files"),
        ({"name": "two bodies"}, "name = 'two bodies'; allowed: a letter"),
    ],
)
def test_what_cannot_be_exported_is_refused_before_anything_is_written(
    bodies, tmp_path, options, message
):
    with pytest.raises(ValueError, match=message):
        jv.programs.export_c(bodies, tmp_path / "new", **options)
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_the_command_writes_a_program_and_refuses_faults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    (tmp_path / "2 bodies.toml").write_text('[system]\nkind = "two_body_impact"\n')

    def export(*words):
        done = CliRunner().invoke(cli.main, ["export", "2 bodies.toml", *words])
        return done.exit_code, done.output

    assert export("--fmu", "--set", "gap=0.03") == (0, "2 bodies.fmu\n")
    for words, message in {
        ("--fmu", "--target", "aarch64"): "--target has no meaning here",
        ("--c", "--target", "cortex-m4"): "no instructions for float64",
        ("--c", "table.csv"): "table.csv has no meaning here",
        ("--target", "aarch64"): "--target needs --c or --fmu",
        ("--c", "--set", "gap=-1"): "gap = -1",
    }.items():
        code, output = export(*words)
        assert code == BAD_INPUT
        assert message in output
    assert len(list(tmp_path.iterdir())) == 2


@needs_compiler
def test_the_command_takes_loads_that_do_not_repeat(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    (tmp_path / "pushed.toml").write_text(
        '[system]\nkind = "impact_assembly"\n[system.linear.modules.ground-cart]\n'
        'module = "translation_translation"\nmass = 2.0\nstiffness = 8.0\n'
        '[system.loads.push]\nload = "step"\nat = "cart"\n'
        "law.amplitude = 4.0\nlaw.start = 0.0\n"
    )
    words = ["export", str(tmp_path / "pushed.toml"), "--c", "--out", str(tmp_path / "c")]
    assert CliRunner().invoke(cli.main, words).exit_code == 0
    compiler = ["gcc", "-o", "example", "example.c", "pushed.o"]
    subprocess.run(compiler, cwd=tmp_path / "c", check=True)
    done = subprocess.run(tmp_path / "c/example", capture_output=True, check=True)
    time, place, rate = np.array(done.stdout.split()[-3:], float)
    assert time == 1.0
    expected = [0.5 * (1 - np.cos(2.0)), np.sin(2.0)]
    np.testing.assert_allclose([place, rate], expected, rtol=1e-9)


def test_files_that_exist_are_kept(bodies, folder):
    before = (folder / "bodies.h").read_bytes()
    with pytest.raises(ValueError, match=r"bodies\.o already exists"):
        jv.programs.export_c(bodies, folder, name="bodies")
    assert (folder / "bodies.h").read_bytes() == before
    with pytest.raises(ValueError, match=r"bodies\.h is a file; allowed: a folder"):
        jv.programs.export_c(bodies, folder / "bodies.h", name="bodies")


@needs_compiler
def test_a_header_is_c_whatever_the_names_hold(tmp_path):
    def field(time, state, values):
        return jnp.stack([state[1], -values["k*/\n??/"] * state[0]])

    names = ["a*/ int broken;", "/* b\n\x01\u202e\\"]
    system = jv.forced_system(
        field, period=1.0, dimension=2, parameters={"k*/\n??/": 2.0}, states=names
    )
    functions, machine = MotionFunctions(system), target_of("host")
    compiled = object_code({"odd_rest": functions.rest()}, machine)
    header = CProgram("odd", system, functions, compiled, machine).header()
    (tmp_path / "odd.h").write_text(header)
    (tmp_path / "it.c").write_text('#include "odd.h"\nint it = sizeof odd_defaults;\n')
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-variable", "-Werror", "-c"]
    subprocess.run(["gcc", *strict, "it.c"], cwd=tmp_path, check=True)
    for code in ("SUCCESS 0", "BAD_PARAMETER 1", "FIELD_JUMPS 16"):
        assert f"#define ODD_{code} " in header
    assert "ODD_DIVERGED" not in header


@pytest.mark.slow  # a program of 4 s for each, where compiler and emulator are installed
@needs_compiler
@pytest.mark.parametrize("target", EMULATED)
def test_other_processors_print_the_bits_of_this_one(bodies, folder, tmp_path, target):
    compiler, emulator = EMULATED[target]
    for words, package in ((compiler, "its C library"), (emulator, "QEMU")):
        if not shutil.which(words[0]):
            pytest.skip(f"needs {words[0]} with {package}")
    jv.programs.export_c(bodies, tmp_path, name="bodies", target=target)
    (tmp_path / "start.c").write_text(START)
    words = [*compiler, "-o", "run", "example.c", "bodies.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    words = [*emulator, tmp_path / "run"]
    printed = subprocess.run(words, capture_output=True, check=True, timeout=60)
    subprocess.run(["gcc", "-o", "run", "example.c", "bodies.o"], cwd=folder, check=True)
    here = subprocess.run([folder / "run"], capture_output=True, check=True)
    assert printed.stdout.count(b"\n") == 10
    assert printed.stdout == here.stdout


def test_the_tolerance_is_the_default_of_flow():
    assert inspect.signature(jv.flow).parameters["rtol"].default == RTOL


def test_the_header_has_every_parameter_with_unit_and_value(bodies, folder):
    header = (folder / "bodies.h").read_text()
    for path, each in jv.parameters(bodies).items():
        assert f"{float(each.value)!r} /* {path} */" in header
        assert f"BODIES_P_{path.upper().replace('.', '_')} " in header
        assert f"{each.description}, {each.unit or '-'}" in header
