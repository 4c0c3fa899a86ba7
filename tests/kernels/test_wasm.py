"""Checked against: the kernels of this processor; NumPy's remainder; V8's validation."""

import functools
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.kernels import kernel, web_assembly
from jaxvib.kernels.export import wasm, wasm_object
from tests.kernels.wasm_engines import NODE, WASMTIME, computed
from tests.random_programs import lanes_of, operations
from tests.systems_table import hard_stop

ENGINES = (NODE, WASMTIME)
LANES = 13  # odd: the last vector of two is not full
rng = np.random.default_rng(0)
bodies, stops = jv.two_body_impact(), hard_stop(0.7)


def of_bodies(frequency, state):
    lane = jv.replace(bodies, {"load.frequency": frequency})
    return jv.flow(lane, state, 0.0, 5 * lane.period())


def between_stops(restitution, state):
    lane = jv.replace(stops, {"contacts.0.law.restitution": restitution})
    return jv.flow(lane, state, 0.0, 5 * lane.period())


def own(values):
    x, y = values["x"], values["y"]
    waves = jnp.sin(3 * x) * jnp.exp(-y) + jnp.tanh(x) * jnp.log1p(y * y)
    return {"waves": waves, "angle": jnp.arctan2(x, y), "root": jnp.cbrt(x) ** 2}


def repeated(state):
    return np.tile(np.asarray(state, float), (LANES, 1))


def long_arrays(x):
    matrix = jnp.outer(jnp.cos(jnp.arange(28.0)), jnp.sin(jnp.arange(28.0))) / 28
    product = jnp.outer(x, x) @ matrix @ jnp.outer(x, x)
    return jax.lax.fori_loop(0, 5, lambda k, m: jnp.sin(m @ matrix), product).sum(0)


FREQUENCIES = np.linspace(5.0, 7.0, LANES)
START = repeated([0.0, 0.05, 0.0, 0.0])
# Functions, arguments of lanes, and the most bytes of a module.
PROGRAMS = {
    "two bodies": (of_bodies, (FREQUENCIES, START), 40_000),
    "sensitivities": (jax.jacfwd(of_bodies, (0, 1)), (FREQUENCIES, START), 60_000),
    "hard stops": (
        between_stops, (np.linspace(0.5, 0.9, LANES), repeated(stops.rest())), 16_000,
    ),
    "own function": (
        own, ({"x": rng.normal(size=LANES), "y": rng.normal(size=LANES)},), 9_000,
    ),
    "long arrays": (long_arrays, (rng.normal(size=(LANES, 28)),), 9_000),
}  # fmt: skip


def module_of(function, arguments, **options):
    one = jax.tree.map(lambda array: array[0], arguments)
    lanes = len(jax.tree.leaves(arguments)[0])
    return web_assembly(function, *one, lanes=lanes, **options)


def by_kernel(function, arguments):
    return jax.tree.leaves(kernel(function).map(*arguments, threads=1))


def pairs(module, arguments, expected, engine):
    """Return the results of a module and those expected, array by array."""
    found = computed(module, jax.tree.leaves(arguments), engine)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
    return zip(found, expected, strict=True)


@functools.cache
def module_of_program(name, instructions):
    function, arguments, _ = PROGRAMS[name]
    return module_of(function, arguments, instructions=instructions)


@functools.cache
def expected_of_program(name):
    return by_kernel(*PROGRAMS[name][:2])


