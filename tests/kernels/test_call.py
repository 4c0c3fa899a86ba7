"""Checked against: numpy's closed forms, and the bits of the same kernel's other calls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxvib as jv
from jaxvib.ensemble.map_samples import devices_for
from jaxvib.kernels.calls.call import kernels_called

TIMES, FREQUENCIES = np.linspace(0.0, 3.0, 5), np.linspace(1.0, 2.0, 5)
oscillation = jv.kernel(lambda t, w: jnp.exp(-0.1 * t) * jnp.cos(w * t))
EXPECTED = np.exp(-0.1 * TIMES) * np.cos(FREQUENCIES * TIMES)
swept = jax.jit(jax.vmap(oscillation))


@pytest.fixture
def host_with_a_gpu(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")


def test_a_host_with_a_gpu_keeps_the_kernels_of_its_cpu(host_with_a_gpu):
    decay = jv.kernel(lambda t, w: jnp.exp(-0.1 * t) * jnp.cos(w * t))
    assert decay.unsupported_reason(0.0, 1.0) == ""
    found = decay.map(TIMES, FREQUENCIES)
    np.testing.assert_array_equal(found, oscillation.map(TIMES, FREQUENCIES))
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-14, atol=1e-15)
    mapped = jv.map_samples(jv.kernel(lambda tw: decay(*tw)), (TIMES, FREQUENCIES))
    np.testing.assert_array_equal(mapped, found)


def test_the_engine_does_not_depend_on_the_default_device(host_with_a_gpu):
    system = jv.two_body_impact()
    found = jv.flow(system, system.rest(), 0.0, 0.1, engine="auto")
    by_events = jv.flow(system, system.rest(), 0.0, 0.1, engine="event")
    np.testing.assert_array_equal(found, by_events)


def repeated(t, w):
    """Call a kernel in a branch of a loop, where its slope is known too."""
    return lax.fori_loop(
        0, 3, lambda k, x: lax.cond(k > 1, lambda: x, lambda: x + oscillation(t, w)), 0.0
    )


def test_kernels_within_a_function_leave_its_samples_to_the_cpu(monkeypatch):
    lanes = jax.make_jaxpr(jax.vmap(jax.value_and_grad(repeated)))(TIMES, FREQUENCIES)
    found = list(kernels_called(lanes.jaxpr))
    assert found
    assert not any(callee.is_launched() for callee in found)
    assert not list(kernels_called(jax.make_jaxpr(jnp.sin)(0.0).jaxpr))
    one = (TIMES[0], FREQUENCIES[0])
    devices = devices_for(lambda tw: repeated(*tw), one, accelerated=True)
    assert {each.platform for each in devices} == {"cpu"}
    monkeypatch.setenv("JAXVIB_GPU", "kernels")  # launched in XLA's programs, by hand
    form = oscillation._form_of(one)[1]
    assert form.is_launched()


def test_samples_stay_on_the_gpus_where_jax_is_given_no_cpu(monkeypatch):
    def devices_of_cuda(backend=None):  # with JAX_PLATFORMS = cuda
        if backend == "cpu":
            raise RuntimeError("Unknown backend cpu")
        return gpus

    gpus = jax.devices("cpu")[:1]  # in their place
    monkeypatch.setattr(jax, "local_devices", devices_of_cuda)
    one = (TIMES[0], FREQUENCIES[0])
    assert devices_for(lambda tw: repeated(*tw), one, accelerated=True) is gpus


def test_the_platform_decides_where_a_program_is_lowered():
    arguments = (TIMES, FREQUENCIES)
    for_gpu = jax.export.export(swept, platforms=["cuda"])(*arguments)
    assert "jaxvib_" not in for_gpu.mlir_module()
    assert "jaxvib_" in jax.jit(swept).lower(*arguments).as_text()
    # What is exported may run in another process, without this one's machine code.
    exported = jax.export.export(swept, platforms=["cpu", "cuda"])(*arguments)
    assert "jaxvib_" not in exported.mlir_module()
    found, expected = exported.call(*arguments), swept(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_xla_s_program_for_other_platforms_computes_the_same():
    form = oscillation._form_of((TIMES[0], FREQUENCIES[0]))[1]
    (found,) = form.lanes_by_xla([TIMES, FREQUENCIES])
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(swept(TIMES, FREQUENCIES), EXPECTED, rtol=1e-14, atol=1e-15)
