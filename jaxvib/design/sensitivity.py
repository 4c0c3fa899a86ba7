r"""Local sensitivities and global Sobol indices.

Local: the relative sensitivity $(p_i / f)\, \partial f/\partial p_i$ by exact
derivatives. Global: for parameters uniform on their ranges, the Sobol indices
$S_i = V[E(f | p_i)] / V[f]$ (first order) and $T_i = E[V(f | p_{\sim i})] / V[f]$
(total order, which includes interactions).

**Source:** Saltelli et al. (2010), by `scipy.stats.sobol_indices`.
"""

import functools
from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .stats takes 0.6 s
from jaxtyping import Array, Float, Int

from ..drawing.plottable import ResultRepr
from ..ensemble import Reason, checkpointed, map_samples
from ..foundation.arrays import to_jax
from ..foundation.quantity import Range, check_range, result_field
from ..systems.parameters import replace
from .measures.measure import FAILURES, Direct, Measure, as_measure
from .problem import Problem
from .searches.evaluation import Evaluator
from .variables import Bounds, slopes_at, values_at, variables_of

_LEVEL = 0.95  # of the confidence intervals: the customary one
_RESAMPLES = 99  # bootstrap resamples: two or three lie outside on either side


class LocalSensitivity(ResultRepr):
    """Derivatives of numbers with respect to parameters, (numbers, parameters).

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {"modules.ground-first.stiffness": (300.0, 900.0)}
    >>> jv.design.local_sensitivity(first, tower, bounds).normalised.round(3).tolist()
    [[0.333]]
    """

    drawn = ("normalised",)

    paths: tuple[str, ...] = eqx.field(static=True)
    values: Float[Array, " numbers"] = result_field("value", "", ("number",))
    derivatives: Float[Array, "numbers parameters"] = result_field(
        "derivative by each parameter", "", ("number", "parameter")
    )
    normalised: Float[Array, "numbers parameters"] = result_field(
        "relative change per relative change", "", ("number", "parameter")
    )
    notice: Int[Array, ""] = result_field("validity of the derivatives")
    result: Int[Array, ""] = result_field("reason code")


class SobolIndices(ResultRepr):
    """Sobol indices (numbers, parameters) and their 95 % confidence intervals.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {
    ...     "modules.ground-first.stiffness": (300.0, 900.0),
    ...     "modules.first-roof.mass": (0.5, 1.5),
    ... }
    >>> jv.design.sobol_indices(first, tower, bounds, samples=64).total_order.round(
    ...     1
    ... ).tolist()
    [[0.6, 0.5]]
    """

    drawn = ("total_order", "first_order")

    paths: tuple[str, ...] = eqx.field(static=True)
    mean: Float[Array, " numbers"] = result_field("mean over the ranges", "", ("number",))
    variance: Float[Array, " numbers"] = result_field("variance", "", ("number",))
    first_order: Float[Array, "numbers parameters"] = result_field(
        "share of the variance by this parameter alone", "", ("number", "parameter")
    )
    total_order: Float[Array, "numbers parameters"] = result_field(
        "share of the variance including interactions", "", ("number", "parameter")
    )
    first_order_bounds: Float[Array, "numbers parameters 2"] = result_field(
        "95 % interval", "", ("number", "parameter", "bound")
    )
    total_order_bounds: Float[Array, "numbers parameters 2"] = result_field(
        "95 % interval", "", ("number", "parameter", "bound")
    )
    lost: Int[Array, ""] = result_field("samples without a result")
    result: Int[Array, ""] = result_field("reason code")


def local_sensitivity(
    measure: Measure | Callable, system: eqx.Module, bounds: Mapping[str, Bounds]
) -> LocalSensitivity:
    """Return exact derivatives of a measure with respect to the parameters in `bounds`.

    Relative sensitivities are NaN for a parameter or a number that is 0. **Raises:**
    `ValueError` as in `Problem`.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {"modules.ground-first.stiffness": (300.0, 900.0)}
    >>> found = jv.design.local_sensitivity(first, tower, bounds)
    >>> found.derivatives.round(5).tolist()
    [[0.0068]]
    """
    problem = Problem(system, bounds, measure, combine="sum")
    found = Evaluator(problem, problem.normalised)(problem.normalised)
    variables = problem.form.variables
    values = np.array([problem.values(problem.normalised)[one.path] for one in variables])
    slopes = np.asarray(found.slopes) / slopes_at(variables, problem.normalised)
    numbers = np.asarray(found.numbers)[:, None]
    known = (numbers != 0) & (values != 0)
    relative = slopes * values / np.where(known, numbers, 1.0)
    parts = found.numbers, slopes, np.where(known, relative, np.nan)
    codes = np.int32(found.notice), np.int32(found.code)
    return LocalSensitivity(tuple(one.path for one in variables), *to_jax((*parts, *codes)))


