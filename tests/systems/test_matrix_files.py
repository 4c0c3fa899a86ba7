"""Checked against: files that numpy and scipy write, and frequencies of a known chain."""

import io
import re
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import jaxvib as jv
from jaxvib.systems.files import array_files

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


# Text as pyNastran 1.4.1 writes it.
OP4 = """\
       2       2       6       2KAA     1P,3E23.16
       1       1       2
 2.0000000000000000E+00-1.0000000000000000E+00
       2       1       2
-1.0000000000000000E+00 1.0000000000000000E+00
       3       1       1
 1.0000000000000000E+00
"""


def test_output4_of_nastran_is_read(tmp_path):
    with np.printoptions():
        op4 = pytest.importorskip("pyyeti.nastran.op4")
    (tmp_path / "k.op4").write_text(OP4)
    op4.write(str(tmp_path / "m.op4"), {"MAA": np.diag([1.0, 2.0])}, binary=True)
    found = jv.read_matrices(tmp_path / "m.op4", f"{tmp_path / 'k.op4'}:kaa")
    np.testing.assert_array_equal(found.system.stiffness, [[2.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_array_equal(found.system.mass, np.diag([1.0, 2.0]))
    (tmp_path / "bad.op4").write_text("this is no matrix")
    with pytest.raises(ValueError, match=r"bad\.op4.*cannot be read"):
        jv.read_matrices(tmp_path / "m.op4", tmp_path / "bad.op4")
    with pytest.raises(FileNotFoundError, match="no such file"):
        jv.read_matrices(tmp_path / "m.op4", tmp_path / "none.op4")


@pytest.mark.parametrize(
    "stiffness", ["model.mat:K", "model.npz", "model.npz:stiffness", "sparse.npz",
                  "plain.npy"]
)  # fmt: skip
def test_written_files_are_read(files, stiffness):
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
    assert found.asymmetry == 0.0
    assert "3 degrees of freedom, 0 rigid-body modes" in str(found)
    np.testing.assert_array_equal(found.system.direction({"c": 2.0}), [0.0, 0.0, 2.0])
    response = jv.frequency_response(found.system, [2.0], force="b")
    exact = np.linalg.solve(STIFFNESS - 4 * MASS + 2j * DAMPING, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(response[0], exact, rtol=1e-12)


def test_rounding_is_removed_and_returned(files):
    rounded = STIFFNESS.copy()
    rounded[0, 1] *= 1 + 1e-14
    np.save(files / "rounded.npy", rounded)
    found = jv.read_matrices(files / "mass.mtx", files / "rounded.npy")
    stiffness = np.asarray(found.system.stiffness)
    np.testing.assert_array_equal(stiffness, stiffness.T)
    assert 0 < found.asymmetry < 1e-14
    assert found.system.freedom_names == ("0", "1", "2")
    assert not np.asarray(found.system.damping).any()


@pytest.mark.parametrize(("held", "free", "lowest"), [(2, 0, 3.51602), (0, 2, 22.3733)])
def test_the_first_mode_of_a_fine_mesh_is_no_free_motion(files, held, free, lowest):
    nodes, h = 81, 1 / 80
    stiffness, mass = np.zeros((2, 2 * nodes, 2 * nodes))
    bent = np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
    )  # fmt: skip
    for node in range(nodes - 1):
        place = slice(2 * node, 2 * node + 4)
        stiffness[place, place] += bent / h**3
        mass[place, place] += h / 420 * np.array(
            [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
             [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]
        )  # fmt: skip
    np.save(files / "m.npy", mass[held:, held:])
    np.save(files / "k.npy", stiffness[held:, held:])
    found = jv.read_matrices(files / "m.npy", files / "k.npy")
    assert found.free == free
    np.testing.assert_allclose(found.frequencies[0], lowest, rtol=1e-5)


def test_free_motions_are_counted(files):
    np.save(files / "free.npy", np.array([[1.0, -1.0, 0], [-1, 2, -1], [0, -1, 1]]))
    assert jv.read_matrices(files / "mass.mtx", files / "free.npy").free == 1


WRONG = {
    "asymmetry": (STIFFNESS + np.diag([1.0, 0.0], 1), r"not symmetric: \[0, 1\] = -9"),
    "soft": (STIFFNESS - 40 * np.eye(3), "none below 0"),
    "small": (np.eye(2), "one for all"),
    "flat": (np.ones((2, 3)), r"of shape \(2, 3\)"),
    "nothing": (np.zeros((3, 3)), "stiffness = 0; allowed"),
    "complex": (1j * STIFFNESS, "not real and finite"),
    "infinite": (STIFFNESS + np.diag([np.inf, 0, 0]), "not real and finite"),
}


@pytest.mark.parametrize(("matrix", "message"), WRONG.values(), ids=WRONG)
def test_invalid_stiffness_matrices_are_refused(files, matrix, message):
    np.save(files / "wrong.npy", matrix)
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / "wrong.npy")


@pytest.mark.parametrize(
    ("stiffness", "message"),
    [
        ("model.mat:k", "model.mat.* k is not in it; allowed: K, C"),
        ("model.mat", "allowed: K, C"),
        ("model.bdf", r"allowed: files .mtx, .mat, .npz, .npy, .op4"),
    ],
)
def test_an_ambiguous_matrix_file_is_named(files, stiffness, message):
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / stiffness)


HEAD = "%%MatrixMarket matrix coordinate"


def test_numbers_may_have_the_exponents_of_fortran(files):
    text = f"{HEAD} real symmetric\n% 1D3 nodes\n3 3 4\n1 1 4.D+1\n3 2 -1.5d1\n2 2 2.5D01\n"
    (files / "fortran.mtx").write_text(f"{text}3 3 15.0\n")
    found = jv.read_matrices(files / "mass.mtx", files / "fortran.mtx")
    exact = [[40.0, 0.0, 0.0], [0.0, 25.0, -15.0], [0.0, -15.0, 15.0]]
    np.testing.assert_array_equal(found.system.stiffness, exact)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD} pattern general\n3 3 3\n1 1\n2 2\n3 3\n", "a pattern has no numbers"),
        (f"{HEAD} real general\n3 3 3\n1 1 4,5\n2 2 4\n3 3 4\n", "b'4,5'"),
        (
            f"{HEAD} real symmetric\n3 3 5\n1 1 4\n2 1 -1\n1 2 -1\n2 2 4\n3 3 4\n",
            "both triangles of a symmetric matrix",
        ),
    ],
)
def test_a_market_file_that_would_be_read_wrong_is_refused(files, text, message):
    (files / "odd.mtx").write_text(text)
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / "odd.mtx")


