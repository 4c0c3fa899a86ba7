"""Designs and the histories of their evaluations."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s
from jaxtyping import Array, Float, Int

from ...drawing import Plottable
from ...ensemble import reason
from ...foundation.arrays import to_jax
from ...foundation.quantity import result_field, system_field
from ..measures.measure import EvaluationLostError
from ..problem import Form, Limit, Problem, slopes_of_objective
from ..variables import slopes_at
from .evaluation import Evaluation, Evaluator
from .smoothness import Notice, notice

_ACTIVE = 1e-5  # relative slack below which a bound or a limit is active


class Starts(Plottable):
    """The results of several starts."""

    variables: dict[str, Float[Array, " starts"]] = result_field("variable", "", ("start",))
    objective: Float[Array, " starts"] = result_field("objective", "", ("start",))
    result: Int[Array, " starts"] = result_field("reason code", "", ("start",))


class Design(Plottable):
    """An optimised design and the history of its evaluations.

    Arrays over steps have one entry for each evaluation of the best start. `variables`,
    `gradients`: by path, in the parameters' units (NaN for searches without gradients);
    `limits`: by the name of a constraint, the slack of its worst number, negative if
    violated; `best`: the step of the design; `evaluations`: of all starts;
    `optimality`: the part of the gradient not balanced by active bounds and limits,
    relative to the initial objective and for the whole range of a variable (NaN without
    gradients).

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {"modules.ground-first.stiffness": (300.0, 900.0)}
    >>> design = jv.design.evaluated(jv.design.Problem(tower, bounds, first))
    >>> int(design.evaluations)
    1
    """

    drawn: ClassVar[tuple[str, ...]] = ("objective",)

    variables: dict[str, Float[Array, " steps"]] = result_field("variable", "", ("step",))
    objective: Float[Array, " steps"] = result_field("objective", "", ("step",))
    numbers: Float[Array, "steps numbers"] = result_field(
        "numbers that make up the objective", "", ("step", "number")
    )
    gradients: dict[str, Float[Array, " steps"]] = result_field("gradient", "", ("step",))
    limits: dict[str, Float[Array, " steps"]] = result_field(
        "distance to the limit", "", ("step",)
    )
    notices: Int[Array, " steps"] = result_field("validity of derivatives", "", ("step",))
    best: Int[Array, ""] = result_field("step of the design")
    evaluations: Int[Array, ""] = result_field("evaluations of all starts")
    optimality: Float[Array, ""] = result_field("relative gradient, less active limits")
    starts: Starts
    system: eqx.Module = system_field()
    result: Int[Array, ""] = result_field("reason code")

    def __repr__(self) -> str:
        best, steps = int(self.best), len(self.objective)
        lines = [
            f"Design: {steps} evaluations, {reason(self.result)}",
            f"  objective {self.objective[0]:.6g} -> {self.objective[best]:.6g}",
        ]
        for path, values in list(self.variables.items())[:4]:
            lines.append(f"  {path} {values[0]:.6g} -> {values[best]:.6g}")
        codes = {int(code) for code in np.asarray(self.notices)} - {int(Notice.SMOOTH)}
        if codes:
            worst = max(codes)
            step = np.flatnonzero(np.asarray(self.notices) == worst)[0]
            lines.append(f"  step {step}: {notice(worst)}")
        return "\n".join(lines)

    def value(self, path: str) -> float:
        """Return the value of a parameter in the best design."""
        return float(self.variables[path][int(self.best)])


class Searched(NamedTuple):
    """The history of one search, its best step, reason code and message.

    `evaluator`: of a search that was sequential.
    """

    history: Sequence[Evaluation]
    end: int
    code: int
    why: str = ""
    evaluator: Evaluator | None = None

    @property
    def final(self) -> Evaluation:
        """The evaluation at the best step."""
        return self.history[self.end]

    @property
    def first(self) -> Evaluation:
        """The evaluation at the first step."""
        return self.history[0]

    def usable(self, form: Form) -> bool:
        """Whether the design has objectives and violates no limit."""
        return not self.final.code and bool(worst_violation(form, self.final) == 0.0)


def not_started(
    problem: Problem, normalised: np.ndarray, lost: EvaluationLostError
) -> Searched:
    """Return the search from a start that could not be evaluated."""
    form, number = problem.form, np.array([np.nan])
    slopes = np.full((1, len(normalised)), np.nan)
    nothing = Evaluation(
        np.asarray(normalised, float), np.nan, number, (number,) * len(form.limits), slopes,
        (slopes,) * len(form.limits), lost.code, Notice.SMOOTH, (number,) * len(form.goals),
    )  # fmt: skip
    return Searched([nothing], 0, lost.code, str(lost))


def design_of(problem: Problem, found: Sequence[Searched]) -> Design:
    """Return the best design of several searches."""
    form = problem.form
    finals = [each.final for each in found]
    chosen = best_of(form, finals)
    history, final = found[chosen].history, finals[chosen]
    nothing = np.full(len(form.variables), np.nan)
    gradients = np.stack([_gradient(form, one, nothing) for one in history])
    known = {
        "variables": problem.columns(one.normalised for one in history),
        "objective": np.array([one.objective for one in history]),
        "numbers": np.stack([one.numbers for one in history]),
        "gradients": {one.path: gradients[:, i] for i, one in enumerate(form.variables)},
        "limits": slacks(form, history),
        "notices": np.array([int(one.notice) for one in history], np.int32),
        "best": np.int32(found[chosen].end),
        "evaluations": np.int32(sum(len(each.history) for each in found)),
        "optimality": np.float64(optimality(form, final, history[0])),
        "result": np.int32(found[chosen].code),
    }
    starts = problem.columns(one.normalised for one in finals)
    objectives = np.array([each.objective for each in finals], float)
    ends = starts, objectives, np.array([each.code for each in found], np.int32)
    system = problem.designed(final.normalised)
    return Design(**to_jax(known), starts=Starts(*to_jax(ends)), system=system)


def slacks(form: Form, found: Sequence[Evaluation]) -> dict[str, np.ndarray]:
    """Return by how much the worst number of each limit keeps it, (evaluations,)."""
    return {
        name: np.array([np.min(inside(limit, one.limits[i])) for one in found])
        for i, (name, limit) in enumerate(form.limits.items())
    }


def best_of(form: Form, found: Sequence[Evaluation]) -> int:
    """Return the index of the best evaluation; lost ones come last."""
    ranks = [
        (np.inf, 0.0) if one.code
        else (worst_violation(form, one), form.sign * one.objective)
        for one in found
    ]  # fmt: skip
    return min(range(len(found)), key=lambda i: ranks[i])


def worst_violation(form: Form, evaluation: Evaluation) -> float:
    """Return the largest violation of a limit relative to its size, or 0."""
    worst = 0.0
    for limit, numbers in zip(form.limits.values(), evaluation.limits, strict=True):
        least = np.min(inside(limit, numbers)) / size_of(limit)
        if least < -_ACTIVE:
            worst = max(worst, -least)
    return worst


def size_of(limit: Limit) -> float:
    """Return the scale of a limit's slack: its larger finite bound, or 1."""
    bounds = [abs(b) for b in (limit.at_least, limit.at_most) if np.isfinite(b)]
    return max(bounds) or 1.0


