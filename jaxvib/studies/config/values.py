"""Lists of values in a config: of a swept path or of scenarios."""

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pydantic
from pydantic import Field

from ...foundation.geometric import geometric_values
from .tables import Table, option

MAX_SAMPLES = 1_000_000_000  # of a study; checked before samples are drawn
_MAX_LIST = 100_000  # about as many numbers as fit into a config
MAX_SCENARIOS = 100_000  # of one measure: one orbit or motion each, all in memory at once

_Listed = Annotated[list[float], Field(min_length=1, max_length=_MAX_LIST, fail_fast=True)]
_Numbers = Annotated[list[float], Field(min_length=1, max_length=10_000)]
_Three = Annotated[list[float], Field(min_length=3, max_length=3)]
_Count = Annotated[int, Field(ge=1, le=MAX_SAMPLES)]
_Spaced = Annotated[tuple[float, float, _Count], Field(strict=False)]
_Bounds = Annotated[tuple[float, float], Field(strict=False)]


def _described(description: str, allowed: str):
    return option(description, None, allowed=allowed)


class OneKey(Table):
    """A table with exactly one key."""

    @pydantic.model_validator(mode="after")
    def _check_one_key(self):
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            every = ", ".join(type(self).model_fields)
            raise ValueError(f"has {', '.join(given) or 'no key'}; allowed: one of {every}")
        return self

    def given(self) -> str:
        """Return the key of this table."""
        return next(name for name, value in self if value is not None)


class Values(OneKey):
    """The values of one swept path; exactly one key."""

    values: _Listed | None = _described("the values", f"1 to {_MAX_LIST} numbers")
    linspace: _Spaced | None = _described(
        "evenly spaced from the first to the last", "[first, last, count]"
    )
    logspace: _Spaced | None = _described(
        "geometrically spaced from first to last",
        "[first, last, count], both above 0",
    )
    bounds: _Bounds | None = _described("uniform between two numbers", "[lowest, highest]")
    log_bounds: _Bounds | None = _described(
        "log-uniform between two numbers", "[lowest, highest], above 0"
    )

    @pydantic.model_validator(mode="after")
    def _in_order(self):
        positive = self.logspace or self.log_bounds
        if positive and min(positive[:2]) <= 0:
            raise ValueError(f"{self.given()} = {list(positive)} is not above 0")
        drawn = self.bounds or self.log_bounds
        if drawn and drawn[0] >= drawn[1]:
            raise ValueError(f"{self.given()} = {list(drawn)} does not ascend")
        return self

    @property
    def drawn(self) -> bool:
        """Whether values are drawn between bounds."""
        return self.bounds is not None or self.log_bounds is not None

    def count(self) -> int:
        """Return the number of listed values."""
        spaced = self.linspace or self.logspace
        return spaced[2] if spaced else len(self.values or ())

    def listed(self) -> np.ndarray:
        """Return the listed values, (count,)."""
        if self.linspace:
            return np.linspace(*self.linspace)
        if self.logspace:
            return geometric_values(*self.logspace)
        return np.asarray(self.values, float)

    def outermost(self) -> np.ndarray:
        """Return values that enclose all others, without building the list."""
        if spaced := self.linspace or self.logspace:
            return np.array(spaced[: min(2, spaced[2])])
        return np.asarray(self.values or self.bounds or self.log_bounds, float)

    def at(self, fractions: np.ndarray) -> np.ndarray:
        """Return the values at fractions (0 to 1) of the range between the bounds."""
        if self.log_bounds:
            from ...kernels.calls import elementwise  # imports JAX, not needed for reading

            low, high = self.log_bounds
            return low * elementwise.power(high / low, fractions)
        assert self.bounds is not None, "a list has no bounds"
        low, high = self.bounds
        return low + (high - low) * fractions


class Over(OneKey):
    """Values of a parameter in scenarios of equal weight; exactly one key."""

    values: _Numbers | None = _described("the values", "numbers")
    linspace: _Three | None = _described(
        "evenly spaced from the first to the last", "[first, last, count]"
    )
    uniform: _Three | None = _described(
        "midpoints of equal parts of an interval", "[lowest, highest, count]"
    )
    normal: _Three | None = _described(
        "quantiles of a normal distribution", "[mean, standard deviation, count]"
    )

    @pydantic.model_validator(mode="after")
    def _whole_count(self):
        spread = self.linspace or self.uniform or self.normal
        if spread and (spread[2] != int(spread[2]) or not 1 <= spread[2] <= 10_000):
            raise ValueError(f"count = {spread[2]:g} is not a whole number in [1, 10000]")
        return self

    def count(self) -> int:
        """Return the number of listed values."""
        spread = self.linspace or self.uniform or self.normal
        return int(spread[2]) if spread else len(self.values or ())

    def listed(self) -> list[float]:
        """Return the values."""
        if self.values is not None:
            return list(self.values)
        if self.linspace:
            first, last, count = self.linspace
            return np.linspace(first, last, int(count)).tolist()
        first, second, count = self.uniform or self.normal or [0.0, 0.0, 0.0]
        middles = (np.arange(int(count)) + 0.5) / int(count)
        if self.uniform:
            return (first + (second - first) * middles).tolist()
        from scipy.stats import norm

        return (first + second * norm.ppf(middles)).tolist()


def _flat_values(value):
    """Flatten nested tables of values to dotted paths."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, entry in value.items():
        inner = isinstance(entry, dict) and not set(entry) & set(Over.model_fields)
        if inner:
            found |= {f"{key}.{rest}": each for rest, each in _flat_values(entry).items()}
        else:
            found[key] = {"values": entry} if isinstance(entry, list) else entry
    return found


def _few_scenarios(over: dict[str, Over]) -> dict[str, Over]:
    counts = [entry.count() for entry in over.values()]
    number = math.prod(counts)
    if number > MAX_SCENARIOS:
        crossed = " x ".join(map(str, counts))
        raise ValueError(
            f"has {crossed} = {number} scenarios, all combinations of the values; "
            f"allowed: {MAX_SCENARIOS} or fewer"
        )
    return over


# By path; dotted paths may be given as nested tables.
OverByPath = Annotated[
    dict[str, Over],
    pydantic.BeforeValidator(_flat_values),
    pydantic.AfterValidator(_few_scenarios),
]


def scenarios(over: Mapping[str, Over]) -> dict[str, np.ndarray]:
    """Return all combinations of the values of each path, (scenarios,) by path."""
    lists = [entry.listed() for entry in over.values()]
    crossed = np.array(list(itertools.product(*lists)))
    return {path: crossed[:, i] for i, path in enumerate(over)}
