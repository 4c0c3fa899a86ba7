"""Branches as labelled arrays of xarray."""

import dataclasses
from typing import Any

import numpy as np

from ...drawing.fields import Variable, variables
from ...drawing.plottable import dataset
from ...ensemble import reason


def branch_dataset(branch: Any) -> Any:
    """Return the `xarray.Dataset` of a branch, see `AbstractBranch.to_xarray`."""
    found = branch.orbits
    own = variables(branch, without=("orbits", "parameter"))
    fields = variables(found, ("point",), ("parameter", branch.path)) | {
        name: one
        for name, one in own.items()
        if one.axes == ("point",) and not hasattr(found, name)
    }
    # xarray keeps the name of an axis for its coordinate.
    fields = {
        "states" if name == "state" else name: dataclasses.replace(
            one, axes=tuple("state" if a == "state_component" else a for a in one.axes)
        )
        for name, one in fields.items()
    }
    about = {branch.path: _column("point", branch.parameter, branch.unit, branch.path)}
    ends = "; ".join(reason(code) for code in np.asarray(branch.ends))
    attributes = {"parameter": branch.path, "noun": branch.noun, "ends": ends}
    every = about | fields | _bifurcations(branch)
    return dataset(every, found._along, attributes).set_coords(branch.path)


def _column(axis: str, values: Any, unit: str = "", words: str = "") -> Variable:
    return Variable((axis,), np.asarray(values), unit, words)


def _bifurcations(branch: Any) -> dict[str, Variable]:
    points, axis = branch.bifurcations, "bifurcation"
    states = [point.state for point in points]
    states = np.reshape(np.array(states), (len(points), np.shape(branch.states)[1]))
    kinds, places = (
        np.array([getattr(point, name) for point in points], kind)
        for name, kind in (("kind", str), ("parameter", float))
    )
    words = f"{branch.path} at the bifurcation"
    return {
        "bifurcation.kind": _column(axis, kinds),
        "bifurcation.parameter": _column(axis, places, branch.unit, words),
        "bifurcation.state": Variable(
            (axis, "state"), states, "", "state at the bifurcation"
        ),
    }
