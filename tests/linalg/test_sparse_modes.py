"""Checked against: `scipy.linalg.eig`, pseudo-inverses, closed forms of chains."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import jaxvib as jv
from jaxvib.linalg.sparse_modes import sparse_modes
from tests.systems.test_massless import finite_eigenvalues


def chain(size, held, massless=0):
    """Return mass and stiffness of bodies in a row, dense; some without mass."""
    rng = np.random.default_rng(size)
    spring = np.zeros((size, size))
    for k, stiffness in enumerate(1e6 * (1 + rng.random(size - 1))):
        spring[k : k + 2, k : k + 2] += stiffness * np.array([[1, -1], [-1, 1]])
    spring[0, 0] += 1e6 * held
    mass = 1 + rng.random(size)
    mass[rng.permutation(size)[:massless]] = 0.0
    return np.diag(mass), spring


@pytest.mark.parametrize("massless", [0, 8])
@pytest.mark.parametrize("held", [0, 1])
def test_lowest_modes_and_statics_are_the_dense_ones(held, massless):
    mass, stiffness = chain(40, held, massless)
    found = sparse_modes(*map(scipy.sparse.csc_array, (mass, stiffness)), 6)
    exact = np.sqrt(np.abs(finite_eigenvalues(mass, stiffness, 40 - massless)))
    exact[: 1 - held] = 0.0
    np.testing.assert_allclose(found.frequencies, exact[:6], rtol=1e-11)
    np.testing.assert_allclose(found.next_frequency, exact[6], rtol=1e-11)
    unit = found.shapes.T @ mass @ found.shapes
    np.testing.assert_allclose(unit, np.eye(6), rtol=0, atol=1e-8)
    rest = stiffness @ found.shapes - mass @ found.shapes * found.frequencies**2
    assert np.abs(rest).max() < 1e-9 * np.abs(stiffness).max()
    forces = np.eye(40)[:, [3, 17]]
    carried = np.eye(40)
    if not held:
        total = np.sum(mass)
        carried -= np.outer(np.diagonal(mass), np.ones(40)) / total
    solved = carried.T @ np.linalg.pinv(stiffness, 1e-12) @ carried @ forces
    np.testing.assert_allclose(found.solve(forces), solved, rtol=0, atol=1e-9 / 1e3)


def test_a_freedom_of_neither_mass_nor_stiffness_is_named():
    mass, stiffness = chain(20, 1)
    mass[4] = stiffness[4] = stiffness[:, 4] = 0.0
    with pytest.raises(ValueError, match="has neither mass nor stiffness"):
        sparse_modes(*map(scipy.sparse.csc_array, (mass, stiffness)), 3)
    with pytest.raises(ValueError, match="modes = 19; allowed: below 19"):
        sparse_modes(*map(scipy.sparse.csc_array, chain(20, 1)), 19)


def test_a_large_model_is_read_and_hits_a_stop_in_its_modes(tmp_path):
    size, stiffness, mass = 6000, 3.6e9, 1e-2
    springs = scipy.sparse.diags_array(
        [np.full(size - 1, -stiffness), np.full(size, 2 * stiffness)], offsets=[-1, 0]
    )
    masses = scipy.sparse.diags_array(np.full(size, mass))
    scipy.sparse.save_npz(tmp_path / "k.npz", scipy.sparse.csc_array(springs))
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.csc_array(masses))
    read = jv.read_matrices(tmp_path / "m.npz", tmp_path / "k.npz")
    number = np.arange(1, 13) * np.pi / (2 * (size + 1))
    exact = 2 * np.sqrt(stiffness / mass) * np.sin(number)
    np.testing.assert_allclose(read.lowest, exact[:6], rtol=1e-9)
    assert str(read).startswith("6000 degrees of freedom, 0 rigid-body modes")
    middle = str(size // 2)
    structure = jv.elastic_structure(read, 12, [middle], damping_ratio=0.01)
    np.testing.assert_allclose(structure.frequencies, exact, rtol=1e-9)
    seen = np.asarray(structure.shapes / structure.frequencies[None])
    left, right = size // 2 + 1, size + 1 - (size // 2 + 1)
    series = 1 / (stiffness / left + stiffness / right)
    flexibility = np.asarray(structure.residual) + seen @ seen.T
    np.testing.assert_allclose(flexibility, [[series]], rtol=1e-8)
    stop = structure.stop(middle, gap=1e-3)
    assert float(stop.law.stiffness) > 0
    with pytest.raises(ValueError, match="points = None for a large sparse source"):
        jv.elastic_structure(read, 12)
    with pytest.raises(ValueError, match=r"unknown degree of freedom 'q'.* \.\.\.$"):
        jv.elastic_structure(read, 12, ["q"])
