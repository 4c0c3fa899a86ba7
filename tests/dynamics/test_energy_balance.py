"""Checked against: work of the load = change of energy + dissipation; a short campaign."""

import numpy as np

from experiments.energy_balance import balances


def test_energies_balance_with_contacts_friction_and_springs_together():
    apart, works, codes = balances(64, seed=3)
    assert not codes.any()
    assert np.abs(apart).max() < 1e-9
    assert np.sum(works[:, 2] > 0) > 20  # with contact
    assert np.all(works[:, 3] > 0)  # all rub
