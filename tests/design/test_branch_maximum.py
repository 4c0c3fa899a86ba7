"""Checked against: the resonance curve of a linear body, and a branch with fine steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import EvaluationLostError, branch_maximum, branch_maximum_measure
from jaxvib.design.problem import Problem
from jaxvib.design.searches.evaluation import Evaluator

STIFFNESS, DAMPING, FORCE = 100.0, 3.0, 2.0
FREQUENCY = "loads.push.law.frequency"


@pytest.fixture(scope="module")
def linear():
    spring = jv.TranslationTranslation(
        "ground", "body", mass=1.0, stiffness=STIFFNESS, damping=DAMPING, first_mass=0.0
    )
    law = jv.HarmonicLoad(amplitude=FORCE, frequency=8.0)
    push = jv.AppliedLoad([1.0], law, name="push")
    return jv.ImpactSystem(jv.assemble([spring]), loads=(push,))


@pytest.mark.slow  # compiles derivatives of an orbit
def test_the_resonance_of_a_linear_body_and_its_slopes_have_closed_forms(linear):
    measure = branch_maximum_measure("amplitude", FREQUENCY, (6.0, 13.0))
    damping = "linear.modules.ground-body.damping"
    problem = Problem(linear, {damping: (2.0, 4.0), FREQUENCY: (7.0, 9.0)}, measure)
    found = Evaluator(problem, problem.normalised)(problem.normalised)
    assert not found.code
    # F / (c sqrt(k - c^2 / 4)) at w^2 = k - c^2 / 2, for unit mass.
    root = np.sqrt(STIFFNESS - DAMPING**2 / 4)
    assert found.objective == pytest.approx(FORCE / (DAMPING * root), rel=1e-10)
    slope = -FORCE / (DAMPING**2 * root) + FORCE / (4 * root**3)
    # The system's own frequency has no influence.
    np.testing.assert_allclose(found.slopes[0], [2 * slope, 0.0], rtol=1e-6, atol=1e-12)


@pytest.mark.slow  # the same programs
@pytest.mark.parametrize(("bounds", "end"), [((6.0, 9.0), 9.0), ((7.5, 8.5), 8.5)])
def test_away_from_the_resonance_the_maximum_is_at_an_end(linear, bounds, end):
    found = branch_maximum(linear, "amplitude", FREQUENCY, bounds)
    assert not bool(found.interior)
    assert float(found.parameter) == end
    expected = FORCE / np.hypot(STIFFNESS - end**2, DAMPING * end)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)
    within = branch_maximum(linear, "amplitude", FREQUENCY, (6.0, 13.0))
    assert bool(within.interior)
    resonance = np.sqrt(STIFFNESS - DAMPING**2 / 2)
    np.testing.assert_allclose(within.parameter, resonance, rtol=1e-5)


@pytest.mark.slow  # the same programs
@pytest.mark.parametrize("ratio", [0.01, 1e-3, 1e-5])
def test_a_resonance_however_narrow_is_the_closed_form(linear, ratio):
    damping = 2 * ratio * np.sqrt(STIFFNESS)
    light = jv.replace(linear, {"linear.modules.ground-body.damping": damping})
    found = branch_maximum(light, "amplitude", FREQUENCY, (2.0, 30.0))
    expected = FORCE / (damping * np.sqrt(STIFFNESS - damping**2 / 4))
    assert float(found.value) == pytest.approx(expected, rel=1e-10)
    resonance = np.sqrt(STIFFNESS - damping**2 / 2)
    assert float(found.parameter) == pytest.approx(resonance, rel=1e-6 * ratio)


@pytest.mark.slow  # a branch of 300 orbits
def test_the_peak_of_a_hardening_body_beyond_its_fold_is_that_of_fine_steps():
    system = jv.forced_system(
        lambda t, x, p: [
            x[1], 0.1 * jnp.cos(p["w"] * t) - p["d"] * x[1] - x[0] - x[0] ** 3
        ],
        parameters={"w": 0.9, "d": 0.06},
        period=lambda p: 2 * jnp.pi / p["w"],
        dimension=2,
    )  # fmt: skip
    found = branch_maximum(system, "amplitude", "w", (0.8, 1.9))
    orbit = jv.periodic_orbit(system)
    fine = jv.branches.ContinuationSettings(largest_step=0.004, first_step=0.004)
    branch = jv.continue_orbit(system, orbit, "w", (0.8, 1.9), settings=fine)
    assert [point.kind for point in branch.bifurcations].count("fold") == 2
    heights = np.asarray(branch.orbits.amplitude)[:, 0]
    top = int(np.argmax(heights))
    assert float(found.value) >= heights[top] * (1 - 1e-9)
    np.testing.assert_allclose(found.value, heights[top], rtol=1e-4)
    np.testing.assert_allclose(found.parameter, branch.parameter[top], atol=5e-3)

    def largest(damping):
        changed = jv.replace(system, {"d": damping})
        return branch_maximum(changed, "amplitude", "w", (0.8, 1.9)).value

    step = 1e-4
    difference = (largest(0.06 + step) - largest(0.06 - step)) / (2 * step)
    np.testing.assert_allclose(jax.jacfwd(largest)(0.06), difference, rtol=1e-4)


@pytest.mark.slow  # a motion that blows up takes many steps, 7 s
def test_a_motion_that_is_lost_has_a_reason_and_no_value():
    falls = jv.forced_system(
        lambda t, x, p: [x[1], p["f"] * jnp.cos(p["w"] * t) + x[0] ** 3 + 5.0],
        parameters={"w": 1.0, "f": 0.1},
        period=lambda p: 2 * jnp.pi / p["w"],
        dimension=2,
    )
    with pytest.raises(EvaluationLostError) as caught:
        branch_maximum(falls, "amplitude", "f", (0.05, 0.2), guess=[5.0, 5.0])
    assert caught.value.code > 0


def test_an_autonomous_system_and_an_unknown_field_are_refused():
    field = jv.autonomous_system(lambda x, p: [-x[0]], parameters={"a": 1.0}, dimension=1)
    with pytest.raises(ValueError, match="the system is autonomous"):
        branch_maximum(field, "amplitude", "a", (0.5, 1.5))
    with pytest.raises(ValueError, match="did you mean 'amplitude'"):
        branch_maximum_measure("amplitud", "a", (0.5, 1.5))
