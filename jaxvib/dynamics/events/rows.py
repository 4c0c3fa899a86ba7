"""Vectors as lists of scalars: combinations and choices, entry by entry."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp


def dot(row: Sequence, vector: Sequence) -> Any:
    """Return the scalar product."""
    return sum(a * b for a, b in zip(row, vector, strict=True))


def minus(vector: Sequence, row: Sequence, factor: Any) -> list:
    """Return a vector minus a row times a factor."""
    return [x - r * factor for x, r in zip(vector, row, strict=True)]


def extend(rows: Sequence[list], terms: Sequence) -> None:
    """Append a term to each row."""
    for row, term in zip(rows, terms, strict=True):
        row.append(term)


def where(flags: Any, values: Sequence, others: Sequence) -> list:
    """Return the values where flags, a list or one for all, are set, else the others."""
    flags = flags if isinstance(flags, list) else [flags] * len(values)
    return [jnp.where(*each) for each in zip(flags, values, others, strict=True)]
