"""Structures in a config whose modes follow from matrix files."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ..config.document import Document
from ..config.tables import Table, flattened, option, validated
from ..resources import library

_PATH = "system.linear.matrices"


class MatricesTable(Table):
    """Matrix files of a structure, relative to the config."""

    mass: str = option("file of the mass matrix: .mtx, .mat, .npz, .npy or .op4", unit="kg")
    stiffness: str = option("file of the stiffness matrix", unit="N/m")
    damping: str | None = option("file of the damping matrix", None, unit="N s/m")


class ModalTable(Table):
    """Modes of unit modal mass, computed from matrix files or identified in tests."""

    frequencies: list[float] = option(
        "natural frequencies, 0 for rigid-body modes", min_length=1, max_length=512,
        allowed="a list of numbers from 0 on", unit="rad/s",
    )  # fmt: skip
    shapes: dict[str, list[float]] = option(
        "components of the modes at each point, by its name", min_length=1,
        allowed="a list for each point, such as shapes.tip, as long as frequencies",
        unit="1/kg^0.5",
    )  # fmt: skip
    damping_ratios: list[float] | None = option("of each mode", None, unit="")
    residual: list[list[float]] | None = option(
        "static flexibility of the modes left out between the points", None, unit="m/N"
    )
    source: str = option("where they come from", "", max_length=2000)


def with_read_matrices(table: dict, document: Document) -> dict:
    """Return a system's table with the modes of the matrix files that it names, if any.

    `matrices`, `modes` and `points` of the linear part become `modal`, so that the study
    contains its input. **Raises:** `ValueError` naming the key, for an unreadable file
    and as `read_matrices` and `elastic_structure`.
    """
    linear = table.get("linear")
    if not isinstance(linear, dict) or "matrices" not in linear:
        return table
    where = document.where(_PATH)
    for other in ("beam", "modules", "modal"):
        if other in linear:
            raise ValueError(
                f"{where}: both matrices and {other} given in system.linear; allowed: one"
            )
    files = validated(MatricesTable, linear["matrices"], _PATH, document)
    points = linear.get("points")
    if not isinstance(points, dict) or not points:
        raise ValueError(
            f'{where}: system.linear.points is missing; allowed: a table such as tip = "12"'
        )
    try:
        modal = _modal(files, Path(document.name).parent, linear, points)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"{where}: {_PATH}: {error}") from None
    left = {k: v for k, v in linear.items() if k not in ("matrices", "modes", "points")}
    return {**table, "linear": {**left, "modal": modal}}


def _modal(files: MatricesTable, folder: Path, linear: dict, points: dict) -> dict:
    given = {n: text for n, text in files.model_dump().items() if text is not None}
    read = library("systems").read_matrices(**{n: folder / t for n, t in given.items()})
    replaced = {"damping_ratio", "mass_damping", "stiffness_damping"} & set(linear)
    places = {
        name: flattened(place) if isinstance(place, dict) else place
        for name, place in points.items()
    }
    for name, place in places.items():
        if not isinstance(place, str | dict):
            raise ValueError(
                f"points.{name} = {place!r}; allowed: a degree of freedom as text, from "
                '"0" on, or several with coefficients'
            )
    damping: dict[str, Any] = {"damping_ratio": 0.0} if replaced else {}
    build = library("modes").elastic_structure
    structure = build(read, linear.get("modes"), places, **damping)
    digests = [
        f"{name} {text}, sha256 {_digest(folder, text)}" for name, text in given.items()
    ]
    modal: dict[str, Any] = {
        "frequencies": np.asarray(structure.frequencies).tolist(),
        "shapes": dict(
            zip(structure.names, np.asarray(structure.shapes).tolist(), strict=True)
        ),
        "residual": np.asarray(structure.residual).tolist(),
        "source": "; ".join(digests),
    }
    if not replaced:
        modal["damping_ratios"] = np.asarray(structure.damping_ratio).tolist()
    return modal


def _digest(folder: Path, text: str) -> str:
    file = folder / text.partition(":")[0]
    return hashlib.sha256(file.read_bytes()).hexdigest()
