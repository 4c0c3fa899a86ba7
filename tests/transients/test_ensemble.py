"""Checked against: Lyapunov's equation by scipy, integrals of spectra, moments by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.stats

import jaxvib as jv
from jaxvib.transients import Limit, scaled, statistics

ONE = jnp.ones(1)
MASS, DAMPING, STIFFNESS = 2.0, 1.6, 50.0
NOISE = jv.FilteredNoise.low_pass(0.3, 8.0, 0.5)
SYSTEM = jv.ImpactSystem(
    jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]]),
    (),
    (jv.AppliedLoad(ONE, NOISE.load(60.0, 12.0, 0), "road"),),
)
LEVEL = 0.19


@pytest.fixture(scope="module")
def found():
    laws = NOISE.loads(60.0, 12.0, range(512))
    return jv.responses(SYSTEM, "road", laws, 12.0, limits=[Limit(ONE, LEVEL)])


def test_the_variance_is_that_of_the_lyapunov_equation(found):
    known = statistics(found)
    exact = np.diag(jv.response_covariance(SYSTEM, NOISE, ONE, 12.0))
    assert np.all(np.abs(known.variance - exact) <= 3 * known.variance_error)
    assert known.failed == 0
    assert known.good == 512


def test_statistics_are_the_moments(found):
    known = statistics(found)
    peaks, passed = found.peak[:, 0], np.isfinite(found.first_passage[:, 0])
    np.testing.assert_array_equal(passed, peaks >= LEVEL)
    assert 0.05 < passed.mean() < 0.95
    assert known.passed[0] == pytest.approx(passed.mean(), rel=1e-14)
    spread = np.sqrt(passed.var() / 512)
    assert known.passed_error[0] == pytest.approx(spread, rel=1e-12)
    assert known.mean_peak_error[0] == pytest.approx(scipy.stats.sem(peaks), rel=1e-12)
    level = np.sqrt(np.mean(found.mean_square))
    assert known.root_mean_square[0] == pytest.approx(level, rel=1e-12)
    # Of the root by its square's: the delta method, beside blocks left out one by one.
    squares = found.mean_square[:, 0]
    left = np.sqrt((squares.sum() - squares) / 511)
    jackknife = np.sqrt(511 * np.var(left))
    assert known.root_mean_square_error[0] == pytest.approx(jackknife, rel=1e-2)


def test_failed_samples_are_left_out_and_counted(found):
    codes = np.array(found.result)
    codes[:100] = 3
    broken = jax.tree.map(np.array, found)
    broken.peak[:100] = np.nan
    object.__setattr__(broken, "result", codes)
    known = statistics(broken)
    assert (known.good, known.failed) == (412, 100)
    assert known.mean_peak[0] == pytest.approx(found.peak[100:].mean(), rel=1e-12)
    object.__setattr__(broken, "result", np.full(512, 3))
    with pytest.raises(ValueError, match="0 of 512 samples"):
        statistics(broken)


@pytest.mark.slow  # compiles two more forms of the response, 5 s
def test_each_sample_is_its_own_whatever_its_neighbours(found):
    laws = NOISE.loads(60.0, 12.0, [7, 300])
    few = jv.responses(SYSTEM, 0, laws, 12.0, limits=[Limit(ONE, LEVEL)], chunk=256)
    np.testing.assert_allclose(few.peak, found.peak[[7, 300]], rtol=1e-12)
    alone = jv.response(SYSTEM.with_law(0, NOISE.load(60.0, 12.0, 300)), 12.0)
    np.testing.assert_allclose(alone.peak, found.peak[300], rtol=1e-10)


@pytest.mark.slow  # compiles responses to given loads, 2 s
def test_of_a_linear_system_twice_the_load_is_twice_the_response():
    laws = NOISE.loads(60.0, 12.0, [1, 2])
    both = [
        jv.responses(SYSTEM, "road", law, 12.0).peak
        for law in (laws, scaled(laws, jnp.array([2.0, 3.0])))
    ]
    np.testing.assert_allclose(both[1], both[0] * [[2.0], [3.0]], rtol=1e-9)


def exact_matrices():
    a, b, c = map(np.asarray, NOISE.matrices())
    whole = np.zeros((4, 4))
    whole[0, 1] = 1.0
    whole[1] = [-STIFFNESS / MASS, -DAMPING / MASS, *(c / MASS)]
    whole[2:, 2:] = a
    return whole, np.concatenate([np.zeros(2), b])


def test_the_covariance_is_that_of_scipy_and_of_the_spectrum():
    whole, push = exact_matrices()
    source = np.pi * float(NOISE.density) * np.outer(push, push)
    exact = scipy.linalg.solve_continuous_lyapunov(whole, -source)
    found = jv.response_covariance(SYSTEM, NOISE, ONE)
    np.testing.assert_allclose(found, exact[:2, :2], rtol=1e-10, atol=1e-16)

    def density(w):
        answer = 1 / abs(STIFFNESS - MASS * w**2 + 1j * DAMPING * w) ** 2
        return float(NOISE.spectrum(w)) * answer

    variance, _ = scipy.integrate.quad(density, 0.0, 400.0, limit=400, epsrel=1e-11)
    assert found[0, 0] == pytest.approx(variance, rel=1e-7)


@pytest.mark.parametrize("time", [0.1, 1.0, 30.0])
def test_from_rest_the_covariance_grows_as_its_equation_says(time):
    whole, push = exact_matrices()
    source = np.pi * float(NOISE.density) * np.outer(push, push)
    start = np.zeros((4, 4))
    start[2:, 2:] = scipy.linalg.solve_continuous_lyapunov(whole[2:, 2:], -source[2:, 2:])

    def rate(_, p):
        p = p.reshape(4, 4)
        return (whole @ p + p @ whole.T + source).ravel()

    exact = scipy.integrate.solve_ivp(
        rate, (0.0, time), start.ravel(), "DOP853", rtol=1e-11, atol=1e-16
    )
    expected = exact.y[:, -1].reshape(4, 4)[:2, :2]
    found = jv.response_covariance(SYSTEM, NOISE, ONE, time)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("time", [1e-6, 0.3, 5.0, 50.0, 1e4, 1e9])
def test_under_noise_far_wider_than_the_system_it_is_that_of_white_noise(time):
    """Caughey and Stumpf (1961): an oscillator of 1 rad/s, from rest, under white noise.

    The filter lets pass what is below 10^6 rad/s: from a time of its own on, but for
    10^-6 of it, what it passes is white.
    """
    mass, loss, density = 2.0, 0.05, 0.5
    linear = jv.LinearSystem([[mass]], [[2 * mass * loss]], [[mass]])
    wide = jv.FilteredNoise.low_pass(density, 1e6, 0.6)
    found = np.asarray(jv.response_covariance(linear, wide, ONE, time))
    turn = np.sqrt(1 - loss**2)
    sine, cosine = loss / turn * np.sin(turn * time), np.cos(turn * time)
    left = np.exp(-2 * loss * time)
    full = np.pi * density / (4 * loss * mass**2)
    place = full * (1 - left * (2 * sine**2 + 2 * sine * cosine + 1))
    speed = full * (1 - left * (2 * sine**2 - 2 * sine * cosine + 1))
    if time >= 0.1:  # before, the difference above is rounding
        np.testing.assert_allclose(np.diag(found), [place, speed], rtol=1e-5)
    if time > 1e3:
        np.testing.assert_allclose(
            found, jv.response_covariance(linear, wide, ONE), rtol=1e-12, atol=1e-12
        )
    assert np.all(np.linalg.eigvalsh(found) > 0)


def test_the_variance_can_be_differentiated_by_the_damping():
    def variance(damping):
        linear = jv.LinearSystem(jnp.full((1, 1), MASS), damping[None, None],
                                 jnp.full((1, 1), STIFFNESS))  # fmt: skip
        return jv.response_covariance(linear, NOISE, ONE)[0, 0]

    slope = jax.jit(jax.grad(variance))(jnp.asarray(DAMPING))
    ends = [float(variance(jnp.asarray(DAMPING + d))) for d in (-1e-5, 1e-5)]
    assert slope == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-7)


def test_of_a_motion_that_grows_there_is_no_variance_traced_either():
    def variance(damping):
        linear = jv.LinearSystem(
            jnp.eye(2), damping * jnp.eye(2), jnp.diag(jnp.array([50.0, 3]))
        )
        return jnp.diag(jv.response_covariance(linear, NOISE, jnp.array([1.0, 0.0])))

    many = jax.jit(jax.vmap(variance))(jnp.array([1.0, 1e-6, 0.0, -0.1]))
    np.testing.assert_array_equal(np.isnan(many).all(axis=1), [False, False, True, True])
    assert np.all(np.asarray(many[:2]) >= 0)
    np.testing.assert_allclose(many[0], variance(1.0), rtol=1e-12)


def test_noise_has_the_spectrum_of_its_filter():
    tajimi = jv.FilteredNoise.kanai_tajimi(0.5, 7.0, 0.3)
    for noise in (NOISE, tajimi):
        a, b, c = map(np.asarray, noise.matrices())
        for w in (0.0, 3.0, 11.0):
            answer = c @ np.linalg.solve(1j * w * np.eye(2) - a, b)
            expected = float(noise.density) * abs(answer) ** 2
            assert noise.spectrum(w) == pytest.approx(expected, rel=1e-12)
    laws = NOISE.loads(60.0, 12.0, range(2000))
    share = np.mean(np.square(laws.cosine), axis=0)
    step = 2 * np.pi / 12.0
    expected = np.asarray(NOISE.spectrum(step * np.arange(1, share.size + 1))) * step
    np.testing.assert_allclose(share / expected, 1.0, atol=5 * np.sqrt(2 / 2000))
    again = NOISE.load(60.0, 12.0, 17)
    assert np.asarray(again.sine).tobytes() == np.asarray(laws.sine[17]).tobytes()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: jv.FilteredNoise(1.0, [1.0], [1.0, -1.0]), "real part of 1 rad/s"),
        (lambda: jv.FilteredNoise(1.0, [1.0, 1.0], [1.0, 1.0]), "0 < b < a"),
        (lambda: jv.FilteredNoise.low_pass(1.0, 0.0, 0.1), "frequency = 0 rad/s"),
        (lambda: jv.FilteredNoise.low_pass(-1.0, 1.0, 0.1), "density = -1"),
        (lambda: jv.responses(SYSTEM, "raod", NOISE.loads(9.0, 9.0, [1]), 1.0),
         "did you mean 'road'"),
        (lambda: jv.responses(SYSTEM, 3, NOISE.loads(9.0, 9.0, [1]), 1.0), "load = 3"),
        (lambda: jv.responses(SYSTEM, 0, [], 1.0), r"laws = \(\) is empty"),
        (lambda: jv.responses(SYSTEM, 0, [NOISE.load(9.0, 9.0, 1), jv.StepLoad(1.0)], 1.0),
         "of the same kind"),
        (lambda: jv.response_covariance(SYSTEM, NOISE, jnp.ones(2)), r"shape \(2,\)"),
        (
            lambda: jv.responses(SYSTEM, "road", NOISE.load(60.0, 12.0, 0), 1.0),
            r"laws have arrays of shapes \[\(\), ",
        ),
        (lambda: jv.response_covariance(
            jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]), NOISE, ONE), "no stationary state"),
        (lambda: scaled(jv.StepLoad(1.0), jnp.ones(1)), "law = StepLoad"),
    ],
)  # fmt: skip
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
