"""Checked against: tests.independent, matrix exponentials, closed forms of grazing."""

import numpy as np
import pytest

from experiments.bifurcations import two_body

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    branch, _ = two_body.branch()
    return branch


def test_one_branch_meets_every_kind_of_bifurcation(found):
    kinds = [point.kind for point in found.bifurcations]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "grazing": 2,
        "neimark_sacker": 4,
        "period_doubling": 2,
        "fold": 2,
    }
    assert set(np.asarray(found.contacts).tolist()) == {0, 1}
    np.testing.assert_array_equal(found.parameter[np.array([0, -1])], two_body.BOUNDS)


@pytest.mark.parametrize("kind", ["grazing", "neimark_sacker", "period_doubling", "fold"])
def test_an_independent_integration_sees_the_change_on_both_sides(found, kind):
    points = [point for point in found.bifurcations if point.kind == kind]
    for point in points:
        flips = kind == "period_doubling"
        report = two_body.flip(point) if flips else two_body.verified(found, point)
        assert report["verified"]


def test_it_grazes_where_the_linear_response_closes_the_gap(found):
    for point in found.bifurcations:
        if point.kind == "grazing":
            exact = two_body.linear_grazing(float(point.parameter))
            assert float(point.parameter) == pytest.approx(exact, rel=1e-10)


def test_motions_converge_to_the_branch_of_twice_the_period(found):
    last = [p for p in found.bifurcations if p.kind == "period_doubling"][-1]
    report = two_body.doubled(last, -0.05)
    assert report["the branch's motion is stable"] == 1
    assert report["largest |multiplier|, independent"] < 1
    assert report["|s(T) - s(0)|"] > 1e-2
    assert report["where it settles, from the branch's motion"] < 1e-7


# Steps of 200 N lead over the second grazing with both folds, if they are left as they are.
@pytest.mark.parametrize("largest_step", [None, 200.0])
def test_a_branch_goes_from_no_contact_to_one_and_to_two(largest_step):
    # Folds at the same load need no second look at both sides of them.
    first = largest_step is None
    report = two_body.more_contacts(largest_step, 4 if first else 16, first)
    assert report["contacts along the branch"] == [0, 1, 2]
    kinds, loads = zip(*report["bifurcations"], strict=True)
    assert kinds == ("grazing", "grazing", "fold", "fold")
    # Steps of 20 N, which are finer than what lies between the folds and the grazing.
    np.testing.assert_allclose(loads[1:], [13706.66327, 13708.12539, 13706.97252], 1e-9)
    beside = report["contacts before and after each change, independently"]
    assert beside == [[0, 1], [1, 2]]
    folds = [fold["verified"] for fold in report["folds, independently"]]
    assert folds == [True, True] * first
    assert report["same number of contacts"] == report["points looked at"]
    assert report["largest |state - independent state|"] < 1e-9
