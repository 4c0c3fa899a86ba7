"""Checked against: closed forms, Floquet multipliers, exponents that others computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits.shooting.orbit_shooting import ratios
from jaxvib.systems.unforced import unforced_system
from tests import zoo

TAU = 2 * np.pi


def cubic(t, x, p):
    push = p["f"] * jnp.cos(p["w"] * t) - p["c"] * x[1]
    return [x[1], push - p["k"] * x[0] - p["a"] * x[0] ** 3]


oscillator = jv.forced_system(
    cubic, parameters={"w": 1.5, "f": 0.3, "c": 0.2, "k": 1.0, "a": 1.0},
    period=lambda p: TAU / p["w"], dimension=2,
)  # fmt: skip
ueda = jv.replace(oscillator, {"w": 1.0, "f": 7.5, "c": 0.05, "k": 0.0})
start = np.array([2.5, 0.0])


@pytest.fixture(scope="module")
def chaotic():
    return jv.lyapunov_exponents(ueda, start, periods=2048)


def test_the_exponents_of_linear_damping_add_up_to_its_divergence(chaotic):
    np.testing.assert_allclose(chaotic.exponents.sum(), -0.05, atol=1e-8)


def test_the_exponent_of_ueda_is_the_published_one(chaotic):
    # 0.0999 and -0.1499 by Gram-Schmidt and Runge-Kutta of step 0.001, without an error:
    # sites.google.com/view/lyapunov-spectrum/home/duffing_eqs; ours has one.
    np.testing.assert_allclose(chaotic.exponents, [0.0999, -0.1499], atol=0.01)
    assert np.abs(chaotic.exponents[0] - 0.0999) < 4 * chaotic.errors[0]
    np.testing.assert_allclose(chaotic.dimension, 1.6664, atol=0.03)
    assert 1e-4 < chaotic.errors[0] < 5e-3


@pytest.mark.slow
def test_the_exponent_of_a_double_well_is_the_published_one():
    # 0.10542 and -0.25542: an answer on Mathematica Stack Exchange, x'' + 0.15 x' - x +
    # x^3 = 7 cos t, from rest.
    well = jv.replace(ueda, {"f": 7.0, "c": 0.15, "k": -1.0})
    found = jv.lyapunov_exponents(well, np.zeros(2), periods=16384)
    assert np.abs(found.exponents[0] - 0.10542) < 3 * found.errors[0]
    assert found.errors[0] < 2e-3


def test_of_a_linear_oscillator_they_are_its_eigenvalues():
    line = jv.replace(oscillator, {"a": 0.0, "c": 2.2})
    found = jv.lyapunov_exponents(line, start, periods=16, skip=4)
    expected = -1.1 + np.sqrt(1.1**2 - 1) * np.array([1, -1])
    np.testing.assert_allclose(found.exponents, expected, rtol=2e-5)
    np.testing.assert_allclose(found.dimension, 0.0)


@pytest.mark.slow
def test_of_an_orbit_they_are_its_multipliers():
    strong = jv.replace(oscillator, {"c": 2.2})
    orbit = jv.periodic_orbit(strong, start)
    multipliers = np.abs(np.asarray(orbit.floquet_multipliers))
    assert multipliers[0] > 1.5 * multipliers[1]  # two real ones
    found = jv.lyapunov_exponents(strong, orbit.state, periods=16)
    expected = np.log(multipliers) / float(orbit.period)
    np.testing.assert_allclose(found.exponents, expected, rtol=1e-5)


@pytest.mark.slow
def test_an_ensemble_equals_a_loop_and_the_largest_alone_is_the_same():
    forces = jnp.array([7.0, 7.5])

    def exponents(force):
        system = jv.replace(ueda, {"f": force})
        return jv.lyapunov_exponents(system, start, periods=16, skip=4).exponents

    each = [exponents(force) for force in forces]
    np.testing.assert_allclose(jax.jit(jax.vmap(exponents))(forces), each, rtol=1e-6)
    one = jv.lyapunov_exponents(ueda, start, periods=16, count=1, skip=4).exponents
    np.testing.assert_allclose(one, each[1][:1], rtol=1e-6)


def test_a_non_finite_state_is_reported():
    start = np.array([np.nan, 0.0])
    with pytest.raises(RuntimeError, match="lyapunov_exponents: a parameter or state"):
        jv.lyapunov_exponents(ueda, start, periods=16, skip=4)
    found = jv.lyapunov_exponents(ueda, start, periods=16, skip=4, throw=False)
    assert int(found.result) == Reason.BAD_PARAMETER
    assert np.isnan(found.exponents).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"periods": 8}, "periods = 8"),
        ({"count": 3}, "count = 3"),
        ({"skip": -1}, "skip = -1"),
        ({"periods": 10**12}, "periods = 1e.12 is not in"),
        ({"skip": 10**12}, "skip = 1e.12 is not in"),
        ({"engine": "steps"}, "engine = 'steps'"),
    ],
)
def test_an_argument_out_of_range_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        jv.lyapunov_exponents(ueda, start, **options)


def test_a_section_of_more_states_than_fit_is_refused():
    with pytest.raises(ValueError, match=r"periods = 1e.12 is not in"):
        jv.orbits.poincare_section(ueda, start, periods=10**12)


def test_a_section_of_a_linear_motion_is_the_matrix_exponential():
    line = jv.replace(oscillator, {"a": 0.0, "f": 0.0, "w": 1.0})
    section = jv.orbits.poincare_section(line, start, periods=6, skip=2)
    matrix = jax.scipy.linalg.expm(TAU * jnp.array([[0.0, 1.0], [-1.0, -0.2]]))
    expected = [np.linalg.matrix_power(matrix, n) @ start for n in range(3, 9)]
    np.testing.assert_allclose(section.states, expected, atol=1e-7)


@pytest.mark.slow
def test_the_two_bodies_lose_volume_by_their_damping_whatever_their_contacts():
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness=3.504e7))
    orbit = jv.periodic_orbit(system)
    assert int(orbit.contacts) > 0
    found = jv.lyapunov_exponents(system, orbit.state, periods=64, skip=8)
    expected = -(2 * 0.036 * 6.283 + 2 * 0.036 * 5.646 * 1.1)
    np.testing.assert_allclose(found.exponents.sum(), expected, rtol=1e-6)
    growth = np.log(np.asarray(orbit.largest_multiplier)) / np.asarray(orbit.period)
    np.testing.assert_allclose(found.exponents[0], growth, atol=0.01)


@pytest.mark.slow
def test_a_hard_stop_has_the_exponents_of_its_multipliers():
    linear = jv.LinearSystem(np.eye(1), 0.1 * np.eye(1), np.eye(1))
    stop = jv.Contact(np.ones(1), 1.0, jv.RestitutionContact(0.8))
    load = jv.AppliedLoad(np.ones(1), jv.HarmonicLoad(amplitude=0.5, frequency=2.8))
    system = jv.ImpactSystem(linear, (stop,), (load,))
    state = np.array([0.9, 0.5])
    found = jv.lyapunov_exponents(system, state, periods=64, skip=256)
    orbit = jv.periodic_orbit(system, found.state, periods=None)
    sums = np.log(np.abs(np.asarray(orbit.floquet_multipliers))).sum()
    np.testing.assert_allclose(found.exponents.sum(), sums / orbit.period, atol=1e-3)


convection = zoo.lorenz(28.0)


def test_the_spectrum_of_lorenz_is_the_published_one():
    # Sprott, Chaos and Time-Series Analysis (2003): 0.9056, 0, -14.5723, dimension 2.062.
    found = jv.lyapunov_exponents(convection, [1.0, 1.0, 20.0], 4096, period=0.5)
    apart = np.abs(found.exponents - np.array([0.9056, 0.0, -14.5723]))
    assert (apart < 3 * found.errors).all()
    assert (found.errors < 0.01).all()
    np.testing.assert_allclose(found.exponents.sum(), -11 - 8 / 3, rtol=1e-7)
    np.testing.assert_allclose(found.dimension, 2.062, atol=2e-3)


@pytest.mark.slow
def test_the_spectrum_of_roessler_is_the_published_one():
    # Sprott (2003): 0.0714, 0, -5.3943, dimension 2.0132.
    field = jv.autonomous_system(
        lambda x, p: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p["c"])],
        parameters={"c": 5.7}, dimension=3,
    )  # fmt: skip
    found = jv.lyapunov_exponents(field, [1.0, 1.0, 0.0], 3072, period=2.0)
    apart = np.abs(found.exponents - np.array([0.0714, 0.0, -5.3943]))
    assert (apart < 3 * found.errors).all()
    np.testing.assert_allclose(found.dimension, 2.0132, atol=2e-3)


def test_a_lost_direction_leaves_the_dimension_of_a_cycle():
    # r' = r (1 - r^2), angle' = 1: exponents 0 and -2; the third, -400, is rounding.
    field = jv.autonomous_system(
        lambda x, p: [
            x[0] * (1 - x[0] ** 2 - x[1] ** 2) - x[1],
            x[1] * (1 - x[0] ** 2 - x[1] ** 2) + x[0],
            -p["fast"] * x[2],
        ],
        parameters={"fast": 400.0}, dimension=3,
    )  # fmt: skip
    found = jv.lyapunov_exponents(field, [1.0, 0.0, 0.0], 512, period=0.5)
    np.testing.assert_allclose(found.exponents[:2], [0.0, -2.0], atol=5e-3)
    assert np.isnan(found.exponents[2])
    np.testing.assert_allclose(found.dimension, 1.0, atol=1e-4)


def test_a_short_spectrum_is_that_of_an_integration_by_scipy():
    """The same 16 spans and norm, with variations by scipy's `DOP853` and NumPy's QR."""
    start = np.array([1.0, 1.0, 20.0])
    units = np.asarray(ratios(unforced_system(convection, 0.5, ""), jnp.asarray(start)))

    def rates(time, both):
        x, frame = both[:3], both[3:].reshape(3, 3)
        matrix = np.array(
            [[-10.0, 10.0, 0.0], [28.0 - x[2], -1.0, -x[0]], [x[1], x[0], -8 / 3]]
        )
        return np.append(zoo.lorenz_rates(x, zoo.LORENZ), matrix @ frame)

    state, frame, growth = start, np.eye(3), np.zeros(3)
    for _ in range(16):
        both = np.append(state, units[:, None] * frame)
        end = solve_ivp(rates, (0, 0.5), both, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
        state = end[:3]
        frame, triangle = np.linalg.qr(end[3:].reshape(3, 3) / units[:, None])
        growth += np.log(np.abs(np.diagonal(triangle)))
    found = jv.lyapunov_exponents(convection, start, 16, skip=0, period=0.5, rtol=1e-10)
    np.testing.assert_allclose(found.exponents, np.sort(growth / 8)[::-1], rtol=1e-6)
    np.testing.assert_allclose(found.state, state, rtol=1e-5)


def test_of_an_equilibrium_they_are_real_parts_and_the_dimension_is_zero():
    """At r = 0.5 rest attracts; two of its eigenvalues are a quadratic's."""
    calm = jv.replace(convection, {"r": 0.5})
    expected = np.sort([*np.roots([1.0, 11.0, 5.0]), -8 / 3])[::-1]
    found = jv.lyapunov_exponents(calm, [1e-3, 0.0, 0.0], 32, skip=256, period=0.5)
    np.testing.assert_allclose(found.exponents, expected, rtol=1e-6)
    assert found.dimension == 0
    # In 4 s the fastest direction shrinks to e^-42, below the rounding of the others.
    found = jv.lyapunov_exponents(calm, [1e-3, 0.0, 0.0], 32, period=4.0)
    np.testing.assert_allclose(found.exponents, [*expected[:2], np.nan], rtol=1e-6)


