"""Checked against: fronts in closed form, Nishihara and Asami's absorber, a dense scan."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import (
    Goal,
    Limit,
    Problem,
    SearchSettings,
    optimal_absorber,
    optimise,
    parameter_measure,
    pareto_front,
    peaks_measure,
    response_measure,
    white_noise_measure,
)
from jaxvib.design.front import dominated
from jaxvib.foundation.quantity import quantity


class Point(eqx.Module):
    """Two numbers."""

    x: jax.Array = quantity("x", "")
    y: jax.Array = quantity("y", "")


BOX = {"x": (-2.0, 2.0), "y": (-1.0, 1.0)}
UNIT = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
WIDE = {"x": (-4.0, 4.0), "y": (-4.0, 4.0)}


def near(p):
    return (p.x - 1) ** 2 + p.y**2


def far(p):
    return (p.x + 1) ** 2 + 2 * p.y**2


def hollow(p):
    """Zitzler, Deb and Thiele's second function beside x, Evol. Comput. 8 (2000)."""
    g = 1 + 9 * p.y
    return g * (1 - (p.x / g) ** 2)


def bell(sign):
    """Return Fonseca and Fleming's function, 1995, of two numbers."""
    middle = sign / np.sqrt(2)
    return lambda p: 1 - jnp.exp(-((p.x - middle) ** 2) - (p.y - middle) ** 2)


def height(fall):
    """Return one minus a function."""
    return lambda p: 1 - fall(p)


def of_quadratics(a):
    return (2 - np.sqrt(a)) ** 2


def of_bells(a):
    return 1 - np.exp(-((2 - np.sqrt(-np.log1p(-a))) ** 2))


FRONTS = {
    "two quadratics": (BOX, Goal(near), Goal(far), of_quadratics),
    "a hollow one": (UNIT, Goal(lambda p: p.x), Goal(hollow), lambda a: 1 - a**2),
    "two bells": (WIDE, Goal(bell(1.0)), Goal(bell(-1.0)), of_bells),
    "one made great": (
        WIDE,
        Goal(bell(1.0)),
        Goal(height(bell(-1.0)), "maximise"),
        lambda a: 1 - of_bells(a),
    ),
}


@pytest.mark.parametrize("name", FRONTS)
def test_fronts_are_the_closed_forms(name):
    bounds, first, second, closed = FRONTS[name]
    problem = Problem(Point(0.3, 0.5), bounds, {"one": first, "two": second})
    front = pareto_front(problem, points=11)
    one, two = (np.asarray(front.objectives[each]) for each in ("one", "two"))
    np.testing.assert_array_equal(front.result, 0)
    np.testing.assert_array_equal(front.dominated, 0)
    np.testing.assert_allclose(two, closed(one), atol=1e-6)
    # evenly: no gap is more than sqrt(2) times the mean, both ends are there
    sizes = np.ptp(one), np.ptp(two)
    steps = np.hypot(np.diff(one) / sizes[0], np.diff(two) / sizes[1])
    assert steps.max() < np.sqrt(2) * steps.mean()
    alone = [
        optimise(
            Problem(Point(0.3, 0.5), bounds, goal.measure, goal=goal.goal),
            settings=SearchSettings(steps=50),
        )
        for goal in (first, second)
    ]
    best = [float(each.objective[int(each.best)]) for each in alone]
    np.testing.assert_allclose([one[0], two[-1]], best, atol=1e-6)
    assert float(front.optimality.max()) < 1e-5


def test_sums_of_weighted_objectives_miss_the_hollow_front():
    for weight in (0.3, 0.5, 0.7):
        problem = Problem(
            Point(0.3, 0.5), UNIT, lambda p, w=weight: w * p.x + (1 - w) * hollow(p)
        )
        x = optimise(problem).value("x")
        assert min(x, 1 - x) < 1e-9


