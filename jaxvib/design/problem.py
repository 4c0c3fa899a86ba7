"""Design problems: objective, variables and constraints."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.extend
import numpy as np
from jax.interpreters import partial_eval  # without a promise of stability
from jaxtyping import Array, ArrayLike, Float, PyTree

from ..foundation.arrays import to_jax
from ..foundation.suggestions import CheckedArguments
from ..foundation.types import AnyArray
from ..systems.parameters import replace
from .goal import Goal
from .measures.measure import Measure, as_measure, itself, joined
from .variables import Bounds, Variable, values_at, variables_of


@dataclasses.dataclass(frozen=True)
class Limit(CheckedArguments):
    """A constraint: bounds on every number of a measure, in its unit.

    Equal bounds give an equality constraint. **Raises:** `ValueError` for bounds that
    do not ascend, or without a finite bound.

    >>> mass = jv.design.parameter_measure("modules.first-roof.mass")
    >>> jv.design.Limit(mass, at_most=2.0).at_most
    2.0
    """

    measure: Measure | Callable[..., Any]
    at_least: float = -np.inf
    at_most: float = np.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", as_measure(self.measure))
        bounds = f"[{self.at_least:g}, {self.at_most:g}]"
        if not self.at_least <= self.at_most or bounds == "[-inf, inf]":
            raise ValueError(f"limit = {bounds}; allowed: ascending bounds, one finite")

    def slacks(self, numbers: Any, xp: Any = np) -> Any:
        """Return the slacks of numbers, negative outside the bounds."""
        parts = []
        if self.at_least > -np.inf:
            parts.append(numbers - self.at_least)
        if self.at_most < np.inf and self.at_most != self.at_least:
            parts.append(self.at_most - numbers)
        return xp.concatenate(parts)

    @property
    def equality(self) -> bool:
        """Whether both bounds are equal."""
        return self.at_least == self.at_most


class Problem(CheckedArguments):
    r"""A design problem: optimise an objective over bounded parameters.

    $$\min_{p} c\bigl(f_1(p), \dots, f_k(p)\bigr), \qquad l \le p \le h, \qquad
      a_j \le g_j(p) \le b_j.$$

    **Arguments:** `objective`: a `Measure`, or any function from the system to a number
    or an array $f$ of numbers; `variables`: bounds by dotted path, `(low, high)` or
    `(low, high, "log")`, which enclose the system's own value; `constraints`: a `Limit`
    by name. `combine`: the function c: "value" (a single number), "sum", "mean",
    "largest", "smallest", "squares" (half their sum: least squares), "variance" or
    "mean_and_deviation" (mean + `weight` standard deviations). `goal`: "minimise" or
    "maximise". Constrained methods solve min-max and max-min problems in epigraph form
    (a bound on all numbers is optimised), which is smooth and exact. Two or more
    objectives are `Goal`s by name, each with its own `goal` and `combine`; solve such a
    problem with `pareto_front`.

    **Raises:** `ValueError` for an unknown path, goal or combination, bounds that do
    not enclose the system's values, a single `Goal`, or `goal` together with several.
    """

    def __init__(
        self,
        system: eqx.Module,
        variables: Mapping[str, Bounds],
        objective: Measure | Callable[..., Any] | Mapping[str, Goal],
        *,
        constraints: Mapping[str, Limit] | None = None,
        combine: str = "value",
        goal: str = "minimise",
        weight: float = 1.0,
    ):
        moved, normalised = variables_of(system, variables)
        limits = dict(constraints or {})
        if isinstance(objective, Mapping):
            _check_goals(objective, (goal, combine, weight))
            first, *others = (one.to_minimise() for one in objective.values())
            largest = Goal(first, combine="largest")
            form = Form(moved, largest, limits, tuple(others), dict(objective))
        else:
            form = Form(moved, Goal(objective, goal, combine, weight), limits)
        self._begin(system, form, normalised)

    def _begin(self, system: eqx.Module, form: "Form", normalised: np.ndarray) -> None:
        self.system = system
        self.form = form
        self.normalised = normalised

    def at(self, system: eqx.Module) -> "Problem":
        """Return the same problem for another system, sharing compiled functions."""
        bounds = {one.path: one for one in self.form.variables}
        _, normalised = variables_of(system, bounds)
        other = Problem.__new__(Problem)
        other._begin(system, self.form, normalised)
        return other

    def values(self, normalised: AnyArray) -> dict[str, float]:
        """Return the parameters by path at normalised variables."""
        found = values_at(self.form.variables, normalised)
        return {path: float(value) for path, value in found.items()}

    def columns(self, rows: Iterable[AnyArray]) -> dict[str, np.ndarray]:
        """Return the parameters by path at rows of normalised variables, (rows,) each."""
        values = [self.values(row) for row in rows]
        return {path: np.array([each[path] for each in values]) for path in values[0]}

    def designed(self, normalised: AnyArray) -> eqx.Module:
        """Return the system with the parameters at normalised variables."""
        return replace(self.system, values_at(self.form.variables, to_jax(normalised)))


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """The part of a problem that does not depend on the system's values.

    With several objectives (`goals`, by name), those of `objective` and `others` are the
    numbers to be minimised.
    """

    variables: tuple[Variable, ...]
    objective: Goal
    limits: dict[str, Limit]
    others: tuple[Measure, ...] = ()
    goals: dict[str, Goal] = dataclasses.field(default_factory=dict)

    @property
    def sign(self) -> float:
        """-1 if the objective is maximised, else 1."""
        return self.objective.sign

    @functools.cached_property
    def analyses(self) -> tuple[Any, ...]:
        """The distinct analyses of all measures."""
        found = []
        for measure in self.measures:
            if not any(measure.analysis == each for each in found):
                found.append(measure.analysis)
        return tuple(found)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures: of the objectives, then of the limits."""
        first, *limited = (
            as_measure(one.measure) for one in (self.objective, *self.limits.values())
        )
        return (first, *self.others, *limited)

    @property
    def compiled(self) -> bool:
        """Whether all analyses work under `jit` and `vmap`."""
        return all(analysis.compiled for analysis in self.analyses)

    def start(self, system: eqx.Module) -> tuple[Any, ...]:
        """Return the initial memories of all analyses."""
        return tuple(analysis.start(system) for analysis in self.analyses)

    def numbers(
        self, system: eqx.Module, normalised: AnyArray, memories: tuple[Any, ...]
    ) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
        """Return each measure's numbers, and (memories, codes, margin, contacts)."""
        here = replace(system, values_at(self.variables, normalised))
        outcomes = [
            analysis(here, memory)
            for analysis, memory in zip(self.analyses, memories, strict=True)
        ]
        read = []
        for measure in self.measures:
            place = next(
                i for i, each in enumerate(self.analyses) if each == measure.analysis
            )
            read.append(measure.numbers(outcomes[place].result))
        return tuple(read), jax.lax.stop_gradient(joined((), outcomes)[1:])

    @functools.cached_property
    def evaluate(self) -> Callable[..., Any]:
        """`numbers`, compiled if possible."""
        return self._jitted_if_possible(self.numbers)

    @functools.cached_property
    def evaluate_with_slopes(self) -> Callable[..., Any]:
        """`numbers` and derivatives by normalised variables, (numbers, variables)."""

        def looked(system, normalised, memories):
            slopes, (read, beside) = self.slopes(system, normalised, memories, itself)
            return read, slopes, beside

        return self._jitted_if_possible(looked)

    def slopes(
        self,
        system: eqx.Module,
        here: AnyArray,
        memories: tuple[Any, ...],
        normalised_of: Callable[..., Any],
    ) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
        """Return derivatives with respect to `here`, and `numbers`.

        `normalised_of` maps `here` to the normalised variables.
        """

        def numbers(here):
            return self.numbers(system, normalised_of(here), memories)

        needed = _without_unused_results(numbers, here) if self.compiled else numbers

        def twice(here):
            read, beside = needed(here)
            return read, (read, beside)

        return jax.jacfwd(twice, has_aux=True)(here)

    @functools.cached_property
    def pull(self) -> Callable[..., Any]:
        """The objective and its gradient with respect to the numbers."""
        return jax.jit(jax.value_and_grad(self.objective.combined))

    def _jitted_if_possible(self, function):
        return eqx.filter_jit(function) if self.compiled else function


