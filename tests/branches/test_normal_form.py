"""Checked against: normal forms in closed form, the logistic map, cycles that appear."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches import normal_form
from jaxvib.branches.results.bifurcation_results import field_bifurcation
from tests import zoo

TAU = 2 * np.pi


def hopf_field(x, p):
    """Return r' = r (m + s r^2), angle' = w + t r^2."""
    square = x[0] ** 2 + x[1] ** 2
    grow, turn = p["m"] + p["s"] * square, p["w"] + p["t"] * square
    return [grow * x[0] - turn * x[1], grow * x[1] + turn * x[0]]


def hopf_of(field, parameters, guess, path):
    system = jv.autonomous_system(field, parameters=parameters, dimension=len(guess))
    return normal_form(system, jv.bifurcation_point(system, guess, "hopf", path))


@pytest.mark.parametrize("grows", [-0.7, 0.4])
def test_a_hopf_normal_form_has_its_own_coefficient(grows):
    """With q = (1, -i) / sqrt(2), xi = z / sqrt(2): l1 = 2 s / w."""
    numbers = {"m": 0.01, "s": grows, "w": 1.7, "t": 0.6}
    found = hopf_of(hopf_field, numbers, [0.0, 0.0], "m")
    np.testing.assert_allclose(found.coefficient, 2 * grows / 1.7, rtol=1e-9)
    assert found.direction == ("supercritical" if grows < 0 else "subcritical")


def test_a_field_that_varies_over_a_ten_thousandth_of_a_unit_is_smooth():
    def small(x, p):
        return [1e-4 * rate for rate in hopf_field([1e4 * each for each in x], p)]

    found = hopf_of(small, {"m": 0.01, "s": -0.7, "w": 1.7, "t": 0.6}, [0.0, 0.0], "m")
    np.testing.assert_allclose(found.coefficient, 1e8 * 2 * -0.7 / 1.7, rtol=1e-9)


@pytest.mark.slow  # it compiles Newton's method for cycles of two states
def test_the_cycle_of_a_brusselator_grows_as_its_coefficient_says():
    """At b = 2 + e it has |xi|^2 = -e / (2 w l1), as Re(lambda)' = 1/2, and its first
    state the amplitude 2 |xi| |q_0|: shooting at two e, extrapolated to 0.
    """  # noqa: D205
    numbers = {"a": 1.0, "b": 2.0}
    found = hopf_of(zoo.brusselator_rates, numbers, [1.0, 2.0], "b")
    assert found.direction == "supercritical"
    # At a = 1 the Jacobian is [[1, 1], [-2, -1]], q = (1, i - 1) / sqrt(3).
    squares = []
    for excess in (0.01, 0.02):
        numbers["b"] = 2.0 + excess
        system = zoo.brusselator(**numbers)
        cycle = jv.periodic_orbit(system, [1.0 + 2 * excess**0.5, 2.0], period=TAU)
        squares.append(float(cycle.amplitude[0]) ** 2 / excess)
    limit = 2 * squares[0] - squares[1]
    expected = -1 / (2 * float(found.coefficient)) * 4 / 3
    np.testing.assert_allclose(limit, expected, rtol=2e-3)


def test_lorenz_loses_its_equilibria_subcritically():
    found = hopf_of(zoo.lorenz_rates, zoo.LORENZ, [8.0, 8.0, 23.0], "r")
    assert found.direction == "subcritical"


def test_a_fold_of_an_equilibrium_has_half_its_second_derivative():
    system = jv.autonomous_system(
        lambda x, p: [p["m"] - 3 * x[0] ** 2 + x[0] ** 3], parameters={"m": 0.1},
        dimension=1,
    )  # fmt: skip
    point = jv.bifurcation_point(system, [0.2], "fold", "m")
    found = normal_form(system, point)
    np.testing.assert_allclose(abs(found.coefficient), 3.0, rtol=1e-9)
    assert found.direction == ""


def test_a_kink_has_no_coefficient_and_says_so():
    def field(x, p):
        return [p["m"] * x[0] - x[1] - jnp.abs(x[0]) * x[0], x[0] + p["m"] * x[1]]

    system = jv.autonomous_system(field, parameters={"m": 0.1}, dimension=2)
    point = jv.bifurcation_point(system, [0.0, 0.0], "hopf", "m")
    with pytest.raises(RuntimeError, match="normal_form: the third derivatives"):
        normal_form(system, point)


def half_turns(cosine, sine, x, p):
    """Return u' = m u - s u^3, v' = -v in a frame that turns by half an angle.

    After a whole turn of the angle u has changed its sign: u -> -u + 2 pi s u^3.
    """
    along = jnp.array([[1 + cosine, sine], [sine, 1 - cosine]]) @ x / 2
    turned = jnp.array([-x[1], x[0]]) / 2
    return (p["m"] - p["s"] * (along @ along)) * along - (x - along) + turned


def driven_half_turns(t, x, p):
    return half_turns(jnp.cos(t), jnp.sin(t), x, p)


@pytest.mark.slow  # third derivatives of the flow are compiled
@pytest.mark.parametrize("grows", [0.3, -0.2])
def test_a_flip_of_a_driven_orbit_has_its_closed_form(grows):
    system = jv.forced_system(
        driven_half_turns, parameters={"m": 0.02, "s": grows}, period=TAU, dimension=2
    )
    point = jv.bifurcation_point(system, [0.0, 0.0], "period_doubling", "m")
    found = normal_form(system, point)
    np.testing.assert_allclose(found.coefficient, TAU * grows, rtol=1e-6)
    assert found.direction == ("supercritical" if grows > 0 else "subcritical")


@pytest.mark.slow  # third derivatives of the flow are compiled
def test_a_torus_of_a_driven_orbit_has_its_closed_form():
    """Of r' = r (m + s r^2) over T, with xi = z / sqrt(2): Re d = 2 s T."""
    numbers = {"m": 0.01, "s": -0.7, "w": 1.7, "t": 0.6}
    system = jv.forced_system(
        lambda t, x, p: hopf_field(x, p), parameters=numbers, period=1.3, dimension=2
    )
    point = jv.bifurcation_point(system, [0.0, 0.0], "neimark_sacker", "m")
    found = normal_form(system, point)
    np.testing.assert_allclose(found.coefficient, -2 * 0.7 * 1.3, rtol=1e-6)
    assert found.direction == "supercritical"


