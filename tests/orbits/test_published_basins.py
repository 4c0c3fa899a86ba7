"""Checked against: shares of basins of Duffing's oscillator as bSTAB published them."""

import pytest

from experiments.basin_benchmark import shares


@pytest.mark.slow
def test_shares_of_duffings_five_attractors_are_the_published_ones():
    found = shares(1000, seed=5)
    assert found["attractors found"] == 5
    assert found["undecided"] == 0
    for entry in found["shares"].values():
        assert entry["standard errors apart"] < 3
