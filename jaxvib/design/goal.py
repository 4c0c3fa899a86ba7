"""Goals: the combination of a measure's numbers that is minimised or maximised."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp

from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import CheckedArguments, unknown_key
from ..foundation.types import AnyArray
from .measures.measure import Measure, Partial, as_measure

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", as_measure(self.measure))
        if self.goal not in GOALS:
            raise ValueError(unknown_key("goal", self.goal, GOALS))
        if self.combine not in COMBINATIONS:
            raise ValueError(unknown_key("combination", self.combine, COMBINATIONS))
        check_range("weight", self.weight, "", Range(at_least=0.0))

    @property
    def sign(self) -> float:
        """-1 for "maximise", 1 for "minimise"."""
        return -1.0 if self.goal == "maximise" else 1.0

    @property
    def min_max(self) -> bool:
        """Whether the worst of several numbers is optimised (min-max)."""
        worst = ("largest", "minimise"), ("smallest", "maximise")
        return (self.combine, self.goal) in worst

    def combined(self, numbers: AnyArray) -> AnyArray:
        """Return the combination of several numbers."""
        return _COMBINED[self.combine](numbers, self.weight)

    def to_minimise(self) -> Measure:
        """Return a measure whose largest number is to be minimised."""
        own = as_measure(self.measure)
        return dataclasses.replace(own, read=Partial(_to_minimise, (self, own)))


def _to_minimise(result, goal: Goal, measure: Measure):
    numbers = measure.numbers(result)
    return goal.sign * (numbers if goal.min_max else goal.combined(numbers)[None])
