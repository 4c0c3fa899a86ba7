"""Checked against: files that numpy and scipy write, and frequencies of a known chain."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import jaxvib as jv

MASS = np.diag([1.0, 2.0, 3.0])
DAMPING = np.diag([0.1, 0.0, 0.2])
STIFFNESS = np.array([[30.0, -10.0, 0.0], [-10.0, 25.0, -15.0], [0.0, -15.0, 15.0]])


@pytest.fixture
def files(tmp_path):
    scipy.io.mmwrite(tmp_path / "mass.mtx", scipy.sparse.coo_array(MASS))
    scipy.io.savemat(tmp_path / "model.mat", {"K": STIFFNESS, "C": DAMPING})
    np.savez(tmp_path / "model.npz", stiffness=STIFFNESS)
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csc_array(STIFFNESS))
    np.save(tmp_path / "plain.npy", STIFFNESS)
    return tmp_path


@pytest.mark.parametrize(
    "stiffness", ["model.mat:K", "model.npz", "model.npz:stiffness", "sparse.npz",
                  "plain.npy"]
)  # fmt: skip
def test_what_was_written_is_read(files, stiffness):
    found = jv.read_matrices(
        files / "mass.mtx", files / stiffness, str(files / "model.mat:C"),
        names=["a", "b", "c"],
    )  # fmt: skip
    for mine, theirs in zip(
        found.system.matrices(), (MASS, DAMPING, STIFFNESS), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    frequencies = np.asarray(jv.natural_frequencies(found.system))
    np.testing.assert_allclose(found.frequencies, frequencies[[0, -1]], rtol=1e-12)
    assert found.free == 0
    assert found.lopsided == 0.0
    assert "3 degrees of freedom, 0 free motions" in str(found)
    np.testing.assert_array_equal(found.system.direction({"c": 2.0}), [0.0, 0.0, 2.0])
    response = jv.frequency_response(found.system, [2.0], force="b")
    exact = np.linalg.solve(STIFFNESS - 4 * MASS + 2j * DAMPING, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(response[0], exact, rtol=1e-12)


def test_rounding_is_taken_away_and_told(files):
    rounded = STIFFNESS.copy()
    rounded[0, 1] *= 1 + 1e-14
    np.save(files / "rounded.npy", rounded)
    found = jv.read_matrices(files / "mass.mtx", files / "rounded.npy")
    stiffness = np.asarray(found.system.stiffness)
    np.testing.assert_array_equal(stiffness, stiffness.T)
    assert 0 < found.lopsided < 1e-14
    assert found.system.freedom_names == ("0", "1", "2")
    assert not np.asarray(found.system.damping).any()


def test_free_motions_are_counted(files):
    np.save(files / "free.npy", np.array([[1.0, -1.0, 0], [-1, 2, -1], [0, -1, 1]]))
    assert jv.read_matrices(files / "mass.mtx", files / "free.npy").free == 1


WRONG = {
    "lopsided": (STIFFNESS + np.diag([1.0, 0.0], 1), r"not symmetric: \[0, 1\] = -9"),
    "soft": (STIFFNESS - 40 * np.eye(3), "none below 0"),
    "small": (np.eye(2), "one for all"),
    "flat": (np.ones((2, 3)), r"of shape \(2, 3\)"),
    "nothing": (np.zeros((3, 3)), "stiffness = 0 in every motion"),
    "complex": (1j * STIFFNESS, "not real and finite"),
    "infinite": (STIFFNESS + np.diag([np.inf, 0, 0]), "not real and finite"),
}


@pytest.mark.parametrize(("matrix", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_stiffness_is_refused(files, matrix, message):
    np.save(files / "wrong.npy", matrix)
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / "wrong.npy")


@pytest.mark.parametrize(
    ("stiffness", "message"),
    [
        ("model.mat:k", "model.mat:k is not held; allowed: K, C"),
        ("model.mat", "allowed: K, C"),
        ("model.op4", r"allowed: files .mtx, .mat, .npz, .npy"),
    ],
)
def test_a_file_that_does_not_tell_is_named(files, stiffness, message):
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / stiffness)


def test_names_are_as_many_as_freedoms(files):
    with pytest.raises(ValueError, match="2 different names for 3 degrees of freedom"):
        jv.read_matrices(files / "mass.mtx", files / "plain.npy", names=["a", "b", "b"])


def test_a_mass_that_is_none_is_refused(files):
    np.save(files / "mass.npy", np.diag([1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="positive definite"):
        jv.read_matrices(files / "mass.npy", files / "plain.npy")
