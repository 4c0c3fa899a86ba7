"""One verb for every optimiser: a problem in, a design with its course out."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import optax
from scipy.stats import qmc

from .._nearest import unknown_key
from .._quantity import Range, check_range
from ..ensemble import Reason, reason
from .course import Design, Starts, design_of, worst_violation
from .evaluation import Evaluator, Remember
from .first_order import descend
from .problem import Problem
from .scipy_methods import CONSTRAINED, METHODS, LostError

ADAM = "adam"
ALL_METHODS = (ADAM, *METHODS)
_RATE = 0.2  # of Adam, in the free numbers


def optimise(
    problem: Problem,
    method: str | optax.GradientTransformation = "slsqp",
    *,
    starts: int = 1,
    steps: int = 200,
    tolerance: float = 1e-10,
    seed: int = 0,
    remember: Remember | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    throw: bool = True,
) -> Design:
    """Find the best design of a problem.

    **Arguments:** `method`: "slsqp" (sequential quadratic programming) or
    "trust_constr" (interior points), which know constraints and min-max problems;
    "quasi_newton" (L-BFGS-B); "least_squares" for `combine="squares"`; "adam", or any
    optimiser of optax, which takes all starts at once by `vmap`; "nelder_mead" and
    "evolution" (differential evolution), which need no gradients. `starts`: the
    system's own values, then Sobol points within the bounds (`seed`); `steps`: of the
    optimiser, for each start; `tolerance`: relative, on objective and variables.
    `remember`: keeps evaluations, so that a stopped search goes on to the same bits.
    `throw`: whether a start without an objective is an error; else it is a result.

    **Raises:** `ValueError` for an unknown method, one that does not know constraints
    where there are some, or a motion that is not found at the first start.
    """
    check_range("starts", starts, "", Range(at_least=1))
    check_range("steps", steps, "", Range(at_least=1))
    check_range("tolerance", tolerance, "", Range(above=0.0, below=1.0))
    _check_method(problem, method)
    shares = starting_shares(problem, starts, seed)
    if method == ADAM or not isinstance(method, str):
        optimiser = optax.adam(_RATE) if isinstance(method, str) else method
        return _first_order(
            problem, optimiser, shares, steps, remember, name, progress, throw
        )
    courses, ends, codes = [], [], []
    for place, row in enumerate(shares):
        evaluator = Evaluator(
            problem, row, remember=remember, name=f"{name}/{place}", progress=progress
        )
        try:
            code = METHODS[method](evaluator, row, steps, tolerance, seed)
            # What a search that did not end well came to may be worse than its way.
            good = code == Reason.SUCCESS
            end = len(evaluator.course) - 1 if good else _best_of(problem, evaluator.course)
        except LostError as lost:
            if throw and len(evaluator.course) == 1 and place == 0:
                raise ValueError(_not_begun(lost.code)) from None
            code = lost.code
            end = _best_of(problem, evaluator.course)
        courses.append(evaluator.course)
        ends.append(end)
        codes.append(code)
    return design_of(problem, courses, ends, codes)


def evaluated(
    problem: Problem, *, remember: Remember | None = None, name: str = ""
) -> Design:
    """Return the system as it is as a design: one evaluation, nothing is sought."""
    evaluator = Evaluator(problem, problem.shares, remember=remember, name=name)
    code = evaluator(problem.shares).code
    return design_of(problem, [evaluator.course], [0], [code])


def starting_shares(problem: Problem, starts: int, seed: int) -> np.ndarray:
    """Return the shares of all starts: the system's own, then Sobol points."""
    own = problem.shares[None]
    if starts == 1:
        return own
    power = max(0, (starts - 2).bit_length())
    drawn = qmc.Sobol(own.shape[1], rng=seed).random_base2(power)[: starts - 1]
    return np.concatenate([own, drawn])


def _first_order(
    problem, optimiser, shares, steps, remember, name, progress, throw
) -> Design:
    course, end, codes, final, objectives = descend(
        problem, shares, optimiser, steps, remember=remember, name=name, progress=progress
    )
    design = design_of(problem, [course], [end], [codes[0]])
    starts = Starts(
        {
            one.path: jnp.asarray([one.value(row[i]) for row in final])
            for i, one in enumerate(problem.form.variables)
        },
        jnp.asarray(objectives),
        jnp.asarray(codes, jnp.int32),
    )
    if throw and course[0].code and len(shares) == 1:
        raise ValueError(_not_begun(course[0].code))
    code = course[end].code
    return _with(design, starts, len(course) * len(shares), code)


def _not_begun(code) -> str:
    return f"the system as it is has no objective to begin with: {reason(code)}"


def _with(design: Design, starts: Starts, evaluations: int, code) -> Design:
    return dataclasses.replace(
        design,
        starts=starts,
        evaluations=jnp.asarray(evaluations, jnp.int32),
        result=jnp.asarray(code, jnp.int32),
    )


def _best_of(problem, course) -> int:
    form = problem.form
    ranks = [
        (np.inf, 0.0)
        if one.code
        else (worst_violation(form, one), form.sign * one.objective)
        for one in course
    ]
    return min(range(len(course)), key=lambda i: ranks[i])


def _check_method(problem: Problem, method) -> None:
    if isinstance(method, str) and method not in ALL_METHODS:
        raise ValueError(unknown_key("method", method, ALL_METHODS))
    if problem.form.limits and method not in CONSTRAINED:
        raise ValueError(
            f"method = {method!r} knows no constraints; allowed: {', '.join(CONSTRAINED)}"
        )
    if method == "least_squares" and problem.form.combine != "squares":
        raise ValueError(
            f"method = 'least_squares' with combine = {problem.form.combine!r}; allowed: "
            "'squares'"
        )
