"""Checked against: closed forms of the Brusselator, and of normal forms by hand."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches import bifurcation_curves, bifurcation_point, continue_bifurcation
from jaxvib.ensemble import Reason


def brusselator(x, p):
    return [
        p["a"] - (p["b"] + 1) * x[0] + x[0] ** 2 * x[1],
        p["b"] * x[0] - x[0] ** 2 * x[1],
    ]


def takens(x, p):
    return [x[1], p["b"] + p["c"] * x[0] + x[0] ** 2 - x[0] * x[1]]


def cusp_and_pair(x, p):
    """Return rates of z, with folds at |m| = 2 (a / 3)^1.5, and of a pair a - 0.3 +- i."""
    z, u, v = x
    growth = p["a"] - 0.3
    return [p["m"] + p["a"] * z - z**3, growth * u - v, u + growth * v]


def two_pairs(x, p):
    return [
        p["m"] * x[0] - x[1],
        x[0] + p["m"] * x[1],
        (p["m"] - p["d"]) * x[2] - 2 * x[3],
        2 * x[2] + (p["m"] - p["d"]) * x[3],
    ]


def bautin(x, p):
    squared = x[0] ** 2 + x[1] ** 2
    growth = p["mu"] + p["beta"] * squared - squared**2
    return [growth * x[0] - x[1], x[0] + growth * x[1]]


def fitzhugh_nagumo(x, p):
    """Return rates with Hopf points at v^2 = 1 - b / 2, of l_1 = 0 at b = 2 - sqrt(2)."""
    v, w = x
    return [v - v**3 / 3 - w + p["i"], 0.5 * (v + 0.7 - p["b"] * w)]


def system_of(field, dimension, **values):
    return jv.autonomous_system(field, parameters=values, dimension=dimension)


def equilibria(system, guess, path, bounds):
    return jv.continue_equilibrium(system, jv.equilibrium(system, guess), path, bounds)


@pytest.mark.slow  # compiles cycles
def test_cycles_are_found_from_a_hopf_point_whose_state_is_0_within_rounding():
    def moving(x, p):
        z = x - p["m"] * np.array([0.1, 0.2])
        growth = p["m"] * (1 - p["m"]) - z[0] ** 2 - z[1] ** 2
        return [growth * z[0] - z[1], growth * z[1] + z[0]]

    for start in (0.5, 1e-19):
        system = system_of(moving, 2, m=start)
        branch = equilibria(system, np.array([0.1, 0.2]) * start, "m", (-0.3, 1.3))
        first, last = branch.bifurcations
        np.testing.assert_allclose([first.parameter, last.parameter], [0, 1], atol=1e-13)
    assert np.max(np.abs(first.state)) < 1e-13
    cycles = jv.switch_branch(system, first, (-0.3, 1.3))
    assert int(cycles.ends[1]) == Reason.EQUILIBRIUM
    np.testing.assert_allclose(cycles.bifurcations[-1].parameter, 1.0, rtol=1e-12)
    m = np.asarray(cycles.parameter)
    np.testing.assert_allclose(cycles.amplitudes[:, 0] ** 2, m * (1 - m), atol=1e-9)


def test_the_hopf_points_of_the_brusselator_are_at_b_equal_to_1_plus_a_squared():
    system = system_of(brusselator, 2, a=1.0, b=1.5)
    (hopf,) = equilibria(system, [1.0, 1.5], "b", (1.0, 4.0)).bifurcations
    curve = continue_bifurcation(system, hopf, {"b": (0.5, 6.0), "a": (0.1, 2.0)})
    b, a = np.asarray(curve.parameters).T
    np.testing.assert_allclose(b, 1 + a**2, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(curve.eigenvalues)[:, 0], 1j * a, atol=1e-13)
    assert (a.min(), a.max()) == (0.1, 2.0)
    assert curve.codimension_two == ()
    assert float(curve.test.max()) < 1e-13


def test_folds_and_hopf_points_meet_at_a_bogdanov_takens_point():
    system = system_of(takens, 2, b=-0.5, c=-1.0)
    branch = equilibria(system, [-0.3, 0.0], "b", (-1.0, 1.0))
    bounds = {"b": (-1.0, 1.0), "c": (-2.0, 2.0)}
    hopf, fold = bifurcation_curves(system, branch, bounds)
    assert (hopf.kind, fold.kind) == ("hopf", "fold")
    b, c = np.asarray(fold.parameters).T
    np.testing.assert_allclose(b, c**2 / 4, atol=1e-14)
    assert (c.min(), c.max()) == (-2.0, 2.0)
    b, c = np.asarray(hopf.parameters).T
    np.testing.assert_allclose(b, 0.0, atol=1e-14)
    ends = {Reason.PARAMETER_BOUND: -2.0, Reason.NO_BIFURCATION: 0.0}
    for code, tip in zip(np.asarray(hopf.ends), (0, -1), strict=True):
        np.testing.assert_allclose(c[tip], ends[code], atol=1e-8)
    for curve in (fold, hopf):
        (point,) = curve.codimension_two
        assert point.kind == "Bogdanov-Takens"
        np.testing.assert_allclose(point.parameters, 0.0, atol=1e-8)


def test_a_curve_of_folds_passes_its_cusp_and_both_zero_hopf_points():
    system = system_of(cusp_and_pair, 3, m=0.0, a=1.0)
    fold, _ = equilibria(system, [1.0, 0.0, 0.0], "m", (-1.0, 1.0)).bifurcations
    bounds = {"m": (-1.0, 1.0), "a": (-0.5, 1.2)}
    curve = continue_bifurcation(system, fold, bounds)
    m, a = np.asarray(curve.parameters).T
    np.testing.assert_allclose(np.abs(m), 2 * (np.maximum(a, 0) / 3) ** 1.5, atol=1e-13)
    found = [(point.kind, *point.parameters) for point in curve.codimension_two]
    assert [kind for kind, *_ in found] == ["zero-Hopf", "cusp", "zero-Hopf"]
    there = 2 * 0.1**1.5 * np.sign(found[0][1])
    expected = [[there, 0.3], [0.0, 0.0], [-there, 0.3]]
    np.testing.assert_allclose([place for _, *place in found], expected, atol=1e-9)


@pytest.mark.slow  # compiles correctors of two systems, 8 s
def test_a_curve_of_hopf_points_passes_zero_hopf_and_double_hopf_points():
    system = system_of(cusp_and_pair, 3, m=0.0, a=0.5)
    start = jv.equilibrium(system, [0.7, 0.0, 0.0])
    hopf = bifurcation_point(system, start, "hopf", "a")
    other = jv.replace(system, {"a": hopf.parameter})
    curve = continue_bifurcation(other, hopf, {"a": (-0.2, 1.0), "m": (-0.3, 0.3)})
    a = np.asarray(curve.parameters)[:, 0]
    np.testing.assert_allclose(a, 0.3, atol=1e-14)
    found = curve.codimension_two
    assert [point.kind for point in found] == ["zero-Hopf"] * len(found)
    np.testing.assert_allclose(
        np.abs([point.parameters[1] for point in found]), 2 * 0.1**1.5
    )

    pairs = system_of(two_pairs, 4, m=-0.5, d=0.4)
    hopf = bifurcation_point(pairs, jv.equilibrium(pairs, np.zeros(4)), "hopf", "m")
    curve = continue_bifurcation(pairs, hopf, {"m": (-1.0, 1.0), "d": (-1.0, 1.0)})
    (point,) = curve.codimension_two
    assert point.kind == "double Hopf"
    np.testing.assert_allclose(point.parameters, 0.0, atol=1e-9)
    assert "double Hopf at" in repr(curve)


@pytest.mark.slow  # compiles third derivatives of two fields, 8 s
def test_curves_of_hopf_points_pass_bautin_points():
    system = system_of(bautin, 2, mu=-0.15, beta=1.0)
    (hopf,) = equilibria(system, [0.0, 0.0], "mu", (-1.0, 0.5)).bifurcations
    curve = continue_bifurcation(system, hopf, {"mu": (-1.0, 1.0), "beta": (-0.7, 1.2)})
    (point,) = curve.codimension_two
    assert point.kind == "Bautin"
    np.testing.assert_allclose(point.parameters, 0.0, atol=1e-9)

    system = system_of(fitzhugh_nagumo, 2, i=0.3, b=0.5)
    hopf = bifurcation_point(system, [-0.87, -0.33], "hopf", "i")
    curve = continue_bifurcation(system, hopf, {"i": (-2.0, 2.0), "b": (0.2, 0.9)})
    i, b = np.asarray(curve.parameters).T
    v = -np.sqrt(1 - b / 2)
    np.testing.assert_allclose(i, (v + 0.7) / b - v + v**3 / 3, atol=1e-12)
    (point,) = curve.codimension_two
    assert point.kind == "Bautin"
    # By the formula for x' = -w y + f, y' = w x + g: Guckenheimer and Holmes, (3.4.11).
    v, b = -(0.5**0.25), 2 - np.sqrt(2)
    expected = (v + 0.7) / b - v + v**3 / 3, b
    np.testing.assert_allclose(point.parameters, expected, atol=1e-9)


@pytest.mark.slow  # compiles the curve's corrector, 20 s
def test_the_folds_of_cycles_of_bautins_normal_form_are_at_a_parabola():
    system = system_of(bautin, 2, mu=-0.15, beta=1.0)
    cycle = jv.periodic_orbit(system, [0.9, 0.0], period=6.28)
    fold = bifurcation_point(system, cycle, "fold", "mu")
    bounds = {"mu": (-1.0, 0.2), "beta": (0.05, 1.8)}
    curve = continue_bifurcation(system, fold, bounds)
    mu, beta = np.asarray(curve.parameters).T
    np.testing.assert_allclose(mu, -(beta**2) / 4, atol=1e-12)
    assert (beta.min(), beta.max()) == (0.05, 1.8)
    radius = np.asarray(curve.orbits.amplitude)
    np.testing.assert_allclose(radius[:, 0], np.sqrt(beta / 2), rtol=1e-6)
    np.testing.assert_allclose(curve.orbits.period, 2 * np.pi, rtol=1e-9)
    branch = jv.continue_orbit(system, cycle, "mu", (-0.4, 0.2))
    found = bifurcation_curves(system, branch, bounds, kinds=["fold"])
    assert [each.kind for each in found] == ["fold"]


def test_curves_of_what_has_none_are_refused():
    system = system_of(brusselator, 2, a=1.0, b=1.5)
    rest = jv.equilibrium(system, [1.0, 1.5])
    hopf = bifurcation_point(system, rest, "hopf", "b")
    forced = jv.forced_system(
        lambda t, x, p: brusselator(x, p), parameters={"a": 1.0, "b": 1.5}, period=1.0,
        dimension=2,
    )  # fmt: skip
    bounds = {"b": (1.0, 3.0), "a": (0.5, 2.0)}
    with pytest.raises(ValueError, match="which is not autonomous"):
        continue_bifurcation(forced, hopf, bounds)
    with pytest.raises(ValueError, match="bounds of b; allowed: of b, the point's own"):
        continue_bifurcation(system, hopf, {"b": (1.0, 3.0)})