@pytest.mark.slow  # third derivatives of the flow are compiled
def test_a_fold_of_a_cycle_has_its_closed_form_whatever_its_time_of_return():
    """Of r' = r (m - (r^2 - 1)^2): r - 1 -> r - 1 - 4 T (r - 1)^2, T = 2 pi / (w + b)."""

    def pair_of_circles(x, p):
        square = x[0] ** 2 + x[1] ** 2
        grow, turn = p["m"] - (square - 1) ** 2, p["w"] + p["b"] * square
        return [grow * x[0] - turn * x[1], grow * x[1] + turn * x[0]]

    values = {"m": 0.01, "w": 1.0, "b": 0.7}
    system = jv.autonomous_system(pair_of_circles, parameters=values, dimension=2)
    cycle = jv.periodic_orbit(system, [1.1**0.5, 0.0], period=TAU / 1.77)
    found = normal_form(system, jv.bifurcation_point(system, cycle, "fold", "m"))
    np.testing.assert_allclose(abs(found.coefficient), 4 * TAU / 1.7, rtol=1e-6)
    assert found.direction == ""


def circling(z, turn):
    """Return the field of the circle that attracts, turned around at a speed."""
    grow = 1 - z[0] ** 2 - z[1] ** 2
    return [grow * z[0] - turn * z[1], grow * z[1] + turn * z[0]]


def turns_around(x, p):
    turn = 1.0 + 0.3 * (x[0] ** 2 + x[1] ** 2)
    return [*hopf_field(x[:2], p), *circling(x[2:], turn)]


@pytest.mark.slow  # third derivatives of the flow are compiled
def test_a_torus_of_a_cycle_that_drives_others_is_that_of_the_driven_orbit():
    values = {"m": 0.0, "s": -0.7, "w": 0.37, "t": 0.6}
    system = jv.autonomous_system(turns_around, parameters=values, dimension=4)
    numbers = {"residual": 0.0, "test": 0.0, "iterations": 0, "result": 0}
    state = np.array([0.0, 0.0, 1.0, 0.0])
    point = field_bifurcation(
        "neimark_sacker", "cycle", "m", parameter=0.0, state=state, period=TAU,
        frequency=1.0, **numbers,
    )  # fmt: skip
    found = normal_form(system, point)
    np.testing.assert_allclose(found.coefficient, -2 * 0.7 * TAU, rtol=1e-6)
    assert found.direction == "supercritical"


def test_bodies_with_contacts_and_other_kinds_are_refused():
    impacts = jv.two_body_impact()
    field = jv.autonomous_system(
        hopf_field, parameters={"m": 0.1, "s": -1.0, "w": 1.0, "t": 0.0}, dimension=2
    )
    point = jv.bifurcation_point(field, [0.0, 0.0], "hopf", "m")
    with pytest.raises(ValueError, match="normal_form of a system with contacts"):
        normal_form(impacts, point)
    lost = eqx.tree_at(lambda point: point.result, point, jnp.asarray(4))
    with pytest.raises(ValueError, match="point was not found: Newton"):
        normal_form(field, lost)
    cycle = type(point)(**{**vars(point), "of": "cycle"})
    with pytest.raises(ValueError, match="point of kind 'hopf'; allowed: fold, period_d"):
        normal_form(field, cycle)