def optimality(form: Form, evaluation: Evaluation, first: Evaluation) -> float:
    """Return the norm of the gradient that no active bound or limit balances.

    Nonnegative multipliers of the active ones are found by least squares.
    """
    if evaluation.slopes is None or evaluation.limit_slopes is None or evaluation.code:
        return np.nan
    scale = form.sign / (abs(first.objective) or 1.0)
    n = len(evaluation.normalised)
    columns = []
    if form.objective.min_max:
        worst = np.max(form.sign * evaluation.numbers)
        near = form.sign * evaluation.numbers >= worst - _ACTIVE * abs(worst)
        target = np.append(np.zeros(n), 1.0)
        columns += [np.append(scale * row, 1.0) for row in evaluation.slopes[near]]
    else:
        gradient = slopes(form, evaluation)
        target = np.append(-scale * gradient, 0.0)
    for i, normalised in enumerate(evaluation.normalised):
        if normalised <= _ACTIVE:
            columns.append(-np.eye(n + 1)[i])
        if normalised >= 1 - _ACTIVE:
            columns.append(np.eye(n + 1)[i])
    rows = zip(
        form.limits.values(), evaluation.limits, evaluation.limit_slopes, strict=True
    )
    for limit, numbers, by in rows:
        size = size_of(limit)
        for number, row in zip(numbers, by, strict=True):
            normal = np.append(row / size, 0.0)
            if number - limit.at_least <= _ACTIVE * size:
                columns.append(-normal)
            if limit.at_most - number <= _ACTIVE * size:
                columns.append(normal)
    if not columns:
        return float(np.linalg.norm(target))
    _, left = scipy.optimize.nnls(np.stack(columns, axis=1), target)
    return float(left)


def slopes(form: Form, evaluation: Evaluation) -> np.ndarray:
    """Return the objective's gradient with respect to the normalised variables."""
    assert evaluation.slopes is not None
    return slopes_of_objective(form, evaluation.numbers, evaluation.slopes)


def _gradient(form, evaluation, nothing) -> np.ndarray:
    if evaluation.slopes is None:
        return nothing
    return slopes(form, evaluation) / slopes_at(form.variables, evaluation.normalised)


def inside(limit: Limit, numbers: np.ndarray) -> np.ndarray:
    """Return the slack of numbers with respect to a limit, negative if violated."""
    if limit.equality:
        return -np.abs(numbers - limit.at_least)
    return limit.slacks(numbers)