def test_a_front_of_three_objectives_is_the_triangle_of_their_optima():
    corners = np.array([[1.0, 0.2], [-1.0, 0.0], [0.3, -0.9]])
    goals = {
        str(i): Goal(lambda p, c=corner: (p.x - c[0]) ** 2 + (p.y - c[1]) ** 2)
        for i, corner in enumerate(corners)
    }
    front = pareto_front(Problem(Point(0.3, 0.5), BOX, goals), points=17)
    assert front.weights.shape == (15, 3)  # the finest net of at most 17
    places = np.stack([front.variables["x"], front.variables["y"]], axis=1)
    system = np.vstack([corners.T, np.ones(3)])
    shares = np.linalg.solve(system, np.column_stack([places, np.ones(15)]).T)
    assert shares.min() > -1e-5
    np.testing.assert_array_equal(front.result, 0)
    np.testing.assert_array_equal(front.dominated, 0)
    assert len(np.unique(places.round(3), axis=0)) == 15


def test_a_limit_bends_a_front():
    # y at least 0.3: by hand the points (x, 0.3), those of least and of most x alike
    problem = Problem(
        Point(0.3, 0.5), BOX, {"one": Goal(near), "two": Goal(far)},
        constraints={"high": Limit(lambda p: p.y, at_least=0.3)},
    )  # fmt: skip
    front = pareto_front(problem, points=7)
    one, two = (np.asarray(front.objectives[each]) for each in ("one", "two"))
    x = 1 - np.sqrt(np.maximum(one - 0.09, 0))
    np.testing.assert_allclose(two, (x + 1) ** 2 + 0.18, atol=1e-6)
    assert float(np.abs(front.limits["high"]).max()) < 1e-8


def test_a_front_goes_as_far_as_there_are_objectives():
    problem = Problem(
        Point(0.3, 0.5), BOX,
        {"one": Goal(near), "two": Goal(lambda p: jnp.where(p.x < -0.4, jnp.nan, far(p)))},
    )  # fmt: skip
    front = pareto_front(problem, points=7)
    one, two = (np.asarray(front.objectives[each]) for each in ("one", "two"))
    np.testing.assert_allclose(two, of_quadratics(one), atol=2e-3)
    assert float(front.variables["x"].min()) == pytest.approx(-0.4, abs=1e-2)
    good = np.asarray(front.result) == 0
    assert good[0]
    np.testing.assert_allclose(two[good], of_quadratics(one)[good], atol=1e-6)


def absorber():
    return jv.two_body_impact(
        main_mass=1.0, main_frequency=1.0, main_damping_ratio=0.0, gap=1.0,
        attached_mass=0.05, attached_frequency=0.95, attached_damping_ratio=0.15,
    )  # fmt: skip


@pytest.mark.slow
def test_the_highest_peak_against_mass_is_nishihara_and_asamis():
    measure = peaks_measure("main", "main", 0.4, 1.6, 2)
    bounds = {
        "attached.mass": (0.02, 0.2),
        "attached.frequency": (0.6, 1.1),
        "attached.damping_ratio": (0.02, 0.6),
    }
    goals = {
        "mass": Goal(parameter_measure("attached.mass")),
        "peak": Goal(measure, combine="largest"),
    }
    front = pareto_front(Problem(absorber(), bounds, goals), points=9)
    np.testing.assert_array_equal(front.result, 0)
    for place, mass in enumerate(np.asarray(front.objectives["mass"])):
        exact = optimal_absorber("h_infinity", mass)
        best = {
            "attached.mass": mass,
            "attached.frequency": exact.frequency_ratio,
            "attached.damping_ratio": exact.damping_ratio,
        }
        peak = measure.analysis.function(jv.replace(absorber(), best)).max()
        assert float(front.objectives["peak"][place]) == pytest.approx(
            float(peak), rel=1e-8
        )
    assert float(front.objectives["mass"][0]) == pytest.approx(0.02, rel=1e-9)


