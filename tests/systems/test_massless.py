"""Checked against: `scipy.linalg.eig` without infinite eigenvalues, static solutions."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import jaxvib as jv
from jaxvib.systems.files.massless import condensed

# A frame of five nodes: the second, third and last have no mass.
MASS = np.diag([2.0, 0.0, 0.0, 1.5, 0.0])
STIFFNESS = np.array([
    [50.0, -20.0, 0.0, 0.0, 0.0], [-20.0, 45.0, -25.0, 0.0, 0.0],
    [0.0, -25.0, 40.0, -15.0, 0.0], [0.0, 0.0, -15.0, 27.0, -12.0],
    [0.0, 0.0, 0.0, -12.0, 12.0],
])  # fmt: skip


def finite_eigenvalues(mass, stiffness, count):
    """Return the eigenvalues of a singular pair that are not infinite, ascending."""
    above, below = scipy.linalg.eig(stiffness, mass, right=False, homogeneous_eigvals=True)
    order = np.argsort(np.arctan2(np.abs(above), np.abs(below)))[:count]
    return np.sort((above[order] / below[order]).real)


def test_random_singular_pairs_have_their_finite_eigenvalues_and_static_response():
    rng = np.random.default_rng(0)
    for number in range(50):
        size = int(rng.integers(4, 13))
        none = int(rng.integers(1, size - 1))
        roots = rng.normal(size=(size, size - none))
        bare = rng.permutation(size)[:none] if number % 2 else []  # else sums of some
        roots[bare] = 0.0
        roots = np.linalg.qr(roots)[0] * rng.uniform(0.5, 2.0, size - none)
        roots[bare] = 0.0
        strains = rng.normal(size=(size, 2 * size))
        mass, stiffness = roots @ roots.T, strains @ strains.T
        mass, stiffness = (mass + mass.T) / 2, (stiffness + stiffness.T) / 2
        names = tuple(map(str, range(size)))
        still = condensed(mass, np.zeros_like(mass), stiffness, names)
        left = still.reduced(mass), still.reduced(stiffness)
        found = scipy.linalg.eigh(left[1], left[0], eigvals_only=True)
        exact = finite_eigenvalues(mass, stiffness, size - none)
        np.testing.assert_allclose(found, exact, rtol=1e-10)
        force = rng.normal(size=size)
        kept = np.linalg.solve(left[1], still.shapes.T @ force)
        moved = still.shapes @ kept + still.flexibility @ force
        np.testing.assert_allclose(moved[still.kept], kept + (
            still.flexibility @ force)[still.kept], rtol=1e-9)  # fmt: skip
        whole = np.linalg.solve(stiffness, force)
        np.testing.assert_allclose(moved, whole, rtol=0, atol=1e-10 * np.abs(whole).max())


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "m.npy", MASS)
    np.save(tmp_path / "k.npy", STIFFNESS)
    return tmp_path


def test_what_was_read_is_reported(files):
    read = jv.read_matrices(files / "m.npy", files / "k.npy", names=list("abcde"))
    assert read.system.freedom_names == ("a", "d")
    assert read.freedom_names == tuple("abcde")
    exact = np.sqrt(finite_eigenvalues(MASS, STIFFNESS, 2))
    np.testing.assert_allclose(read.lowest, exact, rtol=1e-12)
    np.testing.assert_allclose(read.frequencies, exact, rtol=1e-12)
    told = str(read)
    assert told.startswith("5 degrees of freedom, mass of rank 2: the others are condensed")
    assert f"the lowest: {exact[0] / 2 / np.pi:.6g}, {exact[1] / 2 / np.pi:.6g} Hz" in told


def test_points_without_mass_give_with_their_flexibility(files):
    read = jv.read_matrices(files / "m.npy", files / "k.npy", names=list("abcde"))
    for modes in (1, 2):
        structure = jv.elastic_structure(read, modes, ["a", "c", "e"])
        seen = np.asarray(structure.shapes / structure.frequencies[None])
        flexibility = np.asarray(structure.residual) + seen @ seen.T
        rows = np.eye(5)[[0, 2, 4]]
        exact = rows @ np.linalg.solve(STIFFNESS, rows.T)
        np.testing.assert_allclose(flexibility, exact, rtol=1e-12)
    # A stop at a freedom without mass is in series with its flexibility.
    stop = structure.stop("e", gap=0.0)
    np.testing.assert_allclose(stop.law.stiffness, 12.0, rtol=1e-12)


def test_a_free_body_with_freedoms_without_mass_keeps_its_rigid_motion(files):
    free = STIFFNESS.copy()
    free[0, 0] = 20.0
    np.save(files / "free.npy", np.tril(free))  # one triangle
    read = jv.read_matrices(files / "m.npy", files / "free.npy")
    assert read.free == 1
    structure = jv.elastic_structure(read, 2, ["4"])
    assert structure.frequencies[0] == 0.0
    reduced = 1 / (1 / 2.0 + 1 / 1.5)
    series = 1 / (1 / 20.0 + 1 / 25.0 + 1 / 15.0)
    np.testing.assert_allclose(structure.frequencies[1], np.sqrt(series / reduced), 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stiffness": np.diag([50.0, 45.0, 40.0, 27.0, 0.0])},
         "^e can move without mass and stiffness: the condensation"),
        ({"damping": np.diag([0.0, 0.0, 1.0, 0.0, 0.0])}, "damping acts on motions"),
        ({"mass": MASS + np.diag([0.1] * 4, 1) + np.diag([0.1] * 4, -1)},
         "no motion of negative kinetic energy"),
    ],
)  # fmt: skip
def test_what_cannot_be_condensed_is_named(files, change, message):
    given = {"mass": MASS, "stiffness": STIFFNESS, "damping": np.zeros((5, 5))} | change
    for name, matrix in given.items():
        np.save(files / f"{name}.npy", matrix)
    paths = [files / f"{name}.npy" for name in ("mass", "stiffness", "damping")]
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(*paths, names=list("abcde"))
