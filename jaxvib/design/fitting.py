r"""Parameter estimation from measurements: least squares with confidence intervals.

$$\min_p \sum_k \Bigl(\frac{f_k(p) - d_k}{\sigma_k}\Bigr)^2, \qquad
  \mathrm{cov}(p) = s^2 (J^T J)^{-1},$$

where $J$ is the exact Jacobian of the residuals at the best $p$. If the deviations
$\sigma_k$ are unknown, $s^2$ is the sum of squares over its degrees of freedom;
otherwise 1. Intervals are those of the linearised problem, by Student's t.

**Source:** Seber and Wild, *Nonlinear Regression* (1989), section 2.1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np
import scipy  # loads submodules lazily: .stats takes 0.6 s
from jaxtyping import Array, Float, Int, Real

from ..drawing import Plottable
from ..ensemble.checkpoint import EvaluationStore
from ..foundation.arrays import to_jax
from ..foundation.quantity import Range, check_range, result_field, system_field
from .measures.measure import Measure, as_measure
from .optimise import optimise
from .problem import Problem
from .searches.evaluation import Evaluator
from .searches.history import Design
from .settings import SearchSettings
from .variables import Bounds, slopes_at

# Tight, because errors and intervals are linearised at the optimum.
CLOSER = SearchSettings(tolerance=1e-12)


class Fit(Plottable):
    """Fitted parameters with standard errors and confidence intervals.

    `values`, `standard_errors`, `intervals` (95 %): by path. Errors are NaN if a
    parameter ended on its bound or if the parameters are not identifiable.

    >>> both = jv.design.natural_frequency_measure((0, 1))
    >>> bounds = {"modules.first-roof.stiffness": (100.0, 600.0)}
    >>> jv.design.fit(both, tower, bounds, [10.0, 24.5]).predicted.round(2).tolist()
    [12.09, 23.9]
    """

    drawn = ("predicted", "data")

    values: dict[str, Float[Array, ""]] = result_field("fitted value")
    standard_errors: dict[str, Float[Array, ""]] = result_field("standard error")
    intervals: dict[str, Float[Array, " 2"]] = result_field("95 % interval", "", ("bound",))
    correlation: Float[Array, "parameters parameters"] = result_field(
        "correlation of the parameters", "", ("parameter", "other")
    )
    predicted: Float[Array, " data"] = result_field("fitted numbers", "", ("datum",))
    slopes: Float[Array, "data parameters"] = result_field(
        "slopes of the fitted numbers by the parameters", "", ("datum", "parameter")
    )
    data: Float[Array, " data"] = result_field("measured numbers", "", ("datum",))
    deviation: Float[Array, ""] = result_field("deviation of the data from the fit")
    design: Design
    system: eqx.Module = system_field()
    result: Int[Array, ""] = result_field("reason code")

    def __repr__(self) -> str:
        lines = [f"Fit: {len(self.data)} data, deviation {float(self.deviation):.4g}"]
        for path, value in self.values.items():
            low, high = (float(x) for x in self.intervals[path])
            lines.append(f"  {path} {float(value):.6g} (95 %: {low:.6g} to {high:.6g})")
        return "\n".join(lines)


def fit(
    measure: Measure | Callable,
    system: eqx.Module,
    bounds: Mapping[str, Bounds],
    data: Real[np.ndarray, " data"] | list[float],
    deviations: Real[np.ndarray, " data"] | list[float] | float | None = None,
    *,
    settings: SearchSettings = CLOSER,
    remember: EvaluationStore | None = None,
) -> Fit:
    """Fit parameters within bounds to data by least squares.

    **Arguments:** `measure`: gives one number per datum, in the order and unit of
    `data`; `deviations`: standard deviations of the data, if known.
    **Raises:** `ValueError` if there are not more data than parameters, if data are not
    finite, or if the measure gives a different number of values.

    >>> both = jv.design.natural_frequency_measure((0, 1))
    >>> bounds = {"modules.first-roof.stiffness": (100.0, 600.0)}
    >>> fit = jv.design.fit(both, tower, bounds, [10.0, 24.5])
    >>> round(float(fit.values["modules.first-roof.stiffness"]), 1)
    278.3
    """
    measured = np.asarray(data, float)
    check_range("data", measured, "", Range(above=-np.inf, below=np.inf))
    if len(measured) <= len(bounds):
        raise ValueError(
            f"{len(measured)} data for {len(bounds)} parameters; allowed: more data"
        )
    known = deviations is not None
    sizes = np.broadcast_to(
        np.asarray(deviations if known else _size(measured), float), measured.shape
    )
    check_range("deviations", sizes, "", Range(above=0.0, below=np.inf))
    own = as_measure(measure)

    def residuals(result):
        numbers = own.numbers(result)
        if numbers.shape != measured.shape:
            raise ValueError(f"the measure has {numbers.shape[0]} numbers; allowed: "
                             f"{len(measured)}, as many as data")  # fmt: skip
        return (numbers - measured) / sizes

    problem = Problem(system, bounds, Measure(own.analysis, residuals), combine="squares")
    design = optimise(problem, "least_squares", settings=settings, remember=remember)
    return _with_statistics(problem, design, measured, sizes, known)


def _with_statistics(problem, design: Design, measured, sizes, known: bool) -> Fit:
    variables = problem.form.variables
    best = int(design.best)
    values = {path: float(column[best]) for path, column in design.variables.items()}
    normalised = np.array([one.normalised(values[one.path]) for one in variables])
    again = problem.at(design.system)
    seen = Evaluator(again, again.normalised)(again.normalised)
    jacobian = np.asarray(seen.slopes) / slopes_at(variables, normalised)
    freedom = len(measured) - len(variables)
    variance = 1.0 if known else float(np.sum(seen.numbers**2)) / freedom
    # Scaled by the parameters' ranges, so that columns have similar magnitude.
    widths = np.array([one.high - one.low for one in variables])
    scaled = jacobian * widths
    inner = np.any((normalised <= 1e-9) | (normalised >= 1 - 1e-9))
    well_conditioned = np.linalg.cond(scaled) < 1e12 and not inner
    covariance = np.full((len(variables),) * 2, np.nan)
    if well_conditioned:
        covariance = variance * np.linalg.inv(scaled.T @ scaled)
        covariance *= np.outer(widths, widths)
    errors = np.sqrt(np.diag(covariance))
    reach = scipy.stats.t.ppf(0.975, freedom) if not known else scipy.stats.norm.ppf(0.975)
    paths = [one.path for one in variables]
    predicted = np.asarray(seen.numbers) * sizes + measured
    found: dict[str, Any] = {
        "values": {path: np.float64(values[path]) for path in paths},
        "standard_errors": dict(zip(paths, errors, strict=True)),
        "intervals": {
            path: np.array([values[path] - reach * e, values[path] + reach * e])
            for path, e in zip(paths, errors, strict=True)
        },
        "correlation": covariance / np.outer(errors, errors),
        "predicted": predicted,
        "slopes": jacobian * sizes[:, None],
        "data": np.array(measured),
        "deviation": np.sqrt(np.sum((predicted - measured) ** 2) / freedom),
    }
    return Fit(**to_jax(found), design=design, system=design.system, result=design.result)


def _size(measured) -> float:
    """Return a scale of the data, so that residuals are of order 1."""
    return float(np.max(np.abs(measured))) or 1.0
