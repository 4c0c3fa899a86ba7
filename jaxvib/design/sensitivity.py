r"""Which parameters matter: derivatives here, and shares of variance over ranges.

Local: $(p_i / f)\, \partial f/\partial p_i$, per cent of the result for one per cent of
the parameter, by exact derivatives. Global: with every parameter uniform on its range,
Sobol's indices $S_i = V[E(f | p_i)] / V[f]$ (alone) and $T_i = E[V(f | p_{\sim i})] /
V[f]$ (with all that it does together with others).

**Source:** Saltelli et al. (2010), by `scipy.stats.sobol_indices`.
"""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Float, Int

from .._quantity import Range, check_range, reported
from ..ensemble import Reason, map_samples
from ..systems.parameters import replace
from .evaluation import Evaluator
from .measure import Measure, as_measure
from .problem import Problem
from .variables import Bounds, values_at, variables_of

_RESAMPLES = 99
_LEVEL = 0.95


class LocalSensitivity(eqx.Module):
    """Derivatives of numbers by parameters, (numbers, parameters), at one system."""

    paths: tuple[str, ...] = eqx.field(static=True)
    values: Float[Array, " numbers"] = reported("value", "", ("number",))
    derivatives: Float[Array, "numbers parameters"] = reported(
        "derivative by the parameter", "", ("number", "parameter")
    )
    normalised: Float[Array, "numbers parameters"] = reported(
        "relative change per relative change of the parameter", "", ("number", "parameter")
    )
    notice: Int[Array, ""] = reported("what derivatives mean here")
    result: Int[Array, ""] = reported("reason code")


class SobolIndices(eqx.Module):
    """Shares of the variance of numbers, (numbers, parameters), and their 95 % bounds."""

    paths: tuple[str, ...] = eqx.field(static=True)
    mean: Float[Array, " numbers"] = reported("mean", "", ("number",))
    variance: Float[Array, " numbers"] = reported("variance", "", ("number",))
    first_order: Float[Array, "numbers parameters"] = reported(
        "share of the variance, alone", "", ("number", "parameter")
    )
    total_order: Float[Array, "numbers parameters"] = reported(
        "share of the variance, with all others", "", ("number", "parameter")
    )
    first_order_bounds: Float[Array, "numbers parameters 2"] = reported(
        "95 % interval of the share alone", "", ("number", "parameter", "bound")
    )
    total_order_bounds: Float[Array, "numbers parameters 2"] = reported(
        "95 % interval of the share with all others", "", ("number", "parameter", "bound")
    )
    lost: Int[Array, ""] = reported("samples without a result")
    result: Int[Array, ""] = reported("reason code")


def local_sensitivity(
    measure: Measure | Callable, system: eqx.Module, bounds: Mapping[str, Bounds]
) -> LocalSensitivity:
    """Return exact derivatives of a measure by the parameters that have bounds.

    A parameter or a number that is 0 has no relative change: NaN. **Raises:**
    `ValueError` as `Problem` does.
    """
    problem = Problem(system, bounds, measure, combine="sum")
    found = Evaluator(problem, problem.shares)(problem.shares)
    variables = problem.form.variables
    turned = np.array(
        [one.slope(share) for one, share in zip(variables, problem.shares, strict=True)]
    )
    values = np.array([problem.values(problem.shares)[one.path] for one in variables])
    slopes = np.asarray(found.slopes) / turned
    numbers = np.asarray(found.numbers)[:, None]
    known = (numbers != 0) & (values != 0)
    relative = slopes * values / np.where(known, numbers, 1.0)
    return LocalSensitivity(
        tuple(one.path for one in variables),
        jnp.asarray(found.numbers),
        jnp.asarray(slopes),
        jnp.asarray(np.where(known, relative, np.nan)),
        jnp.asarray(int(found.notice), jnp.int32),
        jnp.asarray(found.code, jnp.int32),
    )


def sobol_indices(
    measure: Measure | Callable,
    system: eqx.Module,
    bounds: Mapping[str, Bounds],
    *,
    samples: int = 1024,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SobolIndices:
    """Return Sobol's indices of a measure, the parameters uniform within their bounds.

    The measure is taken `samples` (a power of 2) times (parameters + 2). A variable on
    a log scale is uniform in its logarithm. Where a sample has no result, there are no
    indices: they are NaN, and `lost` counts. **Raises:** `ValueError` for a number of
    samples that is no power of 2.
    """
    check_range("samples", samples, "", Range(at_least=2))
    if samples & (samples - 1):
        raise ValueError(f"samples = {samples} is not a power of 2")
    measure = as_measure(measure)
    variables, _ = variables_of(system, bounds)
    look = _looking(measure, system, variables, progress)
    lost: list[int] = []
    drawn: list[np.ndarray] = []  # the samples A, then B, then their mixtures

    def function(shares):
        numbers = look(shares.T)
        lost.append(int(np.sum(~np.isfinite(numbers).all(axis=1))))
        # scipy's estimate needs numbers everywhere; indices are dropped further down
        drawn.append(np.where(np.isfinite(numbers), numbers, 0.0).T)
        return drawn[-1]

    found = scipy.stats.sobol_indices(
        func=function,
        n=samples,
        dists=[scipy.stats.uniform()] * len(variables),
        rng=np.random.default_rng(seed),
    )
    spread = found.bootstrap(confidence_level=_LEVEL, n_resamples=_RESAMPLES)
    both = np.concatenate([drawn[0], drawn[1]], axis=1)
    bad = sum(lost) > 0

    def kept(values):
        values = np.atleast_2d(values)
        return jnp.asarray(np.where(bad, np.nan, values))

    def interval(part):
        low, high = (
            np.atleast_2d(part.confidence_interval.low),
            np.atleast_2d(part.confidence_interval.high),
        )
        return jnp.asarray(np.where(bad, np.nan, np.stack([low, high], axis=-1)))

    return SobolIndices(
        tuple(one.path for one in variables),
        kept(both.mean(axis=1))[0],
        kept(both.var(axis=1))[0],
        kept(found.first_order),
        kept(found.total_order),
        interval(spread.first_order),
        interval(spread.total_order),
        jnp.asarray(sum(lost), jnp.int32),
        jnp.asarray(Reason.BAD_PARAMETER if bad else Reason.SUCCESS, jnp.int32),
    )


def _looking(measure: Measure, system, variables, progress) -> Callable:
    """Return the measure's numbers of shares, (samples, variables)."""
    analysis = measure.analysis

    def one(shares):
        here = replace(system, values_at(variables, shares))
        outcome = analysis(here, analysis.start(here))
        numbers = jnp.ravel(jnp.asarray(measure.read(outcome.result), float))
        failing = jnp.asarray([int(code) for code in Reason if code.failed], jnp.int32)
        codes = jnp.ravel(outcome.code).astype(jnp.int32)
        lost = jnp.any(codes[:, None] == failing[None, :])
        return jnp.where(lost, jnp.nan, numbers)

    if analysis.compiled and analysis.start_compiled:
        return lambda shares: map_samples(one, shares, progress=progress)
    return lambda shares: np.stack([np.asarray(one(jnp.asarray(row))) for row in shares])
