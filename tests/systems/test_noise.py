"""Checked against: Parseval's sum, integrals by scipy, and the spectrum by numpy's FFT."""

import jax
import numpy as np
import pytest
import scipy.integrate

import jaxvib as jv

SOFT = jv.FilteredNoise.low_pass(1.0, 5.0, 0.6)


def mean_square(load):
    return float(np.sum(np.square(load.cosine) + np.square(load.sine))) / 2


def test_a_band_has_its_density_inside_and_none_outside():
    load = jv.band_limited_noise(0.3, (4.0, 20.0), 60.0, seed=1)
    step = 2 * np.pi / 60.0
    times = np.linspace(0.0, 60.0, 2048, endpoint=False)
    spectrum = np.fft.rfft(jax.vmap(load.force)(times)) / 2048
    density = 2 * np.abs(spectrum) ** 2 / step
    frequencies = step * np.arange(density.size)
    inside = (frequencies >= 4.0) & (frequencies <= 20.0)
    np.testing.assert_allclose(density[inside], 0.3, rtol=1e-9)
    np.testing.assert_allclose(density[~inside], 0.0, atol=1e-20)
    assert mean_square(load) == pytest.approx(0.3 * step * inside.sum(), rel=1e-12)


@pytest.mark.parametrize("first", range(1, 20))
def test_a_band_holds_the_harmonics_at_its_ends(first):
    duration = 7.3  # the 13th and the 17th harmonic of it are rounded upwards
    step = 2 * np.pi / duration
    load = jv.band_limited_noise(2.0, (first * step, 23 * step), duration, 0)
    assert mean_square(load) == pytest.approx(2.0 * step * (24 - first), rel=1e-12)


def test_the_ground_filters_as_kanai_and_tajimi_say():
    noise = jv.FilteredNoise.kanai_tajimi(0.02, 15.0, 0.6)
    load = jv.noise_of_density(noise.spectrum, 80.0, 400.0, seed=2)

    def spectrum(w):
        r = (w / 15.0) ** 2
        return 0.02 * (1 + 1.44 * r) / ((1 - r) ** 2 + 1.44 * r)

    expected, _ = scipy.integrate.quad(spectrum, 0.0, 80.0)
    assert mean_square(load) == pytest.approx(expected, rel=1e-3)


def test_a_seed_is_a_load_to_the_last_bit():
    first, again, other = (
        jv.band_limited_noise(1.0, (1.0, 9.0), 20.0, seed=seed) for seed in (5, 5, 6)
    )
    assert np.asarray(first.cosine).tobytes() == np.asarray(again.cosine).tobytes()
    assert np.asarray(first.cosine).tobytes() != np.asarray(other.cosine).tobytes()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: jv.band_limited_noise(-1.0, (0.0, 1.0), 9.0, 1), "density = -1"),
        (lambda: jv.band_limited_noise(1.0, (2.0, 1.0), 9.0, 1), r"band\[0\] = 2 rad/s"),
        (lambda: jv.band_limited_noise(1.0, (0.0, 1.0), 1.0, 1), "first harmonic, 6.28"),
        (lambda: jv.band_limited_noise(1.0, (1.0, 1.01), 60.0, 1), "no harmonic in it"),
        (lambda: jv.band_limited_noise(1.0, (1.0, 9.0), 60.0, -1), "seed = -1"),
        (lambda: SOFT.loads(9.0, 9.0, [0, 0.5]), "seed = 0.5"),
        (lambda: SOFT.loads(9.0, 9.0, []), "seeds is empty"),
    ],
)
def test_bad_noise_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
