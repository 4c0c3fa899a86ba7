"""First-order optimisation with optax, for one start or thousands of starts at once."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
import scipy  # loads submodules lazily: .special takes 0.1 s

from ...ensemble import Reason, reason
from ...ensemble.checkpoint import EvaluationStore, NoStore
from ...foundation.arrays import stack_lanes
from ..measures.measure import EvaluationLostError, failed
from ..problem import Problem
from ..variables import normalised_of
from .evaluation import Evaluation
from .history import Searched, not_started
from .smoothness import noticed

_INSIDE = 1e-6  # distance of starts from a bound, where u is infinite and never moves


@runtime_checkable
class GradientTransformation(Protocol):
    """An optimiser of optax: its initial state, and the updates of the variables."""

    @property
    def init(self) -> Callable:
        """Return the state of the optimiser for given variables."""

    @property
    def update(self) -> Callable:
        """Return the updates by a gradient, and the new state."""


def descend(
    problem: Problem,
    normalised: np.ndarray,
    optimiser: GradientTransformation,
    steps: int,
    *,
    remember: EvaluationStore | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
) -> list[Searched]:
    """Minimise over the unbounded variables of all starts, (starts, variables).

    A start whose motion is lost is frozen.
    """
    form = problem.form
    remember = NoStore() if remember is None else remember
    inside = np.clip(normalised, _INSIDE, 1 - _INSIDE)
    free = scipy.special.logit(inside)
    try:
        memories, never = _started(problem, inside)
    except EvaluationLostError as lost:
        return [not_started(problem, row, lost) for row in normalised]
    with jax.numpy_dtype_promotion("standard"):  # optax multiplies integers and floats
        state = jax.jit(optimiser.init)(free)
    move = _update_step(optimiser)
    together = form.compiled and len(normalised) > 1
    evaluate = _evaluating(form) if together else _sequential(form)
    each, rows = (0,) * len(form.measures), []
    tree = jax.tree.structure((each, each, 0, 0, memories, 0, 0, 0))
    for number in range(steps + 1):
        stored = remember.get(f"{name}/{number}")
        if stored is None or not np.array_equal(stored[0], free):
            found = evaluate(problem.system, free, memories)
            stored = [np.asarray(leaf) for leaf in jax.tree.leaves((free, found))]
            remember.put(f"{name}/{number}", stored)
        read, slopes, push, objective, memory, codes, margin, contacts = jax.tree.unflatten(
            tree, stored[1:]
        )
        codes = np.where(never[:, None] > 0, never[:, None], codes)
        lost = ~np.isfinite(objective) | ~np.isfinite(push).all(1) | failed(codes)
        rows.append((scipy.special.expit(free), read, slopes, objective, codes, margin,
                     contacts, lost))  # fmt: skip
        memories = jax.tree.map(
            lambda new, old, lost=lost: np.where(
                lost.reshape(-1, *[1] * (new.ndim - 1)), old, new
            ), memory, memories,
        )  # fmt: skip
        with jax.numpy_dtype_promotion("standard"):
            moved, state = move(np.where(lost[:, None], 0.0, push), state, free)
        free = np.where(lost[:, None], free, np.asarray(moved))
        if progress is not None:
            progress(1)
    objective, found, lost = (np.stack([row[i] for row in rows]) for i in (3, 4, 7))
    ends = np.argmin(np.where(lost, np.inf, form.sign * objective), axis=0)
    worst = np.where(found > 0, found, int(Reason.BAD_PARAMETER)).max(axis=(0, 2))
    codes = np.where(lost.all(0), worst, int(Reason.SUCCESS)).tolist()
    return [
        Searched(_History(rows, start), int(ends[start]), code, reason(code))
        for start, code in enumerate(codes)
    ]


def _update_step(optimiser) -> Callable:
    """Return an optimiser step compiled as a whole."""
    import optax  # takes 0.1 s, and only first-order methods use it

    def move(pull, state, free):
        updates, state = optimiser.update(pull, state, free)
        return optax.apply_updates(free, updates), state

    return jax.jit(move)


def _evaluating(form) -> Callable:
    """Return the evaluation of all starts at once."""

    def one(system, free, memories):
        # by the unbounded u; those by the normalised s follow from s' = s (1 - s)
        by_free, (read, beside) = form.slopes(system, free, memories, normalised_of)
        normalised = normalised_of(free)
        slopes = tuple(each / (normalised * (1 - normalised))[None, :] for each in by_free)
        objective, by = jax.value_and_grad(form.objective.combined)(read[0])
        push = form.sign * (by @ by_free[0])
        return read, slopes, push, objective, *beside

    return eqx.filter_jit(jax.vmap(one, (None, 0, 0)))


def _sequential(form) -> Callable:
    def evaluate(system, free, memories):
        rows = []
        for place in range(len(free)):
            normalised = scipy.special.expit(free[place])
            memory = jax.tree.map(lambda leaf, i=place: leaf[i], memories)
            read, slopes, beside = form.evaluate_with_slopes(system, normalised, memory)
            objective, by_numbers = form.pull(read[0])
            by = np.asarray(by_numbers) @ np.asarray(slopes[0])
            push = form.sign * by * normalised * (1 - normalised)
            rows.append((read, slopes, push, objective, *beside))
        return stack_lanes(rows)

    return evaluate


def _started(problem, normalised):
    """Return the memories of all starts, and the reason codes of the failed ones."""
    found, never = [], np.zeros(len(normalised), int)
    why = None
    for place, row in enumerate(normalised):
        try:
            found.append(problem.form.start(problem.designed(row)))
        except EvaluationLostError as lost:
            found.append(None)
            never[place], why = lost.code, why or lost
        if found[-1] is not None and not jax.tree.leaves(found[-1]):
            # Only motions have memories; an empty one is the same for all starts.
            found = found[-1:] * len(normalised)
            break
    some = next((each for each in found if each is not None), None)
    if some is None and why is not None:
        raise why
    memories = [some if each is None else each for each in found]
    return stack_lanes(memories), never


class _History(Sequence[Evaluation]):
    """The evaluations of one start, of the rows of all starts as they are asked for."""

    def __init__(self, rows: list[tuple], start: int):
        self._rows, self._start = rows, start

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, step: Any) -> Any:
        normalised, read, slopes, value, codes, margin, contacts, lost = self._own(step)
        before = self._own(step - 1)[6] if step else None
        failing = int(np.max(codes)) or int(Reason.BAD_PARAMETER)
        return Evaluation(
            normalised, np.nan if lost else float(value), read[0], read[1:], slopes[0],
            slopes[1:], failing if lost else 0, noticed(margin, contacts, before),
        )  # fmt: skip

    def _own(self, step: int) -> tuple:
        return jax.tree.map(lambda leaf: leaf[self._start], self._rows[step])
