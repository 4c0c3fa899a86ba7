"""One problem looked at point after point, each from the memory of the one before."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason
from .problem import Problem, slopes_of_objective
from .smoothness import Notice, noticed


class Evaluation(NamedTuple):
    """A problem at one point: numbers, derivatives by the shares, and how it went."""

    shares: np.ndarray
    objective: float
    numbers: np.ndarray
    limits: tuple[np.ndarray, ...]
    slopes: np.ndarray | None
    limit_slopes: tuple[np.ndarray, ...] | None
    code: int
    notice: Notice


@runtime_checkable
class Remember(Protocol):
    """Where results of long calculations are kept, to go on from after a stop."""

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return what is kept under a key."""

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Keep arrays under a key."""


class Nothing:
    """Keeps nothing."""

    def get(self, key: str) -> None:
        """Return that there is nothing."""

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Do nothing."""


class Evaluator:
    """Evaluates a problem and keeps all evaluations, in their order, as `course`.

    A motion that is lost is looked for once more from the start. What `remember` holds
    under the same number and shares is taken from there, to the bit.
    """

    def __init__(
        self,
        problem: Problem,
        shares: np.ndarray,
        *,
        remember: Remember | None = None,
        name: str = "",
        progress: Callable[[int], None] | None = None,
    ):
        self.problem = problem
        self.course: list[Evaluation] = []
        self._system = problem.designed(shares)
        self._remember = Nothing() if remember is None else remember
        self._name = name
        self._progress = progress
        self._memories: Any = None
        self._contacts: np.ndarray | None = None

    def __call__(self, shares: np.ndarray, slopes: bool = True) -> Evaluation:
        """Return the evaluation at shares, with derivatives or without."""
        shares = np.array(shares, float)
        for seen in self.course[-2:]:
            same = np.array_equal(seen.shares, shares)
            if same and (seen.slopes is not None or not slopes):
                return seen
        key = f"{self._name}/{len(self.course)}"
        kept = self._remember.get(key)
        if kept is None or not np.array_equal(kept[0], shares):
            kept = [shares, *self._computed(shares, slopes)]
            self._remember.put(key, kept)
        evaluation = self._read(kept, slopes)
        self.course.append(evaluation)
        if self._progress is not None:
            self._progress(1)
        return evaluation

    def _computed(self, shares, slopes) -> list[np.ndarray]:
        form = self.problem.form
        if self._memories is None:
            self._memories = form.start(self._system)
        function = form.look_with_slopes if slopes else form.look
        found = function(self.problem.system, jnp.asarray(shares), self._memories)
        if _failed(found[-1][1]):
            memories = form.start(self.problem.designed(shares))
            found = function(self.problem.system, jnp.asarray(shares), memories)
        memories, codes, margin, contacts = found[-1]
        if not _failed(codes):
            self._memories = memories
        flat = [np.asarray(leaf) for leaf in jax.tree.leaves(found[:-1])]
        memory = [np.asarray(leaf) for leaf in jax.tree.leaves(self._memories)]
        return [np.asarray(codes), np.asarray(margin), np.asarray(contacts), *flat, *memory]

    def _read(self, kept, slopes) -> Evaluation:
        form = self.problem.form
        shares, codes, margin, contacts, *rest = kept
        number = len(form.measures)
        read = rest[:number]
        by = rest[number : 2 * number] if slopes else None
        after = rest[(2 if slopes else 1) * number :]
        if self._memories is None and after:
            # the structure alone is taken from a start that is not needed otherwise
            self._memories = form.start(self._system)
        tree = jax.tree.structure(self._memories)
        self._memories = jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in after])
        numbers = read[0]
        objective = float(form.combined(jnp.asarray(numbers)))
        code = next((int(c) for c in codes if Reason(int(c)).failed), 0)
        derivatives = None if by is None else slopes_of_objective(form, numbers, by[0])
        finite = np.isfinite(objective) and all(np.isfinite(each).all() for each in read)
        if derivatives is not None:
            finite = finite and np.isfinite(derivatives).all()
        if not code and not finite:
            code = int(Reason.BAD_PARAMETER)
        said = noticed(margin, contacts, self._contacts)
        if not code:
            self._contacts = contacts
        return Evaluation(
            shares, objective, numbers, tuple(read[1:]), None if by is None else by[0],
            None if by is None else tuple(by[1:]), code, said,
        )  # fmt: skip


def _failed(codes) -> bool:
    return any(Reason(int(code)).failed for code in np.ravel(codes))
