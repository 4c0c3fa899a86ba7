"""Systems from matrix files, with checks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy  # loads .sparse lazily
from jaxtyping import Array, Float

from ...linalg.sparse_modes import sparse_modes
from ..base.freedoms import direction
from ..impact import LinearSystem
from ..symmetry import check_kinetic_energy, check_mass, check_symmetric
from .array_files import LOADERS, square_array
from .massless import Condensed, condensed

_SOFT = 1e-9  # of the largest eigenvalue: smaller negative ones are rounding
_SHOWN = 6  # of the lowest natural frequencies
_ORDER = ("mass", "damping", "stiffness")
_NOISE = 10.0  # times the most negative eigenvalue: smaller ones are rounding too


class NamedSystem(LinearSystem):
    """A `LinearSystem` whose degrees of freedom have names.

    **Fields:** as of `LinearSystem`; `names`: unique names of the degrees of freedom.
    **Raises:** `ValueError` as `LinearSystem`, or for another number of names than of
    degrees of freedom.
    """

    names: tuple[str, ...] = eqx.field(static=True, default=())

    def __check_init__(self) -> None:
        _check_names(self.names, jnp.shape(self.mass)[0])

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom."""
        return self.names


class ReadMatrices(NamedTuple):
    """A system read from files, with properties of its matrices.

    **Fields:** `system`: without its motions of no mass, which follow statically
    (`systems.files.massless`); None above 5000 degrees of freedom, whose modes
    `elastic_structure` computes; `frequencies`: the lowest non-zero and the highest
    natural frequency, rad/s: if they are not those of the structure, a file is in other
    units than kg, N/m and N s/m; the highest is NaN above 5000; `free`: the number of
    rigid-body modes; `asymmetry`: the largest asymmetry of the matrices before they were
    symmetrised, relative to their largest entry; `names` of all degrees of freedom;
    `lowest`: up to six non-zero natural frequencies, rad/s; `condensed`: of the motions
    without mass; `matrices`: all of (M, D, C), sparse above 5000.
    """

    system: NamedSystem | None
    frequencies: tuple[float, float]
    free: int
    asymmetry: float
    names: tuple[str, ...]
    lowest: tuple[float, ...]
    condensed: Condensed | None
    matrices: tuple[Any, Any, Any]

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of all degrees of freedom, those without mass too."""
        return self.names

    def direction(self, place: str | Mapping[str, float]) -> Float[Array, " n"]:
        """Return the direction of a degree of freedom, or of some, among all of them."""
        return direction(self.names, place)

    def __str__(self) -> str:
        (low, high), size = self.frequencies, len(self.names)
        rank = size if self.condensed is None else len(self.condensed.kept)
        mass = "" if rank == size else f", mass of rank {rank}: the others are condensed"
        upper = "" if np.isnan(high) else f" to {high:.6g}"
        in_hertz = "" if np.isnan(high) else f" to {high / (2 * np.pi):.6g}"
        lowest = ", ".join(f"{x / (2 * np.pi):.6g}" for x in self.lowest)
        return (
            f"{size} degrees of freedom{mass}, {self.free} rigid-body modes, natural "
            f"frequencies {low:.6g}{upper} rad/s ({low / (2 * np.pi):.6g}"
            f"{in_hertz} Hz; the lowest: {lowest} Hz) if masses are in kg and "
            "stiffnesses in N/m"
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
    with several is named after a colon, `model.mat:K`. Sparse matrices become dense up to
    5000 degrees of freedom. Mass and stiffness may be one triangle; what is symmetric up
    to rounding is symmetrised. A mass may be singular: motions without mass and damping
    are condensed exactly. Without a damping file there is no damping. Names are `0`, `1`
    ... by default. `str` of the result reports what was read.

    **Raises:** `ValueError` for a file of another kind, a missing array (with a
    suggestion), matrices that are not square, real and finite or differ in size, one
    triangle of a damping, a mass or stiffness that is not symmetric, a mass with negative
    or a stiffness with negative eigenvalues, or motions without mass that are damped or
    have no stiffness either; `OSError` for an unreadable file; `ImportError` for OUTPUT4
    without pyyeti.
    """
    given = {"mass": mass, "stiffness": stiffness, "damping": damping}
    found = {name: _read(name, path) for name, path in given.items() if path is not None}
    shapes = {name: matrix.shape for name, matrix in found.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"matrices have shapes {shapes}; allowed: one for all")
    size = shapes["mass"][0]
    names = tuple(map(str, range(size))) if names is None else tuple(names)
    _check_names(names, size)
    sparse = any(map(scipy.sparse.issparse, found.values()))
    zeros = scipy.sparse.csc_array((size, size)) if sparse else np.zeros((size, size))
    if sparse:
        found = {name: scipy.sparse.csc_array(each) for name, each in found.items()}
    parts = [_whole(name, found.get(name, zeros)) for name in _ORDER]
    asymmetry = max(map(_asymmetry, (parts[0], parts[2])))
    if sparse:
        return _of_sparse(parts, names, asymmetry)
    check_kinetic_energy(parts[0])
    check_symmetric("mass is not symmetric", parts[0], parts[0])
    check_symmetric("stiffness is not symmetric", parts[2], parts[0])
    parts = [(parts[0] + parts[0].T) / 2, parts[1], (parts[2] + parts[2].T) / 2]
    still = condensed(*parts, names)
    left = [still.reduced(part) for part in parts]
    check_mass(left[0])
    system = NamedSystem(*map(jnp.asarray, left), tuple(names[k] for k in still.kept))
    lowest, high, free = _frequencies(left[0], left[2])
    ends = lowest[0], high
    return ReadMatrices(system, ends, free, asymmetry, names, lowest, still, tuple(parts))


