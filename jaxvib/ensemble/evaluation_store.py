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


class PrefixedStore:
    """A view of a store in which all keys have a prefix."""

    def __init__(self, store: EvaluationStore, prefix: str):
        self._store, self._prefix = store, prefix

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays stored under a key, or None."""
        return self._store.get(self._prefix + key)

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""
        self._store.put(self._prefix + key, arrays)
