"""LAPACK for large NumPy matrices, with NaN where it fails or would not return."""

from collections.abc import Callable
from typing import Any

import numpy as np


def by_lapack(function: Callable, *matrices: np.ndarray) -> Any:
    """Apply a function of `numpy.linalg` to matrices or stacks of them.

    Singular or non-finite matrices give NaN, without affecting others of the stack.
    """
    finite = np.ones((), bool)
    for matrix in matrices:
        finite = finite & np.isfinite(matrix).all(axis=(-2, -1))
    lanes = finite.shape
    whole = [np.broadcast_to(m, (*lanes, *np.shape(m)[-2:])) for m in matrices]
    safe = np.where(finite[..., None, None], whole[0], np.eye(*whole[0].shape[-2:]))
    found = _nan_where_it_fails(function, safe, *whole[1:])
    return _map_results(lambda part: _where(finite, part), found)


def _nan_where_it_fails(function: Callable, *matrices):
    with np.errstate(all="ignore"):
        try:
            return function(*matrices)
        except np.linalg.LinAlgError:
            if matrices[0].ndim == 2:
                identity = np.eye(*matrices[0].shape)
                known = function(identity, *matrices[1:])
                return _map_results(lambda part: np.full_like(part, np.nan), known)
    rows = [_nan_where_it_fails(function, *row) for row in zip(*matrices, strict=True)]
    if isinstance(rows[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*rows, strict=True))
    return np.stack(rows)


def _where(finite, part):
    more = (None,) * (np.ndim(part) - finite.ndim)
    return np.where(finite[(..., *more)], part, np.nan)


def _map_results(function: Callable, found):
    return tuple(map(function, found)) if isinstance(found, tuple) else function(found)
