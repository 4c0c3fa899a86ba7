"""Fragility curves: probability of reaching a limit over a load's intensity."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing import Axis, Chart, Line, Plottable
from ..ensemble import Reason
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, result_field

_TURNS = 100  # Newton steps, each limited to length 2: data span a few of these
_CONVERGED = 1e-9  # relative size of the last Newton step
_STEEPEST = 1e3  # slope, per width of the data, above which the fit diverges


class Fragility(Plottable):
    r"""The lognormal curve $P(x) = \Phi(\ln(x/\theta)/\beta)$ and its standard errors."""

    median: Float[Array, ""] = result_field("intensity of probability 1/2, theta")
    dispersion: Float[Array, ""] = result_field("standard deviation of its logarithm, beta")
    median_error: Float[Array, ""] = result_field("standard error of the median")
    dispersion_error: Float[Array, ""] = result_field("standard error of the dispersion")
    covariance: Float[Array, "2 2"] = result_field(
        "covariance of ln(theta) and beta", "", ("parameter", "other")
    )
    log_likelihood: Float[Array, ""] = result_field("logarithm of the likelihood")
    result: Int[Array, ""] = result_field("reason code: singular if no curve fits")

    def probability(self, intensity: Real[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the probability that the limit is reached at an intensity."""
        return jax.scipy.stats.norm.cdf(self._place(intensity))

    def band(
        self, intensity: Real[ArrayLike, "*n"], errors: float = 1.959964
    ) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
        """Return the confidence band at an intensity, +- `errors` standard errors.

        The normal quantile is assumed normally distributed, with the variance of the
        two parameters propagated to first order.
        """
        place = self._place(intensity)
        # Derivatives with respect to ln(theta) and beta.
        slopes = -jnp.stack([jnp.ones_like(place), place]) / self.dispersion
        spread = jnp.einsum("i...,ij,j...->...", slopes, self.covariance, slopes)
        width = errors * jnp.sqrt(spread)
        ends = place - width, place + width
        return jax.scipy.stats.norm.cdf(ends[0]), jax.scipy.stats.norm.cdf(ends[1])

    def lines(self, intensity: np.ndarray, name: str, colour: int = 0) -> list[Line]:
        """Return the lines of a chart: the curve, and the ends of its 95 % band."""
        lines = [Line(intensity, np.asarray(self.probability(intensity)), name, colour)]
        return lines + [
            Line(intensity, np.asarray(end), name, colour, "dot", legend=False)
            for end in self.band(intensity)
        ]

    def charts(self) -> list[Chart]:
        """Return the chart of the curve and its 95 % band, over six dispersions."""
        spread = np.asarray(self.dispersion) * np.linspace(-3.0, 3.0, 200)
        x, y = Axis("intensity", log=True), Axis("probability", low=0.0, high=1.0)
        lines = self.lines(np.asarray(self.median) * np.exp(spread), "probability")
        return [Chart(x, y, tuple(lines))]

    def _place(self, intensity):
        return jnp.log(jnp.asarray(intensity, float) / self.median) / self.dispersion


def fragility_curve(
    intensities: Real[ArrayLike, " level"] | Sequence[Any],
    failures: Real[ArrayLike, " level"] | Sequence[Any],
    trials: Real[ArrayLike, " level"] | Sequence[Any],
) -> Fragility:
    r"""Fit a lognormal fragility curve to failures at several intensities.

    At the intensity $x_i$, $z_i$ `failures` of $n_i$ `trials` reach the limit. The
    parameters maximise the binomial likelihood

    $$\ln L = \sum_i z_i \ln P(x_i) + (n_i - z_i) \ln(1 - P(x_i)),$$

    which is concave in $1/\beta$ and $\ln\theta/\beta$; their covariance is the inverse
    of the Fisher information. Works under `jit` and `vmap`. Data without a maximum
    (failures and successes are separable, or the share of failures decreases) give NaN
    and the code SINGULAR.

    **Raises:** `ValueError` for intensities that are not above 0, or failures outside
    of 0 to the trials. **Source:** Baker, *Earthquake Spectra* 31 (2015) 579.

    >>> curve = jv.fragility_curve([1.0, 2.0, 3.0], [2, 10, 18], [20, 20, 20])
    >>> print(curve.median, curve.median_error)
    1.8547 0.1587
    """
    check_range("intensities", intensities, "", Range(above=0.0))
    check_range("trials", trials, "", Range(at_least=0.0))
    check_range("failures", failures, "", Range(at_least=0.0))
    known = is_concrete(failures, trials)
    if known and np.any(np.asarray(failures) > np.asarray(trials)):
        raise ValueError("failures exceed trials; allowed: at most as many")
    given = [jnp.asarray(x, float) for x in (intensities, failures, trials)]
    if len({x.shape for x in given}) != 1 or given[0].ndim != 1:
        raise ValueError(
            f"intensities, failures, trials have shapes {[x.shape for x in given]}; "
            "allowed: one shape (levels,)"
        )
    return _fitted(*given)


