"""Stores of intermediate results, from which an interrupted search resumes."""

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class EvaluationStore(Protocol):
    """A store of intermediate results, from which an interrupted search resumes."""

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays stored under a key, or None."""

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""


class NoStore:
    """A store that keeps nothing."""

    def get(self, key: str) -> None:
        """Return None."""

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Do nothing."""
