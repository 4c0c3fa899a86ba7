r"""Pareto fronts of several objectives.

The ends are found first: each objective is optimised alone, then with the others at a
small weight, which selects the best point of an end that is not unique. With $a_i$ the
best and $b_i$ the worst value at the ends, $\bar f_i = (f_i - a_i)/(b_i - a_i)$. Each
point in between belongs to one of evenly spaced reference points $r$ on the plane
through the ends:

$$\min_{p, t} t, \qquad \bar f_i(p) - r_i + 10^{-6} \sum_j \bar f_j(p) \le t,$$

Unlike weighted sums, this also finds non-convex parts of a front. It is feasible
wherever the constraints are; the sum excludes points that are only weakly Pareto
optimal.

**Source:** Das and Dennis, *SIAM J. Optim.* 8 (1998), the plane; Pascoletti and
Serafini, *J. Optim. Theory Appl.* 42 (1984), the inequalities; Wierzbicki (1980), the
sum.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Array, Float, Int

from ..drawing import Plottable
from ..ensemble import reason
from ..ensemble.checkpoint import EvaluationStore
from ..foundation.arrays import to_jax
from ..foundation.quantity import Range, check_range, result_field
from ..foundation.suggestions import unknown_key
from .optimise import starting_points
from .problem import Problem
from .searches.front_search import FrontSearch, worst_numbers
from .searches.history import Searched, optimality, slacks
from .searches.scipy_methods import CONSTRAINED
from .settings import USUAL, SearchSettings

_SAME = 1e-8  # difference, relative to an objective's range, that counts as equal
_BETTER = 1e-6  # improvement, relative to an objective's range, that counts as better


class Front(Plottable):
    """Designs along a Pareto front.

    `objectives`, `variables`, `limits` (slack, negative if violated): by name or path,
    one number per point. For two objectives, points are ordered from the best of the
    first to the best of the second; for more, `weights` gives the position of the
    reference point between the ends. Dominated points are kept and flagged. `ends`: the
    reason code of each objective's own search.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> mass = jv.design.parameter_measure("modules.first-roof.mass")
    >>> goals = {
    ...     "first": jv.design.Goal(first, "maximise"),
    ...     "mass": jv.design.Goal(mass, "maximise"),
    ... }
    >>> problem = jv.design.Problem(tower, {"modules.first-roof.mass": (0.5, 2.0)}, goals)
    >>> list(jv.design.pareto_front(problem, points=3).objectives)
    ['first', 'mass']
    """

    drawn = ("objectives",)

    objectives: dict[str, Float[Array, " points"]] = result_field(
        "objective", "", ("point",)
    )
    variables: dict[str, Float[Array, " points"]] = result_field("variable", "", ("point",))
    limits: dict[str, Float[Array, " points"]] = result_field(
        "distance to the limit", "", ("point",)
    )
    weights: Float[Array, "points goals"] = result_field(
        "weight of each end in the reference point", "", ("point", "goal")
    )
    dominated: Int[Array, " points"] = result_field(
        "1 if another point dominates this one", "", ("point",)
    )
    optimality: Float[Array, " points"] = result_field(
        "relative gradient, less active limits", "", ("point",)
    )
    result: Int[Array, " points"] = result_field("reason code", "", ("point",))
    ends: dict[str, Int[Array, ""]] = result_field("reason code of its own search")
    evaluations: Int[Array, ""] = result_field("total number of evaluations")

    def __repr__(self) -> str:
        good = (np.asarray(self.result) == 0) & (np.asarray(self.dominated) == 0)
        lines = [
            f"Front: {len(good)} points, {int(good.sum())} of them converged and not "
            f"dominated; {int(self.evaluations)} evaluations"
        ]
        for name, values in (*self.objectives.items(), *list(self.variables.items())[:4]):
            lines.append(f"  {name} {values[0]:.6g} ... {values[-1]:.6g}")
        for name, code in self.ends.items():
            if int(code):
                lines.append(f"  the end of {name}: {reason(code)}")
        return "\n".join(lines)


def pareto_front(
    problem: Problem,
    method: str = "slsqp",
    *,
    points: int = 21,
    settings: SearchSettings = USUAL,
    remember: EvaluationStore | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
) -> Front:
    """Find points of the Pareto front of a problem with several `Goal`s.

    Each search starts from a neighbouring point and its motion. Points that fail, or
    whose scalarised objective is smaller at another point, are searched again from that
    point. An end that is not found from any start is searched from the other ends; if
    that also fails, the front extends to the best feasible point that was evaluated.

    **Arguments:** `method`: "slsqp" or "trust_constr"; `points`: the number of points
    for two objectives, the maximum size of the uniform grid of weights for more;
    `settings`: `starts` applies to each end; the others as in `optimise`. **Raises:**
    `ValueError` for a single objective, a method without constraints, fewer points than
    objectives, or if no start has objectives or no feasible point is found.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> mass = jv.design.parameter_measure("modules.first-roof.mass")
    >>> goals = {
    ...     "first": jv.design.Goal(first, "maximise"),
    ...     "mass": jv.design.Goal(mass, "maximise"),
    ... }
    >>> problem = jv.design.Problem(tower, {"modules.first-roof.mass": (0.5, 2.0)}, goals)
    >>> front = jv.design.pareto_front(problem, points=3)
    >>> front.objectives["mass"].round(2).tolist()
    [0.5, 1.15, 2.0]
    """
    goals = problem.form.goals
    if not goals:
        raise ValueError("one objective; allowed: two Goals or more, by name")
    check_range("points", points, "", Range(at_least=len(goals)))
    if method not in CONSTRAINED:
        raise ValueError(unknown_key("method", method, CONSTRAINED))
    rows = starting_points(problem, settings)
    search = FrontSearch(problem, (method, settings), remember, name, progress)
    ends = search.ends(rows)
    weights, found = search.between(ends, points)
    codes = {each: np.asarray(one.code) for each, one in zip(goals, ends, strict=True)}
    return _front_of(problem, found, weights, codes, search.evaluations)


def _front_of(
    problem, found: list[Searched], weights, ends: dict, evaluations: int
) -> Front:
    form = problem.form
    pushed = np.stack([worst_numbers(one.final) for one in found])
    usable = [one.usable(form) for one in found]
    known = {
        "objectives": {
            name: goal.sign * pushed[:, i]
            for i, (name, goal) in enumerate(form.goals.items())
        },
        "variables": problem.columns(one.final.normalised for one in found),
        "limits": slacks(form, [one.final for one in found]),
        "weights": np.asarray(weights),
        "dominated": dominated(pushed, usable).astype(np.int32),
        "optimality": np.array([optimality(form, one.final, one.first) for one in found]),
        "result": np.array([one.code for one in found], np.int32),
        "ends": ends,
        "evaluations": np.int32(evaluations),
    }
    return Front(**to_jax(known))


def dominated(values: np.ndarray, usable: Sequence[bool] | np.ndarray) -> np.ndarray:
    """Return which of the points (points, objectives) are dominated.

    Only usable points dominate. Smaller is better; tolerances are relative to each
    objective's range.
    """
    usable = np.asarray(usable, bool)
    if not usable.any():
        return np.zeros(len(values), bool)
    spread = np.ptp(values[usable], axis=0)
    scaled = values / np.where(spread > 0, spread, 1.0)
    less = scaled[None] - scaled[:, None]  # [i, j]: point j minus point i
    as_good = np.all(less <= _SAME, axis=2)
    better = np.any(less < -_BETTER, axis=2)
    return np.any(as_good & better & usable[None], axis=1)
