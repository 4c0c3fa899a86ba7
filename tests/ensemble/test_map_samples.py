"""Checked against: a plain loop over the samples, bit by bit."""

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv
from jaxvib.ensemble import TwoStageFunction, compile_ahead


def iterate(sample):
    """Loop for longer in some samples than in others, as a solver does."""

    def body(carry):
        x, n = carry
        return jnp.where(x > 1, jnp.sqrt(x), x + 0.1), n + 1

    x, n = jax.lax.while_loop(
        lambda carry: carry[1] < sample["steps"], body, (sample["x"], 0)
    )
    return {"x": x * jnp.sin(x), "n": n}


def test_a_numpy_stage_finishes_the_results_of_a_kernel():
    @jv.kernel
    def squared(sample):
        return sample["x"] ** 2

    def finish(sample, found):
        assert isinstance(found, np.generic | np.ndarray)
        return {"sum": sample["x"] + found, "square": found}

    samples = {"x": np.arange(5.0)}
    found = jv.map_samples(TwoStageFunction(squared, finish), samples)
    np.testing.assert_array_equal(found["sum"], np.arange(5.0) + np.arange(5.0) ** 2)
    np.testing.assert_array_equal(found["square"], np.arange(5.0) ** 2)


rng = np.random.default_rng(0)
many = {"x": rng.uniform(0.1, 9.0, 301), "steps": rng.integers(0, 40, 301)}
alone = jax.jit(jax.vmap(iterate))


def one(index):
    """Return the result of one sample; a chunk of one would have other code."""
    pair = {key: values[[index, index]] for key, values in many.items()}
    return {key: np.asarray(values)[0] for key, values in alone(pair).items()}


def wander(sample):
    """Iterate a map whose roundings grow: each product could be fused with either sum."""

    def step(carry):
        n, (a, b, c, d, e, f), total = carry
        turned = [b, -a * b * b + c * 0.3 * d, e * a - f * f * 0.1, a * d - b * e]
        y = jnp.stack([*turned, c * c * 0.2 - a * f, d * d * 0.3 - e])
        return n + 1, jnp.where(jnp.abs(y) > 2, 0.5, y), total + jnp.sum(y * y)

    most = jnp.where(sample[0] > 0, 25, 20)
    start = 0, sample, jnp.zeros(())
    return jax.lax.while_loop(lambda carry: carry[0] < most, step, start)


starts = rng.normal(size=(301, 6))


def digest(found) -> str:
    """Return the hash of all bytes of a result."""
    leaves = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(found)]
    return hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest()


@pytest.mark.parametrize("chunk", [5, 16, 64])
def test_one_hash_in_any_order_among_any_neighbours_and_in_any_number(chunk):
    whole = jv.map_samples(wander, starts, chunk=chunk)
    for _ in range(3):
        order = rng.permutation(301)
        turned = jv.map_samples(wander, starts[order], chunk=chunk)
        back = jax.tree.map(lambda leaf: leaf[np.argsort(order)], turned)  # noqa: B023
        assert digest(back) == digest(whole)
    bad = rng.random(301) < 0.1
    spoiled = jv.map_samples(wander, np.where(bad[:, None], np.nan, starts), chunk=chunk)
    kept = jax.tree.map(lambda leaf: leaf[~bad], (spoiled, whole))
    assert digest(kept[0]) == digest(kept[1])
    for number in (1, 2, 7, 60):
        some = jv.map_samples(wander, starts[-number:], chunk=chunk)
        expected = jax.tree.map(lambda leaf: leaf[-number:], whole)  # noqa: B023
        assert digest(some) == digest(expected)


def test_no_bit_depends_on_the_number_of_cores():
    program = (
        "import os, sys\n"
        "if hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "import jaxvib as jv\n"
        "from tests.ensemble.test_map_samples import digest, starts, wander\n"
        "print(digest(jv.map_samples(wander, starts)))\n"
    )
    here = Path(__file__).parents[2]
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    done = subprocess.run(
        [sys.executable, "-c", program, str(core)],
        check=True, capture_output=True, text=True, cwd=here,
    )  # fmt: skip
    assert done.stdout.strip() == digest(jv.map_samples(wander, starts))


def test_every_chunk_has_the_same_lanes_however_few_samples_there_are():
    traced = []

    def function(x):
        traced.append(x)
        return x**2

    for number in (1, 5, 64, 65):
        values = np.arange(float(number))
        np.testing.assert_array_equal(jv.map_samples(function, values), values**2)
    assert len(traced) == 1


@settings(max_examples=20)
@given(chunk=st.integers(1, 400), order=st.sampled_from(["none", "steps", "random"]))
def test_no_bit_depends_on_chunks_order_or_neighbours(chunk, order):
    cost = {"none": None, "steps": many["steps"], "random": rng.permutation(301)}[order]
    result = jv.map_samples(iterate, many, cost, chunk=chunk)
    for index in (0, 1, 150, 299, 300):
        expected = one(index)
        for key in expected:
            assert result[key][index].tobytes() == expected[key].tobytes()


def test_a_kernel_has_the_same_bits_in_one_call_and_in_parts():
    kernel, done = jv.kernel(lambda sample: jnp.outer(wander(sample)[1], sample)), []
    whole = jv.map_samples(kernel, starts)
    parts = jv.map_samples(kernel, starts, starts[:, 0], chunk=7, progress=done.append)
    assert len(done) == 43
    assert whole.flags.c_contiguous
    assert whole.tobytes() == parts.tobytes()


