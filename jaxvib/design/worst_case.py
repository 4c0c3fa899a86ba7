"""The worst value of a measure over a box of uncertain parameters."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np
import scipy  # loads submodules lazily: .stats takes 0.6 s
from jaxtyping import Float, Int

from ..drawing import Plottable
from ..ensemble import Reason
from ..foundation.quantity import Range, check_range, result_field, system_field
from .measures.measure import EvaluationLostError, Measure
from .optimise import searched
from .problem import Problem
from .searches.evaluation import Evaluator
from .settings import SearchSettings
from .variables import Bounds

_DESCENT = SearchSettings(steps=50, tolerance=1e-8)  # a corner is reached in a few steps
_MOST_CORNERS = 8  # parameters of which all corners are evaluated: 256


class WorstCase(Plottable):
    """The worst value found in a box, and where; not certified.

    It was found at samples and by descent from the worst of them. `lost`: the samples
    without a value, such as those whose motion is unstable, the first of which is the
    worst case: `value` is then NaN.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> box = {"modules.ground-first.stiffness": (570.0, 630.0)}
    >>> worst = jv.design.worst_over_box(first, tower, box, samples=4)
    >>> float(worst.values["modules.ground-first.stiffness"])
    570.0
    """

    value: Float[np.ndarray, ""] = result_field("worst value found")
    values: dict[str, Float[np.ndarray, ""]] = result_field("parameter there")
    sampled: Float[np.ndarray, " sample"] = result_field(
        "values at the samples, corners of the box first", "", ("sample",)
    )
    descended: Float[np.ndarray, " descent"] = result_field(
        "values at the ends of descents", "", ("descent",)
    )
    at_corner: bool = eqx.field(static=True)
    lost: Int[np.ndarray, ""] = result_field("samples without a value")
    evaluations: Int[np.ndarray, ""] = result_field("evaluations")
    system: eqx.Module = system_field()
    result: Int[np.ndarray, ""] = result_field("reason code")

    def __repr__(self) -> str:
        place = ", ".join(f"{path} = {float(value):.6g}" for path, value in
                          self.values.items())  # fmt: skip
        lines = [f"WorstCase (samples and descent, not certified): {float(self.value):.6g}"]
        lines.append(f"  at {place}" + ", a corner of the box" * self.at_corner)
        if int(self.lost):
            lines.append(f"  no value at {int(self.lost)} of {len(self.sampled)} samples")
        return "\n".join(lines)


def worst_over_box(
    measure: Measure | Callable,
    system: Any,
    box: Mapping[str, Bounds],
    *,
    goal: str = "minimise",
    samples: int = 64,
    descents: int = 4,
    settings: SearchSettings = _DESCENT,
) -> WorstCase:
    """Return the smallest (or largest) value of a measure over a box of parameters.

    The margin to the nearest bifurcation over uncertain parameters is that of
    `stable_range_measure("margin", ...)`. The corners of the box (of 8 parameters or
    less), its middle and Sobol points are evaluated, and L-BFGS-B descends from the
    worst of them. This is a search, not a proof: a narrow minimum between the samples
    may be missed.

    **Arguments:** `measure`: of one number; `box`: bounds by path, which enclose the
    system's own values; `goal`: "minimise", or "maximise" where large values are bad;
    `samples`: Sobol points; `descents`: number of descents.
    **Raises:** `ValueError` for an argument out of its range.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> box = {"modules.ground-first.stiffness": (570.0, 630.0)}
    >>> jv.design.worst_over_box(first, tower, box, samples=4).at_corner
    True
    """
    check_range("samples", samples, "", Range(at_least=1, at_most=1_000_000))
    check_range("descents", descents, "", Range(at_least=0, at_most=samples))
    problem = Problem(system, box, measure, goal=goal)
    sign = problem.form.sign
    points = _points(len(problem.form.variables), samples)
    evaluator = Evaluator(problem, problem.normalised)
    seen = [_evaluated(evaluator, point) for point in points]
    numbers, codes = (np.array(column) for column in zip(*seen, strict=True))
    if codes.any():
        first = int(np.flatnonzero(codes)[0])
        lost = points[first], np.nan, numbers, [], len(points), codes[first]
        return _worst(problem, *lost)
    order = np.argsort(sign * numbers, kind="stable")
    best, value = points[order[0]], numbers[order[0]]
    ends, evaluations = [], len(points)
    for start in points[order[:descents]]:
        descent = Evaluator(problem, start)
        found = searched(descent, start, "quasi_newton", settings)
        evaluations += len(found.history)
        last = found.final
        ends.append(last.objective)
        if not last.code and sign * last.objective < sign * value:
            best, value = last.normalised, last.objective
    return _worst(problem, best, value, numbers, ends, evaluations, Reason.SUCCESS)


def _points(count: int, samples: int) -> np.ndarray:
    """Return normalised points: corners, the middle, Sobol points."""
    sobol = scipy.stats.qmc.Sobol(count, rng=np.random.default_rng(0))
    power = int(np.ceil(np.log2(samples)))
    some = sobol.random_base2(power)[:samples]
    middle = np.full((1, count), 0.5)
    if count > _MOST_CORNERS:
        return np.concatenate([middle, some])
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=count)))
    return np.concatenate([corners, middle, some])


def _evaluated(evaluator: Evaluator, point: np.ndarray) -> tuple[float, int]:
    """Return the value at a point, NaN if it has none, and the reason code."""
    try:
        found = evaluator(point, slopes=False)
    except EvaluationLostError as error:
        return np.nan, error.code
    return (np.nan if found.code else found.objective), int(found.code)


def _worst(problem, point, value, numbers, ends, evaluations: int, code) -> WorstCase:
    found = problem.values(point)
    return WorstCase(
        np.asarray(value, float),
        {path: np.asarray(each) for path, each in found.items()},
        numbers,
        np.array(ends, float),
        bool(np.all((point < 1e-9) | (point > 1 - 1e-9))),
        np.asarray(int(np.isnan(numbers).sum())),
        np.asarray(evaluations),
        problem.designed(point),
        np.asarray(int(code), np.int32),
    )
