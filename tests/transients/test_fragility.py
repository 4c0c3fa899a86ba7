"""Checked against: scipy's own search of the likelihood, and curves known in advance."""

import jax
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.transients import fragility_of_capacities

LEVELS = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
FAILURES = np.array([0, 3, 11, 20, 28, 37])
TRIALS = np.full(6, 40)


def minus_likelihood(shape, levels=LEVELS, failures=FAILURES, trials=TRIALS):
    place = (np.log(levels) - shape[0]) / shape[1]
    above, below = scipy.stats.norm.logcdf(place), scipy.stats.norm.logcdf(-place)
    return -np.sum(failures * above + (trials - failures) * below)


def test_the_curve_is_the_likeliest():
    found = jv.fragility_curve(LEVELS, FAILURES, TRIALS)
    best = scipy.optimize.minimize(
        minus_likelihood, [np.log(0.8), 0.5], method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000},
    )  # fmt: skip
    assert found.result == Reason.SUCCESS
    assert found.median == pytest.approx(np.exp(best.x[0]), rel=1e-7)
    assert found.dispersion == pytest.approx(best.x[1], rel=1e-6)
    assert found.log_likelihood == pytest.approx(-best.fun, rel=1e-12)


def test_two_levels_are_met_by_the_curve():
    # As many parameters as shares: the fit goes through both, and errors by hand.
    levels, shares, number = np.array([1.0, 3.0]), np.array([0.2, 0.7]), 100
    found = jv.fragility_curve(levels, shares * number, [number, number])
    np.testing.assert_allclose(found.probability(levels), shares, rtol=1e-10)
    place = scipy.stats.norm.ppf(shares)
    beta = np.log(3.0) / (place[1] - place[0])
    assert found.dispersion == pytest.approx(beta, rel=1e-10)
    assert found.median == pytest.approx(np.exp(-beta * place[0]), rel=1e-10)
    width = np.sqrt(shares * (1 - shares) / number) / scipy.stats.norm.pdf(place)
    low, high = found.band(levels, 1.0)
    np.testing.assert_allclose(low, scipy.stats.norm.cdf(place - width), rtol=1e-9)
    np.testing.assert_allclose(high, scipy.stats.norm.cdf(place + width), rtol=1e-9)


@pytest.mark.slow  # fits 4000 curves, 3 s
def test_its_errors_are_those_of_fits_to_many_data():
    rng = np.random.default_rng(3)
    levels, number = np.linspace(0.3, 2.0, 8), 60
    chance = scipy.stats.norm.cdf(np.log(levels / 0.9) / 0.4)
    failures = rng.binomial(number, chance, (4000, 8)).astype(float)
    fits = jax.vmap(lambda z: jv.fragility_curve(levels, z, np.full(8, float(number))))(
        failures
    )
    assert np.all(fits.result == 0)
    for name, exact in (("median", 0.9), ("dispersion", 0.4)):
        fields = getattr(fits, name), getattr(fits, f"{name}_error")
        values, errors = map(np.asarray, fields)
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.05)
        inside = np.mean(np.abs(values - exact) <= 1.96 * errors)
        assert abs(inside - 0.95) < 0.02


def test_capacities_are_fitted_by_their_logarithms():
    rng = np.random.default_rng(1)
    capacities = 0.8 * np.exp(0.3 * rng.normal(size=500))
    found = fragility_of_capacities(capacities)
    logs = np.log(capacities)
    assert found.median == pytest.approx(np.exp(logs.mean()), rel=1e-12)
    assert found.dispersion == pytest.approx(logs.std(ddof=1), rel=1e-12)
    assert abs(found.median - 0.8) < 3 * found.median_error
    assert abs(found.dispersion - 0.3) < 3 * found.dispersion_error
    # The same data as failures at given levels tell the same curve.
    levels = np.linspace(0.4, 1.6, 25)
    failures = [np.sum(capacities[k::25] <= x) for k, x in enumerate(levels)]
    curve = jv.fragility_curve(levels, failures, np.full(25, 20))
    assert abs(curve.median - found.median) < 3 * curve.median_error
    assert abs(curve.dispersion - found.dispersion) < 3 * curve.dispersion_error


@pytest.mark.parametrize(
    "failures", [[0, 0, 0, 40, 40, 40], [37, 28, 20, 11, 3, 0], [0] * 6, [40] * 6]
)
def test_data_that_determine_no_curve_have_a_reason_and_no_numbers(failures):
    found = jv.fragility_curve(LEVELS, failures, TRIALS)
    assert found.result == Reason.SINGULAR
    assert np.isnan(found.median)
    assert np.all(np.isnan(found.probability(LEVELS)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [0, 1], [1, 1]), "intensities = 0"),
        (([1.0, 2.0], [0, 2], [1, 1]), "failures exceed trials"),
        (([1.0, 2.0], [-1, 2], [1, 1]), "failures = -1"),
        (([1.0, 2.0], [0, 1, 1], [1, 1, 1]), "have shapes"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        jv.fragility_curve(*arguments)


def test_too_few_capacities_are_refused():
    with pytest.raises(ValueError, match=r"capacities has shape \(1,\)"):
        fragility_of_capacities([1.0])
