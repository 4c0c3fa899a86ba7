"""Design optimisation by SciPy or optax methods."""

from collections.abc import Callable

import numpy as np
import scipy  # loads submodules lazily: .stats takes 0.6 s

from ..ensemble import Reason, reason
from ..ensemble.checkpoint import EvaluationStore
from ..foundation.suggestions import unknown_key
from .measures.measure import EvaluationLostError
from .problem import Problem
from .searches.evaluation import Evaluator
from .searches.first_order import GradientTransformation, descend
from .searches.history import Design, Searched, best_of, design_of, not_started
from .searches.scipy_methods import CONSTRAINED, METHODS
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
        found = descend(
            problem, normalised, optimiser, settings.steps, remember=remember, name=name,
            progress=progress,
        )  # fmt: skip
    else:
        found = []
        for place, row in enumerate(normalised):
            evaluator = Evaluator(
                problem, row, remember=remember, name=f"{name}/{place}", progress=progress
            )
            found.append(searched(evaluator, row, method, settings))
    if throw and all(each.final.code for each in found):
        which = "the initial system has no objective"
        if len(found) > 1:
            which = f"none of {len(found)} starts has an objective"
        raise EvaluationLostError(found[0].code, f"{which}: {found[0].why}")
    return design_of(problem, found)


def _adam() -> GradientTransformation:
    import optax  # takes 0.1 s, and only first-order methods use it

    return optax.adam(_RATE)


def searched(
    evaluator: Evaluator, normalised: np.ndarray, method: str, settings: SearchSettings
) -> Searched:
    """Search from one start; a lost motion ends the search with its reason code."""
    problem, history = evaluator.problem, evaluator.history
    try:
        code = METHODS[method](evaluator, normalised, settings)
        # The last point of a failed search may be worse than earlier ones.
        good = code == Reason.SUCCESS
        end = len(history) - 1 if good else best_of(problem.form, history)
        return Searched(history, end, code, reason(code), evaluator)
    except EvaluationLostError as lost:
        if not history:
            return not_started(problem, normalised, lost)._replace(evaluator=evaluator)
        end = best_of(problem.form, history)
        return Searched(history, end, lost.code, str(lost), evaluator)


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
        only = evaluator(problem.normalised)
    except EvaluationLostError as lost:
        return design_of(problem, [not_started(problem, problem.normalised, lost)])
    return design_of(problem, [Searched([only], 0, only.code, reason(only.code))])


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