def sobol_indices(
    measure: Measure | Callable,
    system: eqx.Module,
    bounds: Mapping[str, Bounds],
    *,
    samples: int = 1024,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SobolIndices:
    """Return the Sobol indices of a measure for parameters uniform within their bounds.

    The measure is evaluated `samples` (a power of 2) x (parameters + 2) times. A
    variable on a log scale is uniform in its logarithm. If any sample has no result,
    all indices are NaN, and `lost` is the number of such samples. **Raises:**
    `ValueError` for a number of samples that is not a power of 2.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {
    ...     "modules.ground-first.stiffness": (300.0, 900.0),
    ...     "modules.first-roof.mass": (0.5, 1.5),
    ... }
    >>> found = jv.design.sobol_indices(first, tower, bounds, samples=64)
    >>> found.paths
    ('modules.ground-first.stiffness', 'modules.first-roof.mass')
    """
    check_range("samples", samples, "", Range(at_least=2))
    if samples & (samples - 1):
        raise ValueError(f"samples = {samples} is not a power of 2")
    measure = as_measure(measure)
    variables, _ = variables_of(system, bounds)
    number = len(variables)
    drawn = scipy.stats.qmc.Sobol(2 * number, rng=np.random.default_rng(seed)).random(
        samples
    )
    first, second = drawn[:, :number], drawn[:, number:]
    mixed = np.tile(first, (number, 1, 1))  # with one column each from `second`
    for place in range(number):
        mixed[place, :, place] = second[:, place]
    normalised = np.concatenate([first, second, *mixed])
    numbers = _evaluating(measure, system, variables, progress)(normalised)
    lost = int(np.sum(~np.isfinite(numbers).all(axis=1)))
    paths = tuple(one.path for one in variables)
    if lost:
        return _without_indices(paths, numbers.shape[1], lost)
    parts = numbers.T.reshape(-1, number + 2, samples)
    first_order, total_order = shares_of_variance(parts)
    # Not `scipy.stats.sobol_indices`: it does not support a single parameter, and its
    # bootstrap uses an unseeded generator.
    spread = scipy.stats.bootstrap(
        [np.arange(samples)],
        lambda chosen: shares_of_variance(parts[..., chosen]),
        method="BCa",
        confidence_level=_LEVEL,
        n_resamples=_RESAMPLES,
        rng=np.random.default_rng(seed),
    )
    both = parts[:, :2].reshape(len(parts), -1)
    first_bounds, total_bounds = np.stack(spread.confidence_interval, axis=-1)
    moments = both.mean(axis=1), both.var(axis=1)
    orders = first_order, total_order, first_bounds, total_bounds
    codes = np.int32(0), np.int32(Reason.SUCCESS)
    return SobolIndices(paths, *to_jax((*moments, *orders, *codes)))


def shares_of_variance(parts: np.ndarray) -> np.ndarray:
    """Return both orders, (2, numbers, variables), of parts (numbers, rows, samples)."""
    parts = parts - parts[:, :2].mean(axis=(1, 2), keepdims=True)
    one, other, mixed = parts[:, 0, None], parts[:, 1, None], parts[:, 2:]
    first = np.mean(other * (mixed - one), axis=-1)
    total = np.mean((one - mixed) ** 2, axis=-1) / 2
    return np.stack([first, total]) / np.var(parts[:, :2], axis=(1, 2))[:, None]


def _without_indices(paths, numbers: int, lost: int) -> SobolIndices:
    nothing = np.full(numbers, np.nan)
    each, both = (np.full((numbers, len(paths), *more), np.nan) for more in ((), (2,)))
    codes = np.int32(lost), np.int32(Reason.BAD_PARAMETER)
    known = to_jax((nothing, nothing, each, each, both, both, *codes))
    return SobolIndices(paths, *known)


def _evaluating(measure: Measure, system, variables, progress) -> Callable:
    """Return a function from normalised variables (samples, variables) to numbers."""
    analysis = measure.analysis

    def one(normalised):
        here = replace(system, values_at(variables, normalised))
        outcome = analysis(here, analysis.start(here))
        numbers = measure.numbers(outcome.result)
        lost = jnp.isin(outcome.code, jnp.asarray(FAILURES, outcome.code.dtype))
        return jnp.where(jnp.any(lost), jnp.nan, numbers)

    if analysis.compiled and analysis.start_compiled:
        # Small chunks for motions, which wait for the slowest lane of their chunk.
        chunk = 512 if isinstance(analysis, Direct) else 64
        return functools.partial(map_samples, one, chunk=chunk, progress=progress)

    def one_by_one(normalised):
        array = jax.tree.structure(0)
        rows = [checkpointed(one, row, structure=array) for row in jnp.asarray(normalised)]
        return np.stack([np.asarray(row) for row in rows])

    return one_by_one
