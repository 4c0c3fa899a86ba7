"""Checked against: eigenvalues in closed form, scipy's Radau."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.branches.equations.cycle_equations import graded_product, unresolved
from tests import zoo


def graded(values, count):
    """Return matrices whose product, the last on the left, has the values' powers."""
    random = np.random.default_rng(5)
    bases = random.normal(size=(count, len(values), len(values)))
    behind = np.roll(bases, -1, axis=0)
    return behind @ (np.array(values)[:, None] * np.linalg.inv(bases))


def test_eigenvalues_of_a_product_keep_their_digits_over_a_hundred_decades():
    values = [20.0, -0.5, 1e-4]
    found, diagonals = graded_product(jnp.asarray(graded(values, 24)))
    expected = np.array(values) ** 24
    eigenvalues = np.sort(np.linalg.eigvals(found))[[2, 1, 0]]
    # The rounding of 24 matrices, per smallest value of each.
    np.testing.assert_allclose(eigenvalues, expected, rtol=1e-7)
    np.testing.assert_allclose(np.prod(diagonals, axis=0), expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("contraction", "expansion", "known"),
    [
        (1e-3, 1e3, True),
        (1e-30, 1.0, True),  # a multiplier that is 0, whatever it is
        (1e-30, 1e13, False),  # one of which no digit is left
        (1e-3, 1e6, False),  # an end that is not known
    ],
)
def test_segments_are_resolved_where_ends_and_multipliers_are_known(
    contraction, expansion, known
):
    steps = 1 if expansion == 1e6 else 4
    factors = np.array([contraction, *[expansion ** (1 / steps)] * steps])
    noisy = np.maximum(factors, 1e-10)[:, None]
    blocks = np.array([np.diag([1.0, factor]) for factor in noisy[:, 0]])
    left = unresolved(jnp.asarray(blocks), jnp.asarray(noisy), 1e-10)
    assert (float(left) < 1) == known


@pytest.mark.slow
def test_a_relaxation_oscillation_is_followed_to_its_jumps():
    system = zoo.van_der_pol(5.0)
    cycle = jv.periodic_orbit(system, [2.0, 0.0], period=11.6)
    branch = jv.continue_orbit(system, cycle, "mu", (1.0, 100.0))

    def down(t, y):
        return y[0]

    down.direction = -1
    crossed = solve_ivp(
        lambda t, y: [y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 400),
        [2.0, 0.0],
        "Radau",
        rtol=1e-10,
        atol=1e-11,
        events=down,
    ).t_events[0]
    period = branch.periods[-1]
    assert branch.parameter[-1] == 100.0
    np.testing.assert_allclose(period, crossed[-1] - crossed[-2], rtol=1e-6)
    assert abs(period - 162.8370710923) < branch.cycles.period_error[-1]
    assert (np.asarray(branch.stable) == 1).all()
    assert branch.bifurcations == ()
