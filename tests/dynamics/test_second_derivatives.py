"""Checked against: closed forms; differences of first derivatives; JAX's own of a scan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv

TIMES = np.linspace(0.0, 1.2, 4)
ORDERS = {
    # forward of reverse, which compiles for 3 s
    "hessian": jax.hessian,
    "forward twice": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "reverse of forward": lambda f: jax.jacrev(jax.jacfwd(f)),
}
decay = jv.autonomous_system(
    lambda x, p: [-p["rate"] * x[0]], parameters={"rate": 2.0}, dimension=1
)
oscillator = jv.ImpactSystem(
    jv.LinearSystem([[1.0]], [[0.0]], [[9.0]]),
    contacts=[jv.Contact([1.0], 0.5, jv.RestitutionContact(0.8), "far away")],
)
knocked = jv.ImpactSystem(
    jv.LinearSystem([[2.0]], [[1.5]], [[50.0]]),
    contacts=[jv.Contact([1.0], 0.05, jv.HertzContact(4e4), "stop")],
    loads=[jv.AppliedLoad([1.0], jv.HarmonicLoad(9.0, 4.0), "push")],
)


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "hessian" else ())
        for name in ORDERS
    ],
)
def test_second_derivatives_of_samples_of_a_decay_are_the_closed_form(order):
    def last(rate):
        return jv.simulate(jv.replace(decay, {"rate": rate}), [3.0], TIMES).states[-1, 0]

    expected = 1.2**2 * 3.0 * np.exp(-2.0 * 1.2)
    np.testing.assert_allclose(jax.jit(ORDERS[order](last))(2.0), expected, rtol=1e-7)


@pytest.mark.slow  # compiles every event twice differentiated, 10 s
def test_second_derivatives_of_samples_through_events_are_the_closed_form():
    def last(stiffness):
        system = jv.replace(oscillator, {"linear.stiffness.0.0": stiffness})
        return jv.simulate(system, [0.3, 0.0], TIMES, engine="event").states[-1, 0]

    w, t = 3.0, 1.2  # of 0.3 cos(w t) by k = w^2
    expected = 0.3 * (t * np.sin(w * t) - w * t**2 * np.cos(w * t)) / (4 * w**3)
    np.testing.assert_allclose(jax.jit(jax.hessian(last))(9.0), expected, rtol=1e-8)


@pytest.mark.slow
def test_second_derivatives_beside_a_contact_are_differences_of_slopes():
    def last(push):
        system = jv.replace(knocked, {"loads.push.law.amplitude": push})
        start = [0.02, 0.2]
        return jnp.stack([
            jv.simulate(system, start, TIMES).states[-1, 0],
            jv.response(system, 1.2, state=start).peak[0],
        ])  # fmt: skip

    slope = jax.jit(jax.jacfwd(last))
    difference = (slope(9.0 + 1e-3) - slope(9.0 - 1e-3)) / 2e-3
    np.testing.assert_allclose(jax.hessian(last)(9.0), difference, rtol=1e-4)


def test_kernels_in_loops_have_second_derivatives():
    def looped(function):
        def run(x):
            return jax.lax.scan(lambda x, _: (function(x), None), x, length=3)[0]

        return run

    def turn(x):
        return 1.1 * jnp.sin(x) + jnp.stack([x[1], x[0] ** 2])

    point = jnp.array([0.3, 0.7])
    found = jax.hessian(looped(jv.kernel(turn)))(point)
    np.testing.assert_allclose(found, jax.hessian(looped(turn))(point), rtol=1e-12)


def test_second_derivatives_of_equilibria_are_refused_in_words():
    def spectrum(rate):
        return jv.equilibrium(jv.replace(decay, {"rate": rate})).eigenvalues.real[0]

    with pytest.raises(TypeError, match="second derivatives of an equilibrium: take diff"):
        jax.hessian(spectrum)(2.0)