def test_results_are_numpy_arrays_with_a_leading_axis():
    result = jv.map_samples(iterate, many)
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(result))
    np.testing.assert_array_equal(result["n"], many["steps"])


def test_a_single_sample_is_mapped_like_any_other():
    first = {key: values[:1] for key, values in many.items()}
    result = jv.map_samples(iterate, first)
    assert result["x"].shape == (1,)
    assert result["x"].tobytes() == one(0)["x"].tobytes()


def test_a_bad_lane_changes_none_of_its_neighbours():
    broken = many | {"x": many["x"].copy()}
    broken["x"][7] = np.nan
    result, expected = (jv.map_samples(iterate, samples) for samples in (broken, many))
    assert np.isnan(result["x"][7])
    others = np.arange(301) != 7
    np.testing.assert_array_equal(result["x"][others], expected["x"][others])


def test_progress_counts_every_sample_once_from_whatever_thread():
    lock, counts = threading.Lock(), []

    def progress(number):
        with lock:
            counts.append(number)

    # A function of its own: one that was compiled for wider chunks would use those.
    jv.map_samples(lambda sample: sample["x"], many, chunk=64, progress=progress)
    assert sum(counts) == 301
    assert len(counts) >= 301 / 64
    assert max(counts) <= 64


def test_samples_may_be_any_pytree():
    system = jv.two_body_impact()
    systems = jax.vmap(lambda f: jv.replace(system, {"load.amplitude": f}))(
        np.array([1.0, 2.0, 3.0])
    )
    result = jv.map_samples(lambda s: s.load.force(0.0), systems)
    np.testing.assert_array_equal(result, [1.0, 2.0, 3.0])


def test_errors_in_a_function_are_raised():
    with pytest.raises(ZeroDivisionError):
        jv.map_samples(lambda sample: 1 / 0, np.ones(5))


@pytest.mark.parametrize(
    ("samples", "cost", "chunk", "message"),
    [
        ({}, None, 64, "samples"),
        ({"x": np.ones(0)}, None, 64, r"leading lengths \[0\]"),
        ({"x": 1.0}, None, 64, r"leading lengths \[0\]"),
        ({"x": np.ones(3), "y": np.ones(4)}, None, 64, r"leading lengths \[3, 4\]"),
        ({"x": np.ones(3)}, np.ones(2), 64, r"leading lengths \[2, 3\]"),
        ({"x": np.ones(3)}, None, 0, r"chunk = 0 is not in \[1, inf\)"),
    ],
)
def test_bad_samples_are_refused(samples, cost, chunk, message):
    with pytest.raises(ValueError, match=message):
        jv.map_samples(lambda sample: sample, samples, cost, chunk=chunk)


def test_programs_compiled_ahead_are_not_compiled_again():
    traced = []

    def square(x):
        traced.append(x)
        return x**2

    compile_ahead(square, np.asarray(1.0))
    values = np.arange(40.0)
    np.testing.assert_array_equal(jv.map_samples(square, values), values**2)
    np.testing.assert_array_equal(jv.map_samples(square, values[:3]), values[:3] ** 2)
    assert len(traced) == 1


def test_errors_of_compilation_ahead_are_raised_by_the_map():
    def broken(x):
        raise ValueError("no such thing")

    compile_ahead(broken, np.asarray(1.0))
    with pytest.raises(ValueError, match="no such thing"):
        jv.map_samples(broken, np.arange(4.0))


@pytest.mark.slow
def test_several_devices_give_the_same_bits(tmp_path):
    # Devices are counted when JAX starts, so another process has four of them.
    program = tmp_path / "on_four_devices.py"
    program.write_text(
        "import sys, jax, numpy as np, jaxvib as jv\n"
        "from tests.ensemble.test_map_samples import iterate, many\n"
        "assert len(jax.local_devices()) == 4\n"
        "result = jv.map_samples(iterate, many, many['steps'], chunk=32)\n"
        "by_kernel = jv.map_samples(jv.kernel(iterate), many, many['steps'], chunk=32)\n"
        "result |= {f'kernel {key}': values for key, values in by_kernel.items()}\n"
        "np.savez(sys.argv[1], **result)\n"
    )
    here = Path(__file__).parents[2]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(here),
    }
    file = tmp_path / "result.npz"
    subprocess.run([sys.executable, program, file], check=True, env=environment, cwd=here)
    expected = jv.map_samples(iterate, many, many["steps"], chunk=32)
    by_kernel = jv.map_samples(jv.kernel(iterate), many, many["steps"], chunk=32)
    expected |= {f"kernel {key}": values for key, values in by_kernel.items()}
    with np.load(file) as found:
        for key, values in expected.items():
            np.testing.assert_array_equal(found[key], values)


SIGNS = """
import jax, jax.numpy as jnp, numpy as np
import jaxvib as jv

def sign(matrix):
    return jax.lax.fori_loop(0, 20, lambda _, x: (x + jnp.linalg.inv(x)) / 2, matrix)

rng = np.random.default_rng(0)
matrices = rng.normal(size=(1024, 33, 33)) / 33 + np.eye(33)
signs = jv.map_samples(sign, matrices)
np.testing.assert_allclose(signs, np.tile(np.eye(33), (1024, 1, 1)), atol=1e-12)
"""


@pytest.mark.slow  # large matrices on all cores, 2 s
def test_many_large_matrices_come_to_their_end():
    # Up to jaxlib 0.11.0, the second chunks wait for each other in a pool of few threads.
    subprocess.run([sys.executable, "-c", SIGNS], check=True, timeout=120)