def scan(frequency, damping_ratio):
    """Return variance and stroke of absorbers, (designs, 2), written down by hand."""
    f, zeta = frequency.ravel(), damping_ratio.ravel()
    k, c, one = 0.05 * f**2, 2 * 0.05 * zeta * f, np.ones(f.size)
    stiffness = np.moveaxis(np.array([[one + k, -k], [-k, k]]), -1, 0)
    damping = np.moveaxis(np.array([[c, -c], [-c, c]]), -1, 0)
    mass = np.diag([1.0, 0.05])
    dynamic = stiffness - 0.8**2 * mass + 0.8j * damping
    force = np.broadcast_to(np.array([[1.0], [0.0]]), (f.size, 2, 1))
    stroke = np.abs(np.linalg.solve(dynamic, force)[:, 1, 0])
    matrix = np.zeros((f.size, 4, 4))
    matrix[:, :2, 2:] = np.eye(2)
    matrix[:, 2:, :2] = -np.linalg.inv(mass) @ stiffness
    matrix[:, 2:, 2:] = -np.linalg.inv(mass) @ damping
    eye = np.eye(4)
    whole = np.einsum("sij,kl->sikjl", matrix, eye) + np.einsum(
        "ij,skl->sikjl", eye, matrix
    )
    noise = np.zeros((f.size, 16, 1))
    noise[:, 10] = -2 * np.pi  # of the main body's velocity with itself
    variance = np.linalg.solve(whole.reshape(-1, 16, 16), noise)[:, 0, 0]
    return np.stack([variance, stroke], axis=1)


@pytest.mark.slow
def test_no_design_of_a_dense_scan_is_better_than_the_front():
    noise = white_noise_measure("main", "main")
    response = response_measure("main", "attached", [0.8])
    bounds = {"attached.frequency": (0.7, 1.1), "attached.damping_ratio": (0.02, 0.5)}
    goals = {"variance": Goal(noise), "stroke": Goal(response)}
    front = pareto_front(Problem(absorber(), bounds, goals), points=15)
    found = np.stack([front.objectives[name] for name in goals], axis=1)
    scanned = scan(*np.meshgrid(*(np.linspace(*pair, 201) for pair in bounds.values())))
    spread = np.ptp(found, axis=0)
    ahead = (scanned[:, None] - found[None]) / spread
    assert np.max(ahead, axis=2).min() > -1e-6  # nothing is better in both
    # and the scan comes within its own resolution of every point
    assert np.max(ahead, axis=2).min(axis=0).max() < 5e-3


def test_dominated_points_are_flagged():
    values = np.array([[0.0, 1.0], [0.5, 0.5], [0.6, 0.5], [1.0, 0.0], [-1.0, -1.0]])
    usable = [True, True, True, True, False]
    np.testing.assert_array_equal(dominated(values, usable), [0, 0, 1, 0, 0])


def test_checkpointed_samples_are_not_computed_again():
    class Kept(dict):
        def put(self, key, arrays):
            self[key] = arrays

    goals = {"one": Goal(near), "two": Goal(far)}
    problem, kept = Problem(Point(0.3, 0.5), BOX, goals), Kept()
    first = pareto_front(problem, points=4, remember=kept)
    assert len(kept) == int(first.evaluations)
    for key in list(kept)[30:]:
        del kept[key]
    second = pareto_front(problem, points=4, remember=kept)
    for name in goals:
        np.testing.assert_array_equal(first.objectives[name], second.objectives[name])


NEVER = {"one": Goal(lambda p: p.x * jnp.nan), "two": Goal(far)}
BOTH = {"one": Goal(near), "two": Goal(far)}
EMPTY = {"none": Limit(lambda p: p.x**2, at_most=-1.0)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Goal(near, "max"), "'max"),
        (lambda: Goal(near, combine="avg"), "'avg'"),
        (lambda: Problem(Point(0, 0), BOX, {"one": Goal(near)}), "two Goals or more"),
        (lambda: Problem(Point(0, 0), BOX, BOTH, goal="maximise"), "in each Goal"),
        (lambda: optimise(Problem(Point(0, 0), BOX, BOTH)), "allowed: one, or pareto"),
        (lambda: pareto_front(Problem(Point(0, 0), BOX, near)), "two Goals or more"),
        (lambda: pareto_front(Problem(Point(0, 0), BOX, BOTH), "adam"), "'adam'"),
        (lambda: pareto_front(Problem(Point(0, 0), BOX, BOTH), points=1), "points = 1"),
        (lambda: pareto_front(Problem(Point(0, 0), BOX, NEVER)), "has no objectives"),
        (
            lambda: pareto_front(
                Problem(Point(0.1, 0), BOX, BOTH, constraints=EMPTY),
                settings=SearchSettings(steps=20),
            ),
            "no design satisfies all limits",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