ROWS = "1 1 30.0\n1 2 -1.0e1\n2 1 -10.0\n2 2 25.\n2 3 -15.0\n3 2 -15.0\n3 3 1.5D+01\n"
TRIANGLE = "1 1 30.0\n2 1 -10.0\n2 2 25.0\n3 2 -15.0\n3 3 15.0\n"
LABELS = "1,1, 1,1, 3.0e+06\n2,1, 1,1, -1.0e+06\n2,1, 2,1, 2.0e+06\n"
HEADED = f"{HEAD} real general\n3 3 7\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("abaqus.mtx", ROWS),
        ("padded.mtx", "".join(f"  {row}  \n\n" for row in ROWS.splitlines())),
        ("tabs.mtx", ROWS.replace(" ", "\t")),
        ("windows.mtx", ROWS.replace("\n", "\r\n")),
        ("mac.mtx", ROWS.replace("\n", "\r")),
        ("turned.mtx", "\n".join(reversed(ROWS.splitlines()))),
        ("UPPER.MTX", ROWS),
        ("note.mtx", f"** STIFFNESS\n**\n{ROWS}"),
        ("headed.mtx", HEADED + ROWS),
        ("headed_mac.mtx", (HEADED + ROWS).replace("\n", "\r")),
        ("symmetric.mtx", f"{HEAD} real symmetric\n3 3 5\n{TRIANGLE}"),
        ("one_side.mtx", TRIANGLE),
        ("other_side.mtx", re.sub(r"(?m)^(\d) (\d)", r"\2 \1", TRIANGLE)),
    ],
)
def test_rows_of_entries_are_read_with_and_without_a_head(files, name, text):
    (files / name).write_bytes(text.encode())
    found = jv.read_matrices(files / "mass.mtx", files / name)
    np.testing.assert_array_equal(found.system.stiffness, STIFFNESS)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("input.mtx", LABELS, "Abaqus' labels of nodes; write .* FORMAT=COORDINATE"),
        ("spaces.mtx", LABELS.replace(",", " "), "Abaqus' labels of nodes"),
        ("labels.mtx", f"** \n*MATRIX,TYPE=STIFFNESS\n{LABELS}", "Abaqus' labels"),
        ("short.mtx", f"3 3 8\n{ROWS}", "without its first line"),
        ("twice.mtx", f"{ROWS}2 2 5.0\n", "without its first line"),
        ("headless.mtx", f"3 3 7\n{ROWS}", "without its first line; .* coordinate real"),
        ("triangle.mtx", f"3 3 5\n{TRIANGLE}", "or 'symmetric' instead"),
        ("array.mtx", "2 2\n30.0\n-10.0\n-10.0\n25.0\n", "MatrixMarket matrix array"),
        ("commas.mtx", ROWS.replace(" ", ","), "neither Matrix Market"),
        ("dense.mtx", "30 -10 0 1\n-10 25 -15 0\n", "neither Matrix Market"),
        ("empty.mtx", "\n", "neither Matrix Market"),
        ("letters.mtx", "a b c\n", "cannot be read"),
        ("binary.mtx", "\0\1\2", "neither Matrix Market"),
        ("model.full.mat", "STIFFNESS 0 2 1 3 3\n 1 1 3.0e6\n", r"OptiStruct.* as \.op4"),
        ("ascii.mat", "  3.0e+01  -1.0e+01\n", "text .'-ascii'., not a MATLAB file"),
        ("new.mat", "MATLAB 7.3 MAT-file, on a machine\n", "MATLAB 7.3, .* save .*-v7"),
        ("nothing.mat", "", "cannot be read"),
    ],
)
def test_other_forms_are_refused_by_a_sentence_that_names_them(files, name, text, message):
    (files / name).write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        jv.read_matrices(files / "mass.mtx", files / name)
    assert "invalid literal" not in str(caught.value)
    assert "\n" not in str(caught.value)


