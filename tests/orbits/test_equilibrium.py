"""Checked against: closed forms of Lorenz (1963) and the Brusselator, and numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from tests import zoo


def convection(r, b=8 / 3):
    """Return the equilibrium with rolls, and the eigenvalues of its Jacobian."""
    x = np.sqrt(b * (r - 1))
    matrix = [[-10.0, 10.0, 0.0], [1.0, -1.0, -x], [x, x, -b]]
    return np.array([x, x, r - 1]), np.linalg.eigvals(np.array(matrix))


def test_lorenz_rolls_are_the_closed_form_with_their_eigenvalues():
    found = jv.equilibrium(zoo.lorenz(20.0), [5.0, 6.0, 15.0])
    state, values = convection(20.0)
    np.testing.assert_allclose(found.state, state, rtol=1e-14)
    order = np.lexsort((-values.imag, -values.real))
    np.testing.assert_allclose(found.eigenvalues, values[order], rtol=1e-12)
    assert int(found.stable) == 1
    assert int(found.result) == 0
    assert found.eigenvalue_error < 1e-10
    assert found.state_error < 1e-12
    assert "stable" in repr(found)


@pytest.mark.parametrize(("r", "stable"), [(0.5, 1), (1.0, -1), (2.0, 0)])
def test_rest_loses_its_stability_at_the_pitchfork_and_is_undecided_there(r, stable):
    found = jv.equilibrium(zoo.lorenz(r), [0.0, 0.0, 0.0])
    assert int(found.stable) == stable
    wanted = "fold" if stable == -1 else "success"
    assert wanted in jv.reason(found.result)
    largest = -5.5 + np.sqrt(5.5**2 + 10 * (r - 1))
    np.testing.assert_allclose(found.eigenvalues[0].real, largest, atol=1e-14)


def test_where_two_eigenvalues_are_imaginary_stability_is_undecided():
    assert int(jv.equilibrium(zoo.lorenz(470 / 19), [7.0, 7.0, 23.0]).stable) == -1
    assert int(jv.equilibrium(zoo.lorenz(24.7), [7.0, 7.0, 23.0]).stable) == 1
    assert int(jv.equilibrium(zoo.lorenz(24.8), [7.0, 7.0, 23.0]).stable) == 0


@pytest.mark.slow  # compiles a system of its own, 2 s
def test_a_far_guess_is_led_to_the_only_equilibrium():
    found = jv.equilibrium(zoo.brusselator(2.0, 4.0), [30.0, -7.0])
    np.testing.assert_allclose(found.state, [2.0, 2.0], rtol=1e-14)
    np.testing.assert_allclose(
        found.eigenvalues, [-0.5 + 1j * np.sqrt(3.75), -0.5 - 1j * np.sqrt(3.75)]
    )


@pytest.mark.slow  # compiles them forward and in reverse, 3 s
def test_derivatives_by_all_parameters_are_the_closed_form():
    def rightmost(b, r):
        system = jv.replace(zoo.lorenz(10.0), {"b": b, "r": r})
        found = jv.equilibrium(system, [7.0, 7.0, 20.0])
        return jnp.append(found.state, found.eigenvalues[0].real)

    def expected(b, r):
        state, values = convection(r, b)
        return np.append(state, values.real.max())

    b, r, h = 2.5, 22.0, 1e-5
    forward = jax.jit(jax.jacfwd(rightmost, (0, 1)))(b, r)
    backward = jax.jit(jax.jacrev(rightmost, (0, 1)))(b, r)
    differences = [
        (expected(b + h, r) - expected(b - h, r)) / (2 * h),
        (expected(b, r + h) - expected(b, r - h)) / (2 * h),
    ]
    # One of them is 0, to less than a rounding of the others.
    np.testing.assert_allclose(forward, differences, rtol=1e-7, atol=1e-16)
    np.testing.assert_allclose(backward, forward, rtol=1e-10, atol=1e-16)


def test_a_batch_equals_a_loop():
    def state(r):
        return jv.equilibrium(zoo.lorenz(r), [7.0, 7.0, 20.0]).state

    values = np.array([5.0, 15.0, 30.0])
    batch = jax.jit(jax.vmap(state))(values)
    np.testing.assert_allclose(batch, [convection(r)[0] for r in values], rtol=1e-14)


def test_sizes_of_components_need_not_be_alike():
    def field(x, p):
        return [x[1] * 1e9 - p["a"], 1e-9 * p["a"] ** 2 - 1e-3 * x[0] * x[1]]

    system = jv.autonomous_system(field, parameters={"a": 3.0}, dimension=2)
    found = jv.equilibrium(system, [2.0, 1e-9])
    np.testing.assert_allclose(found.state, [3e3, 3e-9], rtol=1e-13)


def test_an_equilibrium_that_does_not_exist_has_its_reason():
    def field(x, p):
        return x**2 + p["a"]

    system = jv.autonomous_system(field, parameters={"a": 1.0}, dimension=1)
    found = jv.equilibrium(system, [3.0], throw=False)
    assert int(found.result)
    assert np.isnan(found.state).all()
    assert int(found.stable) == -1
    assert "none found" in repr(found)
    with pytest.raises(RuntimeError, match="equilibrium: Newton's method did not converge"):
        jv.equilibrium(system, [3.0])


def test_motions_are_those_of_the_closed_form():
    system = jv.autonomous_system(
        lambda x, p: p["rate"] * x * (1 - x), parameters={"rate": 2.0}, dimension=1
    )
    times = np.linspace(0.0, 3.0, 4)
    expected = 1 / (1 + 9 * np.exp(-2.0 * times))
    found = jv.simulate(system, [0.1], times, rtol=1e-12)
    np.testing.assert_allclose(found.states[:, 0], expected, rtol=1e-11)
    slope = jax.jacfwd(
        lambda rate: jv.flow(jv.replace(system, {"rate": rate}), [0.1], 0.0, 1.0)[0]
    )(2.0)
    end = expected[1]
    np.testing.assert_allclose(slope, end * (1 - end), rtol=1e-8)


def test_functions_that_count_load_periods_name_their_alternatives():
    system = zoo.lorenz(10.0)
    with pytest.raises(ValueError, match=r"period = None in lyap.*allowed: a time, s"):
        jv.lyapunov_exponents(system, [1.0, 1.0, 1.0])
    section = r"section = None of a system without a load period; allowed: jv\.orb"
    with pytest.raises(ValueError, match=section):
        jv.orbits.poincare_section(system, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=section):
        jv.bifurcation_diagram(system, "r", [1.0, 2.0])
    with pytest.raises(ValueError, match="allowed: an autonomous_system"):
        jv.equilibrium(jv.two_body_impact())


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="has a dot"):
        jv.autonomous_system(lambda x, p: x, parameters={"a.b": 1.0}, dimension=1)
    with pytest.raises(ValueError, match=r"field has shape \(1,\); allowed: \(2,\)"):
        jv.autonomous_system(lambda x, p: x[:1], parameters={}, dimension=2)
    with pytest.raises(ValueError, match=r"state has shape \(2,\); allowed: \(3,\)"):
        jv.equilibrium(zoo.lorenz(10.0), [1.0, 2.0])
