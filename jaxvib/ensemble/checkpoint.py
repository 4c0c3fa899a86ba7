"""Resumes an interrupted run from stored evaluations, bit for bit.

A study that is stored at its end is a sequence of maps and single evaluations, each
depending on earlier ones. Run again from its start inside `checkpointing`, it loads the
evaluations that were stored, and computes the rest.
"""

import contextlib
import contextvars
import itertools
import threading
import zlib
from collections.abc import Callable, Generator
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

# Bytes, a small part of a study's memory: evaluations beyond that are not stored, and
# are computed again on resumption.
_MOST = 1 << 30


@runtime_checkable
class EvaluationStore(Protocol):
    """A store of intermediate results, from which an interrupted search resumes."""

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays stored under a key, or None."""
        return None

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""
        return


class NoStore(EvaluationStore):
    """A store that keeps nothing."""


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


class Checkpoint:
    """A memory, and a counter that numbers the evaluations."""

    def __init__(self, memory: EvaluationStore):
        self._memory = memory
        self._lock = threading.Lock()
        self._calls = itertools.count()
        self._bytes = 0

    def begin(self) -> str:
        """Return the name of the next evaluation; call in a fixed order."""
        return str(next(self._calls))

    def key(self, name: str, *given: PyTree) -> str:
        """Return the key of an evaluation by its name and arguments."""
        digest = 0
        for leaf in jax.tree.leaves(eqx.filter(given, eqx.is_array_like)):
            digest = zlib.crc32(np.asarray(leaf).tobytes(), digest)
        return f"{name}/{digest:08x}"

    def get(self, key: str, structure: Callable[[], Any]) -> Any:
        """Return the pytree of this structure stored under a key, or `None`."""
        stored = self._memory.get(key)
        return None if stored is None else jax.tree.unflatten(structure(), stored)

    def put(self, key: str, found: Any) -> None:
        """Store a pytree of arrays under a key, up to the size limit."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(found)]
        with self._lock:
            self._bytes += sum(leaf.nbytes for leaf in leaves)
            if self._bytes <= _MOST:
                self._memory.put(key, leaves)

    def evaluate(
        self, name: str, function: Callable, *given: PyTree, structure: Callable[[], Any]
    ) -> Any:
        """Return `function(*given)` as NumPy arrays, from the memory if stored."""
        key = self.key(name, *given)
        found = self.get(key, structure)
        if found is None:
            found = jax.tree.map(np.asarray, function(*given))
            self.put(key, found)
        return found


def _structure(function: Callable, given):
    numbers, others = eqx.partition(given, eqx.is_array_like)

    def traced(numbers):
        return function(*eqx.combine(numbers, others))

    return jax.tree.structure(jax.eval_shape(traced, numbers))


_current: contextvars.ContextVar[Checkpoint | None] = contextvars.ContextVar(
    "checkpoint", default=None
)


@contextlib.contextmanager
def checkpointing(memory: EvaluationStore) -> Generator[None]:
    """Store every evaluation of the maps inside, and reuse those already stored.

    >>> callable(jv.ensemble.checkpointing)
    True
    """
    token = _current.set(Checkpoint(memory))
    try:
        yield
    finally:
        _current.reset(token)


def current_checkpoint() -> Checkpoint | None:
    """Return the checkpoint of this thread, if any."""
    return _current.get()


def checkpointed(
    function: Callable, *given: PyTree, structure: Callable[[], Any] | None = None
) -> Any:
    """Return `function(*given)`, a pytree of arrays, or its stored value.

    `structure`: that of the result, for a function that cannot be traced.

    >>> float(jv.ensemble.checkpointed(jnp.sin, 0.0))
    0.0
    """
    recall = _current.get()
    if recall is None:
        return function(*given)

    def known():
        return _structure(function, given) if structure is None else structure

    return recall.evaluate(recall.begin(), function, *given, structure=known)