def fragility_of_capacities(
    capacities: Real[ArrayLike, " sample"] | Sequence[Any],
) -> Fragility:
    r"""Fit a lognormal curve to the intensities at which samples reach the limit.

    $\ln\theta$ and $\beta$ are the mean and standard deviation of their logarithms,
    with the standard errors $\beta/\sqrt{N}$ and $\beta/\sqrt{2 (N - 1)}$ of a normal
    sample.
    **Raises:** `ValueError` for capacities that are not above 0, or fewer than 2.
    """
    check_range("capacities", capacities, "", Range(above=0.0))
    if np.ndim(capacities) != 1 or np.size(capacities) < 2:
        shape = np.shape(capacities)
        raise ValueError(f"capacities has shape {shape}; allowed: (2,) or longer")
    logs = jnp.log(jnp.asarray(capacities, float))
    number = logs.shape[0]
    place, spread = jnp.mean(logs), jnp.std(logs, ddof=1)
    covariance = jnp.diag(jnp.stack([spread**2 / number, spread**2 / (2.0 * (number - 1))]))
    likelihood = jnp.sum(jax.scipy.stats.norm.logpdf(logs, place, spread) - logs)
    result = jnp.where(spread > 0, Reason.SUCCESS, Reason.SINGULAR).astype(jnp.int32)
    return _described(place, spread, covariance, likelihood, result)


@jax.jit
def _fitted(intensities, failures, trials) -> Fragility:
    logs = jnp.log(intensities)
    weight = jnp.maximum(jnp.sum(trials), 1.0)
    middle = jnp.sum(trials * logs) / weight
    width = jnp.sqrt(jnp.sum(trials * (logs - middle) ** 2) / weight)
    width = jnp.where(width > 0, width, 1.0)
    x = (logs - middle) / width
    rows = jnp.stack([jnp.ones_like(x), x])

    def likelihood(line):
        place = line[0] + line[1] * x
        above = jax.scipy.stats.norm.logcdf(place)
        below = jax.scipy.stats.norm.logcdf(-place)
        return jnp.sum(failures * above + (trials - failures) * below)

    def information(line):
        """Return the Fisher information (expected, not observed)."""
        place = line[0] + line[1] * x
        log_density = jax.scipy.stats.norm.logpdf(place)
        logs = jax.scipy.stats.norm.logcdf(place), jax.scipy.stats.norm.logcdf(-place)
        weights = trials * jnp.exp(2 * log_density - logs[0] - logs[1])
        return (rows * weights[None]) @ rows.T

    slope = jax.grad(likelihood)

    def turn(_, line):
        step = jnp.linalg.solve(information(line), slope(line))
        # Limit the step, which is unbounded far from the data.
        return line + step * jnp.minimum(
            1.0, 2.0 / jnp.maximum(jnp.max(jnp.abs(step)), 2.0)
        )

    line = jax.lax.fori_loop(0, _TURNS, turn, jnp.zeros(2))
    inside = information(line)
    last = jnp.linalg.solve(inside, slope(line))
    of_line = jnp.linalg.inv(inside)
    small_step = jnp.max(jnp.abs(last)) <= _CONVERGED * (1 + jnp.max(jnp.abs(line)))
    converged = small_step & (line[1] > 0) & (line[1] < _STEEPEST)

    def shape(line):
        return jnp.stack([middle - width * line[0] / line[1], width / line[1]])

    moved = jax.jacfwd(shape)(line)
    (place, spread), covariance = shape(line), moved @ of_line @ moved.T
    result = jnp.where(converged, Reason.SUCCESS, Reason.SINGULAR).astype(jnp.int32)
    return _described(place, spread, covariance, likelihood(line), result)


def _described(place, spread, covariance, likelihood, result) -> Fragility:
    def known(value):
        return jnp.where(result == Reason.SUCCESS, value, jnp.nan)

    median = jnp.exp(place)
    errors = jnp.sqrt(jnp.diagonal(covariance))
    numbers = median, spread, median * errors[0], errors[1], covariance, likelihood
    return Fragility(*map(known, numbers), result)
