"""Searches for the ends and interior points of a Pareto front."""

import dataclasses
import itertools

import numpy as np

from ...ensemble import Reason, reason
from ..measures.measure import EvaluationLostError
from ..optimise import searched
from ..problem import Problem
from ..settings import SearchSettings
from .evaluation import Evaluation, Evaluator, Scalarisation
from .history import Searched

_SUMS = (1e-3, 1e-6)  # weight of the sum of objectives: first for ends, then for all
_AHEAD = 1e-8  # relative improvement of a scalarisation that triggers a new search
_ROUGH = 1e-8  # tolerance of an end that is refined later
_TOGETHER = 1e-4  # distance, relative to the ranges, below which points coincide
_MOST_ROWS = 500  # largest number of combinations of numbers
_ROUNDS = 3  # of repeated searches from better points


def worst_numbers(evaluation: Evaluation) -> np.ndarray:
    """Return the largest (minimised) number of each objective, (objectives,)."""
    return np.array([np.max(numbers) for numbers in evaluation.goals])


class FrontSearch:
    """The searches for one front, with all evaluators. `how`: method and settings."""

    def __init__(
        self,
        problem: Problem,
        how: tuple[str, SearchSettings],
        remember,
        name: str,
        progress,
    ):
        self._problem, self._form, self._how = problem, problem.form, how
        self._remember, self._name, self._progress = remember, name, progress
        self._evaluators: list[Evaluator] = []

    @property
    def evaluations(self) -> int:
        """The number of evaluations of all searches."""
        return sum(len(each.history) for each in self._evaluators)

    def ends(self, rows: np.ndarray) -> list[Searched]:
        """Return the best design for each objective, from starts (starts, variables).

        **Raises:** `EvaluationLostError` if no start has objectives or no design is
        feasible.
        """
        begun = self._started(rows)
        goals = range(len(self._form.goals))
        ends = [
            self._best(i, [self._single_objective(i, one) for one in begun]) for i in goals
        ]
        for i in goals:  # retry from the ends of the other objectives
            if not ends[i].usable(self._form):
                others = [one for one in ends if one.usable(self._form)]
                ends[i] = self._best(
                    i, [ends[i], *(self._single_objective(i, one) for one in others)]
                )
        ends = [self._or_best_seen(i, one) for i, one in enumerate(ends)]
        for weight in _SUMS:
            best, spread = _ranges(ends)
            for i in goals:
                scalarisation = self._scalarisation(
                    best, spread, np.zeros(len(ends)), weight, chosen=i
                )
                one = self._searched(scalarisation, ends[i])
                if one.usable(self._form):
                    code = ends[i].code if Reason(ends[i].code).failed else one.code
                    ends[i] = one._replace(code=one.code if weight == _SUMS[-1] else code)
        return ends

    def between(
        self, ends: list[Searched], number: int
    ) -> tuple[np.ndarray, list[Searched]]:
        """Return the weights of the ends, (points, objectives), and the points."""
        best, spread = _ranges(ends)
        corners = (np.stack([worst_numbers(one.final) for one in ends]) - best) / spread
        weights = simplex_lattice(len(ends), number)
        scalarisations = [
            self._scalarisation(best, spread, reference, _SUMS[-1])
            for reference in weights @ corners
        ]
        found: dict[int, Searched] = {}
        for place, nearest in _order(weights):
            near = found[nearest] if nearest in found else ends[weights[place].argmax()]
            found[place] = self._searched(scalarisations[place], near)
        points = self._separate_coinciding(
            [found[i] for i in range(len(scalarisations))], scalarisations, weights, ends
        )
        return weights, self._repeat_improvable(points, scalarisations)

    def _separate_coinciding(
        self, found: list[Searched], scalarisations, weights, ends
    ) -> list[Searched]:
        """Repeat the search of coinciding points from interpolated starts.

        A search can get stuck where all derivatives along a front vanish.
        """
        _, spread = _ranges(ends)
        corners = np.stack([one.final.normalised for one in ends])
        values = np.stack([worst_numbers(one.final) for one in found]) / spread
        for p, one in enumerate(found):
            near = np.abs(values - values[p]).max(axis=1) < _TOGETHER
            if near.sum() > 1 and weights[p].max() < 1.0:
                again = self._searched(scalarisations[p], one, weights[p] @ corners)
                if again.usable(self._form) and again.final.objective < np.max(
                    scalarisations[p].numbers(one.final.goals)
                ):
                    found[p] = again
        return found

    def _repeat_improvable(
        self, found: list[Searched], scalarisations: list[Scalarisation]
    ) -> list[Searched]:
        """Repeat the search of points whose scalarisation is smaller at another point."""
        for _ in range(_ROUNDS):
            reached = np.full((len(found),) * 2, np.inf)
            for (p, scalarisation), (q, one) in itertools.product(
                enumerate(scalarisations), enumerate(found)
            ):
                if one.usable(self._form):
                    reached[p, q] = np.max(scalarisation.numbers(one.final.goals))
            own, best = np.diagonal(reached), reached.argmin(axis=1)
            behind = [p for p, q in enumerate(best) if reached[p, q] < own[p] - _AHEAD]
            for p in behind:
                one = self._searched(scalarisations[p], found[best[p]])
                if one.usable(self._form) and one.final.objective < own[p]:
                    found[p] = one
            if not behind:
                break
        return found

    def _started(self, rows) -> list[Searched]:
        found, why = [], ""
        for row in rows:
            evaluator = self._evaluator(row)
            try:
                one = evaluator(row)
            except EvaluationLostError as lost:
                why = why or str(lost)
                continue
            if one.code:
                why = why or reason(one.code)
            else:
                found.append(Searched([one], 0, 0, evaluator=evaluator))
        if not found:
            which = "the initial system has no" if len(rows) == 1 else "no start has"
            words = f"{which} objectives: {why}"
            raise EvaluationLostError(Reason.BAD_PARAMETER, words)
        return found

    def _single_objective(self, goal: int, begun: Searched) -> Searched:
        """Optimise one objective alone, scaled by its value and largest derivative."""
        value, own = worst_numbers(begun.final), begun.final
        size = np.abs(value)
        places = np.cumsum([0, *map(len, own.goals)])
        # Only the slopes of a start cover all objectives.
        if own.slopes is not None and len(own.slopes) == places[-1]:
            steep = np.abs(own.slopes[places[goal] : places[goal + 1]]).max()
            size = np.maximum(size, steep)
        size = np.where(size > 0, size, 1.0)
        scalarisation = self._scalarisation(value, size, np.zeros(len(value)), 0.0, goal)
        return self._searched(scalarisation, begun, roughly=True)

    def _best(self, goal: int, tried: list[Searched]) -> Searched:
        """Return the feasible result with the best objective, or the first result."""
        usable = [one for one in tried if one.usable(self._form)]
        return min(usable, key=lambda one: worst_numbers(one.final)[goal], default=tried[0])

    def _or_best_seen(self, goal: int, found: Searched) -> Searched:
        """Return `found` if usable, otherwise the best evaluation of any search."""
        if found.usable(self._form):
            return found
        seen = [
            Searched(each.history, step, found.code, evaluator=each)
            for each in self._evaluators
            for step in range(len(each.history))
        ]
        best = self._best(goal, seen)
        if not best.usable(self._form):
            words = f"no design satisfies all limits: {reason(found.code)}"
            raise EvaluationLostError(found.code, words)
        return best

    def _searched(
        self, scalarisation: Scalarisation, near: Searched, normalised=None, roughly=False
    ) -> Searched:
        """Minimise a scalarisation from a nearby design (or point) and its motion."""
        normalised = near.final.normalised if normalised is None else normalised
        evaluator = self._evaluator(normalised, scalarisation, near.evaluator)
        method, settings = self._how
        if roughly:
            rough = max(settings.tolerance, _ROUGH)
            settings = dataclasses.replace(settings, tolerance=rough)
        return searched(evaluator, normalised, method, settings)

    def _evaluator(self, normalised, scalarisation=None, after=None) -> Evaluator:
        evaluator = Evaluator(
            self._problem,
            normalised,
            remember=self._remember,
            progress=self._progress,
            name=f"{self._name}/{len(self._evaluators)}",
            scalarisation=scalarisation,
            after=after,
        )
        self._evaluators.append(evaluator)
        return evaluator

    def _scalarisation(
        self, best, spread, reference, weight: float, chosen=None
    ) -> Scalarisation:
        r"""Return $\bar f_i - r_i + s \sum \bar f_j + 2$ for one goal or all.

        The 2 avoids a division by 0 in methods that divide by the initial value. For
        one goal, the sum takes all combinations of its numbers with those of the other
        goals (the largest counts); for all goals, the means of the others suffice.
        """
        counts = self._goal_sizes()
        sizes = np.repeat(1 / spread, counts)
        offsets = 2 - best / spread - reference - weight * np.sum(best / spread)
        if chosen is None:
            rows = np.diag(sizes) + weight * sizes / np.repeat(counts, counts)
            return Scalarisation(rows, np.repeat(offsets, counts))
        own = np.repeat(np.arange(len(counts)) == chosen, counts)
        rows = np.diag(sizes)[own]
        if weight and np.prod(counts) <= _MOST_ROWS:
            places = np.cumsum([0, *counts[:-1]])
            picked = np.array(list(itertools.product(*map(range, counts)))) + places
            rows = np.zeros((len(picked), len(sizes)))
            np.put_along_axis(rows, picked, weight, axis=1)
            rows = sizes * (rows + (rows > 0) * own)
        elif weight:
            rows = rows + weight * sizes / np.repeat(counts, counts)
        return Scalarisation(rows, np.full(len(rows), offsets[chosen]))

    def _goal_sizes(self) -> np.ndarray:
        """Return the number of values of each objective, (objectives,)."""
        first = next(each.history[0] for each in self._evaluators if each.history)
        return np.array([len(numbers) for numbers in first.goals])


