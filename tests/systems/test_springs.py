"""Checked against: the formulas in numpy, and scipy's integration of the same forces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv

CUBIC, QUINTIC, DRAG, WAVE = 900.0, 4e4, 0.8, 2.0


def pull(elongation, rate, p):
    return p["size"] * jnp.sin(elongation) + 0.1 * rate


def two_bodies(numbers):
    """Return two bodies that touch, on springs and dampers of every law."""
    linear = jv.LinearSystem(np.eye(2), 0.1 * np.eye(2), 30.0 * np.eye(2))
    apart = jnp.asarray([1.0, -1.0])
    laws = [
        ([1.0, 0.0], jv.PolynomialLaw([0.0, 5.0, numbers[0], 0.0, QUINTIC])),
        (apart, jv.PolynomialDamperLaw([0.0, DRAG, 0.3])),
        ([0.0, 1.0], jv.PiecewiseLinearLaw([20.0, 0.0, 60.0], [-0.01, 0.02])),
        (apart, jv.FunctionLaw(pull, {"size": numbers[1]})),
    ]
    return jv.ImpactSystem(
        linear,
        (jv.Contact(apart, 0.05, jv.HertzContact(2e4)),),
        (jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(4.0, 5.0)),),
        springs=[jv.NonlinearSpring(direction, law) for direction, law in laws],
    )


def rates(t, s):
    x, v = s[:2], s[2:]
    apart, closing = x[0] - x[1], v[0] - v[1]
    first = 5.0 * x[0] ** 2 + CUBIC * x[0] ** 3 + QUINTIC * x[0] ** 5
    drag = DRAG * closing * abs(closing) + 0.3 * closing**3
    second = 20.0 * min(x[1] + 0.01, 0.0) + 60.0 * max(x[1] - 0.02, 0.0)
    between = drag + WAVE * np.sin(apart) + 0.1 * closing
    contact = 2e4 * max(apart - 0.05, 0.0) ** 1.5
    push = 4.0 * np.cos(5.0 * t) - first - between - contact
    other = between + contact - second
    return [*v, push - 30.0 * x[0] - 0.1 * v[0], other - 30.0 * x[1] - 0.1 * v[1]]


def test_bodies_on_springs_of_every_law_move_as_scipy_says():
    start = [0.03, -0.05, 0.4, -0.2]
    done = solve_ivp(
        rates, (0, 3.0), start, method="DOP853", rtol=1e-12, atol=1e-14, max_step=1e-3
    )
    end = jv.flow(two_bodies([CUBIC, WAVE]), start, 0.0, 3.0, rtol=1e-11)
    np.testing.assert_allclose(end, done.y[:, -1], atol=2e-8)


def test_parameters_have_their_paths_and_others_can_be_set():
    system = two_bodies([CUBIC, WAVE])
    paths = jv.parameters(system)
    assert float(paths["springs.3.law.size"].value) == WAVE
    assert float(paths["springs.0.law.coefficients"].value[2]) == CUBIC
    other = jv.replace(system, {"springs.3.law.size": 3.0})
    assert float(other.springs[3].law.values[0]) == 3.0
    field = other.equation().vector_field
    changed = jax.jit(lambda s: field(0.0, s))(jnp.asarray([0.1, 0.0, 0.0, 0.0]))
    before = rates(0.0, [0.1, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(before[2] - changed[2], np.sin(0.1), rtol=1e-12)


def test_each_force_is_its_formula():
    e = np.linspace(-0.05, 0.05, 11)
    np.testing.assert_allclose(
        jv.PolynomialLaw([2.0, 0.0, 3.0]).force(e), 2 * e + 3 * e**3, rtol=1e-14
    )
    polygon = jv.PiecewiseLinearLaw([20.0, 0.0, 60.0], [-0.01, 0.02]).force(e)
    expected = 20.0 * np.minimum(e + 0.01, 0.0) + 60.0 * np.maximum(e - 0.02, 0.0)
    np.testing.assert_allclose(polygon, expected, atol=1e-15)


@pytest.mark.parametrize(
    "law",
    [
        jv.PolynomialLaw([3.0, -2.0, 50.0]),
        jv.PiecewiseLinearLaw([20.0, 0.0, 60.0, 5.0], [-0.03, -0.01, 0.02]),
    ],
)
def test_the_energy_of_a_spring_is_the_integral_of_its_force(law):
    e = np.linspace(-0.06, 0.06, 25)
    nodes, weights = np.polynomial.legendre.leggauss(4000)
    inside = np.asarray(law.force(e[:, None] * (nodes + 1) / 2))
    np.testing.assert_allclose(
        law.energy(e), e / 2 * (inside @ weights), rtol=1e-6, atol=1e-9
    )
    slopes = jax.vmap(jax.grad(law.energy))(jnp.asarray(e))
    np.testing.assert_allclose(slopes, law.force(e), rtol=1e-13, atol=1e-15)


def test_dampers_have_their_slope_at_rest():
    def force(coefficients, rate):
        return jv.PolynomialDamperLaw(coefficients).force(0.0, rate)

    given, rates = jnp.array([2.0, 0.5, 3.0]), jnp.array([-0.2, 0.0, 0.2])
    slope = jax.jit(jax.vmap(jax.grad(force, argnums=1), (None, 0)))(given, rates)
    expected = 2.0 + 2 * 0.5 * np.abs(rates) + 3 * 3.0 * rates**2
    np.testing.assert_allclose(slope, expected, rtol=1e-14)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="direction of a spring = 0"):
        jv.NonlinearSpring([0.0], jv.PolynomialLaw([1.0]))
    with pytest.raises(ValueError, match=r"coefficients has shape \(0,\)"):
        jv.PolynomialLaw([])
    with pytest.raises(ValueError, match="do not ascend"):
        jv.PiecewiseLinearLaw([1.0, 2.0, 3.0], [0.2, 0.1])
    with pytest.raises(
        ValueError, match="spring law PolynomialDamperLaw has no event-driven form"
    ):
        jv.flow(two_bodies([CUBIC, WAVE]), [0.0] * 4, 0.0, 1.0, engine="event")