WIDE = 5000, 700_000  # 26 GiB of numbers


def announced(shape, kind="<f8", more=b""):
    """Return an array of numpy's that says what shape it has, and has no numbers."""
    file = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + more


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, whole in members.items():
            file.writestr(f"{name}.npy", whole)


def sparse_archive(path, shape, indices=(0, 1, 2)):
    np.savez(
        path, format="csc", shape=shape, data=np.ones(3), indices=np.array(indices),
        indptr=np.arange(4),
    )  # fmt: skip


def packed_element(path, zeros):
    """Write a variable of MATLAB's that says it is of 3 numbers by 3, and is not."""
    scipy.io.savemat(path, {"K": STIFFNESS})
    whole = path.read_bytes()
    element = bytearray(whole[128:] + bytes(zeros))
    at = element.index(np.array([9, 72], np.uint32).tobytes())  # doubles, and their bytes
    element[at + 4 : at + 8] = np.uint32(72 + zeros).tobytes()
    element[4:8] = np.uint32(len(element) - 8).tobytes()
    packed = zlib.compress(element)
    tag = np.array([15, len(packed)], np.uint32).tobytes()
    path.write_bytes(whole[:128] + tag + packed)


BOMBS = {
    "a wide one": (
        "k.mtx", lambda path: path.write_text(f"{HEAD} real general\n5000 700000 0\n"),
        r"shape \(5000, 700000\)",
    ),
    "a wide full one": (
        "k.mtx",
        lambda path: path.write_text(f"{HEAD[:-10]}array real general\n5000 700000\n"),
        r"shape \(5000, 700000\)",
    ),
    "more entries than there are": (
        "k.mtx",
        lambda path: path.write_text(f"{HEAD} real general\n3 3 99999999999\n1 1 1.0\n"),
        "1 entries; its first line says .99999999999.",
    ),
    "no size": ("k.mtx", lambda path: path.write_text(f"{HEAD} real general\n"), "shape"),
    "a wide array": (
        "k.npy", lambda path: path.write_bytes(announced(WIDE)), "28 GB or more"
    ),
    "long texts": (
        "k.npy", lambda path: path.write_bytes(announced((3, 3), "<U99999999")),
        "B or more",
    ),
    "a wide member": ("k.npz", lambda path: archive(path, k=announced(WIDE)), "B or more"),
    "a member that is no square": (
        "k.npz", lambda path: archive(path, k=announced((1, 40_000_000), more=bytes(1))),
        r"shape \(1, 40000000\)",
    ),
    "a wide sparse one": (
        "k.npz", lambda path: sparse_archive(path, WIDE), r"shape \(5000, 700000\)"
    ),
    "many sparse ones": (
        "k.npz",
        lambda path: archive(
            path, indptr=announced((99_999_999,)), format=announced(()), shape=announced(())
        ),
        "B or more",
    ),
    "places out of the array": (
        "k.npz", lambda path: sparse_archive(path, (3, 3), (0, 1, 3)), "cannot be read"
    ),
    "places before the array": (
        "k.npz", lambda path: sparse_archive(path, (3, 3), (0, 1, -1)), "cannot be read"
    ),
    "a flat variable": (
        "k.mat",
        lambda path: scipy.io.savemat(path, {"K": np.ones((1, 10**6))}),
        r"shape \(1, 1000000\)",
    ),
    "a flat variable of long ago": (
        "k.mat",
        lambda path: scipy.io.savemat(path, {"K": np.zeros((1, 10**4))}, format="4"),
        r"shape \(1, 10000\)",
    ),
    "a variable of more than it says": (
        "k.mat", lambda path: packed_element(path, 6 * 10**6), "allowed: at most 2 MB"
    ),
    "a cut variable": (
        "k.mat", lambda path: packed_element(path, 0) or cut(path), "cannot be read"
    ),
    "a variable of numbers of no type": (
        "k.mat", lambda path: damaged(path, 128 + 48), "cannot be read"
    ),
    "a variable whose head is longer than it": (
        "k.mat", lambda path: damaged(path, 128 + 15), "cannot be read"
    ),
    "no variable": ("k.mat", lambda path: path.write_bytes(bytes(200)), "cannot be read"),
}  # fmt: skip