def _ranges(ends: list[Searched]) -> tuple[np.ndarray, np.ndarray]:
    """Return the best value of each objective at the ends, and its range."""
    corners = np.stack([worst_numbers(one.final) for one in ends])
    size = np.abs(corners).max(axis=0)
    spread = np.ptp(corners, axis=0)
    # objectives that do not conflict have no range: their points coincide
    spread = np.where(spread > 1e-9 * size, spread, np.where(size > 0, size, 1.0))
    return corners.min(axis=0), spread


def simplex_lattice(goals: int, number: int) -> np.ndarray:
    """Return the finest uniform grid of at most `number` weights, (points, objectives).

    >>> jv.design.simplex_lattice(2, 3).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    found = np.eye(goals)
    for parts in itertools.count(1):
        bars = np.array(list(itertools.combinations(range(parts + goals - 1), goals - 1)))
        if len(bars) > number:
            return found
        edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=-1)
        edges[:, -1] = parts + goals - 1
        found = ((np.diff(edges, axis=1) - 1) / parts)[::-1]
    return found


def _order(weights: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs (point, nearest earlier point) in search order; -1 for the ends."""
    apart = np.sum((weights[:, None] - weights[None]) ** 2, axis=2)
    order = [(int(i), -1) for i in np.flatnonzero(weights.max(axis=1) == 1.0)]
    there = [i for i, _ in order]
    left = [i for i in range(len(weights)) if i not in there]
    while left:
        near = apart[np.ix_(left, there)]
        row, column = np.unravel_index(near.argmin(), near.shape)
        order.append((left[row], there[column]))
        there.append(left.pop(row))
    return order
