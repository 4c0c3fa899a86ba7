"""Branches as labelled arrays of xarray."""

import dataclasses
from typing import Any

import numpy as np

from ...ensemble import reason


def branch_dataset(branch: Any) -> Any:
    """Return the `xarray.Dataset` of a branch, see `AbstractBranch.to_xarray`."""
    import xarray

    found = branch.orbits
    about = {"long_name": branch.path, "units": branch.unit}
    coordinates: dict[str, Any] = {
        branch.path: ("point", np.asarray(branch.parameter), about)
    }
    variables: dict[str, Any] = {}
    for field in (*dataclasses.fields(found), *dataclasses.fields(branch)):
        metadata = field.metadata
        if "axes" not in metadata:
            continue
        own = found if hasattr(found, field.name) else branch
        values = np.asarray(getattr(own, field.name))
        # Fields of the solutions have the axis of points in front, see `Branch.orbits`.
        axes = metadata["axes"] if own is branch else ("point", *metadata["axes"])
        known = field.name in ("parameter", branch.path)
        if known or (own is branch and axes != ("point",)):
            continue
        unit = found.labels.own_unit(metadata["unit"])
        attributes = {"long_name": metadata["description"], "units": unit}
        # xarray keeps the name of an axis for its coordinate.
        name = "states" if field.name == "state" else field.name
        parts = {name: values}
        if np.iscomplexobj(values):
            parts = {f"{name}.real": values.real, f"{name}.imag": values.imag}
        variables |= {part: (axes, real, attributes) for part, real in parts.items()}
    labels, sizes = found.labels, np.shape(branch.states)[1:]
    for axis, names, units, size in (
        ("state", labels.names, labels.units, sizes[0]),
        ("freedom", labels.freedoms, labels.freedom_units, None),
    ):
        used = any(axis in axes for axes, *_ in variables.values())
        if used and names and (size is None or len(names) == size):
            coordinates[axis] = (axis, list(names))
            if units:
                coordinates[f"{axis}_unit"] = (axis, list(units))
    variables |= _bifurcations(branch, sizes[0])
    ends = "; ".join(reason(code) for code in np.asarray(branch.ends))
    attributes = {"parameter": branch.path, "noun": branch.noun, "ends": ends}
    return xarray.Dataset(variables, coordinates, attributes)


def _bifurcations(branch: Any, size: int) -> dict[str, Any]:
    points, axis = branch.bifurcations, "bifurcation"
    states = np.array([point.state for point in points]).reshape(len(points), size)
    units = {"units": branch.unit}
    return {
        "bifurcation.kind": (axis, np.array([point.kind for point in points], str)),
        "bifurcation.parameter": (
            axis,
            np.array([point.parameter for point in points], float),
            {"long_name": f"{branch.path} at the bifurcation", **units},
        ),
        "bifurcation.state": (
            (axis, "state"),
            states,
            {"long_name": "state at the bifurcation"},
        ),
    }
