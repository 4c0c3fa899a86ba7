"""Ranges of real numbers. Free of heavy imports."""

import dataclasses
import math
from typing import Any


@dataclasses.dataclass(frozen=True)
class Range:
    """The real numbers between two bounds, each open or closed."""

    above: float = -math.inf
    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf

    def contains(self, values: Any) -> Any:
        """Return which values lie inside: never NaN, infinities only if allowed."""
        lower = (self.above < values) & (self.at_least <= values)
        return lower & (values <= self.at_most) & (values < self.below)

    def __str__(self) -> str:
        closed_left = self.at_least > self.above
        closed_right = self.at_most < self.below
        left = f"[{self.at_least:g}" if closed_left else f"({self.above:g}"
        right = f"{self.at_most:g}]" if closed_right else f"{self.below:g})"
        return f"{left}, {right}"
