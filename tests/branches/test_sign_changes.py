"""Checked against: folds of curves in closed form, flat to rounding on the way."""

from typing import NamedTuple

import numpy as np
import pytest

from jaxvib.branches.sign_changes import detect_bifurcations, product
from jaxvib.branches.tracer import BranchPoint

TESTS = {
    "fold": lambda tangents, values: tangents,
    "branch_point": lambda tangents, values: product(1 - values).real,
}


class Found(NamedTuple):
    """What a corrector tells of points."""

    x: np.ndarray
    tangent: np.ndarray
    monodromy: np.ndarray
    found: np.ndarray


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
    return Found(np.column_stack([s, value]), tangent, matrices, np.full(len(s), True))


@pytest.mark.parametrize("turns_back", [True, False])
@pytest.mark.parametrize("end", [1.5, 1.45])
def test_a_flat_part_has_a_fold_only_where_the_branch_turns_back(turns_back, end):
    s = np.arange(-0.5, end, 0.05)
    there = corrected(s[:, None], turns_back)
    points = [BranchPoint(*pair, 0.0) for pair in zip(there.x, there.tangent, strict=True)]
    changes = detect_bifurcations(
        lambda x, _: corrected(x, turns_back), points, TESTS, 1e-8
    )
    assert [change.kind for change in changes] == ["fold"] * turns_back
    assert all(change.found and abs(change.x[-1]) < 1e-8 for change in changes)