def _check_goals(goals: Mapping[str, Goal], beside: tuple) -> None:
    if len(goals) < 2 or not all(isinstance(one, Goal) for one in goals.values()):
        raise ValueError(f"objectives = {list(goals)}; allowed: two Goals or more, by name")
    if beside != ("minimise", "value", 1.0):
        raise ValueError(
            "with several objectives, set goal, combine and weight in each Goal"
        )


def slopes_of_objective(
    form: "Form", numbers: Float[ArrayLike, " k"], slopes: Float[ArrayLike, "k n"]
) -> Float[np.ndarray, " n"]:
    """Return the objective's gradient from the derivatives of its numbers."""
    _, by_numbers = form.pull(np.asarray(numbers))
    return np.asarray(by_numbers) @ np.asarray(slopes)


def _without_unused_results(function: Callable, *arguments: PyTree) -> Callable:
    """Return the function after dead code elimination, for arguments of the same shape.

    XLA eliminates dead code only after derivatives of every field of an orbit are
    traced, even if one field is used. Eliminating it first reduces the tracing time of
    a design's gradient to two thirds.
    """
    traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    used = [True] * len(traced.jaxpr.outvars)
    lean, _ = partial_eval.dce_jaxpr(traced.jaxpr, used, instantiate=True)
    flat = jax.extend.core.jaxpr_as_fun(jax.extend.core.ClosedJaxpr(lean, traced.consts))
    tree = jax.tree.structure(shape)

    def run(*arguments):
        return jax.tree.unflatten(tree, flat(*jax.tree.leaves(arguments)))

    return run