def _check_names(names: Sequence[str], size: int) -> None:
    if len(names) != size or len(set(names)) != size:
        raise ValueError(
            f"{len(set(names))} different names for {size} degrees of freedom; "
            "allowed: a name for each"
        )


def _whole(name: str, matrix: Any) -> Any:
    """Return a matrix of which one triangle may be given, a mass or a stiffness."""
    of: Any = scipy.sparse if scipy.sparse.issparse(matrix) else np
    lower, upper = of.tril(matrix, -1), of.triu(matrix, 1)
    if bool(abs(lower).max()) == bool(abs(upper).max()):
        return matrix
    if name == "damping":
        raise ValueError(
            "damping has entries on one side of its diagonal only; give both triangles, "
            "or Matrix Market with 'symmetric' in its first line"
        )
    return matrix + lower.T + upper.T


def _asymmetry(matrix: Any) -> float:
    """Return the largest asymmetry of a matrix, relative to its largest entry."""
    return float(abs(matrix - matrix.T).max() / (abs(matrix).max() or 1.0))


def _of_sparse(parts: Sequence[Any], names: tuple[str, ...], asymmetry: float):
    """Return what was read of matrices too large to be dense, with their lowest modes."""
    for name, matrix in zip(_ORDER, parts, strict=True):
        own = np.sqrt(np.abs(matrix.diagonal()))
        skew = abs(matrix - matrix.T).tocoo()
        if name != "damping" and np.any(skew.data > 1e-10 * own[skew.row] * own[skew.col]):
            raise ValueError(f"{name} is not symmetric; allowed: a symmetric one")
    mass, damping, stiffness = parts
    if np.any(mass.diagonal() < 0):
        raise ValueError("mass has a negative diagonal; allowed: no negative one")
    parts = (mass + mass.T) / 2, damping, (stiffness + stiffness.T) / 2
    found = sparse_modes(parts[0], parts[2], _SHOWN + 6)  # a body has six rigid ones
    lowest = tuple(found.frequencies[found.frequencies > 0][:_SHOWN].tolist())
    free = int(np.sum(found.frequencies == 0))
    ends = lowest[0] if lowest else np.nan, np.nan
    return ReadMatrices(None, ends, free, asymmetry, names, lowest, None, parts)


def _frequencies(mass, stiffness) -> tuple[tuple[float, ...], float, int]:
    """Return the lowest non-zero and the highest natural frequencies, and the zeros."""
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
    lowest = tuple(roots[:_SHOWN].tolist())
    return lowest, float(roots[-1]), int(np.sum(values <= slight))


def _read(name: str, given: str | Path) -> Any:
    path, _, key = str(given).partition(":")
    if Path(path).suffix.lower() not in LOADERS:
        raise ValueError(f"{name} = {path!r}; allowed: files {', '.join(LOADERS)}")
    try:
        matrix = square_array(Path(path), key)
    except FileNotFoundError:
        raise FileNotFoundError(f"{name} = {path!r}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{name} = {path!r} cannot be read: {error}") from None
    numbers = matrix.data if scipy.sparse.issparse(matrix) else matrix
    if matrix.dtype.kind not in "fiu" or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} = {path!r} is not real and finite; allowed: numbers")
    return matrix.astype(float)
