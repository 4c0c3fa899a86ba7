"""Settings of design searches."""

import dataclasses

from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import CheckedArguments


@dataclasses.dataclass(frozen=True)
class SearchSettings(CheckedArguments):
    """Settings of `optimise`, `pareto_front` and `fit`.

        several = jv.design.SearchSettings(starts=8, steps=100)
        jv.design.optimise(problem, settings=several)

    **Fields:** `starts`: number of starts, the system's own values, then Sobol points
    within the bounds (seeded by `seed`); `steps`: optimiser steps per start;
    `tolerance`: relative, on objective and variables. **Raises:** `ValueError` for a
    number out of its range.

    >>> jv.design.SearchSettings(starts=4, steps=50).starts
    4
    """

    starts: int = 1
    steps: int = 200
    tolerance: float = 1e-10
    seed: int = 0

    def __post_init__(self) -> None:
        check_range("starts", self.starts, "", Range(at_least=1))
        check_range("steps", self.steps, "", Range(at_least=1))
        check_range("tolerance", self.tolerance, "", Range(above=0.0, below=1.0))


USUAL = SearchSettings()
