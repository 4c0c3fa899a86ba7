"""Checked against: the linear response in closed form, and a search without gradients."""

import numpy as np
import pytest
import scipy.optimize

import jaxvib as jv
from jaxvib.design import Problem, SearchSettings, optimise, orbit_measure

apart = jv.two_body_impact(gap=50.0)
BOUNDS = {"attached.frequency": (4.5, 6.5), "attached.damping_ratio": (0.01, 0.3)}


def main_amplitude(values):
    mass, damping, stiffness = (
        np.asarray(matrix)
        for matrix in jv.replace(apart, dict(zip(BOUNDS, values, strict=True))).matrices()
    )
    dynamic = stiffness - 5.8**2 * mass + 5.8j * damping
    return abs(np.linalg.solve(dynamic, [500.0, 0.0])[0])


@pytest.fixture(scope="module")
def tuned():
    problem = Problem(apart, BOUNDS, orbit_measure("amplitude"))
    return optimise(problem, "adam", settings=SearchSettings(steps=20))


@pytest.mark.slow
def test_objective_and_gradient_are_those_of_the_closed_form(tuned):
    paths = list(BOUNDS)
    for step in (0, 7, 20):
        values = np.array([tuned.variables[path][step] for path in paths])
        assert tuned.objective[step] == pytest.approx(main_amplitude(values), rel=1e-7)
        slopes = [tuned.gradients[path][step] for path in paths]
        expected = [
            scipy.optimize.approx_fprime(values, main_amplitude, h) for h in (1e-5, -1e-5)
        ]  # both sides: the mean is central
        np.testing.assert_allclose(slopes, np.mean(expected, axis=0), rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_twenty_steps_approach_the_optimum_of_a_search_without_gradients(tuned):
    search = scipy.optimize.minimize(
        main_amplitude, [5.646, 0.036], method="Nelder-Mead", bounds=list(BOUNDS.values())
    )
    fall = tuned.objective[0] - tuned.objective.min()
    assert fall > 0.9 * (tuned.objective[0] - search.fun)
    best = jv.periodic_orbit(tuned.system).amplitude[0]
    assert float(best) == pytest.approx(float(tuned.objective.min()), rel=1e-7)
    assert "objective" in repr(tuned)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orbit_measure("amplitud"), "did you mean 'amplitude'"),
        (lambda: Problem(apart, {}, orbit_measure("amplitude")), "contains no parameter"),
        (
            lambda: Problem(apart, {"gap": (0.0, 1.0)}, orbit_measure("amplitude")),
            r"bounds = \(0, 1\) m do not enclose gap = 50 m",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
