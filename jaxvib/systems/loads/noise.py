"""Noise loads as sums of harmonics with seeded random phases."""

from collections.abc import Callable

import numpy as np

from ...foundation.quantity import Range, check_range
from .fourier import FourierLoad

_ROUNDING = 1e-12  # relative, for harmonics at the end of a band


def band_limited_noise(
    density: float, band: tuple[float, float], duration: float, seed: int
) -> FourierLoad:
    r"""Return noise of one-sided spectral density $S_0$ in a band, 0 outside.

    **Arguments:** `density` $S_0$ (N^2 s/rad), `band`: its lowest and highest angular
    frequency (rad/s), `duration` (s): the period; `seed`: of its phases; equal seeds
    give equal numbers. Otherwise as `noise_of_density`.

    >>> noise = jv.band_limited_noise(density=2.0, band=(1.0, 20.0), duration=60.0, seed=0)
    >>> noise.cosine.shape
    (190,)
    """
    low, high = band
    check_range("density", density, "N^2 s/rad", Range(at_least=0.0))
    check_range("band[0]", low, "rad/s", Range(at_least=0.0, below=high))
    step, orders = harmonics_below(high, duration)
    if step * orders[-1] < low * (1 - _ROUNDING):
        raise ValueError(
            f"band = {low:g} to {high:g} rad/s has no harmonic in it, {step:g} rad/s "
            f"apart for a duration of {duration:g} s; allowed: a longer duration, or a "
            "wider band"
        )

    def spectrum(frequency):
        return np.where(frequency >= low * (1 - _ROUNDING), density, 0.0)

    return noise_of_density(spectrum, high, duration, seed)


def noise_of_density(
    spectrum: Callable, highest: float, duration: float, seed: int
) -> FourierLoad:
    r"""Return noise of a one-sided spectral density, as a sum of harmonics.

    $$F(t) = \sum_k \sqrt{2 S(\omega_k) \Delta\omega} \cos(\omega_k t + \varphi_k), \qquad
      \omega_k = k \Delta\omega, \quad \Delta\omega = 2\pi/T,$$

    up to the `highest` frequency (rad/s), with phases uniform in $[0, 2\pi)$. `spectrum`:
    S (N^2 s/rad) of angular frequencies, such as `FilteredNoise.spectrum`. Its mean
    square over the `duration` $T$ is $\sum_k S(\omega_k) \Delta\omega$ for every seed,
    which tends to $\int S\,d\omega$ as T grows. **Raises:** `ValueError` if no harmonic
    is below the highest frequency. **Source:** Shinozuka and Deodatis, *Appl. Mech.
    Rev.* 44 (1991) 191.

    >>> noise = jv.noise_of_density(lambda w: 1 / (1 + w**2), 20.0, duration=60.0, seed=0)
    >>> round(float(noise.period()), 3)
    60.0
    """
    step, orders = harmonics_below(highest, duration)
    frequencies = step * orders
    amplitudes = np.sqrt(2 * spectrum(frequencies) * step)
    phases = generator(seed).uniform(0.0, 2 * np.pi, orders.size)
    return FourierLoad(step, amplitudes * np.cos(phases), -amplitudes * np.sin(phases))


def generator(seed: object) -> np.random.Generator:
    """Return the random number generator of a seed.

    **Raises:** `ValueError` for anything but a non-negative whole number.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed = {seed!r}; allowed: a whole number, 0 or more")
    return np.random.default_rng(int(seed))


def harmonics_below(highest: float, duration: float) -> tuple[float, np.ndarray]:
    """Return the lowest angular frequency, rad/s, and the orders of all harmonics.

    **Raises:** `ValueError` if there is none up to `highest`.
    """
    check_range("duration", duration, "s", Range(above=0.0))
    check_range("highest", highest, "rad/s", Range(above=0.0))
    step = 2 * np.pi / duration
    count = int(np.floor(highest / step * (1 + _ROUNDING)))
    if count < 1:
        raise ValueError(
            f"highest = {highest:g} rad/s is below the first harmonic, {step:g} rad/s, of "
            f"a duration of {duration:g} s; allowed: a longer one"
        )
    return step, np.arange(1, count + 1)