def damaged(path, place):
    scipy.io.savemat(path, {"K": STIFFNESS})
    whole = bytearray(path.read_bytes())
    whole[place] = 126
    path.write_bytes(whole)


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(("file", "write", "message"), BOMBS.values(), ids=BOMBS)
def test_a_file_that_unpacks_to_more_than_it_may_is_refused_first(
    files, monkeypatch, file, write, message
):
    write(files / file)
    if file == "k.mat":
        monkeypatch.setattr(array_files, "_LARGEST", 2 * 10**6)
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        jv.read_matrices(files / "mass.mtx", files / file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


@pytest.mark.parametrize(
    "options", [{"format": "4"}, {"do_compression": True}, {}], ids=str
)
def test_of_many_variables_one_is_read(files, options):
    many = {f"x{k}": np.zeros((1, 10**6)) for k in range(5)}
    scipy.io.savemat(files / "many.mat", many | {"K": STIFFNESS, "z": DAMPING}, **options)
    found = jv.read_matrices(files / "mass.mtx", f"{files / 'many.mat'}:K")
    np.testing.assert_array_equal(found.system.stiffness, STIFFNESS)
    sparse = {"K": scipy.sparse.csc_array(STIFFNESS)}
    scipy.io.savemat(files / "sparse.mat", sparse, **options)
    found = jv.read_matrices(files / "mass.mtx", files / "sparse.mat")
    np.testing.assert_array_equal(found.system.stiffness, STIFFNESS)


def test_half_a_damping_is_refused(files):
    for half in (np.tril, np.triu):
        np.save(files / "half.npy", half(0.01 * STIFFNESS))
        with pytest.raises(ValueError, match="damping has entries on one side"):
            jv.read_matrices(files / "mass.mtx", files / "model.npz", files / "half.npy")
    whirl = np.zeros((3, 3))
    whirl[0, 1], whirl[1, 0] = 2.0, -2.0
    np.save(files / "whirl.npy", whirl)
    found = jv.read_matrices(files / "mass.mtx", files / "model.npz", files / "whirl.npy")
    np.testing.assert_array_equal(found.system.damping, whirl)


def test_an_array_without_a_name_is_not_named(files):
    with pytest.raises(ValueError, match="has one array without a name"):
        jv.read_matrices(f"{files / 'mass.mtx'}:M", files / "model.npz")


def test_names_are_as_many_as_freedoms(files):
    with pytest.raises(ValueError, match="2 different names for 3 degrees of freedom"):
        jv.read_matrices(files / "mass.mtx", files / "plain.npy", names=["a", "b", "b"])


def test_an_invalid_mass_is_refused(files):
    for mass, message in (
        (np.diag([1.0, -1.0, 1.0]), r"mass\.1\.1 = -1 kg is not in"),
        (np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "negative kinetic"),
        (np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]]), "not symmetric"),
    ):
        np.save(files / "mass.npy", mass)
        with pytest.raises(ValueError, match=message):
            jv.read_matrices(files / "mass.npy", files / "plain.npy")
