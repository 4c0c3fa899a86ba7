"""Checked against: closed forms of absorbers and of Rosenbrock's function, by hand."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxvib as jv
from jaxvib.design import (
    EvaluationLostError,
    Limit,
    Measure,
    Problem,
    SearchSettings,
    Variable,
    optimal_absorber,
    optimise,
    over,
    peaks_measure,
    response_measure,
    white_noise_measure,
)
from jaxvib.design.measures.measure import Outcome, as_measure
from jaxvib.design.optimise import ALL_METHODS
from jaxvib.foundation.quantity import quantity

PLACES = ("main", "main")
BOUNDS = {"attached.frequency": (0.7, 1.1), "attached.damping_ratio": (0.02, 0.5)}


def absorber(mass_ratio):
    return jv.two_body_impact(
        main_mass=1.0, main_frequency=1.0, main_damping_ratio=0.0, gap=1.0,
        attached_mass=mass_ratio, attached_frequency=0.95, attached_damping_ratio=0.1,
    )  # fmt: skip


class Point(eqx.Module):
    """Two numbers."""

    x: jax.Array = quantity("x", "")
    y: jax.Array = quantity("y", "", at_least=-1.0)


def rosenbrock(point):
    return (1 - point.x) ** 2 + 100 * (point.y - point.x**2) ** 2


@pytest.mark.parametrize("mass_ratio", [0.1])
def test_least_variance_is_the_closed_form(mass_ratio):
    problem = Problem(absorber(mass_ratio), BOUNDS, white_noise_measure(*PLACES))
    design = optimise(problem)
    exact = optimal_absorber("h2", mass_ratio)
    assert int(design.result) == 0
    assert list(design.variables) == list(BOUNDS)  # in their own order
    assert abs(design.value("attached.frequency") - exact.frequency_ratio) < 1e-7
    assert abs(design.value("attached.damping_ratio") - exact.damping_ratio) < 1e-7
    assert design.optimality < 1e-6


def test_least_highest_peak_is_the_closed_form():
    problem = Problem(
        absorber(0.05), BOUNDS, peaks_measure(*PLACES, 0.4, 1.6, 2), combine="largest"
    )
    for mass_ratio in (0.05, 0.1):
        # By default the search ends at the last 1e-14 of the peak: 1e-7 of the damping.
        exactly = SearchSettings(tolerance=1e-13)
        design = optimise(problem.at(absorber(mass_ratio)), settings=exactly)
        exact = optimal_absorber("h_infinity", mass_ratio)
        assert abs(design.value("attached.frequency") - exact.frequency_ratio) < 1e-9
        assert abs(design.value("attached.damping_ratio") - exact.damping_ratio) < 1e-9
        left, right = map(float, design.numbers[int(design.best)])
        assert left == pytest.approx(right, rel=1e-12)
    fixed_points = optimal_absorber("den_hartog", 0.1)
    apart = float(exact.damping_ratio / fixed_points.damping_ratio - 1)
    assert apart == pytest.approx(5e-3, rel=0.2)  # as the literature puts it


@pytest.mark.slow
def test_variance_is_the_integral_of_the_response():
    system = absorber(0.1)
    frequencies = jnp.linspace(0.0, 40.0, 40_001)
    response = jnp.abs(jv.frequency_response(system, frequencies, force=0, at=0)) ** 2
    integral = 2 * float(jnp.trapezoid(response, frequencies))
    measured = float(white_noise_measure(*PLACES).analysis.function(system))
    assert measured == pytest.approx(integral, rel=1e-5)


@pytest.mark.parametrize("method", ["slsqp", "trust_constr", "quasi_newton", "nelder_mead"])
def test_every_method_finds_rosenbrocks_valley_floor(method):
    problem = Problem(Point(-0.5, 0.5), {"x": (-2.0, 2.0), "y": (-1.0, 3.0)}, rosenbrock)
    design = optimise(problem, method, settings=SearchSettings(steps=500))
    assert int(design.result) == 0
    assert design.value("x") == pytest.approx(1.0, abs=1e-4)
    assert design.value("y") == pytest.approx(1.0, abs=2e-4)


@pytest.mark.slow
def test_evolution_and_adam_from_many_starts_find_it_too():
    problem = Problem(
        Point(-0.5, 0.5), {"x": (-2.0, 2.0), "y": (0.1, 3.0, "log")}, rosenbrock
    )
    assert (
        optimise(
            problem, "evolution", settings=SearchSettings(steps=200, tolerance=1e-8)
        ).objective.min()
        < 1e-8
    )
    many = optimise(problem, "adam", settings=SearchSettings(starts=64, steps=300))
    assert many.starts.objective.shape == (64,)
    assert float(many.objective[int(many.best)]) == float(many.starts.objective.min())
    assert many.objective.min() < 1e-3
    alone = optimise(problem, optax.adam(0.2), settings=SearchSettings(steps=300))
    np.testing.assert_allclose(
        alone.objective.min(), many.starts.objective[0], rtol=1e-9
    )  # the first of many starts is the one alone


def test_least_squares_takes_the_residuals():
    def residuals(point):
        return jnp.stack([1 - point.x, 10 * (point.y - point.x**2)])

    problem = Problem(
        Point(-0.5, 0.5), {"x": (-2.0, 2.0), "y": (-1.0, 3.0)}, residuals, combine="squares"
    )
    design = optimise(problem, "least_squares")
    assert design.value("x") == pytest.approx(1.0, abs=1e-8)
    assert int(design.evaluations) < 40


@pytest.mark.parametrize("method", ["slsqp", "trust_constr"])
def test_constraints_hold_and_their_multipliers_balance_the_gradient(method):
    # x + y least on the circle of radius 1 about the origin, x at most -0.8: by hand
    problem = Problem(
        Point(-0.9, 0.5),
        {"x": (-2.0, 2.0), "y": (0.01, 3.0)},
        lambda p: p.x + p.y,
        constraints={
            "circle": Limit(lambda p: p.x**2 + p.y**2, at_least=1.0, at_most=1.0),
            "left": Limit(lambda p: p.x, at_least=-0.8),
        },
    )
    design = optimise(problem, method, settings=SearchSettings(steps=300))
    near = {"slsqp": 1e-9, "trust_constr": 1e-5}[method]  # the latter stays inside
    assert design.value("x") == pytest.approx(-0.8, abs=near)
    assert design.value("y") == pytest.approx(0.6, abs=near)
    assert design.optimality < 1e-5
    assert abs(float(design.limits["circle"][int(design.best)])) < 1e-8


def test_worst_case_mean_and_variance_over_uncertain_parameters():
    # (x - a)^2 with a in {0, 1, 5}: mean at 2, worst case at 2.5, variance by hand
    class Uncertain(eqx.Module):
        x: jax.Array = quantity("x", "")
        a: jax.Array = quantity("a", "")

    measure = over(as_measure(lambda s: (s.x - s.a) ** 2), {"a": [0.0, 1.0, 5.0]})
    for combine, x in {"mean": 2.0, "largest": 2.5, "variance": 37 / 14}.items():
        problem = Problem(Uncertain(1.0, 0.0), {"x": (0, 5)}, measure, combine=combine)
        assert optimise(problem, settings=SearchSettings(steps=20)).value(
            "x"
        ) == pytest.approx(x, abs=1e-5)
    robust = Problem(
        Uncertain(1.0, 0.0),
        {"x": (0, 5)},
        measure,
        combine="mean_and_deviation",
        weight=0.0,
    )
    assert optimise(robust).value("x") == pytest.approx(2.0, abs=1e-5)


def test_the_smallest_number_can_become_greatest():
    problem = Problem(
        Point(0.2, 0.3),
        {"x": (-2.0, 2.0), "y": (0.01, 3.0)},
        lambda p: jnp.stack([p.x, 1 - p.x]),
        combine="smallest",
        goal="maximise",
    )
    assert optimise(problem, settings=SearchSettings(steps=20)).value("x") == pytest.approx(
        0.5, abs=1e-9
    )


def test_gradients_are_those_of_complex_steps():
    # of Den Hartog's formula for |x|, in real numbers
    g, mu, step = np.array([0.8, 1.05]), 0.1, 1e-30
    design = optimise(
        Problem(absorber(mu), BOUNDS, response_measure(*PLACES, g), combine="sum"),
        settings=SearchSettings(steps=1),
    )

    def response(values):
        f, zeta = values
        damped = (2 * zeta * f * g) ** 2
        above = damped + (f**2 - g**2) ** 2
        below = damped * (1 - g**2 - mu * g**2) ** 2
        below = below + (mu * f**2 * g**2 - (g**2 - 1) * (g**2 - f**2)) ** 2
        return np.sum(np.sqrt(above / below))

    for place, path in enumerate(BOUNDS):
        values = np.array([0.95, 0.1], complex)
        values[place] += 1j * step
        slope = response(values).imag / step
        assert design.gradients[path][0] == pytest.approx(slope, rel=1e-10)


def test_checkpointed_samples_are_not_computed_again():
    class Kept(dict):
        def put(self, key, arrays):
            self[key] = arrays

    problem = Problem(Point(-0.5, 0.5), {"x": (-2.0, 2.0), "y": (0.1, 3.0)}, rosenbrock)
    for method in ("slsqp", "adam"):
        kept, seen = Kept(), []
        first = optimise(problem, method, settings=SearchSettings(steps=30), remember=kept)
        for key in list(kept)[20:]:
            del kept[key]

        def counted(point, seen=seen):
            seen.append(1)
            return rosenbrock(point)

        # a stop after twenty evaluations: only what came later is computed
        again = Problem(Point(-0.5, 0.5), {"x": (-2, 2), "y": (0.1, 3)}, counted)
        second = optimise(again, method, settings=SearchSettings(steps=30), remember=kept)
        assert len(kept) == len(first.objective)
        np.testing.assert_array_equal(first.objective, second.objective)
        np.testing.assert_array_equal(first.variables["x"], second.variables["x"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: optimise(p, "slqsp"), "unknown method 'slqsp'; did you mean 'slsqp'"),
        (lambda p: optimise(p, "least_squares"), "allowed: 'squares'"),
        (
            lambda p: optimise(p, settings=SearchSettings(steps=0)),
            r"steps = 0 is not in \[1, inf\)",
        ),
        (lambda p: Variable("x", 1.0, 1.0), "do not ascend"),
        (lambda p: Variable("x", 0.0, 1.0, "log"), "are not above 0"),
        (lambda p: Variable("x", 0.0, 1.0, "lin"), "unknown scale 'lin'"),
        (lambda p: Limit(rosenbrock), "one finite"),
        (lambda p: Problem(p.system, {"z": (0, 1)}, rosenbrock), "unknown parameter 'z'"),
        (lambda p: Problem(p.system, {"y": (-2, 1)}, rosenbrock), "bounds of y = -2"),
        (lambda p: Problem(p.system, {"x": (-1, 1)}, rosenbrock, goal="max"), "'max"),
        (lambda p: Problem(p.system, {"x": (-1, 1)}, rosenbrock, combine="avg"), "'avg'"),
        (lambda p: optimal_absorber("h3", 0.1), "unknown criterion 'h3'"),
        (lambda p: optimal_absorber("h2", 0.0), "mass_ratio = 0"),
    ],
)
def test_mistakes_are_named(call, message):
    problem = Problem(Point(-0.5, 0.5), {"x": (-2.0, 2.0)}, rosenbrock)
    with pytest.raises(ValueError, match=message):
        call(problem)


def test_methods_without_constraints_refuse_them():
    problem = Problem(
        Point(-0.5, 0.5), {"x": (-2.0, 2.0)}, rosenbrock,
        constraints={"x": Limit(lambda p: p.x, at_most=0.5)},
    )  # fmt: skip
    for method in set(ALL_METHODS) - {"slsqp", "trust_constr"}:
        with pytest.raises(ValueError, match="supports no constraints"):
            optimise(problem, method)


def test_a_lost_objective_ends_the_course_with_a_reason():
    def fails(point):
        return jnp.where(point.x > 0.5, jnp.nan, -point.x)

    problem = Problem(Point(0.0, 0.5), {"x": (-2.0, 2.0)}, fails)
    assert optimise(problem, settings=SearchSettings(steps=20)).value("x") == pytest.approx(
        0.5, abs=1e-3
    )  # steps back
    design = optimise(problem, "quasi_newton", settings=SearchSettings(steps=20))
    assert jv.Reason(int(design.result)).failed
    assert design.value("x") <= 0.5
    with pytest.raises(ValueError, match="no objective"):
        optimise(Problem(Point(1.0, 0.5), {"x": (-2.0, 2.0)}, fails))
    worst = Problem(Point(0.0, 0.5), {"x": (-2.0, 2.0)}, fails, combine="largest")
    assert optimise(worst, settings=SearchSettings(steps=20)).value("x") == pytest.approx(
        0.5, abs=1e-3
    )


@dataclasses.dataclass(frozen=True)
class Somewhere:
    """An analysis that has a motion to begin with where x is at most 0 alone."""

    compiled = True
    start_compiled = False

    def start(self, system):
        if float(system.x) > 0:
            raise EvaluationLostError(
                jv.Reason.NO_BIFURCATION, f"no point at {float(system.x):g}"
            )
        return jnp.zeros(1)

    def __call__(self, system, memory):
        value = (system.x - 0.3) ** 2
        return Outcome(value, memory, jnp.asarray(0), jnp.inf, jnp.asarray(0))


@pytest.mark.parametrize("method", ["slsqp", "quasi_newton", "nelder_mead", "adam"])
def test_a_start_without_a_motion_does_not_stop_the_others(method):
    measure = Measure(Somewhere(), lambda result: result)
    bounds = {"x": (-2.0, 2.0)}
    found = optimise(
        Problem(Point(1.0, 0.5), bounds, measure),
        method,
        settings=SearchSettings(starts=4, steps=150),
    )
    assert found.value("x") == pytest.approx(0.3, abs=1e-2)
    codes = np.asarray(found.starts.result)
    values = np.asarray(found.starts.objective)
    assert codes[0] == jv.Reason.NO_BIFURCATION
    assert np.isnan(values[0])
    assert (codes == 0).any()
    assert np.isfinite(values[codes == 0]).all()
    narrow = Problem(Point(1.0, 0.5), {"x": (0.5, 2.0)}, measure)
    with pytest.raises(ValueError, match=r"none of 3 starts .* no point at 1"):
        optimise(narrow, method, settings=SearchSettings(starts=3, steps=5))
    lost = optimise(narrow, method, settings=SearchSettings(starts=3, steps=5), throw=False)
    assert int(lost.result) == jv.Reason.NO_BIFURCATION


@pytest.mark.parametrize("method", ["slsqp", "adam"])
def test_a_start_without_a_number_does_not_stop_the_others(method):
    def fails(point):
        return jnp.where(point.x > 0.5, jnp.nan, (point.x - 0.3) ** 2)

    found = optimise(
        Problem(Point(1.0, 0.5), {"x": (-2.0, 2.0)}, fails),
        method,
        settings=SearchSettings(starts=4, steps=150),
    )
    assert found.value("x") == pytest.approx(0.3, abs=1e-2)
    assert found.starts.result[0] == jv.Reason.BAD_PARAMETER
