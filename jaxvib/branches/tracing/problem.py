"""Problems whose solutions form branches: the part that is common to every kind.

Orbits of forced systems, equilibria, cycles, and bifurcations in two parameters are
traced (`tracing.trace`), searched for bifurcations (`tracing.location`) and
switched (`branches.switching`) by the same code. A kind of solution is a subclass of
`BranchProblem`, and a kind of bifurcation is a row of its table of test functions
(`tracing.test_functions`).
"""

import abc
import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from ...ensemble import Reason, map_samples
from ...foundation.arrays import combine_arrays, to_jax
from ...systems.parameters import parameter_at
from ..equations.corrector import Corrected, LaneData
from .test_functions import EvaluatedPoints, LocatedZero, TestFunction, past_circle
from .tracer import BranchPoint, Limits, Tracer, TracerContext

# Batch sizes for which correctors are compiled, for a single branch and for many, and
# that of evaluators.
_OF_ONE, _OF_MANY, EVALUATED = 8, 64, 32
# Tolerance factor at bifurcations: they are as accurate as the monodromy matrix.
_TIGHTER = 1e-2
# Multipliers nearer to the circle count as stable: those of undamped motions are noise.
_PAST = 1e-8


class BranchProblem(abc.ABC):
    """A kind of solution that forms branches, with the data of one or many of them.

    The unknowns are scaled; the last ones are the parameters. To add a kind of
    solution, define `tests`, its table of test functions, and `result`.

    **Fields:** `static`: the static part of the systems; `path`: of the parameter;
    `data`: `LaneData` with a leading axis of branches; `corrector`: the function that
    corrects a lane (data, prediction, normal); `evaluator`: that from a lane (data, x)
    to the parameter and the solution; `number`: of branches traced together; `stops`:
    reasons by the kinds at which a branch ends; `resolution`: the scaled distance
    within which folds have the same parameter.
    """

    tests: tuple[TestFunction, ...]
    stops: Mapping[str, Reason]
    parameters: int = 1  # their number
    # Places along a branch at which eigenvalues are computed at least, if they are cheap.
    places: int = 0
    mapped: Callable[..., Any] = staticmethod(map_samples)  # runs a function of one lane

    def __init__(self, static, path: str, data: LaneData, corrector, evaluator):
        self.static, self.path, self.data = static, path, data
        self.corrector, self.evaluator = corrector, evaluator
        self.number = len(data.rtol)
        self.stops = {}
        self.resolution = 0.0

    def eigenvalues(self, solutions: Any) -> np.ndarray:
        """Return the eigenvalues or multipliers of which the test functions are made."""
        return np.asarray(solutions.floquet_multipliers)

    @abc.abstractmethod
    def result(self, find: LocatedZero) -> Any:
        """Return the public result of a located bifurcation or event, or None."""

    def reversals(self, data: LaneData) -> Mapping[Reason, Any]:
        """Return what ends a branch where it reverses, see `TracerContext`."""
        return {}

    def at_end(self, branch: int, tracer: Tracer, code: Reason) -> Any:
        """Return the bifurcation at which a tracer ended, or None."""
        return None

    def size(self, eigenvalues: np.ndarray) -> float:
        """Return the size of eigenvalues, to which distances are relative."""
        return 1.0

    def reliable(self, solutions: Any) -> bool:
        """Return whether the multipliers of solutions are not only noise."""
        return True

    def alike(self, branches: np.ndarray, x: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return whether there are points of the same smooth part of branches at both."""
        return np.ones(len(x), bool)

    def unstable(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return the numbers of unstable eigenvalues or multipliers of points."""
        return (past_circle(eigenvalues) > _PAST).sum(-1)

    def alone(self, branch: int) -> "BranchProblem":
        """Return the problem of a single branch."""
        return self._with(self.lanes(slice(branch, branch + 1)))

    def rescaled(self, units: np.ndarray) -> "BranchProblem":
        """Return the problem in other units, (branches, unknowns)."""
        return self._with(self.data._replace(units=units))

    def _with(self, data: LaneData) -> "BranchProblem":
        other = copy.copy(self)
        other.data = data
        return other

    def seen(
        self, branch: int, points: Sequence[BranchPoint], solutions: Any
    ) -> EvaluatedPoints:
        """Return what the test functions use of a branch's points."""
        x, tangents = (np.array([point[i] for point in points]) for i in (0, 1))
        branches = np.full(len(points), branch)
        found = self.correct(branches, x, tangents, fine=True)
        return EvaluatedPoints.of_corrected(found, self.parameters, lambda: solutions)

    @property
    def unit(self) -> str:
        """The unit of the parameter."""
        first = self.lane(0).leaves
        return parameter_at(combine_arrays(first, self.static), self.path).unit

    @property
    def units(self) -> np.ndarray:
        """The scales of the unknowns, of a single branch."""
        return self.data.units[0]

    def fields(self, traced: Any) -> dict[str, Any]:
        """Return the fields of an `AbstractBranch` from a `tracing.Traced`."""
        return {
            "path": self.path,
            "unit": self.unit,
            "parameter": to_jax(np.asarray(traced.values, float)),
            "predictor_error": to_jax(np.asarray(traced.misses, float)),
            "ends": to_jax(np.asarray(traced.ends, np.int32)),
            "bifurcations": tuple(traced.results),
        }

    def lane(self, branch: int) -> LaneData:
        """Return the data of one branch."""
        return lane_of(self.data, branch)

    def lanes(
        self, branches: np.ndarray | Sequence[int] | slice, fine: bool = False
    ) -> LaneData:
        """Return the data of lanes of the given branches, `fine`: of bifurcations."""
        data = lane_of(self.data, branches)
        if not fine or isinstance(data.tight, tuple):
            return data
        return data._replace(tight=data.tight * _TIGHTER, close=data.tight * _TIGHTER)

    def correct(
        self,
        branches: np.ndarray,
        predicted: np.ndarray,
        normals: np.ndarray,
        fine: bool = False,
    ) -> Corrected:
        """Correct predictions of the given branches, one branch per prediction."""
        chunk = _OF_ONE if self.number == 1 else _OF_MANY
        lanes = self.lanes(branches, fine), predicted, normals
        return self.mapped(self.corrector, lanes, chunk=chunk)

    def correct_of(
        self, branch: int, predicted: np.ndarray, normals: np.ndarray
    ) -> Corrected:
        """Correct predictions of one branch."""
        return self.correct(np.full(len(predicted), branch), predicted, normals)

    def evaluated(
        self, branches: np.ndarray | Sequence[int], x: np.ndarray, fine: bool = False
    ) -> tuple[np.ndarray, Any]:
        """Return the parameter values and solutions at scaled points of branches."""
        lanes = self.lanes(branches, fine), x
        return self.mapped(self.evaluator, lanes, chunk=EVALUATED)

    def context(self, branch: int, limits: Limits) -> TracerContext:
        """Return the shared context of the tracers of one branch."""
        correct = functools.partial(self.correct_of, branch)
        return TracerContext(limits, correct, reversals=self.reversals(self.lane(branch)))


def lane_of(tree: PyTree, lane: int | slice | Sequence[Any] | np.ndarray) -> Any:
    """Return one lane of a tree of arrays, or the lanes of an index."""
    return jax.tree.map(lambda leaf: leaf[lane], tree)
