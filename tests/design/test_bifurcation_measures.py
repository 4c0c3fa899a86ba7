"""Checked against: closed forms of folds and Hopf points, and differences."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import (
    Limit,
    Measure,
    Notice,
    Problem,
    bifurcation_measure,
    optimise,
    stable_range_measure,
    worst_over_box,
)
from jaxvib.design.searches.evaluation import Evaluator
from tests import zoo


def cusp(x, p):
    return [p["h"] + p["r"] * x[0] - x[0] ** 3]


# Folds at h = 2 (r / 3)^1.5 and -h; stable outside of them.
cusps = jv.autonomous_system(cusp, parameters={"h": 0.0, "r": 1.0}, dimension=1)
# Hopf point at b = 1 + a^2.
chemical = zoo.brusselator()

# One object for all tests, which share its compiled programs.
FOLD = bifurcation_measure("fold", "h", (-1.5, 1.5), guess=[1.2])


def evaluated(system, bounds, measure, at=None):
    problem = Problem(system, bounds, measure)
    place = problem.normalised if at is None else np.array([at])
    return Evaluator(problem, problem.normalised)(place)


@pytest.mark.parametrize("r", [0.7, 1.0, 1.4])
def test_the_fold_of_a_cusp_and_its_derivative_have_closed_forms(r):
    low, high = 0.5, 1.5
    found = evaluated(cusps, {"r": (low, high)}, FOLD, (r - low) / (high - low))
    assert abs(abs(found.objective) - 2 * (r / 3) ** 1.5) < 1e-10
    slope = np.abs(found.slopes[0]) / (high - low)
    np.testing.assert_allclose(slope, np.sqrt(r / 3), rtol=1e-9)


def test_a_fold_is_placed_at_a_value():
    # h = 2 (r / 3)^1.5 = 0.5 at r = 3 / 16^(1/3).
    change = jv.design.change_measure(cusps, {"r": (0.5, 2.0)})
    problem = Problem(
        jv.replace(cusps, {"h": -0.1}),
        {"r": (0.5, 2.0)},
        change,
        constraints={"fold": Limit(FOLD, -0.5, -0.5)},
    )
    found = optimise(problem, "slsqp")
    assert float(found.variables["r"][int(found.best)]) == pytest.approx(
        3 / 16 ** (1 / 3), abs=1e-10
    )


def test_a_fold_is_placed_from_values_that_the_bounds_give_up_to_rounding():
    # The change was 1e-33 of itself at the start, and the search ended there.
    bounds = {"r": (-1.0, 2.0)}
    system = jv.replace(cusps, {"h": -1e-5})
    change = jv.design.change_measure(system, bounds)
    problem = Problem(
        system, bounds, change, constraints={"fold": Limit(FOLD, -0.02, -0.02)}
    )
    found = optimise(problem, "slsqp")
    assert found.value("r") == pytest.approx(3 * 0.01 ** (2 / 3), abs=1e-9)
    assert int(found.evaluations) < 30


def bent(x, p):
    return [p["h"] + (1 - p["s"] ** 2) * x[0] - x[0] ** 3]


@pytest.mark.parametrize(
    "method", ["slsqp", "trust_constr", "quasi_newton", "least_squares"]
)
def test_a_step_to_where_there_is_no_fold_is_shortened_and_told(method):
    # Folds at h = 2 ((1 - s^2) / 3)^1.5 exist for s < 1; the first step goes beyond.
    system = jv.autonomous_system(bent, parameters={"h": -1e-5, "s": 0.3}, dimension=1)
    bounds, value = {"s": (-1.0, 3.0)}, -0.02
    if method in ("slsqp", "trust_constr"):
        change = jv.design.change_measure(system, bounds)
        placed = {"fold": Limit(FOLD, value, value)}
        problem = Problem(system, bounds, change, constraints=placed)
    else:
        missed = Measure(FOLD.analysis, lambda point: (point.parameter - value)[None])
        problem = Problem(system, bounds, missed, combine="squares")
    found = optimise(problem, method)
    expected = np.sqrt(1 - 3 * (-value / 2) ** (2 / 3))
    assert found.value("s") == pytest.approx(expected, abs=1e-7)
    assert Notice.LOST in found.notices.tolist()
    assert "was not found" in repr(found)
    assert found.notices[int(found.best)] == Notice.SMOOTH


def test_a_hopf_point_moves_with_the_feed():
    measure = bifurcation_measure("hopf", "b", (0.5, 3.0), guess=[1.0, 1.0])
    found = evaluated(chemical, {"a": (0.8, 1.2)}, measure)
    assert abs(found.objective - 2.0) < 1e-10
    np.testing.assert_allclose(found.slopes[0], 2 * 0.4, rtol=1e-8)


@pytest.mark.parametrize(
    ("field", "value", "slope"),
    [
        ("low", 0.2, 0.0),  # the bound
        ("high", 2.0, 2 * 1.0),
        ("width", 1.8, 2 * 1.0),
        ("margin", 0.8, 0.0),  # of b = 1 from the bound
    ],
)
def test_a_stable_range_ends_at_a_hopf_point_or_a_bound(field, value, slope):
    measure = stable_range_measure(field, "b", (0.2, 3.0), guess=[1.0, 1.0])
    found = evaluated(chemical, {"a": (0.8, 1.2)}, measure)
    assert not found.code
    assert found.objective == pytest.approx(value, abs=1e-10)
    assert found.slopes[0] == pytest.approx(slope * 0.4, abs=1e-8)


def test_a_range_is_made_stable_up_to_a_value():
    # The smallest feed with b = 1 + a^2 above 2.5.
    stable = stable_range_measure("high", "b", (0.2, 4.0), guess=[1.0, 1.0])
    problem = Problem(
        chemical,
        {"a": (0.5, 2.0)},
        jv.design.parameter_measure("a"),
        constraints={"stable up to 2.5": Limit(stable, at_least=2.5)},
    )
    found = optimise(problem, "slsqp")
    assert float(found.variables["a"][int(found.best)]) == pytest.approx(
        np.sqrt(1.5), abs=1e-8
    )


def test_a_stable_range_ends_where_the_branch_turns_back():
    # The upper equilibrium of the cusp exists for h above -2 (r / 3)^1.5.
    measure = stable_range_measure("low", "h", (-1.5, 1.5), guess=[1.2])
    found = evaluated(jv.replace(cusps, {"h": 1.2}), {"r": (0.5, 1.5)}, measure)
    assert not found.code
    assert found.objective == pytest.approx(-2 * 3**-1.5, abs=1e-10)
    assert found.slopes[0] == pytest.approx(-np.sqrt(1 / 3), rel=1e-8)


def test_an_unstable_motion_has_no_stable_range():
    beyond = jv.replace(chemical, {"b": 2.5})
    found = evaluated(
        beyond,
        {"a": (0.8, 1.2)},
        stable_range_measure("high", "b", (0.2, 3.0), guess=[1.0, 1.0]),
    )
    assert found.code == jv.Reason.UNSTABLE


def test_a_branch_that_ends_within_the_bounds_has_its_reason_and_no_stable_range():
    # a resonance 500 times as high as the first motion takes all points of the branch
    linear = jv.LinearSystem(np.eye(1), [[0.002]], np.eye(1))
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 0.5), name="push")
    light = jv.ImpactSystem(linear, loads=(push,))
    path = "loads.push.law.frequency"
    box = {"loads.push.law.amplitude": (0.5, 2.0)}
    for field, code in (("low", 0), ("high", jv.Reason.POINT_LIMIT)):
        measure = stable_range_measure(field, path, (0.4, 2.0))
        found = evaluated(light, box, measure)
        assert found.code == code
    worst = worst_over_box(measure, light, box, samples=1, descents=0)
    assert int(worst.result) == jv.Reason.POINT_LIMIT
    assert np.isnan(worst.value)
    with pytest.raises(jv.design.EvaluationLostError, match="maximum number of points"):
        optimise(Problem(light, box, measure), "slsqp")


def test_an_unknown_field_is_named():
    with pytest.raises(ValueError, match="did you mean 'width'"):
        stable_range_measure("widht", "load.amplitude", (1.0, 2.0))