def program_pairs(name, engine, instructions):
    module = module_of_program(name, instructions)
    return pairs(module, PROGRAMS[name][1], expected_of_program(name), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("instructions", ["scalar", "simd"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_without_fused_sums_the_last_digits_differ(name, instructions, engine):
    for ours, theirs in program_pairs(name, engine, instructions):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("engine", [WASMTIME])
@pytest.mark.parametrize("name", PROGRAMS)
def test_relaxed_simd_gives_the_bits_of_the_kernel(name, engine):
    for ours, theirs in program_pairs(name, engine, "relaxed-simd"):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("engine", [WASMTIME])
@pytest.mark.parametrize("seed", range(8))
def test_random_operations_have_the_bits_of_the_kernel(seed, engine):
    function, taken = operations(seed)
    arguments = lanes_of(taken, LANES, seed)
    module = module_of(function, arguments, instructions="relaxed-simd")
    expected = by_kernel(function, arguments)
    for ours, theirs in pairs(module, arguments, expected, engine):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_modules_are_small_and_soon_compiled(name):
    function, arguments, size = PROGRAMS[name]
    begun = time.process_time()
    module = module_of(function, arguments)
    assert time.process_time() - begun < 8.0  # s, with tracing; 2 s where nothing else runs
    assert len(module.code) < size


@pytest.mark.parametrize("engine", [WASMTIME])
def test_long_programs_compute_the_same_without_the_stack(engine, monkeypatch):
    name = "hard stops"
    function, arguments, _ = PROGRAMS[name]
    expected = computed(module_of_program(name, "simd"), jax.tree.leaves(arguments), engine)
    monkeypatch.setattr(wasm, "_MANY", 0)
    for ours, theirs in pairs(module_of(function, arguments), arguments, expected, engine):
        np.testing.assert_array_equal(ours, theirs)


EXTREMES = [
    0.0,
    -0.0,
    5e-324,
    -2.5e-310,
    2.3e-308,
    1.0,
    -3.0,
    1e16,
    -1.7e308,
    np.inf,
    np.nan,
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_are_exact(dtype, engine):
    with np.errstate(all="ignore"):
        some = (rng.normal(size=300) * 10.0 ** rng.uniform(-320, 300, 300)).astype(dtype)
        x, y = (g.ravel() for g in np.meshgrid(*[np.array(EXTREMES, dtype)] * 2))
        x, y = np.append(x, some), np.append(y, some[::-1])
        expected = np.fmod(x, y)
    [found] = computed(module_of(jax.lax.rem, (x, y)), (x, y), engine)
    np.testing.assert_array_equal(found, expected)
    defined = found == found  # a NaN's sign is not
    signs = np.signbit(found[defined]), np.signbit(expected[defined])
    np.testing.assert_array_equal(*signs)


@pytest.mark.parametrize("engine", ENGINES)
def test_large_angles_are_reduced_exactly(engine):
    x = np.append(10.0 ** np.linspace(5.2, 308.0, 200), -(2.0**60))
    [found] = computed(module_of(jnp.sin, (x,)), (x,), engine)
    np.testing.assert_allclose(found, kernel(jnp.sin).map(x), rtol=1e-15)


def all_kinds(real, single, whole, small, flag):
    scaled = single * jnp.float32(3.0) + jnp.float32(1.0)
    return {
        "real": jnp.where(flag, real, -real),
        "single": jnp.stack([scaled, jnp.round(single)]),
        "whole": whole // 7 + jnp.astype(jnp.floor(real), jnp.int64),
        "small": small + jnp.int32(1),
        "flag": ~flag & (real > 0),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("instructions", ["scalar", "simd"])
def test_every_dtype_is_stored_as_the_layout_says(instructions, engine):
    arguments = (
        rng.normal(size=LANES) * 10,
        rng.normal(size=LANES).astype(np.float32),
        rng.integers(-100, 100, LANES),
        rng.integers(-100, 100, LANES).astype(np.int32),
        rng.random(LANES) < 0.5,
    )
    module = module_of(all_kinds, arguments, instructions=instructions)
    expected = by_kernel(all_kinds, arguments)
    for ours, theirs in pairs(module, arguments, expected, engine):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if ours.itemsize == 4 else 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_run_computes_the_first_lanes(count, engine):
    x, weights = np.arange(1.0, 10.0), rng.random((9, 3)).astype(np.float32)
    module = module_of(lambda x, weights: x * weights.sum().astype(float), (x, weights))
    assert module.layout["lanes"] == 10
    [found] = computed(module, (x, weights), engine, count)
    np.testing.assert_allclose(found[:count], (x * weights.sum(1))[:count], rtol=1e-6)
    # A vector that is not full repeats its last lane: other arguments might not end.
    if count % 2:
        assert found[count] == found[count - 1]
    assert not found[count + count % 2 :].any()


@pytest.mark.parametrize("engine", [WASMTIME])
def test_more_lanes_than_reserved_stop_the_program(engine):
    wasmtime = pytest.importorskip("wasmtime")
    module = web_assembly(jnp.sin, 1.0, lanes=4)
    with pytest.raises(wasmtime.Trap):
        computed(module, [np.ones(4)], engine, count=5)


def test_the_layout_names_arrays_that_do_not_overlap():
    def function(pair, name, values):
        assert name == "load"
        return {"sum": pair[0] + pair[1], "twice": 2.0 * values["x"]}

    layout = web_assembly(function, (1.0, 2.0), "load", {"x": np.ones((2, 3))}).layout
    assert json.loads(json.dumps(layout)) == layout
    assert [entry["name"] for entry in layout["inputs"]] == ["0.0", "0.1", "2.x"]
    assert [entry["name"] for entry in layout["outputs"]] == ["sum", "twice"]
    assert layout["inputs"][2]["shape"] == [2, 3]
    end = 0
    for entry in [*layout["inputs"], *layout["outputs"]]:
        assert entry["offset"] % 16 == 0
        assert entry["offset"] >= end
        size = np.dtype(entry["dtype"]).itemsize * int(np.prod(entry["shape"]))
        end = entry["offset"] + size * layout["lanes"]


def test_parameters_of_a_system_are_inputs_by_their_paths():
    layout = web_assembly(lambda system: system.rest(), bodies).layout
    names = {entry["name"] for entry in layout["inputs"]}
    assert names == {f"0.{path}" for path in jv.systems.parameters(bodies)}


def test_a_kernel_makes_the_module_of_its_function():
    assert web_assembly(kernel(own), {"x": 1.0, "y": 2.0}).layout == (
        web_assembly(own, {"x": 1.0, "y": 2.0}).layout
    )


def called_back(x):
    return jax.pure_callback(np.sin, x, x)


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (jnp.sqrt, (1j,), "dtype complex128 is not supported"),
        (called_back, (1.0,), "pure_callback cannot|JAX's pure_callback is not supported"),
        (len, ("load",), "it takes no arrays"),
        (lambda x: None, (1.0,), "it returns no arrays"),
    ],
)
def test_it_says_why_a_function_cannot_be_compiled(function, arguments, reason):
    with pytest.raises(ValueError, match=f"cannot be compiled to WebAssembly: {reason}"):
        web_assembly(function, *arguments)


def test_long_programs_are_rejected(monkeypatch):
    monkeypatch.setattr(wasm, "_LONGEST", 20)
    with pytest.raises(ValueError, match=r"it has \d+ instructions; allowed: 20"):
        web_assembly(jnp.sin, 1.0)


def test_captured_traced_values_are_rejected():
    with pytest.raises(ValueError, match="it captures traced values"):
        jax.jit(lambda y: web_assembly(lambda x: x * y, 1.0).code[0])(2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instructions": "avx"}, "instructions = 'avx'; allowed: scalar, simd, relaxed"),
        ({"lanes": 0}, "lanes = 0; allowed: at least 1"),
        ({"lanes": 2**27}, "134217728 lanes need 21475.* bytes; allowed: 2147483648"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        web_assembly(jnp.sin, 1.0, **options)


def test_long_arrays_are_in_memory():
    module = module_of_program("long arrays", "simd")
    assert module.layout["lanes"] == LANES  # one at a time: vectors are along the arrays


def test_functions_that_a_module_does_not_have_are_named(monkeypatch):
    monkeypatch.setattr(wasm, "library_text", lambda text: "")
    with pytest.raises(ValueError, match="LLVM calls __multi3 for WebAssembly"):
        web_assembly(jnp.sin, 1.0)


@pytest.mark.parametrize(
    ("limit", "message"),
    [("_MOST_LOCALS", "variables; browsers accept 2"), ("_LONGEST_FUNCTION", "bytes; ")],
)
def test_functions_that_browsers_do_not_accept_are_rejected(monkeypatch, limit, message):
    monkeypatch.setattr(wasm_object, limit, 2)
    with pytest.raises(ValueError, match=message):
        web_assembly(jnp.sin, 1.0)


PAGE = Path(__file__).parents[2] / "docs/howto/web_pages.md"


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
def test_the_manual_shows_what_node_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S
    )
    (_, python), _, (_, script), (_, command), (_, expected) = blocks
    exec(python, {})
    Path("motion.mjs").write_text(script)
    printed = subprocess.run(command.split(), check=True, capture_output=True, text=True)
    assert printed.stdout == expected
