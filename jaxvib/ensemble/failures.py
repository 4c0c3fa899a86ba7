"""Raises where a single call has no result."""

import types
from collections.abc import Mapping

import numpy as np
from jaxtyping import ArrayLike

from ..foundation.arrays import is_concrete
from ..foundation.types import Integer
from .reasons import Reason, reason

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
