"""Systems from matrix files, with checks."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..impact import LinearSystem
from ..symmetry import check_mass, check_symmetric
from .array_files import LOADERS, square_array

_SOFT = 1e-9  # of the largest eigenvalue: smaller negative ones are rounding
_NOISE = 10.0  # times the most negative eigenvalue: smaller ones are rounding too


class NamedSystem(LinearSystem):
    """A `LinearSystem` whose degrees of freedom have names.

    **Fields:** as of `LinearSystem`; `names`: unique names of the degrees of freedom.
    **Raises:** `ValueError` as `LinearSystem`, or for another number of names than of
    degrees of freedom.
    """

    names: tuple[str, ...] = eqx.field(static=True, default=())

    def __check_init__(self) -> None:
        size = jnp.shape(self.mass)[0]
        if len(self.names) != size or len(set(self.names)) != size:
            raise ValueError(
                f"{len(set(self.names))} different names for {size} degrees of freedom; "
                "allowed: a name for each"
            )

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom."""
        return self.names


class ReadMatrices(NamedTuple):
    """A system read from files, with properties of its matrices.

    `frequencies`: the lowest non-zero and the highest natural frequency, rad/s: if they
    are not those of the structure, a file is in other units than kg, N/m and N s/m;
    `free`: the number of rigid-body modes; `asymmetry`: the largest asymmetry of the
    matrices before they were symmetrised, relative to their largest entry.
    """

    system: NamedSystem
    frequencies: tuple[float, float]
    free: int
    asymmetry: float

    def __str__(self) -> str:
        low, high = self.frequencies
        size = len(self.system.names)
        return (
            f"{size} degrees of freedom, {self.free} rigid-body modes, natural "
            f"frequencies {low:.6g} to {high:.6g} rad/s ({low / (2 * np.pi):.6g} to "
            f"{high / (2 * np.pi):.6g} Hz) if masses are in kg and stiffnesses in N/m"
        )


def read_matrices(
    mass: str | Path,
    stiffness: str | Path,
    damping: str | Path | None = None,
    *,
    names: Sequence[str] | None = None,
) -> ReadMatrices:
    """Read a system's matrices from files, and check them.

    A file is Matrix Market or Abaqus' coordinate format (`.mtx`), MATLAB (`.mat`, up to
    version 7), NumPy (`.npz`, `.npy`) or Nastran OUTPUT4 (`.op4`, text or binary, names
    in lower case; read by pyyeti: `pip install 'jaxvib[nastran]'`); an array in a file
    with several is named after a colon, `model.mat:K`. Sparse matrices become dense.
    Matrices that are symmetric up to rounding are symmetrised. Without a damping file
    there is no damping. Names are `0`, `1` ... by default.

    **Raises:** `ValueError` for a file of another kind, a missing array (with a
    suggestion), matrices that are not square, real and finite or differ in size, one
    triangle only, a mass or stiffness that is not symmetric, a mass that is not
    positive definite, or a stiffness with negative eigenvalues; `OSError` for an
    unreadable file; `ImportError` for OUTPUT4 without pyyeti.
    """
    given = {"mass": mass, "stiffness": stiffness, "damping": damping}
    found = {name: _read(name, path) for name, path in given.items() if path is not None}
    size = len(found["mass"])
    shapes = {name: matrix.shape for name, matrix in found.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"matrices have shapes {shapes}; allowed: one for all")
    found.setdefault("damping", np.zeros((size, size)))
    for name, matrix in found.items():
        if _of_one_side(matrix):
            raise ValueError(
                f"{name} has entries on one side of its diagonal only; give both "
                "triangles, or Matrix Market with 'symmetric' in its first line"
            )
    check_mass(found["mass"])
    check_symmetric("stiffness is not symmetric", found["stiffness"], found["mass"])
    asymmetry = 0.0
    for name in ("mass", "stiffness"):
        matrix = found[name]
        largest = np.max(np.abs(matrix)) or 1.0
        asymmetry = max(asymmetry, float(np.max(np.abs(matrix - matrix.T)) / largest))
        found[name] = (matrix + matrix.T) / 2
    low, high, free = _frequencies(found["mass"], found["stiffness"])
    names = tuple(map(str, range(size))) if names is None else tuple(names)
    parts = (jnp.asarray(found[name]) for name in ("mass", "damping", "stiffness"))
    return ReadMatrices(NamedSystem(*parts, names), (low, high), free, asymmetry)


def _frequencies(mass, stiffness) -> tuple[float, float, int]:
    """Return the lowest non-zero and the highest natural frequency, and the zeros."""
    scale = 1 / np.sqrt(np.diagonal(mass))
    lower = np.linalg.cholesky(mass * scale * scale[:, None])
    inner = np.linalg.solve(lower, stiffness * scale * scale[:, None])
    values = np.linalg.eigvalsh(np.linalg.solve(lower, inner.T))
    largest = np.max(np.abs(values), initial=0.0)
    if values[0] < -_SOFT * largest:
        raise ValueError(
            f"stiffness has the eigenvalue {values[0]:g} 1/s^2 relative to the mass; "
            "allowed: none below 0, up to rounding"
        )
    # Rounding in the file shows in negative values. In a fine mesh the lowest modes are
    # 1e-9 of the highest.
    slight = max(4 * np.finfo(float).eps * len(mass) * largest, -_NOISE * values[0])
    roots = np.sqrt(values[values > slight])
    if not roots.size:
        raise ValueError("stiffness = 0; allowed: a non-zero matrix")
    return float(roots[0]), float(roots[-1]), int(np.sum(values <= slight))


def _read(name: str, given: str | Path) -> np.ndarray:
    path, _, key = str(given).partition(":")
    if Path(path).suffix.lower() not in LOADERS:
        raise ValueError(f"{name} = {path!r}; allowed: files {', '.join(LOADERS)}")
    try:
        matrix = np.asarray(square_array(Path(path), key))
    except FileNotFoundError:
        raise FileNotFoundError(f"{name} = {path!r}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{name} = {path!r} cannot be read: {error}") from None
    if matrix.dtype.kind not in "fiu" or not np.all(np.isfinite(matrix)):
        raise ValueError(f"{name} = {path!r} is not real and finite; allowed: numbers")
    return matrix.astype(float)


def _of_one_side(matrix: np.ndarray) -> bool:
    sides = np.any(np.tril(matrix, -1)), np.any(np.triu(matrix, 1))
    return bool(sides[0] != sides[1])
