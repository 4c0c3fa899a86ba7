"""Reading arrays from files of other programs, with sizes checked in advance."""

import io
import math
import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads submodules lazily: .io takes 0.2 s

from ...foundation.suggestions import did_you_mean
from ...foundation.text import size_text

MOST_FREEDOMS = 5000  # for a dense matrix of 200 MB
MOST_SPARSE = 1_000_000  # with some 10 entries in a row, 200 MB
_LARGEST = 16 * MOST_FREEDOMS**2  # bytes: that many complex or long double numbers
_BEGINNING = 2**16  # bytes of a variable that include its name and shape
_COMPRESSED = 15  # element type of zlib-compressed data in a MATLAB file
_NUMBERS = ("double", "single", "sparse", "int8", "int16", "int32", "int64", "uint8",
            "uint16", "uint32", "uint64")  # fmt: skip
_PARTS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13)  # element types of numbers in a MATLAB file
_FORTRAN = re.compile(rb"([0-9.])[dD]([-+0-9])")  # a Fortran exponent
# Raised for files that are of another kind or damaged.
_UNREADABLE = (
    ValueError, TypeError, LookupError, EOFError, ArithmeticError, NotImplementedError,
    struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def square_array(path: Path, key: str) -> Any:
    """Return the square array stored under a name in a file, sparse if it is so there.

    `key`: "" for the only one; with up to `MOST_FREEDOMS` rows it is made dense.
    **Raises:** `ValueError` for a damaged file, a missing array, or one that is not
    square or too large; `OSError` for an unreadable file; `ImportError` for OUTPUT4
    without pyyeti.
    """
    try:
        with warnings.catch_warnings():
            # From SciPy 1.18 on: about the type of sparse matrices; either will do.
            warnings.simplefilter("ignore", DeprecationWarning)
            found = LOADERS[path.suffix.lower()](path, key)
        sparse = isinstance(found, scipy.sparse.sparray | scipy.sparse.spmatrix)
        _require_square(np.shape(found), sparse)
        if sparse:
            check = getattr(found, "check_format", None)
            if check is not None:  # out-of-bounds indices would corrupt memory
                check(full_check=True)
            small = found.shape[0] <= MOST_FREEDOMS
            found = found.toarray() if small else scipy.sparse.csc_array(found)
    except _UNREADABLE as error:
        raise ValueError(str(error)) from None
    return found


def _require_square(found: Iterable, sparse: bool = False) -> None:
    shape, most = tuple(map(int, found)), MOST_SPARSE if sparse else MOST_FREEDOMS
    if len(shape) != 2 or shape[0] != shape[1] or not 0 < shape[0] <= most:
        raise ValueError(
            f"it holds an array of shape {shape}; allowed: a square one of at most "
            f"{most} degrees of freedom{' if sparse' * sparse}"
        )


def _require_memory(size: int) -> None:
    if size > _LARGEST:
        raise ValueError(
            f"it holds an array of {size_text(size)} or more; allowed: at most "
            f"{size_text(_LARGEST)}"
        )


def _chosen(names: Collection[str], key: str) -> str:
    if not key and len(names) == 1:
        return next(iter(names))
    if key not in names:
        hint = did_you_mean(key, names) if key else ""
        what = key or "an array without a name"
        raise ValueError(f"{what} is not in it; allowed: {', '.join(names)}{hint}")
    return key


def _of_matrix_market(path: Path, key: str):
    """Return the matrix of a Matrix Market file, or of Abaqus' rows `row column value`.

    SciPy accepts every file, with wrong results: it reads 1.5D+3, in Fortran's
    notation, as 1.5, a pattern as ones, and doubles off-diagonal entries of a symmetric
    matrix given in full.
    """
    _require_no_name(key)
    text = _FORTRAN.sub(rb"\1e\2", b"\n".join(path.read_bytes().splitlines()))
    head, _, rest = text.partition(b"\n")
    words = head.decode("ascii", "replace").lower().split()
    if words[:1] != ["%%matrixmarket"]:
        head, rest = _of_abaqus(text)
        words = ["coordinate", "general"]
    rows = _rows(rest)
    if "pattern" in words:
        raise ValueError("a pattern has no numbers")
    sizes = [int(word) for word in (rows or [b""])[0].split()]
    _require_square(sizes[:2], "coordinate" in words)
    text = b"\n".join(rows)
    numbers = np.array(text.split(), float)
    if "coordinate" in words:
        if sizes[2:] != [len(rows) - 1]:
            raise ValueError(f"{len(rows) - 1} entries; its first line says {sizes[2:]}")
        if words[-1] != "general" and "complex" not in words:
            first, second = numbers[3::3], numbers[4::3]
            if np.any(first < second) and np.any(first > second):
                raise ValueError(f"both triangles of a {words[-1]} matrix are given")
    return scipy.io.mmread(io.BytesIO(head + b"\n" + text + b"\n"))


def _rows(text: bytes) -> list[bytes]:
    return [row for row in text.splitlines() if row.strip() and row.strip()[:1] != b"%"]


def _of_abaqus(text: bytes) -> tuple[bytes, bytes]:
    """Return the first line and the rest of Matrix Market for rows `row column value`.

    **Raises:** `ValueError` that names another form.
    """
    rows = [row for row in _rows(text) if not row.lstrip().startswith(b"**")]
    cells = [row.replace(b",", b" ").split() for row in rows]
    widths = set(map(len, cells))
    if any(row[0][:1] == b"*" for row in cells) or widths == {5}:
        raise ValueError(
            "it has Abaqus' labels of nodes; write mass and stiffness with *MATRIX "
            "OUTPUT, FORMAT=COORDINATE"
        )
    pairs = [tuple(row[:2]) for row in cells]
    first = b" ".join(cells[0] if cells else ())
    counted = re.fullmatch(rb"\d+ \d+( \d+)?", first) is not None and (
        widths == {1, 2} or int(first.split()[-1]) == len(rows) - 1
    )
    if counted or len(set(pairs)) < len(pairs):
        form = "array" if widths == {1, 2} else "coordinate"
        raise ValueError(
            "it is Matrix Market without its first line; write "
            f"'%%MatrixMarket matrix {form} real general' there, or 'symmetric' instead of "
            "'general' for one triangle"
        )
    places = [place for pair in pairs for place in pair]
    if widths != {3} or b"," in text or not all(map(bytes.isdigit, places)):
        raise ValueError(
            "it is neither Matrix Market, which begins with %%MatrixMarket, nor Abaqus' "
            "rows 'row column value'; write one of these"
        )
    size = max(map(int, places))
    sizes = b"%d %d %d" % (size, size, len(rows))
    return b"%%MatrixMarket matrix coordinate real general", b"\n".join([sizes, *rows])


def _require_no_name(key: str) -> None:
    if key:
        raise ValueError(f"{key} is not in it: it has one array without a name")


class _Variable(NamedTuple):
    """A variable of a MATLAB file: its shape, and the position of its bytes."""

    name: str
    shape: tuple[int, ...]
    sparse: bool
    start: int
    size: int


def _of_matlab(path: Path, key: str):
    with path.open("rb") as file:
        head = file.read(128)
    if head[:10] == b"MATLAB 7.3":
        raise ValueError("it is MATLAB 7.3, which is HDF5; save it with '-v7'")
    if head[:6] != b"MATLAB" and head.isascii() and b"\0" not in head:
        form = "OptiStruct's .full.mat" if head.strip()[:1].isalpha() else "'-ascii'"
        raise ValueError(
            f"it is text ({form}), not a MATLAB file; write it as .op4 or .mtx"
        )
    try:
        version, _ = scipy.io.matlab.matfile_version(path)
        return _of_matlab_5(path, key) if version == 1 else _of_matlab_4(path, key)
    except (scipy.io.matlab.MatReadError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # from the system, not about the content
        raise ValueError(str(error)) from None


def _of_matlab_4(path: Path, key: str):
    """Return the array of a file of version 4; raise for version 7.3."""
    _require_memory(path.stat().st_size)
    content = io.BytesIO(path.read_bytes())
    shapes = {name: shape for name, shape, _ in scipy.io.whosmat(content)}
    name = _chosen(shapes, key)
    _require_square(shapes[name])
    return scipy.io.loadmat(content, variable_names=[name])[name]


def _of_matlab_5(path: Path, key: str):
    with path.open("rb") as file:
        head = file.read(128)
        variables = {each.name: each for each in _variables(file, head)}
        found = variables[_chosen(variables, key)]
        _require_square(found.shape, found.sparse)
        _require_memory(found.size)
        file.seek(found.start)
        element = file.read(8 + found.size)
    if _tag(head, element)[0] == _COMPRESSED:
        stream = zlib.decompressobj()
        element = stream.decompress(element[8:], _LARGEST + 1)
        _require_memory(len(element))
    _require_parts(head, element)
    return scipy.io.loadmat(io.BytesIO(head + element))[found.name]


def _require_parts(head: bytes, element: bytes) -> None:
    """Raise `ValueError` for malformed parts of a variable, which crash SciPy."""
    place = 8
    while place < len(element):
        kind, size = _tag(head, element[place:])
        if kind >> 16:  # a small part, stored in its tag
            kind, size = kind & 0xFFFF, 0
        if kind not in _PARTS or place + 8 + size > len(element):
            raise ValueError(f"a part of type {kind} and {size} bytes")
        place += 8 + -(-size // 8) * 8


def _variables(file, head: bytes) -> Iterator[_Variable]:
    """Yield the variables of a MATLAB file of version 5, stored in sequence."""
    while len(tag := file.read(8)) == 8:
        start, size = file.tell() - 8, _tag(head, tag)[1]
        beginning = head + tag + file.read(min(size, _BEGINNING))
        for name, shape, kind in scipy.io.whosmat(io.BytesIO(beginning)):
            if name[:1] != "_" and kind in _NUMBERS:
                yield _Variable(name, shape, kind == "sparse", start, size)
        file.seek(start + 8 + size)


def _tag(head: bytes, tag: bytes) -> tuple[int, int]:
    """Return the type of an element and the number of bytes that follow."""
    return struct.unpack("<II" if head[126:] == b"IM" else ">II", tag[:8])


def _of_numpy(path: Path, key: str) -> np.ndarray:
    _require_no_name(key)
    with path.open("rb") as file:
        _require_square(_announced(file))
        file.seek(0)
        return np.load(file, allow_pickle=False)


def _of_numpy_archive(path: Path, key: str):
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        sparse = members.keys() >= {"indptr", "format"}
        shapes = {}
        for name in members if sparse else [_chosen(members, key)]:
            with archive.open(members[name]) as member:
                shapes[name] = _announced(member)
    with np.load(path, allow_pickle=False) as archive:
        if sparse:
            _require_square(archive["shape"], sparse)
            return scipy.sparse.load_npz(path)
        ((name, shape),) = shapes.items()
        _require_square(shape)
        return archive[name]


def _announced(file) -> tuple[int, ...]:
    """Return the shape in the header of a NumPy array; raise if it is too large."""
    version = np.lib.format.read_magic(file)
    one = np.lib.format.read_array_header_1_0
    read = one if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    _require_memory(math.prod(shape) * dtype.itemsize)
    return shape


def _of_nastran(path: Path, key: str):
    try:
        with np.printoptions():  # pyyeti sets those of NumPy 1.13
            from pyyeti.nastran import op4
    except ImportError:
        raise ImportError(
            f"{path}: OUTPUT4 is read by pyyeti; pip install 'jaxvib[nastran]'"
        ) from None
    path.open("rb").close()  # pyyeti opens a dialog for a missing file
    try:
        names, sizes, *_ = op4.dir(str(path), verbose=False)
    except Exception as error:  # pyyeti raises anything for other files
        raise ValueError(f"not OUTPUT4: {error}") from None
    name = _chosen(names, key)
    _require_square(sizes[list(names).index(name)])
    try:
        return op4.read(str(path), namelist=[name])[name]
    except Exception as error:
        raise ValueError(f"not OUTPUT4: {error}") from None


LOADERS = {
    ".mtx": _of_matrix_market,
    ".mat": _of_matlab,
    ".npz": _of_numpy_archive,
    ".npy": _of_numpy,
    ".op4": _of_nastran,
}
