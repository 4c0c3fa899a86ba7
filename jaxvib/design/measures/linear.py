"""Measures of linear systems: harmonic and random response, natural frequencies."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ...modes import frequency_response, natural_frequencies
from ...modes.frequency_response import direction_of
from ...systems.linear_part import linear_part_alone
from .measure import Direct, Measure, Partial, itself
from .response_peaks import response_peaks


def response_measure(
    force: str | int, at: str | int, frequencies: ArrayLike | Sequence[float]
) -> Measure:
    r"""Return the measure $|x(\omega)|$ per unit force at angular `frequencies` (rad/s).

    It gives one number per frequency. `force` and `at` as in `frequency_response`.
    Contacts of the system are ignored.

    >>> jv.design.response_measure("first", "roof", [8.0, 12.0]).unit
    'm/N'
    """
    listed = tuple(map(float, np.ravel(np.asarray(frequencies, float))))
    analysis = Direct(Partial(_response, (force, at, listed)))
    return Measure(analysis, itself, "m/N", f"amplitude at {at} per force at {force}")


def _response(system, force, at, frequencies):
    return jnp.abs(frequency_response(system, jnp.asarray(frequencies), force=force, at=at))


def peaks_measure(
    force: str | int, at: str | int, low: float, high: float, count: int
) -> Measure:
    r"""Return a measure of the `count` highest peaks of $|x(\omega)|$ per unit force.

    All peaks of the band from `low` to `high` rad/s count, however narrow, and its ends
    where the response rises towards them: the largest is the $H_\infty$ norm over the
    band. Missing peaks are replaced by the highest one. The largest peak is therefore
    continuous; other combinations jump where a peak appears or vanishes. The resonance
    of an undamped system is infinite. **Raises:** `ValueError` for a band or a `count`
    without peaks.

    >>> jv.design.peaks_measure("first", "roof", low=5.0, high=30.0, count=2).unit
    'm/N'
    """
    if not 0 <= low < high < np.inf:
        raise ValueError(f"band from {low} to {high} rad/s; allowed: 0 <= low < high")
    if count < 1:
        raise ValueError(f"count = {count}; allowed: 1 or more")
    analysis = Direct(Partial(response_peaks, (force, at, low, high, count)))
    return Measure(analysis, itself, "m/N", f"peaks at {at} per force at {force}")


def white_noise_measure(force: str | int, at: str | int) -> Measure:
    r"""Return a measure of the variance of a displacement under white noise.

    A force whose two-sided spectral density is 1 N^2 s/rad gives
    $\sigma^2 = \int |x(\omega)|^2 d\omega$ (m^2), the $H_2$ norm squared times $2\pi$,
    from Lyapunov's equation $A P + P A^T = -2 \pi b b^T$.

    >>> jv.design.white_noise_measure("first", "roof").unit
    'm^2'
    """
    analysis = Direct(Partial(white_noise_variance, (force, at)))
    return Measure(analysis, itself, "m^2", f"variance at {at}, noise at {force}")


def natural_frequency_measure(modes: tuple[int, ...]) -> Measure:
    """Return a measure of natural frequencies (rad/s) by mode index.

    >>> jv.design.natural_frequency_measure((0, 1)).unit
    'rad/s'
    """
    read = Partial(_chosen, (tuple(modes),))
    return Measure(Direct(natural_frequencies), read, "rad/s", "natural frequency")


def _chosen(numbers, places):
    return numbers[np.array(places)]


def white_noise_variance(
    system: eqx.Module, force: str | int, at: str | int
) -> Float[Array, ""]:
    """Return the variance of `white_noise_measure`.

    NaN if the system is not asymptotically stable: the variance is then unbounded,
    although Lyapunov's equation still has a solution.
    """
    linear = linear_part_alone(system)
    mass, damping, stiffness = linear.matrices()
    size = mass.shape[0]
    push, pick = direction_of(linear, force, size), direction_of(linear, at, size)
    solved = jnp.linalg.solve(
        mass, jnp.concatenate([stiffness, damping, push[:, None]], axis=1)
    )
    top = jnp.concatenate([jnp.zeros((size, size)), jnp.eye(size)], axis=1)
    matrix = jnp.concatenate([top, -solved[:, : 2 * size]])
    noise = jnp.concatenate([jnp.zeros(size), solved[:, -1]])
    one = jnp.eye(2 * size)
    operator = jnp.kron(matrix, one) + jnp.kron(one, matrix)
    right = -2 * jnp.pi * jnp.outer(noise, noise)
    covariance = jnp.linalg.solve(operator, right.reshape(-1)).reshape(2 * size, 2 * size)
    rates = jnp.linalg.eigvals(jax.lax.stop_gradient(matrix))
    rounding = 2 * size * jnp.finfo(float).eps * jnp.max(jnp.abs(rates))
    variance = pick @ covariance[:size, :size] @ pick
    return jnp.where(jnp.max(rates.real) < -rounding, variance, jnp.nan)
