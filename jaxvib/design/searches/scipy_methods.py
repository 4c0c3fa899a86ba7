"""SciPy optimisers with exact gradients and Jacobians."""

import warnings
from collections.abc import Callable

import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s

from ...ensemble import Reason
from ..measures.measure import EvaluationLostError
from ..settings import SearchSettings
from .evaluation import Evaluation, Evaluator
from .history import optimality, size_of, slopes, worst_violation

_OPTIMAL = 1e-5  # optimality that counts as success, whatever the method reports
_BAD = 10.0  # replaces a missing objective or slack, relative to the largest one seen


def _evaluated(evaluator: Evaluator, normalised) -> Evaluation:
    found = evaluator(np.clip(normalised, 0.0, 1.0))
    if found.code:
        raise EvaluationLostError(found.code)
    return found


def _bad(evaluator: Evaluator, size: Callable[[Evaluation], float]) -> float:
    """Return a number larger than that of every design so far that has a motion."""
    return _BAD * max([1.0, *(size(one) for one in evaluator.history if not one.code)])


def constrained(method: str, options: Callable) -> Callable:
    """Return a search function for a constrained SciPy method.

    Min-max problems use the epigraph form: a bound t on all numbers is an additional
    variable, and each number gives a constraint. It is smooth, and exact at the corner.
    """

    def search(evaluator: Evaluator, start: np.ndarray, settings: SearchSettings) -> int:
        form = evaluator.problem.form
        first = _evaluated(evaluator, start)
        scale = form.sign / (abs(first.objective) or 1.0)
        n = len(start)
        lifted = form.objective.min_max

        def tried(x) -> Evaluation:
            return evaluator(np.clip(x[:n], 0.0, 1.0))

        last = first

        # A lost motion gets a very bad value, so that the method shortens its step. Its
        # derivatives are those of the last one: trust-constr's approximation of second
        # derivatives is not updated then.
        def evaluate(x) -> Evaluation:
            nonlocal last
            found = tried(x)
            last = last if found.code else found
            return last

        def bad() -> float:
            return _bad(evaluator, lambda one: np.abs(scale * one.numbers).max())

        def value(x) -> float:
            found = tried(x)
            if found.code:
                return bad()
            return float(x[n]) if lifted else scale * found.objective

        def gradient(x):
            return np.eye(n + 1)[n] if lifted else scale * slopes(form, evaluate(x))

        def below(x):
            found = tried(x)
            if found.code:  # the numbers themselves may be NaN
                return np.full_like(found.numbers, x[n] - bad())
            return x[n] - scale * found.numbers

        def below_slopes(x):
            by = -scale * np.asarray(evaluate(x).slopes)
            return np.concatenate([by, np.ones((len(by), 1))], axis=1)

        rows: list[tuple[Callable, Callable, bool]] = []
        if lifted:
            rows.append((below, below_slopes, False))
        for place, limit in enumerate(form.limits.values()):
            rows.append(
                (
                    *_constraint_functions(evaluator, tried, evaluate, place, lifted),
                    limit.equality,
                )
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="delta_grad == 0.0")
            warnings.filterwarnings("ignore", message="Singular Jacobian matrix")
            found = scipy.optimize.minimize(
                value,
                np.append(start, np.max(scale * first.numbers)) if lifted else start,
                jac=gradient,
                method=method,
                bounds=[(0.0, 1.0)] * n + [(None, None)] * lifted,
                constraints=_constraints(method, rows),
                options=options(settings.steps, settings.tolerance),
            )
        final = np.clip(found.x[:n], 0.0, 1.0)
        return _end_code(evaluator, final, first, found.success)

    return search


def quasi_newton(evaluator: Evaluator, start: np.ndarray, settings: SearchSettings) -> int:
    """Minimise by L-BFGS-B within the bounds."""
    form, tolerance = evaluator.problem.form, settings.tolerance
    first = _evaluated(evaluator, start)
    scale = form.sign / (abs(first.objective) or 1.0)

    def both(x):
        found = evaluator(np.clip(x, 0.0, 1.0))
        if found.code:  # the method shortens its step
            far = _bad(evaluator, lambda one: abs(scale * one.objective))
            return far, np.zeros_like(start)
        return scale * found.objective, scale * slopes(form, found)

    found = scipy.optimize.minimize(
        both, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(start),
        options={"maxiter": settings.steps, "ftol": tolerance * 1e-4, "gtol": tolerance},
    )  # fmt: skip
    return _end_code(evaluator, found.x, first, found.success)


