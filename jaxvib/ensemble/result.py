"""Base class of results: a reason code and a text representation."""

import abc

import jax
import numpy as np
from equinox import AbstractVar
from jaxtyping import Array, Int

from ..foundation.notebook_repr import NotebookRepr
from .reasons import reason


class Result(NotebookRepr):
    """The result of one sample, or of a batch of samples.

    Subclasses declare their fields by `result_field`, `result` among them, and `_lines`.
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
        """Return whether a failed result has no numbers to print."""
        return True

    @abc.abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines of the text of a single sample."""
