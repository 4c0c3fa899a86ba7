"""Integrity curves: basin stability, integrity and entropy along a parameter."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int, Real

from ...drawing import Plottable
from ...foundation.quantity import Range, check_range, result_field
from ...systems.base.system import System, state_shape
from ...systems.parameters import parameter_at, replace
from ..settings import USUAL, SettlingSettings
from .attractors import Attractors, distances
from .basins import Basins, basins, basins_of
from .robustness import Robustness, robustness

_OF_ATTRACTORS = (
    "share",
    "share_interval",
    "integrity_factor",
    "local_integrity",
    "factor_at_edge",
    "local_at_edge",
)


class IntegrityCurves(Plottable):
    """Measures of each attractor along a parameter; NaN where it does not exist.

    An attractor continues as the nearest one of its kind at the next value, or the one
    to which its state leads there; the values must be dense enough for that. See
    `Robustness` for the measures; `..._at_edge` is 1 where the grid's edge limits one.

    >>> grid = np.linspace(-0.1, 0.0, 5)
    >>> starts = jv.orbits.state_grid(system, {0: grid, 2: np.linspace(0.0, 0.5, 5)})
    >>> curves = jv.orbits.integrity_curves(system, "gap", [0.05], starts)
    >>> curves.local_at_edge.shape
    (1, 1)
    """

    drawn = ("share", "integrity_factor", "entropy")

    path: str = eqx.field(static=True)
    names: list[str] = eqx.field(static=True)  # as where an attractor is first found
    parameter: Float[np.ndarray, " value"] = result_field(
        "values of the parameter", "", ("value",)
    )
    share: Float[np.ndarray, "value attractor"] = result_field(
        "share of the states", "", ("value", "attractor")
    )
    share_interval: Float[np.ndarray, "value attractor end"] = result_field(
        "its binomial 95 % interval", "", ("value", "attractor", "end")
    )
    integrity_factor: Float[np.ndarray, "value attractor"] = result_field(
        "radius of the largest sphere within the basin", "", ("value", "attractor")
    )
    local_integrity: Float[np.ndarray, "value attractor"] = result_field(
        "distance from states that lead elsewhere", "", ("value", "attractor")
    )
    factor_at_edge: Float[np.ndarray, "value attractor"] = result_field(
        "whether the grid's edge limits the factor", "", ("value", "attractor")
    )
    local_at_edge: Float[np.ndarray, "value attractor"] = result_field(
        "whether the grid's edge limits the distance", "", ("value", "attractor")
    )
    entropy: Float[np.ndarray, " value"] = result_field("basin entropy", "", ("value",))
    boundary_entropy: Float[np.ndarray, " value"] = result_field(
        "boundary basin entropy", "", ("value",)
    )
    undecided: Float[np.ndarray, " value"] = result_field(
        "share of the states that are undecided", "", ("value",)
    )
    state: Float[np.ndarray, "value attractor state"] = result_field(
        "one state of the attractor at t = 0", "", ("value", "attractor", "state")
    )

    result: Int[np.ndarray, " value"] = result_field(
        "reason code: success, or why most states are undecided if all are", "", ("value",)
    )

    def __repr__(self) -> str:
        values, number = self.share.shape
        return (
            f"IntegrityCurves of {number} attractors at {values} values of {self.path} "
            f"from {self.parameter[0]:g} to {self.parameter[-1]:g}"
        )


def integrity_curves(
    system: System,
    path: str,
    values: Real[np.ndarray, " value"] | Sequence[float],
    starts: np.ndarray | Sequence[Any],
    *,
    box: int = 5,
    units: Mapping[int, float] | None = None,
    period: float | None = None,
    settings: SettlingSettings = USUAL,
) -> IntegrityCurves:
    """Return the robustness of all attractors along the parameter at `path`.

    **Arguments:** `values`: in the order in which attractors are followed; `starts`: a
    `state_grid`, the same at each value; `box`, `units`: see `robustness`; `period`,
    `settings`: see `basins`. **Raises:** as these do.

    >>> grid = np.linspace(-0.1, 0.0, 5)
    >>> starts = jv.orbits.state_grid(system, {0: grid, 2: np.linspace(0.0, 0.5, 5)})
    >>> jv.orbits.integrity_curves(system, "gap", [0.05, 0.06], starts).share.tolist()
    [[1.0], [1.0]]
    """
    parameter_at(system, path)
    numbers = np.atleast_1d(np.asarray(values, float))
    check_range("values", numbers, "", Range(above=-np.inf, below=np.inf))
    if not numbers.size:
        raise ValueError("values = []; allowed: one value or more")
    starts = np.asarray(starts, float)
    if starts.ndim != 2 or not np.isfinite(starts).all():
        size = state_shape(system)[0]
        raise ValueError(
            f"starts have shape {starts.shape}; allowed: (starts, {size}), finite numbers"
        )
    before = _Known([], [], [], [], 0)
    rows: list[_Row] = []
    for value in numbers:
        changed = replace(system, {path: value})
        extra = [points[0] for points in before.points]
        states = np.concatenate([starts, np.reshape(extra, (-1, starts.shape[1]))])
        found = basins(changed, states, settings=settings, period=period, progress=False)
        before = before._replace(led=found.label[len(starts) :].tolist())
        numbered = _matched(found.attractors, before)
        kinds = [_kind(found.attractors, i) for i in range(len(numbered))]
        new = max([before.new, *(number + 1 for number in numbered)])
        before = _Known(numbered, list(found.attractors.points), kinds, [], new)
        found = _without(found, len(starts))
        measured = robustness(found, box=box, units=units)
        # Not the basins themselves: of a million starts they take 50 MB.
        state, undecided = found.attractors.state, float(found.undecided)
        why = int(np.bincount(found.result).argmax()) if undecided == 1 else 0
        rows.append(_Row(measured, state, undecided, why, numbered))
    return _gathered(path, numbers, rows, before.new, starts.shape[1])


class _Row(NamedTuple):
    """Results at one value of the parameter.

    `code`: its reason code; `numbers`: the columns of its attractors.
    """

    measured: Robustness
    state: np.ndarray
    undecided: float
    code: int
    numbers: list[int]


class _Known(NamedTuple):
    """The attractors at the previous value, and the labels reached from them now.

    `numbers`: their columns in the result, of which `new` is the next free one.
    """

    numbers: list[int]
    points: list[np.ndarray]
    kinds: list[tuple[int, int]]
    led: list[int]
    new: int


def _matched(found: Attractors, before: "_Known") -> list[int]:
    """Return the number of each attractor: that of an earlier one, or a new one.

    Pairs of the same kind, or of which one leads to the other, are matched in the order
    of their distance.
    """
    if not before.numbers or not len(found.points):
        return [before.new + i for i in range(len(found.points))]
    every = np.concatenate([*found.points, *before.points])
    units = np.nanmax(np.abs(every), axis=0)
    units = np.where(units > 0, units, 1.0)
    pairs = sorted(
        (_hausdorff_distance(points, before.points[j], units), i, number)
        for i, points in enumerate(found.points)
        for j, number in enumerate(before.numbers)
        if _kind(found, i) == before.kinds[j] or before.led[j] == i
    )
    numbered: dict[int, int] = {}
    for _, i, number in pairs:
        if i not in numbered and number not in numbered.values():
            numbered[i] = number
    new = itertools.count(before.new)
    return [numbered[i] if i in numbered else next(new) for i in range(len(found.points))]


def _kind(found: Attractors, i: int) -> tuple[int, int]:
    return int(found.orbits.result[i]), int(found.periods[i])


def _hausdorff_distance(points: np.ndarray, others: np.ndarray, units: np.ndarray) -> float:
    """Return the Hausdorff distance of two sets of states (points, n)."""
    points, others = (x[np.isfinite(x).all(axis=1)] for x in (points, others))
    apart = distances(points, others, units)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def _without(found: Basins, number: int) -> Basins:
    """Return the basins of the first states only."""
    first = (each[:number] for each in (found.label, found.result, found.periods_run))
    return basins_of(*first, found.attractors, found.starts[:number], found.labels)


def _gathered(path, values, rows: list[_Row], number: int, size: int) -> IntegrityCurves:
    shape = len(rows), number
    columns = {
        name: np.full((*shape, 2) if name == "share_interval" else shape, np.nan)
        for name in _OF_ATTRACTORS
    }
    state = np.full((*shape, size), np.nan)
    names: dict[int, str] = {}
    for place, row in enumerate(rows):
        for name, column in columns.items():
            column[place, row.numbers] = getattr(row.measured, name)
        state[place, row.numbers] = row.state
        for i, name in zip(row.numbers, row.measured.names, strict=True):
            names.setdefault(i, f"A{i + 1}: {name.partition(': ')[2]}")
    entropies = [row.measured.entropy for row in rows]
    return IntegrityCurves(
        path,
        [names[i] for i in range(number)],
        values,
        **columns,
        entropy=np.array([float(each.entropy) for each in entropies]),
        boundary_entropy=np.array([float(each.boundary_entropy) for each in entropies]),
        undecided=np.array([row.undecided for row in rows]),
        state=state,
        result=np.array([row.code for row in rows], np.int32),
    )
