"""Charts of branches and of bifurcation curves."""

from collections.abc import Sequence
from typing import Any

from ...drawing import Axis, Chart, draw
from ...drawing.axes import Axes
from ...drawing.labels import with_unit
from ...drawing.polyline import branch_layers, curve_layers, kind_words, numbered
from ...systems.base.system import System
from .measures import Components, Measure, measured


def plot_branches(
    branches: Sequence[Any],
    *,
    measure: Measure = None,
    components: Components = None,
    system: System | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes = None,
) -> Axes:
    """Draw branches along one parameter on the same axes, and return the axes.

    Each has its colour; the legend names each branch, each line style and each kind of
    bifurcation once. For equilibria and cycles together: `measure="range"`, which draws
    the lowest and highest values of cycles around the values of equilibria.

    **Arguments:** `branches`: along the same parameter. `labels`: of the legend, one per
    branch; default: what the branches consist of, numbered if necessary. The others as in
    `AbstractBranch.plot`, but `measure` is "range" by default where equilibria are among
    moving branches, as "amplitude" and "state" are different quantities.

    **Raises:** `ValueError` for no branch, branches along different parameters, as many
    labels as are not branches, and as `AbstractBranch.plot`.

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (450.0, 550.0))
    >>> axes = jv.branches.plot_branches([branch], components=["main"])
    >>> axes.get_ylabel()
    'amplitude of main (m)'
    """
    return draw(branches_chart(branches, measure, components, system, labels), ax)


def branches_chart(
    branches: Sequence[Any],
    measure: Measure = None,
    components: Components = None,
    system: System | None = None,
    labels: Sequence[str] | None = None,
) -> Chart:
    """Return the chart of `plot_branches`."""
    branches = tuple(branches)
    paths = list(dict.fromkeys(branch.path for branch in branches))
    if len(paths) != 1:
        raise ValueError(f"branches along {paths}; allowed: along one parameter")
    names = ("",) if len(branches) == 1 else numbered([one.noun for one in branches])
    names = names if labels is None else tuple(labels)
    _check_labels(names, branches, "branches")
    kinds = {hasattr(branch.orbits, "period") for branch in branches}
    if measure is None and len(kinds) > 1:
        measure = "range"
    curves = [measured(branch, measure, components, system) for branch in branches]
    x = Axis(with_unit(paths[0], branches[0].unit), paths[0])
    words = list(dict.fromkeys(each.label for each in curves))
    layers = branch_layers([*zip(names, branches, curves, strict=True)])
    return Chart(x, Axis(" / ".join(words)), tuple(layers))


def plot_curves(
    curves: Sequence[Any], *, labels: Sequence[str] | None = None, ax: Axes = None
) -> Axes:
    """Draw bifurcation curves in the plane of their two parameters; return the axes.

    Each has its colour and label; codimension-two points are marked by kind.
    **Arguments:** `curves`: of the same two parameters. `labels`: one per curve; default:
    the kinds, numbered if necessary.

    **Raises:** `ValueError` for no curve, curves in different parameters, or another
    number of labels.
    """
    return draw(curves_chart(curves, labels), ax)


def curves_chart(curves: Sequence[Any], labels: Sequence[str] | None = None) -> Chart:
    """Return the chart of `plot_curves`."""
    curves = tuple(curves)
    planes = list(dict.fromkeys(frozenset(curve.paths) for curve in curves))
    if len(planes) != 1:
        found = [" and ".join(curve.paths) for curve in curves]
        raise ValueError(f"curves in {found}; allowed: in the same two parameters")
    names = numbered([curve.kind for curve in curves]) if labels is None else tuple(labels)
    _check_labels(names, curves, "curves")
    paths, units = curves[0].paths, curves[0].units
    across, up = (
        Axis(with_unit(*each), each[0]) for each in zip(paths, units, strict=True)
    )
    title = kind_words(curves[0].kind) if len(curves) == 1 else ""
    layers = tuple(curve_layers(curves, paths, names))
    return Chart(across, up, layers, title)


def _check_labels(labels, drawn, noun: str) -> None:
    if len(labels) != len(drawn):
        raise ValueError(f"labels: {len(labels)} of {len(drawn)} {noun}; allowed: one each")
