"""Design optimisation by SciPy or optax methods."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .stats takes 0.6 s

from ..ensemble import Reason, reason
from ..ensemble.checkpoint import EvaluationStore
from ..foundation.suggestions import unknown_key
from .measures.measure import EvaluationLostError
from .problem import Problem
from .searches.evaluation import Evaluation, Evaluator
from .searches.first_order import GradientTransformation, descend
from .searches.history import Design, best_of, design_of, starts_of
from .searches.scipy_methods import CONSTRAINED, METHODS
from .searches.smoothness import Notice
from .settings import USUAL, SearchSettings

ADAM = "adam"
ALL_METHODS = (ADAM, *METHODS)
_RATE = 0.2  # of Adam, in u: a step from mid-range moves by about 1/20 of the range


def optimise(
    problem: Problem,
    method: str | GradientTransformation = "slsqp",
    *,
    settings: SearchSettings = USUAL,
    remember: EvaluationStore | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    throw: bool = True,
) -> Design:
    """Find the best design of a problem.

    **Arguments:** `method`: "slsqp" (sequential quadratic programming) or
    "trust_constr" (interior point), which support constraints and min-max problems;
    "quasi_newton" (L-BFGS-B); "least_squares" for `combine="squares"`; "adam", or any
    optax optimiser, which runs all starts at once by `vmap`; "nelder_mead" and
    "evolution" (differential evolution), which are gradient-free. `settings`: starts,
    steps and tolerance. `remember`: stores evaluations, so that an interrupted search
    resumes with identical results.
    A start without a motion, bifurcation or objective ends with a reason code while the
    others continue; `throw`: whether to raise if none has an objective.

    **Raises:** `ValueError` for an unknown method, constraints with a method that does
    not support them, several objectives, or if no start has an objective.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> aim = lambda system: (jv.natural_frequencies(system)[0] - 11.0) ** 2
    >>> bounds = {"modules.ground-first.stiffness": (300.0, 900.0)}
    >>> design = jv.design.optimise(jv.design.Problem(tower, bounds, aim))
    >>> jv.natural_frequencies(design.system)[0].round(3).item()
    11.0
    """
    _check_method(problem, method)
    normalised = starting_points(problem, settings)
    if method == ADAM or not isinstance(method, str):
        optimiser = _adam() if isinstance(method, str) else method
        return _first_order(
            problem, optimiser, normalised, settings.steps, remember, name, progress, throw
        )
    found = []
    for place, row in enumerate(normalised):
        evaluator = Evaluator(
            problem, row, remember=remember, name=f"{name}/{place}", progress=progress
        )
        found.append(searched(evaluator, row, method, settings))
    histories = [each.history for each in found]
    if throw and all(each.history[each.end].code for each in found):
        raise EvaluationLostError(
            found[0].code, _no_start_message(found[0].why, len(found))
        )
    return design_of(
        problem, histories, [each.end for each in found], [each.code for each in found]
    )


def _adam() -> GradientTransformation:
    import optax  # takes 0.1 s, and only first-order methods use it

    return optax.adam(_RATE)


class Searched(NamedTuple):
    """The history of one search, its best step, reason code and message."""

    history: list[Evaluation]
    end: int
    code: int
    why: str


def searched(
    evaluator: Evaluator, normalised: np.ndarray, method: str, settings: SearchSettings
) -> Searched:
    """Search from one start; a lost motion ends the search with its reason code."""
    problem, history = evaluator.problem, evaluator.history
    try:
        how = settings.steps, settings.tolerance, settings.seed
        code = METHODS[method](evaluator, normalised, *how)
        # The last point of a failed search may be worse than earlier ones.
        good = code == Reason.SUCCESS
        end = len(history) - 1 if good else best_of(problem.form, history)
        return Searched(history, end, code, reason(code))
    except EvaluationLostError as lost:
        history = history or [_empty_evaluation(problem, normalised, lost.code)]
        return Searched(history, best_of(problem.form, history), lost.code, str(lost))


def _empty_evaluation(problem: Problem, normalised, code: int) -> Evaluation:
    """Return a placeholder evaluation for a start that could not be evaluated."""
    form, number = problem.form, np.array([np.nan])
    slopes = np.full((1, len(normalised)), np.nan)
    return Evaluation(
        np.asarray(normalised, float), np.nan, number, (number,) * len(form.limits), slopes,
        (slopes,) * len(form.limits), code, Notice.SMOOTH, (number,) * len(form.goals),
    )  # fmt: skip


def evaluated(
    problem: Problem, *, remember: EvaluationStore | None = None, name: str = ""
) -> Design:
    """Evaluate the initial system as a design, without optimisation.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> bounds = {"modules.ground-first.stiffness": (300.0, 900.0)}
    >>> round(
    ...     float(
    ...         jv.design.evaluated(jv.design.Problem(tower, bounds, first)).objective[0]
    ...     ),
    ...     3,
    ... )
    12.247
    """
    evaluator = Evaluator(problem, problem.normalised, remember=remember, name=name)
    try:
        history = [evaluator(problem.normalised)]
    except EvaluationLostError as lost:
        history = [_empty_evaluation(problem, problem.normalised, lost.code)]
    return design_of(problem, [history], [0], [history[0].code])


def starting_points(problem: Problem, settings: SearchSettings) -> np.ndarray:
    """Return the normalised starts: the system's own values, then Sobol points."""
    own = problem.normalised[None]
    others = settings.starts - 1
    if not others:
        return own
    power = max(0, (others - 1).bit_length())
    drawn = scipy.stats.qmc.Sobol(own.shape[1], rng=settings.seed).random_base2(power)[
        :others
    ]
    return np.concatenate([own, drawn])


def _first_order(
    problem, optimiser, normalised, steps, remember, name, progress, throw
) -> Design:
    try:
        history, end, codes, final, objectives = descend(
            problem, normalised, optimiser, steps, remember=remember, name=name,
            progress=progress,
        )  # fmt: skip
    except EvaluationLostError as lost:
        if throw:
            raise EvaluationLostError(
                lost.code, _no_start_message(str(lost), len(normalised))
            ) from None
        history, end = [_empty_evaluation(problem, normalised[0], lost.code)], 0
        codes, final = [lost.code] * len(normalised), normalised
        objectives = np.full(len(normalised), np.nan)
    design = design_of(problem, [history], [end], [codes[0]])
    code = history[end].code
    if throw and code:
        raise EvaluationLostError(code, _no_start_message(reason(code), len(normalised)))
    return dataclasses.replace(
        design,
        starts=starts_of(problem.form, final, objectives, codes),
        evaluations=jnp.asarray(len(history) * len(normalised), jnp.int32),
        result=jnp.asarray(code, jnp.int32),
    )


def _no_start_message(why: str, starts: int) -> str:
    if starts == 1:
        return f"the initial system has no objective: {why}"
    return f"none of {starts} starts has an objective: {why}"


def _check_method(problem: Problem, method) -> None:
    if problem.form.goals:
        raise ValueError(
            f"objectives = {list(problem.form.goals)}; allowed: one, or pareto_front"
        )
    if isinstance(method, str) and method not in ALL_METHODS:
        raise ValueError(unknown_key("method", method, ALL_METHODS))
    if problem.form.limits and method not in CONSTRAINED:
        raise ValueError(
            f"method = {method!r} supports no constraints; allowed: "
            f"{', '.join(CONSTRAINED)}"
        )
    combine = problem.form.objective.combine
    if method == "least_squares" and combine != "squares":
        raise ValueError(
            f"method = 'least_squares' with combine = {combine!r}; allowed: 'squares'"
        )
