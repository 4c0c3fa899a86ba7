"""Checked against: closed forms of decays, matrix exponentials of a linear system."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv
from jaxvib.dynamics.flow import solve_system
from jaxvib.dynamics.sensitivities import MOST_SENSITIVITIES

NUMBER = 32
RATES = np.linspace(0.2, 1.4, NUMBER)
STARTS = np.linspace(1.0, 2.0, NUMBER)
SPAN = 1.3


def decayed(rates, starts):
    """Return x_i e^(-a_i t) as a flow."""
    system = jv.forced_system(
        lambda t, x, p: -jnp.stack(list(p.values())) * x,
        parameters={f"rate_{i:02}": rate for i, rate in enumerate(rates)},
        period=1.0,
        dimension=NUMBER,
    )
    return jv.flow(system, starts, 0.0, SPAN, rtol=1e-9)


@pytest.mark.slow  # compiles derivatives by 64 numbers forward and in reverse
def test_derivatives_by_many_parameters_are_exact_forward_and_in_reverse():
    assert NUMBER > MOST_SENSITIVITIES
    decay = np.exp(-RATES * SPAN)
    exact = np.diag(-SPAN * decay * STARTS), np.diag(decay)
    for transform in (jax.jacfwd, jax.jacrev):
        found = jax.jit(transform(decayed, (0, 1)))(jnp.asarray(RATES), jnp.asarray(STARTS))
        for one, other in zip(found, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-9)


@pytest.mark.slow  # compiles reverse derivatives by 32 parameters, 8 s
def test_reverse_derivatives_by_many_parameters_in_an_ensemble():
    factors = jnp.array([0.5, 1.0, 1.5])

    @jax.jit
    @jax.vmap
    def slopes(factor):
        return jax.grad(lambda rates: jnp.sum(decayed(factor * rates, STARTS)))(
            jnp.asarray(RATES)
        )

    turned = np.asarray(factors)[:, None]
    exact = -turned * SPAN * STARTS * np.exp(-turned * RATES * SPAN)
    np.testing.assert_allclose(slopes(factors), exact, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["diffrax", "event"])
def test_all_parameters_of_a_system_of_four_freedoms(engine):
    size = 4
    first, last = np.eye(size)[0], np.eye(size)[-1]
    stiffness = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    damping = 0.1 * stiffness
    # The contact's gap is -1 m: it stays closed, a spring with a load on it.
    system = jv.ImpactSystem(
        jv.LinearSystem(np.eye(size), damping, stiffness),
        (jv.Contact(last, -1.0, jv.LinearContact(0.5)),),
        (jv.AppliedLoad(first, jv.HarmonicLoad(0.5, 1.0)),),
    )
    leaves, static = eqx.partition(system, eqx.is_inexact_array)
    assert sum(leaf.size for leaf in jax.tree.leaves(leaves)) > MOST_SENSITIVITIES
    start = 0.1 * np.ones(2 * size)

    def end(leaves):
        return jv.flow(eqx.combine(leaves, static), start, 0.0, SPAN, engine=engine)

    forward, reverse = (
        jax.jit(transform(end))(leaves) for transform in (jax.jacfwd, jax.jacrev)
    )

    def exact(mass, damping, stiffness, spring, gap, amplitude, frequency):
        held = stiffness + spring * np.outer(last, last)
        inverse = np.linalg.inv(mass)
        whole = np.zeros((2 * size + 3, 2 * size + 3))  # beside it: 1, cos and sin
        whole[:size, size : 2 * size] = np.eye(size)
        whole[size : 2 * size, :size] = -inverse @ held
        whole[size : 2 * size, size : 2 * size] = -inverse @ damping
        whole[size : 2 * size, -3] = inverse @ last * spring * gap
        whole[size : 2 * size, -2] = inverse @ first * amplitude
        whole[-2, -1], whole[-1, -2] = -frequency, frequency
        return (scipy.linalg.expm(whole * SPAN) @ [*start, 1.0, 1.0, 0.0])[: 2 * size]

    values = [np.eye(size), damping, stiffness, 0.5, -1.0, 0.5, 1.0]
    paths = [
        lambda s: s.linear.mass,
        lambda s: s.linear.damping,
        lambda s: s.linear.stiffness,
        lambda s: s.contacts[0].law.stiffness,
        lambda s: s.contacts[0].gap,
        lambda s: s.loads[0].law.amplitude,
        lambda s: s.loads[0].law.frequency,
    ]
    for i, leaf_of in enumerate(paths):

        def moved(change, i=i):
            changed = [np.array(value, float) for value in values]
            changed[i].reshape(-1)[:1] += change
            return exact(*changed)

        step = 1e-3
        slope = 8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))
        for found in (forward, reverse):
            sensitivity = np.asarray(leaf_of(found)).reshape(2 * size, -1)[:, 0]
            np.testing.assert_allclose(sensitivity, slope / (12 * step), rtol=0, atol=1e-9)


def test_a_parameter_that_acts_by_rounding_only_does_not_shorten_the_steps():
    def rates(x, p):
        growth = p["growth"] * (1 - x[0] ** 2 - x[1] ** 2)  # rounding alone on the cycle
        return jnp.stack([growth * x[0] - x[1], growth * x[1] + x[0]])

    def turn(growth, phase):
        system = jv.autonomous_system(rates, parameters={"growth": growth}, dimension=2)
        start = jnp.stack([jnp.cos(phase), jnp.sin(phase)])
        return solve_system(system, start, 0.0, 2 * np.pi, rtol=1e-9)

    def with_slope(phase):
        motion, slopes = jax.jvp(lambda growth: turn(growth, phase), (-0.7,), (1.0,))
        return motion.steps, slopes.state

    steps, slopes = jax.vmap(with_slope)(jnp.linspace(0.0, 6.0, 8))
    assert np.max(steps) < 200  # 1,000,000 before, or 38 where all is exact
    np.testing.assert_allclose(slopes, 0.0, atol=1e-7)


@pytest.mark.slow  # compiles a chain with 64 sensitivities
def test_a_chain_of_32_bodies_has_the_sensitivities_of_its_matrix_exponential():
    bodies, damping = 32, 0.1

    def rates(t, y, p):
        x = jnp.concatenate([jnp.zeros(1), y[:bodies], jnp.zeros(1)])
        springs = p["stiffness"] * (x[2:] - 2 * x[1:-1] + x[:-2])
        return jnp.concatenate([y[bodies:], springs - p["damping"] * y[bodies:]])

    system = jv.forced_system(
        rates,
        parameters={"stiffness": 1.0, "damping": damping},
        period=2 * np.pi,
        dimension=2 * bodies,
    )
    state = np.random.default_rng(0).normal(size=2 * bodies)
    found = jax.jit(jax.jacfwd(lambda y: jv.flow(system, y, 0.0, 2 * np.pi, rtol=1e-11)))(
        state
    )
    stiffness = 2 * np.eye(bodies) - np.eye(bodies, k=1) - np.eye(bodies, k=-1)
    matrix = np.block(
        [
            [np.zeros((bodies, bodies)), np.eye(bodies)],
            [-stiffness, -damping * np.eye(bodies)],
        ]
    )
    np.testing.assert_allclose(found, scipy.linalg.expm(2 * np.pi * matrix), atol=1e-11)
