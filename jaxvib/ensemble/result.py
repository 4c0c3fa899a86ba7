"""Base class of results: a reason code and a text representation."""

import abc
import types
from collections.abc import Mapping

import jax
import numpy as np
from equinox import AbstractVar
from jaxtyping import Array, ArrayLike, Int

from ..drawing.plottable import Plottable
from ..foundation.arrays import is_concrete
from ..foundation.types import Integer
from .reasons import Reason, reason


class Result(Plottable):
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


_NO_ADVICE: Mapping[Reason, str] = types.MappingProxyType({})


def raise_if_empty(
    verb: str,
    throw: bool,
    code: Integer,
    *answer: ArrayLike,
    advice: Mapping[Reason, str] = _NO_ADVICE,
) -> None:
    """Raise `RuntimeError` if a single call has no result but its reason code.

    `advice`: what to do, by reason.

    The rule of all functions with `throw=True`. **Raises:** `RuntimeError` for a single
    call, with concrete values, whose result has no finite number. Batches and calls
    under `jit`, `vmap` and differentiation keep their codes and NaN instead.

    >>> jv.ensemble.raise_if_empty("simulate", True, 0, jnp.ones(2))
    """
    known = is_concrete(code, *answer)
    if not throw or not known or np.ndim(code) or int(code) == Reason.SUCCESS:
        return
    if not any(np.isfinite(np.asarray(part)).any() for part in answer):
        what = advice.get(Reason(int(code)), "throw=False gives NaN instead")
        raise RuntimeError(f"{verb}: {reason(code)}; {what}")
