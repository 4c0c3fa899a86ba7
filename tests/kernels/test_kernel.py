"""Checked against: closed forms, the same function by XLA, and itself at other widths."""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxvib.kernels import kernel
from jaxvib.kernels.cpu import machine_code
from jaxvib.kernels.cpu.machine_code import Native, host_features
from jaxvib.kernels.lower.lowering import lower_lanes, trace

random = np.random.default_rng(3)


def decay(t, w):
    """Return a closed form, and a count by a loop of different length in each lane."""
    turns = lax.while_loop(lambda c: c[0] < t, lambda c: (c[0] + 0.5, c[1] + 1), (0.0, 0))[
        1
    ]
    return jnp.exp(-0.1 * t) * jnp.cos(w * t), turns


damped = kernel(decay)
t, w = random.uniform(0, 9, 37), random.uniform(1, 3, 37)
exact = np.exp(-0.1 * t) * np.cos(w * t)


def test_map_gives_the_closed_form_of_every_lane():
    values, turns = damped.map(t, w)
    np.testing.assert_allclose(values, exact, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(turns, np.ceil(t / 0.5))


def test_one_lane_jit_and_vmap_have_the_bits_of_map():
    values = damped.map(t, w)[0]
    assert [float(damped(a, b)[0]) for a, b in zip(t, w, strict=True)] == list(values)
    np.testing.assert_array_equal(jax.jit(jax.vmap(damped))(t, w)[0], values)
    grid = jax.jit(jax.vmap(jax.vmap(damped, (None, 0)), (0, None)))(t[:5], w[:3])[0]
    np.testing.assert_array_equal(grid[2, 1], damped(t[2], w[1])[0])


def test_one_lane_on_the_host_has_numpy_arrays_with_the_bits_of_a_call():
    times, pace = np.array([0.3, 1.7]), np.float64(2.0)
    by_llvm = kernel(lambda t, w: (jnp.exp(-0.1 * t) * jnp.cos(w * t), t > w))
    by_xla = kernel(lambda t, w: (jnp.linalg.svd(jnp.outer(t, t) + w)[1], t > w))
    assert by_xla.unsupported_reason(times, pace)
    for function in (by_llvm, by_xla):
        called = function(times, pace)
        alone = function.on_host(times, pace)
        inside = jax.jit(lambda x, f=function: (x, f.on_host(times, pace)))(0.0)[1]
        for found in (alone, inside):
            for one, other in zip(found, called, strict=True):
                np.testing.assert_array_equal(one, other)
        assert all(type(one) is np.ndarray for one in alone)


def test_derivatives_of_any_order_are_the_closed_forms():
    value = jax.jit(lambda t, w: damped(t, w)[0])
    slope = -0.1 * exact - np.exp(-0.1 * t) * w * np.sin(w * t)
    curve = -(w**2) * exact  # by w: -t^2 e cos
    by_t = jax.vmap(jax.jacfwd(value))(t, w)
    np.testing.assert_allclose(by_t, slope, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(jax.vmap(jax.grad(value))(t, w), by_t, rtol=1e-15)
    np.testing.assert_allclose(jax.vmap(jax.jacrev(value))(t, w), by_t, rtol=1e-15)
    second = jax.vmap(jax.jacfwd(jax.grad(value, 1), 1))(t[:4], w[:4])
    np.testing.assert_allclose(second, (curve * t**2 / w**2)[:4], rtol=1e-13, atol=1e-15)


def test_a_derivative_by_some_arguments_and_by_a_pytree():
    both = kernel(lambda p, x: {"sum": jnp.sum(p["a"] * x), "n": jnp.sum(x > 0)})
    p, x = {"a": jnp.array([2.0, 3.0])}, jnp.array([1.0, -1.0])
    gradient = jax.grad(lambda p: both(p, x)["sum"])(p)
    np.testing.assert_array_equal(gradient["a"], x)
    assert int(jax.jit(both)(p, x)["n"]) == 1


class Spring(eqx.Module):
    stiffness: jax.Array
    law: str = eqx.field(static=True)


def test_modules_are_arguments_and_what_is_static_is_told_apart():
    @kernel
    def force(spring, x):
        return spring.stiffness * (x if spring.law == "linear" else x**3)

    two = jnp.asarray(2.0)
    assert float(force(Spring(two, "linear"), 3.0)) == 6
    assert float(force(Spring(two, "cubic"), 3.0)) == 54


def test_lanes_share_what_all_have_under_vmap():
    scaled = jax.jit(jax.vmap(damped, (0, None)))(t, 2.0)[0]
    np.testing.assert_array_equal(scaled, damped.map(t, np.full(37, 2.0))[0])


PROGRAM = trace(decay, (jax.ShapeDtypeStruct((), float),) * 2)[0]


def run(width, features=None, order=slice(None)):
    native = Native(lower_lanes(PROGRAM, width), features)
    lanes = [np.resize(x[order], 40) for x in (t, w)]
    return native(lanes, 1)[0][:37]


def test_lanes_may_bring_arrays_of_nothing():
    double = kernel(lambda x, nothing: (2 * x, nothing + 1))
    twice, none = jax.jit(jax.vmap(double))(jnp.arange(3.0), jnp.zeros((3, 0)))
    np.testing.assert_array_equal(twice, [0.0, 2.0, 4.0])
    assert none.shape == (3, 0)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_every_width_and_order_has_the_same_bits(width):
    np.testing.assert_array_equal(run(width), damped.map(t, w)[0])
    backwards = run(width, order=slice(None, None, -1))
    np.testing.assert_array_equal(backwards[::-1], damped.map(t, w)[0])


@pytest.mark.parametrize("task", [1e-9, 1.0])
def test_tasks_of_any_run_time_have_the_same_bits(task, monkeypatch):
    # s: one vector of lanes each, or all of them
    monkeypatch.setattr(machine_code, "_TASK", task)
    native = Native(lower_lanes(PROGRAM, 4))
    lanes = [np.resize(x, 1024) for x in (t, w)]
    once = native(lanes, 1)[0]
    np.testing.assert_array_equal(native(lanes, 2)[0], once)
    np.testing.assert_array_equal(once[:37], damped.map(t, w)[0])


@pytest.mark.parametrize("lanes", [8, 24, 1000, 100_000])
def test_tasks_are_long_at_first_and_take_each_lane_once(lanes):
    parts = machine_code._parts(lanes, 8, 2, 32)
    begins, ends = np.transpose(parts)
    np.testing.assert_array_equal([0, *ends[:-1]], begins)
    assert ends[-1] == lanes
    sizes = ends - begins
    assert np.all(np.diff(sizes) <= 0)
    assert np.all(sizes % 8 == 0)
    assert sizes[-1] <= 8 <= sizes[0] <= 32 * 8
    assert len(machine_code._parts(lanes, 8, 2, 1)) == -(-lanes // 8)


def test_code_compiled_in_a_hurry_has_the_same_bits_as_the_best(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    native = Native(lower_lanes(PROGRAM, 4))
    lanes = [np.resize(x, 40) for x in (t, w)]
    hurried = native(lanes, 1)
    assert len(list(tmp_path.rglob("*.o"))) == 1
    native.best()
    assert len(list(tmp_path.rglob("*.o"))) == 2
    for one, other in zip(hurried, native(lanes, 1), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_xla_calls_for_long_is_compiled_better_and_keeps_its_bits(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Programs of other tests that have run for longer are recompiled first.
    monkeypatch.setattr(machine_code, "_WORTH", 0.1)
    often = kernel(lambda t, w: jnp.exp(-t) * jnp.sin(w * t) + 0.0625)
    called = jax.jit(jax.vmap(often))
    many = [np.resize(x, 1000) for x in (t, w)]
    first = np.asarray(called(*many))
    native = often._form_of((t[0], w[0]))[1].native
    kept = [
        machine_code._cached_code(native.program, host_features(), level)
        for level in (0, 2)
    ]
    assert [each is not None for each in kept] == [True, False]
    stop = time.monotonic() + 60
    while native._best is None and time.monotonic() < stop:
        np.testing.assert_array_equal(called(*many), first)
    assert native._best is not None
    assert machine_code._cached_code(native.program, host_features(), 2) is not None
    spent = native._first.seconds()
    np.testing.assert_array_equal(called(*many), first)
    assert native._first.seconds() > spent  # it still counts, and calls the better one
    place = native._first._library["better"]
    assert ctypes.c_void_p.from_address(place).value == native._best._run


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
def test_a_program_in_memory_is_little_more_than_its_code(monkeypatch, tmp_path):
    # XLA may call it for ever, so that it stays: once for each field under a user's `jit`.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def long(x):
        for k in range(80):
            x = jnp.sin(x + 0.01 * k)
        return x

    closed, _ = trace(long, [jax.ShapeDtypeStruct((), float)])
    program = lower_lanes(closed, machine_code.host_width())
    code = machine_code._object(program, host_features(), 0)
    assert len(program.packed) < len(program.text) / 4 < len(code)

    def in_memory():
        gc.collect()
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    kept = [machine_code._Code(code)]  # the first one brings what all have in common
    before = in_memory()
    kept += [machine_code._Code(code) for _ in range(20)]
    assert in_memory() - before < 20 * 2.3 * len(code)


def test_many_lanes_in_xla_are_compiled_at_best_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    many = kernel(lambda t: jnp.cos(t) - 0.375)
    jax.jit(jax.vmap(many))(jnp.arange(machine_code.MANY + 1.0))
    native = many._form_of((jnp.zeros(()),))[1].native
    assert machine_code._cached_code(native.program, host_features(), 2) is not None


@pytest.mark.parametrize("without", ["-avx512f", "-avx512f,-avx2,-avx,-fma"])
def test_every_set_of_instructions_has_the_same_bits(without):
    if "+sse2" not in host_features():
        pytest.skip("these are the instructions of x86 processors")
    off = ",".join(
        f"-{name[1:]}" for name in host_features().split(",") if name.startswith("+avx512")
    )
    features = (
        f"{host_features()},{off},{without}" if off else f"{host_features()},{without}"
    )
    np.testing.assert_array_equal(run(4, features), damped.map(t, w)[0])


def test_bad_neighbours_and_threads_change_no_bit():
    many, more = np.resize(t, 3000), np.resize(w, 3000)
    values = damped.map(many, more, threads=1)[0]
    np.testing.assert_array_equal(damped.map(many, more, threads=3)[0], values)
    spoiled = many.copy()
    spoiled[::5] = np.nan
    np.testing.assert_array_equal(damped.map(spoiled, more)[0][1::5], values[1::5])


def test_the_smallest_numbers_are_kept_inside_jit_too():
    half = kernel(lambda x: x * 0.5)
    tiny = np.array([1e-310, -1e-320, 3e-308])
    np.testing.assert_array_equal(jax.jit(jax.vmap(half))(tiny), half.map(tiny))
    assert np.all(half.map(tiny) != 0)


def test_bad_lanes_are_named():
    with pytest.raises(ValueError, match=r"leading lengths \[2, 3\]"):
        damped.map(t[:2], w[:3])
    with pytest.raises(ValueError, match=r"leading lengths \[0\]"):
        damped.map(t[:0], w[:0])


SECOND_PROCESS = """
import time, sys
import jax, numpy as np
from jaxvib.kernels.cpu import machine_code
from jaxvib.kernels import kernel
f = kernel(lambda x: x * 2.5 + 1)
print(f.map(np.arange(3.0)).tolist())
"""


def test_machine_code_is_kept_and_a_damaged_file_is_replaced(tmp_path):
    def process():
        done = subprocess.run(
            [sys.executable, "-c", SECOND_PROCESS],
            env={"PATH": "", "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert process() == "[1.0, 3.5, 6.0]"
    (file,) = (tmp_path / "jaxvib" / "kernels").glob("*.o")
    whole, written = file.read_bytes(), file.stat().st_mtime_ns
    assert process() == "[1.0, 3.5, 6.0]"
    assert file.stat().st_mtime_ns == written  # read, not written anew
    file.write_bytes(whole[:-7] + b"damaged")
    assert process() == "[1.0, 3.5, 6.0]"
    assert file.read_bytes() == whole


FORKED = """
import os
import jax, numpy as np
import jaxvib as jv

halves = lambda x: jax.lax.fori_loop(0, 9999, lambda k, y: 0.5 * y + x, x)
run = jv.kernel(halves)  # milliseconds for some lanes: worth more than one thread
lanes = np.linspace(0.0, 1.0, 4096)
expected = run.map(lanes, threads=2)
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(run.map(lanes, threads=2), expected) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