@pytest.mark.parametrize(
    ("system", "period", "words"),
    [
        (convection, None, "period = None in lyapunov_exponents"),
        (convection, -1.0, "period = -1 s"),
        (ueda, 1.0, "period = 1.0 of a system with periodic loads"),
    ],
)
def test_a_missing_or_forbidden_period_is_reported(system, period, words):
    state = np.ones(system.dimension)
    with pytest.raises(ValueError, match=words):
        jv.lyapunov_exponents(system, state, period=period)


@pytest.mark.slow  # compiles an event-driven flow of its own
def test_the_exponents_of_a_self_excited_body_at_a_stop_sum_to_damping_and_impacts():
    # det M = exp(c T / m) e^2 over a cycle with one impact, and one exponent is 0.
    mass, pushes, restitution = 1.0, 0.2, 0.6
    linear = jv.LinearSystem([[mass]], [[-pushes]], [[4.0]])
    stop = jv.Contact([1.0], 0.1, jv.RestitutionContact(restitution))
    system = jv.ImpactSystem(linear, (stop,))
    cycle = jv.periodic_orbit(system, [0.0, 0.5], period=3.0)
    period = float(cycle.period)
    found = jv.lyapunov_exponents(system, cycle.state, 16, period=period, skip=32)
    expected = [0.0, pushes / mass + 2 * np.log(restitution) / period]
    np.testing.assert_allclose(found.exponents, expected, atol=1e-9)
    assert float(found.dimension) == 1.0
