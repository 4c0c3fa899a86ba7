"""Checked against: scipy.stats, an integral over the noise, linear regression, coverage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import jaxvib as jv
from jaxvib.design import Record, bifurcation_measure, likelihood, orbit_measure
from jaxvib.design import stable_range_measure as stable_range
from jaxvib.design.joint_intervals import Piece, joint_intervals
from tests.design.test_bifurcation_measures import cusps
from tests.design.test_fitting import Curve, X, Y, misra


def line(curve):
    return curve.b1 + curve.b2 * jnp.asarray(X / 100)


def normal(numbers, data, sizes):
    return scipy.stats.norm.logpdf(data, numbers, sizes).sum()


@pytest.mark.parametrize("sizes", [0.3, np.linspace(0.1, 0.5, 14)])
def test_records_of_known_noise_have_the_density_of_scipy(sizes):
    other = [100.0, 101.0, 99.0]
    records = {
        "curve": Record(misra, Y, sizes),
        "scale": Record(lambda curve: jnp.full(3, curve.b1), other, 5.0),
    }
    found = likelihood(Curve(230.0, 5e-4), records)
    at = {"b1": 240.0, "b2": 5.4e-4}
    expected = normal(np.asarray(misra(Curve(**at))), Y, sizes) + normal(240.0, other, 5.0)
    np.testing.assert_allclose(
        jax.jit(lambda values: found(values))(at), expected, rtol=1e-12
    )
    # A sampled deviation takes the place of the record's own.
    changed = expected - normal(240.0, other, 5.0) + normal(240.0, other, 90.0)
    np.testing.assert_allclose(found(at, {"scale": 90.0}), changed, rtol=1e-12)


def test_unknown_noise_is_integrated_over():
    found = likelihood(Curve(1.0, 10.0), {"line": Record(line, Y)})
    at = {"b1": 2.0, "b2": 11.0}
    left = np.asarray(line(Curve(**at))) - Y

    def density(log_size):
        return np.exp(normal(0.0, left, np.exp(log_size)))

    whole, _ = scipy.integrate.quad(density, -5, 10, epsabs=0, epsrel=1e-11, limit=500)
    np.testing.assert_allclose(found(at), np.log(whole), rtol=1e-9)


def test_gradients_and_curvature_are_those_of_linear_regression():
    sizes = np.linspace(0.5, 1.5, 14)
    found = likelihood(Curve(1.0, 10.0), {"line": Record(line, Y, sizes)})
    columns = np.stack([np.ones(14), X / 100], axis=1) / sizes[:, None]
    at = np.array([2.0, 11.0])

    def of(values):
        return found({"b1": values[0], "b2": values[1]})

    slope = columns.T @ (np.asarray(Y) / sizes - columns @ at)
    np.testing.assert_allclose(jax.grad(of)(jnp.asarray(at)), slope, rtol=1e-10)
    np.testing.assert_allclose(jax.jacfwd(of)(jnp.asarray(at)), slope, rtol=1e-10)
    np.testing.assert_allclose(
        jax.hessian(of)(jnp.asarray(at)), -columns.T @ columns, rtol=1e-10
    )
    several = jnp.asarray([at, 1.1 * at])
    np.testing.assert_array_equal(jax.vmap(of)(several), [of(one) for one in several])


def test_the_fit_of_several_records_is_their_weighted_least_squares():
    other = np.linspace(3.0, 9.0, 14)
    records = {"a": Record(line, Y, 0.5), "b": Record(line, other, 2.0)}
    found = likelihood(Curve(1.0, 10.0), records)
    best = found.fit({"b1": (-50.0, 50.0), "b2": (0.0, 50.0)})
    columns = np.stack([np.ones(14), X / 100], axis=1)
    whole = np.concatenate([columns / 0.5, columns / 2.0])
    data = np.concatenate([np.asarray(Y) / 0.5, other / 2.0])
    expected = np.linalg.lstsq(whole, data)[0]
    values = [float(value) for value in best.values.values()]
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    errors = [float(error) for error in best.standard_errors.values()]
    covariance = np.linalg.inv(whole.T @ whole)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-7)
    slope = jax.grad(lambda values: found(values))(best.values)
    assert max(abs(float(each)) for each in slope.values()) < 1e-4


def test_records_of_unknown_noise_are_weighted_by_their_deviations():
    noise = np.random.default_rng(0).normal(size=(2, 14))
    truth = np.asarray(line(Curve(2.0, 11.0)))
    data = truth + noise * [[0.01], [3.0]]
    records = {"fine": Record(line, data[0]), "coarse": Record(line, data[1])}
    found = likelihood(Curve(1.0, 10.0), records)
    best = found.fit({"b1": (-50.0, 50.0), "b2": (0.0, 50.0)})
    fine = np.polynomial.polynomial.polyfit(X / 100, data[0], 1)
    values = [float(value) for value in best.values.values()]
    np.testing.assert_allclose(values, fine, atol=1e-3)
    assert float(best.standard_errors["b1"]) < 0.02


def shares_of_held_truths(columns, deviations, sets):
    """Return how often intervals of simulated records hold each parameter."""
    random, held = np.random.default_rng(8), 0
    for _ in range(sets):
        pieces = [
            Piece(rows, deviation * random.standard_normal(len(rows)), None, 1.0)
            for rows, deviation in zip(columns, deviations, strict=True)
        ]
        low, high = joint_intervals(pieces, np.zeros(columns[0].shape[1])).T
        held += (low <= 0) & (high >= 0)
    return held / sets


@pytest.mark.slow  # 1000 sets of records each, a minute
@pytest.mark.parametrize(
    ("numbers", "parameters"), [((2, 2), 1), ((3, 3), 2), ((4, 20), 2), ((50, 50), 2)]
)
def test_intervals_of_several_records_hold_the_truth_as_often_as_they_say(
    numbers, parameters
):
    columns = [
        np.stack([np.exp(-t), -t * np.exp(-t)], axis=1)[:, :parameters]
        for t in (np.linspace(0.0, 2.0, numbers[0]), np.linspace(0.2, 3.0, numbers[1]))
    ]
    shares = shares_of_held_truths(columns, (0.05, 0.02), 1000)
    assert np.all((shares >= 0.93) & (shares <= 0.97))


def test_intervals_are_student_s_where_one_record_alone_tells_its_deviation():
    # Two numbers fitted by two parameters leave nothing to tell their deviation by.
    columns = np.stack([np.ones(14), X / 100], axis=1)
    noise = 0.3 * np.random.default_rng(4).standard_normal(14)
    data = np.asarray(line(Curve(2.0, 11.0))) + noise
    first = Record(lambda curve: line(curve)[:2], data[:2])
    found = likelihood(Curve(1.0, 10.0), {"few": first, "line": Record(line, data)})
    best = found.fit({"b1": (-50.0, 50.0), "b2": (0.0, 50.0)})
    values, left = np.linalg.lstsq(columns, data)[:2]
    covariance = np.linalg.inv(columns.T @ columns) * left[0] / 12
    widths = scipy.stats.t.ppf(0.975, 12) * np.sqrt(np.diag(covariance))
    for at, (low, high) in enumerate(best.intervals.values()):
        np.testing.assert_allclose([low, high], values[at] + widths[at] * np.array([-1, 1]),
                                   atol=0.05 * widths[at])  # fmt: skip


def test_intervals_of_two_like_records_are_those_of_both_together():
    random = np.random.default_rng(5)
    columns = np.stack([np.ones(14), X / 100], axis=1)
    truth = np.asarray(line(Curve(2.0, 11.0)))
    data = truth + 0.3 * random.standard_normal((40, 14))
    pieces = [Piece(columns, truth - row, None, 1.0) for row in data]
    low, high = joint_intervals(pieces, np.array([2.0, 11.0])).T
    covariance = np.linalg.inv(40 * columns.T @ columns) * 0.09
    expected = 2 * scipy.stats.norm.ppf(0.975) * np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(high - low, expected, rtol=0.15)


def test_records_with_as_many_parameters_as_numbers_have_no_intervals():
    pieces = [Piece(np.eye(2), np.array([0.1, -0.2]), None, 1.0)] * 2
    assert np.isnan(joint_intervals(pieces, np.zeros(2))).all()


def test_a_branch_s_fold_is_a_record_and_a_lost_one_has_no_likelihood():
    # Folds at h = 2 (r / 3)^1.5 and -h, the nearest to the system's own.
    lower = jv.replace(cusps, {"h": -0.1})
    fold = bifurcation_measure("fold", "h", (-1.5, 1.5), guess=[1.2])
    found = likelihood(lower, {"fold": Record(fold, [-0.5], 0.01)})
    value, slope = jax.jit(jax.value_and_grad(lambda r: found({"r": r})))(1.2)
    place = -2 * 0.4**1.5
    np.testing.assert_allclose(value, normal(place, -0.5, 0.01), rtol=1e-9)
    np.testing.assert_allclose(slope, -(place + 0.5) / 1e-4 * -np.sqrt(0.4), rtol=1e-8)
    assert float(found({"r": -0.5})) == -np.inf


@pytest.mark.slow  # compiles an orbit
def test_an_orbit_is_a_record():
    apart = jv.two_body_impact(gap=50.0)
    records = {"main": Record(orbit_measure("amplitude"), [0.3], 0.01)}
    found = likelihood(apart, records)
    # Linear: the amplitude is proportional to the load's.
    amplitude = float(jv.periodic_orbit(apart).amplitude[0])
    value, slope = jax.value_and_grad(lambda f: found({"load.amplitude": f}))(400.0)
    expected = normal(0.8 * amplitude, 0.3, 0.01)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    by_load = -(0.8 * amplitude - 0.3) / 1e-4 * amplitude / 500
    np.testing.assert_allclose(slope, by_load, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: likelihood(cusps, {}), r"records = \{\}"),
        (lambda: Record(line, [], 1.0), r"data = \[\]"),
        (lambda: Record(line, [np.nan], 1.0), "data = nan"),
        (lambda: Record(line, Y, [1.0, 2.0]), r"\(2,\) deviations for \(14,\) data"),
        (lambda: Record(line, Y, -1.0), "deviations = -1"),
        (
            lambda: likelihood(Curve(1.0, 1.0), {"a": Record(line, [1.0])}),
            r"record a: the measure has numbers of shape \(14,\)",
        ),
        (
            lambda: likelihood(
                cusps, {"a": Record(stable_range("width", "h", (-1.0, 1.0)), [1.0])}
            ),
            "record a: .* cannot be compiled",
        ),
        (
            lambda: likelihood(Curve(1.0, 1.0), {"curve": Record(line, Y)})(
                {}, {"curv": 1}
            ),
            "did you mean 'curve'",
        ),
        (
            lambda: likelihood(Curve(1.0, 1.0), {"a": Record(line, Y)}).with_data(
                {"a": [1.0]}
            ),
            r"data of a have shape \(1,\); allowed: \(14,\)",
        ),
    ],
)
def test_bad_records_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