def least_squares(evaluator: Evaluator, start: np.ndarray, settings: SearchSettings) -> int:
    """Minimise by Gauss-Newton steps within a trust region and the bounds."""
    first = _evaluated(evaluator, start)
    inside = np.clip(start, 1e-9, 1 - 1e-9)  # the method needs strictly interior points

    def numbers(x):
        found = evaluator(np.clip(x, 0.0, 1.0))
        # The method shortens its step where a number is NaN.
        return np.full_like(found.numbers, np.nan) if found.code else found.numbers

    found = scipy.optimize.least_squares(
        numbers,
        inside,
        jac=lambda x: _evaluated(evaluator, x).slopes,
        bounds=(0.0, 1.0),
        xtol=settings.tolerance,
        ftol=settings.tolerance,
        gtol=settings.tolerance,
        x_scale="jac",
        max_nfev=settings.steps,
    )
    return _end_code(evaluator, found.x, first, found.success)


def nelder_mead(evaluator: Evaluator, start: np.ndarray, settings: SearchSettings) -> int:
    """Minimise by the gradient-free Nelder-Mead simplex."""
    tolerance = settings.tolerance
    with np.errstate(invalid="ignore"):  # vertices without an objective are infinite
        found = scipy.optimize.minimize(
            _without_slopes(evaluator), start, method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * len(start),
            options={"maxiter": settings.steps, "xatol": tolerance, "fatol": tolerance},
        )  # fmt: skip
    return _end_code_without_slopes(evaluator, found.x, found.success)


def evolution(evaluator: Evaluator, start: np.ndarray, settings: SearchSettings) -> int:
    """Minimise by gradient-free differential evolution."""
    found = scipy.optimize.differential_evolution(
        _without_slopes(evaluator), [(0.0, 1.0)] * len(start), x0=start,
        maxiter=settings.steps, tol=0.0, atol=settings.tolerance, polish=False,
        rng=settings.seed,
    )  # fmt: skip
    return _end_code_without_slopes(evaluator, found.x, found.success)


def _without_slopes(evaluator: Evaluator) -> Callable:
    sign = evaluator.problem.form.sign
    scale = []

    def value(x) -> float:
        found = evaluator(x, slopes=False)
        if found.code:
            return np.inf
        scale.append(sign / (abs(found.objective) or 1.0))
        return scale[0] * found.objective

    return value


def _constraint_functions(evaluator, tried, evaluate, place: int, lifted: bool):
    limit = list(evaluator.problem.form.limits.values())[place]
    size = size_of(limit)

    def slacks(found: Evaluation):
        return limit.slacks(found.limits[place]) / size

    def inside(x):
        found = tried(x)
        if not found.code:
            return slacks(found)
        far = _bad(evaluator, lambda one: np.abs(slacks(one)).max())
        return np.full_like(slacks(found), -far)

    def by(x):
        rows = evaluate(x).limit_slopes[place]
        signs = [1.0] * (limit.at_least > -np.inf)
        signs += [-1.0] * (limit.at_most < np.inf and not limit.equality)
        whole = np.concatenate([sign * rows for sign in signs]) / size
        return np.pad(whole, ((0, 0), (0, int(lifted))))

    return inside, by


def _constraints(method: str, rows):
    if method == "SLSQP":
        return [
            {"type": "eq" if equal else "ineq", "fun": value, "jac": by}
            for value, by, equal in rows
        ]
    return [
        scipy.optimize.NonlinearConstraint(value, 0.0, 0.0 if equal else np.inf, jac=by)
        for value, by, equal in rows
    ]


def _end_code(evaluator: Evaluator, final, first, success: bool) -> int:
    form = evaluator.problem.form
    here = _evaluated(evaluator, final)
    _place_last(evaluator, here)
    # SciPy reports no success if rounding errors stop it at the optimum.
    good = success or optimality(form, here, first) < _OPTIMAL
    if worst_violation(form, here):
        return int(Reason.LIMIT_VIOLATED)
    return int(Reason.SUCCESS if good else Reason.ITERATION_LIMIT)


def _end_code_without_slopes(evaluator: Evaluator, final, success: bool) -> int:
    here = evaluator(final, slopes=False)
    _place_last(evaluator, here)
    if here.code:
        return here.code
    return int(Reason.SUCCESS if success else Reason.ITERATION_LIMIT)


def _place_last(evaluator: Evaluator, here: Evaluation) -> None:
    """Append the design to the history unless it is the last entry."""
    if not np.array_equal(evaluator.history[-1].normalised, here.normalised):
        evaluator.history.append(here)


METHODS: dict[str, Callable] = {
    "slsqp": constrained(
        "SLSQP", lambda steps, tolerance: {"maxiter": steps, "ftol": tolerance * 1e-4}
    ),
    "trust_constr": constrained(
        "trust-constr",
        lambda steps, tolerance: {
            "maxiter": steps,
            "gtol": tolerance,
            "xtol": tolerance,
            "barrier_tol": tolerance,
        },
    ),
    "quasi_newton": quasi_newton,
    "least_squares": least_squares,
    "nelder_mead": nelder_mead,
    "evolution": evolution,
}
CONSTRAINED = ("slsqp", "trust_constr")
