"""Sequential evaluation of a problem, each point warm-started from the previous one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ...ensemble import Reason
from ...ensemble.checkpoint import EvaluationStore, NoStore
from ...foundation.arrays import to_jax
from ..measures.measure import EvaluationLostError, failed
from ..problem import Problem
from .smoothness import Notice, noticed


class Evaluation(NamedTuple):
    """A problem evaluated at one point: values, derivatives and status.

    `slopes`, `limit_slopes`: derivatives with respect to the normalised variables (None
    if not computed); `goals`: the numbers of each objective, before a `Scalarisation`
    combines them into `numbers`.
    """

    normalised: np.ndarray
    objective: float
    numbers: np.ndarray
    limits: tuple[np.ndarray, ...]
    slopes: np.ndarray | None
    limit_slopes: tuple[np.ndarray, ...] | None
    code: int
    notice: Notice
    goals: tuple[np.ndarray, ...] = ()


class Scalarisation(NamedTuple):
    """An affine scalarisation of several objectives.

    $n = R g + s$, where $g$ are the concatenated numbers of all objectives and $n$ the
    numbers to be minimised.
    """

    rows: np.ndarray
    shift: np.ndarray

    def numbers(self, goals: Sequence[np.ndarray]) -> np.ndarray:
        """Return the scalarised numbers from those of each objective."""
        return self.rows @ np.concatenate(goals) + self.shift

    def slopes(self, goals: Sequence[np.ndarray]) -> np.ndarray:
        """Return their derivatives, (numbers, variables), from the objectives' ones."""
        return self.rows @ np.concatenate(goals)


class Evaluator:
    """Evaluates a problem and appends each evaluation to `history`.

    If a motion is lost, it is searched again from the start. Evaluations stored in
    `remember` under the same index and variables are reused bit for bit. `scalarisation`:
    of several objectives; `after`: an evaluator whose last motion warm-starts this one.
    **Raises:** `EvaluationLostError` if there is no initial motion.
    """

    def __init__(
        self,
        problem: Problem,
        normalised: np.ndarray,
        *,
        remember: EvaluationStore | None = None,
        name: str = "",
        progress: Callable[[int], None] | None = None,
        scalarisation: Scalarisation | None = None,
        after: "Evaluator | None" = None,
    ):
        self.problem = problem
        self.history: list[Evaluation] = []
        self._system = problem.designed(normalised)
        self._remember = NoStore() if remember is None else remember
        self._name = name
        self._progress = progress
        self._scalarisation = scalarisation
        self._memories: Any = None if after is None else after._memories
        self._contacts: np.ndarray | None = None if after is None else after._contacts

    def __call__(self, normalised: np.ndarray, slopes: bool = True) -> Evaluation:
        """Evaluate the problem at normalised variables, optionally with derivatives."""
        normalised = np.array(normalised, float)
        for seen in self.history[-2:]:
            same = np.array_equal(seen.normalised, normalised)
            if same and (seen.slopes is not None or not slopes):
                return seen
        key = f"{self._name}/{len(self.history)}"
        stored = self._remember.get(key)
        if stored is None or not np.array_equal(stored[0], normalised):
            stored = [normalised, *self._computed(normalised, slopes)]
            self._remember.put(key, stored)
        evaluation = self._read(stored, slopes)
        self.history.append(evaluation)
        if self._progress is not None:
            self._progress(1)
        return evaluation

    def _computed(self, normalised, slopes) -> list[np.ndarray]:
        form = self.problem.form
        if self._memories is None:
            self._memories = form.start(self._system)
        function = form.evaluate_with_slopes if slopes else form.evaluate
        found = function(self.problem.system, to_jax(normalised), self._memories)
        if failed(found[-1][1]):
            found = self._retried(function, normalised, found)
        memories, codes, margin, contacts = found[-1]
        if not failed(codes):
            self._memories = memories
        flat = [np.asarray(leaf) for leaf in jax.tree.leaves(found[:-1])]
        memory = [np.asarray(leaf) for leaf in jax.tree.leaves(self._memories)]
        return [np.asarray(codes), np.asarray(margin), np.asarray(contacts), *flat, *memory]

    def _retried(self, function, normalised, found):
        form = self.problem.form
        try:
            memories = form.start(self.problem.designed(normalised))
        except EvaluationLostError:
            return found
        return function(self.problem.system, to_jax(normalised), memories)

    def _read(self, stored, slopes) -> Evaluation:
        form = self.problem.form
        normalised, codes, margin, contacts, *rest = stored
        number = len(form.measures)
        read = rest[:number]
        by = rest[number : 2 * number] if slopes else None
        after = rest[(2 if slopes else 1) * number :]
        if self._memories is None and after:
            # all evaluations were stored: a start is needed only for the tree structure
            self._memories = form.start(self._system)
        tree = jax.tree.structure(self._memories)
        self._memories = to_jax(jax.tree.unflatten(tree, after))
        last = number - len(form.limits)
        goals = read[:last]
        push = None if by is None else np.concatenate(by[:last])
        numbers = np.concatenate(goals)
        if self._scalarisation is not None:
            numbers = self._scalarisation.numbers(goals)
            push = None if by is None else self._scalarisation.slopes(by[:last])
        value, by_numbers = form.pull(numbers)
        objective = float(value)
        code = next((int(c) for c in codes if Reason(int(c)).failed), 0)
        finite = np.isfinite(objective) and all(np.isfinite(each).all() for each in read)
        if push is not None:
            finite = finite and np.isfinite(np.asarray(by_numbers) @ push).all()
        if not code and not finite:
            # Reasons of branches are no failures of motions.
            code = int(np.max(codes, initial=0)) or int(Reason.BAD_PARAMETER)
        notice_code = noticed(margin, contacts, self._contacts)
        if code:
            notice_code = Notice.LOST
        else:
            self._contacts = contacts
        return Evaluation(
            normalised, objective, numbers, tuple(read[last:]), push,
            None if by is None else tuple(by[last:]), code, notice_code, tuple(goals),
        )  # fmt: skip
