"""Goals: the combination of a measure's numbers that is minimised or maximised."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp

from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import CheckedArguments, unknown_key
from ..foundation.types import AnyArray
from .measure import Measure, as_measure

GOALS = ("minimise", "maximise")
_COMBINED: dict[str, Callable] = {
    "value": lambda numbers, weight: numbers[0],
    "sum": lambda numbers, weight: jnp.sum(numbers),
    "mean": lambda numbers, weight: jnp.mean(numbers),
    "largest": lambda numbers, weight: jnp.max(numbers),
    "smallest": lambda numbers, weight: jnp.min(numbers),
    "squares": lambda numbers, weight: jnp.sum(numbers**2) / 2,
    "variance": lambda numbers, weight: jnp.var(numbers),
    "mean_and_deviation": lambda numbers, weight: (
        jnp.mean(numbers) + weight * jnp.std(numbers)
    ),
}
COMBINATIONS = tuple(_COMBINED)


@dataclasses.dataclass(frozen=True)
class Goal(CheckedArguments):
    """One of several objectives: a measure (or any function) and its direction.

    `goal`: "minimise" or "maximise"; `combine`, `weight`: the combination of several
    numbers, as in `Problem`. **Raises:** `ValueError` for an unknown goal or
    combination, or a negative weight.

    >>> jv.design.Goal(jv.design.natural_frequency_measure((0,)), goal="maximise").goal
    'maximise'
    """

    measure: Measure | Callable
    goal: str = "minimise"
    combine: str = "value"
    weight: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "measure", as_measure(self.measure))
        check_goal(self.goal, self.combine, self.weight)

    @property
    def sign(self) -> float:
        """-1 for "maximise", 1 for "minimise"."""
        return -1.0 if self.goal == "maximise" else 1.0

    def to_minimise(self) -> Measure:
        """Return a measure whose largest number is to be minimised."""
        own = as_measure(self.measure)
        return dataclasses.replace(own, read=_ToMinimise(self, own.read))


def check_goal(goal: str, combine: str, weight: float) -> None:
    """Validate the goal, the combination and the weight."""
    if goal not in GOALS:
        raise ValueError(unknown_key("goal", goal, GOALS))
    if combine not in COMBINATIONS:
        raise ValueError(unknown_key("combination", combine, COMBINATIONS))
    check_range("weight", weight, "", Range(at_least=0.0))


def combined(combine: str, numbers: AnyArray, weight: float) -> AnyArray:
    """Return the combination of several numbers."""
    return _COMBINED[combine](numbers, weight)


def worst_counts(combine: str, goal: str) -> bool:
    """Return whether the worst of several numbers is optimised (min-max)."""
    return (combine, goal) in (("largest", "minimise"), ("smallest", "maximise"))


@dataclasses.dataclass(frozen=True)
class _ToMinimise:
    goal: Goal
    read: Callable

    def __call__(self, result):
        numbers = jnp.ravel(jnp.asarray(self.read(result), float))
        own = self.goal
        if worst_counts(own.combine, own.goal):
            return own.sign * numbers
        return own.sign * combined(own.combine, numbers, own.weight)[None]
