"""Checked against: folds of curves, and damped modes, in closed form."""

import numpy as np
import pytest

from jaxvib.branches.equations.corrector import Corrected, LaneData
from jaxvib.branches.tracing.location import locate
from jaxvib.branches.tracing.problem import BranchProblem
from jaxvib.branches.tracing.test_functions import (
    OF_MULTIPLIERS,
    EvaluatedPoints,
    branch_point,
    fold,
    sign_changes,
)
from jaxvib.branches.tracing.tracer import BranchPoint


class Flat(BranchProblem):
    """Points of the curve; a solution is its eigenvalues, all at 0.5."""

    tests = (
        fold(1.0)._replace(tolerance=np.inf),
        branch_point(1.0, lambda eigenvalues: 1 - eigenvalues),
    )

    def __init__(self, turns_back):
        super().__init__(
            None, "", LaneData((), np.ones((1, 2)), np.ones(1), ()), None, None
        )
        self.turns_back, self.resolution = turns_back, 1e-8

    def correct(self, branches, predicted, normals, fine=False):
        return corrected(predicted, self.turns_back)

    def evaluated(self, branches, x, fine=False):
        return x[:, -1], np.full((len(x), 1), 0.5)

    def eigenvalues(self, solutions):
        return solutions

    def result(self, find):
        return find


def curve(s, turns_back: bool):
    """Return parameter and slope: down, flat but for rounding, and up again or not."""
    value = np.maximum(-s, 0.0) + turns_back * np.maximum(s - 1, 0.0)
    slope = np.where(s < 0, -1.0, 1e-11 * np.sin(40 * s))
    return value, np.where(turns_back & (s > 1), 1.0, slope)


def corrected(predicted, turns_back):
    s = np.asarray(predicted)[:, 0]
    value, slope = curve(s, turns_back)
    tangent = np.column_stack([np.ones_like(s), slope]) / np.hypot(1.0, slope)[:, None]
    matrices = np.full((len(s), 1, 1), 0.5)
    x, nothing = np.column_stack([s, value]), np.zeros(len(s))
    return Corrected(x, tangent, matrices, nothing, np.full(len(s), True), nothing)


@pytest.mark.parametrize("turns_back", [True, False])
@pytest.mark.parametrize("end", [1.5, 1.45])
def test_a_flat_part_has_a_fold_only_where_the_branch_turns_back(turns_back, end):
    s = np.arange(-0.5, end, 0.05)
    there = corrected(s[:, None], turns_back)
    points = [BranchPoint(*pair, 0.0) for pair in zip(there.x, there.tangent, strict=True)]
    problem = Flat(turns_back)
    solutions = problem.evaluated(None, there.x)[1]
    seen = problem.seen(0, points, solutions)
    (located,) = locate(problem, [points], [solutions], [seen])
    finds = [find for find, _ in located]
    assert [find.kind for find in finds] == ["fold"] * turns_back
    assert all(find.located and abs(find.value) < 1e-8 for find in finds)


@pytest.mark.parametrize("modes", [2, 10, 25, 30])
def test_the_loss_of_damping_of_one_of_many_modes_is_found(modes):
    frequency = np.linspace(1, 1.3, 40)
    damping = np.full((40, modes), 0.005)
    damping[:, 0] = 0.02 * (1.15 - frequency)
    angles = np.linspace(1, 3, modes) * 1.037 * 2 * np.pi / frequency[:, None]
    upper = np.exp((-damping + 1j * np.sqrt(1 - damping**2)) * angles)
    seen = EvaluatedPoints(
        np.ones((40, 1)), np.concatenate([upper, upper.conj()], 1), lambda: None
    )
    points = [BranchPoint(np.array([0.0, x]), np.array([0.0, 1.0]), 0.0) for x in frequency]
    (found,) = sign_changes(0, points, seen, OF_MULTIPLIERS)
    assert found.test.kind == "neimark_sacker"
    assert frequency[found.after] < 1.15 < frequency[found.after + 1]


def test_a_branch_points_function_is_smooth_where_a_pair_of_multipliers_meets():
    # (1 - l1) (1 - l2) = 2 - l1 - l2 for l1 l2 = 1: linear in the trace, complex or real.
    past = np.array([-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2])
    pairs = np.array([np.roots([1.0, -2.0 - each, 1.0]) for each in past])
    (row,) = [test for test in OF_MULTIPLIERS if test.kind == "branch_point"]
    values = row.value(EvaluatedPoints(None, pairs, tuple), None)
    np.testing.assert_allclose(values / past, -0.25, rtol=1e-2)
