"""Checked against: shares of basins as bSTAB published them; a pendulum's area by scipy."""

import numpy as np
import pytest

from experiments import published_basins
from experiments.basin_benchmark import shares


@pytest.mark.slow
def test_shares_of_duffings_five_attractors_are_the_published_ones():
    found = shares(1000, seed=5)
    assert found["attractors found"] == 5
    assert found["undecided"] == 0
    for entry in found["shares"].values():
        assert entry["standard errors apart"] < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pendulum", "lorenz", "friction"])
def test_shares_of_systems_without_a_load_are_the_published_ones(name):
    study = published_basins.STUDIES[name]()
    found = published_basins.shares(study, published_basins.drawn(study, 2000, seed=5))
    assert found["undecided"] == 0
    for entry in found["shares"].values():
        assert entry["standard errors apart"] < 3


@pytest.mark.slow
def test_a_pendulum_rests_from_the_area_between_a_saddles_stable_manifolds():
    study = published_basins.pendulum()
    label, _ = published_basins.settled(study, published_basins.grid(study, 200))
    assert abs(np.mean(label == 0) - published_basins.pendulum_area()) < 1e-3
