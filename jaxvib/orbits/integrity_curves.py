"""Integrity curves: basin stability, integrity and entropy along a parameter."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Real

from ..foundation.quantity import Range, check_range, result_field
from ..foundation.suggestions import unknown_key
from ..systems.parameters import parameters, replace
from ..systems.system import System
from .attractors import Attractors, distances
from .basins import Basins, basins
from .robustness import Robustness, robustness
from .settings import USUAL, SettlingSettings

_OF_ATTRACTORS = (
    "share",
    "share_interval",
    "integrity_factor",
    "local_integrity",
    "factor_at_edge",
    "local_at_edge",
)


class IntegrityCurves(eqx.Module):
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

    path: str = eqx.field(static=True)
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
    starts: np.ndarray | Sequence,
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
    known = parameters(system)
    if path not in known:
        raise ValueError(unknown_key("parameter", path, known))
    numbers = np.atleast_1d(np.asarray(values, float))
    check_range("values", numbers, "", Range(above=-np.inf, below=np.inf))
    if not numbers.size:
        raise ValueError("values = []; allowed: one value or more")
    starts = np.asarray(starts, float)
    before = _Known([], [], [], [], 0)
    rows: list[tuple[Robustness, Basins, list[int]]] = []
    for value in numbers:
        here = replace(system, {path: value})
        extra = [points[0] for points in before.points]
        whole = np.concatenate([starts, np.reshape(extra, (-1, starts.shape[1]))])
        found = basins(here, whole, settings=settings, period=period, progress=False)
        before = before._replace(led=found.label[len(starts) :].tolist())
        numbered = _followed(found.attractors, before)
        kinds = [_kind(found.attractors, i) for i in range(len(numbered))]
        new = max([before.new, *(number + 1 for number in numbered)])
        before = _Known(numbered, list(found.attractors.points), kinds, [], new)
        found = _without(found, len(starts))
        rows.append((robustness(found, box=box, units=units), found, numbered))
    return _gathered(path, numbers, rows, before.new, starts.shape[1])


class _Known(NamedTuple):
    """The attractors at the previous value, and the labels reached from them now.

    `numbers`: their columns in the result, of which `new` is the next free one.
    """

    numbers: list[int]
    points: list[np.ndarray]
    kinds: list[tuple[int, int]]
    led: list[int]
    new: int


def _followed(found: Attractors, before: "_Known") -> list[int]:
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
        (_apart(points, before.points[j], units), i, number)
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


def _apart(points: np.ndarray, others: np.ndarray, units: np.ndarray) -> float:
    """Return the Hausdorff distance of two sets of states (points, n)."""
    points, others = (x[np.isfinite(x).all(axis=1)] for x in (points, others))
    apart = distances(points, others, units)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def _without(found: Basins, number: int) -> Basins:
    """Return the basins of the first states only."""
    label = found.label[:number]
    counts = np.bincount(label[label >= 0], minlength=len(found.share))
    share = counts / number
    return dataclasses.replace(
        found,
        label=label,
        result=found.result[:number],
        periods_run=found.periods_run[:number],
        share=share,
        share_error=np.sqrt(share * (1 - share) / number),
        undecided=np.asarray(np.mean(label < 0)),
        starts=found.starts[:number],
    )


def _gathered(path, values, rows, names: int, size: int) -> IntegrityCurves:
    shape = len(rows), names
    columns = {
        name: np.full((*shape, 2) if name == "share_interval" else shape, np.nan)
        for name in _OF_ATTRACTORS
    }
    state = np.full((*shape, size), np.nan)
    for row, (measured, found, numbered) in enumerate(rows):
        for name, column in columns.items():
            column[row, numbered] = getattr(measured, name)
        state[row, numbered] = found.attractors.state
    entropies = [measured.entropy for measured, _, _ in rows]
    return IntegrityCurves(
        path,
        values,
        **columns,
        entropy=np.array([float(each.entropy) for each in entropies]),
        boundary_entropy=np.array([float(each.boundary_entropy) for each in entropies]),
        undecided=np.array([float(found.undecided) for _, found, _ in rows]),
        state=state,
    )
