"""What results have in common: a reason code, and how they print themselves."""

import abc

import jax
import numpy as np
from equinox import AbstractVar
from jaxtyping import Array, Int

from .._shown import Shown
from .reasons import reason


class Result(Shown):
    """What was found of one sample, or of a batch of them.

    To add one, declare its fields by `reported`, `result` among them, and write `_lines`.
    """

    result: AbstractVar[Int[Array, ""]]

    def __repr__(self) -> str:
        name = self._title()
        if np.ndim(self.result) != 0 or isinstance(self.result, jax.core.Tracer):
            return f"{name} of shape {np.shape(self.result)}"
        if int(self.result) and self._empty():
            return f"{name}: none found ({reason(self.result)})"
        return "\n".join(self._lines())

    def _title(self) -> str:
        return type(self).__name__

    def _empty(self) -> bool:
        """Return whether one that has failed has no numbers to print."""
        return True

    @abc.abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines that one of a single sample prints."""
