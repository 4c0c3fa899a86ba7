"""Base class for tracing and evaluating branches of equilibria and cycles."""

import abc
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import map_samples
from ..foundation.arrays import combine_arrays
from ..systems.parameters import unit_at
from .arclength import batched_corrector, correct_some, run_tracers
from .tracer import BranchPoint, Limits


class Followed(NamedTuple):
    """A traced branch: points, end codes, parameter values, solutions."""

    points: list[BranchPoint]
    ends: tuple
    values: np.ndarray
    found: Any


class SmoothFrame(abc.ABC):
    """Shared data of one branch.

    To add a kind of branch, define `corrector` and `evaluator`.

    **Fields:** `static`: the static part of the system; `path` of the parameter;
    `problem`: leaves and `units` of the unknowns, the parameter last.
    """

    def __init__(self, static, path: str, problem):
        self.static, self.path, self.problem = static, path, problem
        self.problems = jax.tree.map(lambda leaf: np.asarray(leaf)[None], problem)
        self.lanes = batched_corrector(self.corrector(), 1)
        self.correct = functools.partial(correct_some, self.lanes, problem)

    @abc.abstractmethod
    def corrector(self):
        """Return the function that corrects a lane (problem, prediction, normal)."""

    @abc.abstractmethod
    def evaluator(self):
        """Return the function from a lane (problem, x) to parameter and solution."""

    def evaluated(self, x: np.ndarray):
        """Return the parameter values and solutions at scaled points."""
        lanes = jax.tree.map(lambda leaf: np.stack([leaf] * len(x)), self.problem)
        return map_samples(self.evaluator(), (lanes, x), chunk=32)

    def followed(self, pair, limits: Limits, report) -> Followed:
        """Return the branch traced by a pair of tracers, with all points evaluated."""
        most = limits.most_points
        points, ends = run_tracers(self.lanes, self.problems, [pair], most, report)[0]
        values, found = self.evaluated(np.array([point.x for point in points]))
        # Restore exact bounds, which scaling has rounded.
        for bound in limits.bounds[0]:
            there = np.array([point.x[-1] == bound for point in points])
            values[there] = bound * self.problem.units[-1]
        return Followed(points, ends, values, found)

    def along(self, followed: Followed, located) -> dict[str, Any]:
        """Return the fields of `AbstractBranch`; None in `located` is dropped."""
        system = combine_arrays(self.problem.leaves, self.static)
        return {
            "path": self.path,
            "unit": unit_at(system, self.path),
            "parameter": jnp.asarray(followed.values),
            "predictor_error": jnp.asarray([p.miss for p in followed.points], float),
            "ends": jnp.asarray(followed.ends, jnp.int32),
            "bifurcations": tuple(point for point in located if point is not None),
        }
