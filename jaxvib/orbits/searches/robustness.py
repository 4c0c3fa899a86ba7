r"""Robustness of attractors from their basins: basin entropy and integrity measures.

In a box of states of which the share $p_j$ leads to attractor j the entropy is
$S = -\sum_j p_j \ln p_j$. The basin entropy is its mean over all boxes, the boundary
basin entropy over those with several attractors; more than $\ln 2$ shows that the
boundary is fractal.

**Source:** Daza, Wagemakers, Georgeot, Guery-Odelin and Sanjuan, *Scientific Reports* 6
(2016) 31416; Rega and Lenci, *Nonlinear Analysis* 63 (2005) 902, for integrity.
"""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import numpy as np
import scipy  # loads submodules lazily: .ndimage, .spatial and .stats
from jaxtyping import Bool, Float, Int

from ...drawing import Plottable
from ...ensemble import Reason
from ...foundation.quantity import Range, check_range, result_field
from ..pictures import moved_components
from .basins import Basins

_SAME_PLANE = 1e-9  # relative difference of components that do not vary
_EVEN = 1e-6  # ... and of the distances of a grid's values
_TAIL = 0.025  # probability beyond each end of an interval of 95 %


class BasinEntropy(Plottable):
    """Basin entropy, its mean over the boxes on boundaries, and the share of these.

    Standard errors are those of a mean over independent boxes; NaN for one box.

    >>> halves = np.repeat([0, 1], 8).reshape(4, 4)
    >>> int(jv.orbits.basin_entropy(halves, box=2).boxes)
    4
    """

    entropy: Float[np.ndarray, ""] = result_field("basin entropy")
    entropy_error: Float[np.ndarray, ""] = result_field("its standard error")
    boundary_entropy: Float[np.ndarray, ""] = result_field(
        "boundary basin entropy, NaN without a boundary"
    )
    boundary_entropy_error: Float[np.ndarray, ""] = result_field("its standard error")
    boundary_share: Float[np.ndarray, ""] = result_field(
        "share of the boxes with several attractors"
    )
    boxes: Int[np.ndarray, ""] = result_field("number of boxes")

    def __repr__(self) -> str:
        return (
            f"basin entropy {float(self.entropy):.4g} +- {float(self.entropy_error):.1g}, "
            f"{float(self.boundary_entropy):.4g} +- "
            f"{float(self.boundary_entropy_error):.1g} on boundaries "
            f"({float(self.boundary_share):.1%} of {int(self.boxes)} boxes)"
        )


class Robustness(Plottable):
    """Basin stability, entropy and integrity of attractors over a grid of states.

    Distances are Euclidean, in `units` of the components. States beyond the grid are
    not known: spheres end there, and a measure limited by the edge (`..._at_edge`) is a
    lower bound. Otherwise it is the distance of the nearest state of the grid that
    leads elsewhere or is undecided, and the boundary may be nearer by up to
    `resolution`.

    >>> grid = np.linspace(-0.1, 0.0, 5)
    >>> starts = jv.orbits.state_grid(system, {0: grid, 2: np.linspace(0.0, 0.5, 5)})
    >>> jv.orbits.robustness(jv.basins(system, starts)).factor_at_edge.tolist()
    [True]
    """

    names: list[str] = eqx.field(static=True)
    share: Float[np.ndarray, " attractor"] = result_field(
        "share of the states that lead there: basin stability, global integrity",
        "",
        ("attractor",),
    )
    share_interval: Float[np.ndarray, "attractor end"] = result_field(
        "its binomial 95 % interval, for random states", "", ("attractor", "end")
    )
    integrity_factor: Float[np.ndarray, " attractor"] = result_field(
        "radius of the largest sphere within the basin", "", ("attractor",)
    )
    factor_at_edge: Bool[np.ndarray, " attractor"] = result_field(
        "whether the grid's edge limits it", "", ("attractor",)
    )
    local_integrity: Float[np.ndarray, " attractor"] = result_field(
        "distance of the attractor from states that lead elsewhere, NaN if it is not "
        "within the grid",
        "",
        ("attractor",),
    )
    local_at_edge: Bool[np.ndarray, " attractor"] = result_field(
        "whether the grid's edge limits it", "", ("attractor",)
    )
    resolution: Float[np.ndarray, ""] = result_field("diagonal of a cell of the grid")
    entropy: BasinEntropy

    def __repr__(self) -> str:
        lines = [f"Robustness of {len(self.names)} attractors: {self.entropy!r}"]
        for i, name in enumerate(self.names):
            low, high = self.share_interval[i]
            lines.append(
                f"  {name:<28} share {self.share[i]:.2%} ({low:.2%} to {high:.2%}), "
                f"factor {_bounded(self.integrity_factor[i], self.factor_at_edge[i])}, "
                f"local {_bounded(self.local_integrity[i], self.local_at_edge[i])}"
            )
        return "\n".join(lines)


def _bounded(value, at_edge) -> str:
    return f"{'>= ' * bool(at_edge)}{float(value):.3g}"


def basin_entropy(labels: Int[np.ndarray, "..."], box: int = 5) -> BasinEntropy:
    r"""Return the basin entropy of labels on a grid of any dimension.

    $$S_b = \frac{1}{N} \sum_{i=1}^{N} S_i, \qquad S_i = -\sum_j p_{ij} \ln p_{ij},$$

    over N boxes of `box` states along each side; $S_{bb}$ is the mean over the boxes
    with $S_i > 0$. States beyond the last whole box are left out, and so are negative
    labels (undecided).

    **Raises:** `ValueError` for a box below 2 or larger than a side of the grid.
    **Source:** Daza et al. (2016), equations (3) and (6).

    >>> halves = np.repeat([0, 1], 8).reshape(4, 4)
    >>> float(jv.orbits.basin_entropy(halves, box=2).entropy)
    0.0
    """
    labels = np.asarray(labels)
    if not labels.size or labels.dtype.kind not in "iu":
        what = f"labels of shape {labels.shape} and type {labels.dtype}"
        raise ValueError(f"{what}; allowed: whole numbers on a grid, -1 if undecided")
    most = min(labels.shape, default=0)
    check_range("box", box, "", Range(at_least=2, at_most=max(most, 2)))
    if most < box:
        raise ValueError(f"box = {box} of labels of shape {labels.shape}; allowed: {most}")
    boxes = _boxes(labels, box)
    counts = np.stack(
        [np.sum(boxes == label, axis=1) for label in np.unique(boxes[boxes >= 0])], axis=1
    ) if (boxes >= 0).any() else np.zeros((len(boxes), 0))  # fmt: skip
    known = counts.sum(axis=1) > 0
    part = counts[known] / counts[known].sum(axis=1, keepdims=True)
    entropies = scipy.special.entr(part).sum(axis=1)
    mixed = entropies[(part > 0).sum(axis=1) > 1]
    entropy, error = _mean(entropies)
    boundary, boundary_error = _mean(mixed)
    share = len(mixed) / len(entropies) if len(entropies) else np.nan
    numbers = entropy, error, boundary, boundary_error, share
    return BasinEntropy(*map(np.asarray, numbers), np.asarray(len(entropies)))


def _boxes(labels: np.ndarray, box: int) -> np.ndarray:
    """Return the labels of each whole box, (boxes, states)."""
    counts = [size // box for size in labels.shape]
    inner = labels[tuple(slice(number * box) for number in counts)]
    split = inner.reshape([size for number in counts for size in (number, box)])
    count = len(counts)
    order = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]
    return split.transpose(order).reshape(int(np.prod(counts)), box**count)


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, NaN where there are too few values."""
    number = len(values)
    mean = float(values.mean()) if number else np.nan
    return mean, float(values.std(ddof=1) / np.sqrt(number)) if number > 1 else np.nan


def robustness(
    basins: Basins, *, box: int = 5, units: Mapping[int, float] | None = None
) -> Robustness:
    """Return entropy and integrity measures of basins over an evenly spaced grid.

    The integrity factor of an attractor is the radius of the largest sphere within its
    basin, the local integrity its distance from states that lead elsewhere. Motions
    that `ESCAPED` count as an attractor of the entropy; other undecided states are left
    out there, and belong to no basin.

    **Arguments:** `basins`: of a `state_grid` with any number of components; the
    measures are those in its plane, and the local integrity is NaN of an attractor
    that is not in it. `box`: states along a side of a box, see `basin_entropy`.
    `units`: of distances, by component; by default half the range of its values.
    **Raises:** `ValueError` for states that do not fill an evenly spaced grid, or an
    argument out of its range.

    >>> grid = np.linspace(-0.1, 0.0, 5)
    >>> starts = jv.orbits.state_grid(system, {0: grid, 2: np.linspace(0.0, 0.5, 5)})
    >>> jv.orbits.robustness(jv.basins(system, starts)).share.tolist()
    [1.0]
    """
    grid = _grid(basins, units)
    escaped = np.where(basins.result == Reason.ESCAPED, len(basins.share), basins.label)
    entropy = basin_entropy(grid.laid(escaped), box)
    labels = grid.laid(basins.label)
    rows = [
        (*_largest_sphere(labels == i, grid), *_nearest_other(basins, i, grid))
        for i in range(len(basins.share))
    ]
    factor, factor_edge, local, local_edge = (
        np.array([row[column] for row in rows]) for column in range(4)
    )
    counts = np.bincount(basins.label[basins.label >= 0], minlength=len(rows))
    return Robustness(
        basins.attractors.names,
        basins.share,
        share_intervals(counts, len(basins.label)),
        factor.astype(float),
        factor_edge.astype(bool),
        local.astype(float),
        local_edge.astype(bool),
        np.asarray(np.sqrt(np.sum(grid.steps**2))),
        entropy,
    )


def share_intervals(
    counts: np.ndarray, number: int, tail: float = _TAIL
) -> Float[np.ndarray, "attractor end"]:
    """Return intervals of shares: Clopper and Pearson, *Biometrika* 26 (1934).

    `tail`: the probability beyond each end; by default the interval has 95 %.
    """
    beta = scipy.stats.beta
    with np.errstate(invalid="ignore"):
        low = beta.ppf(tail, counts, number - counts + 1)
        high = beta.ppf(1 - tail, counts + 1, number - counts)
    low, high = np.where(counts == 0, 0.0, low), np.where(counts == number, 1.0, high)
    return np.stack([low, high], axis=-1)


class _Grid(NamedTuple):
    """Evenly spaced states of some components, in units of distances.

    `place`: of each state in the array of all; `steps`: between neighbours.
    """

    components: list[int]
    values: list[np.ndarray]
    steps: np.ndarray
    units: np.ndarray
    place: tuple[np.ndarray, ...]

    def laid(self, values: np.ndarray) -> np.ndarray:
        """Return one value per state as an array over the grid."""
        whole = np.empty([len(column) for column in self.values], values.dtype)
        whole[self.place] = values
        return whole


def _grid(basins: Basins, units: Mapping[int, float] | None) -> _Grid:
    components = moved_components(basins)
    if not components:
        raise ValueError("the initial states are equal; allowed: a grid of states")
    units = {} if units is None else units
    unknown = set(units) - set(components)
    if unknown:
        raise ValueError(f"units of components {sorted(unknown)}; allowed: {components}")
    columns, places, sizes = [], [], []
    for component in components:
        column, place = np.unique(basins.starts[:, component], return_inverse=True)
        gaps = np.diff(column)
        if np.ptp(gaps) > _EVEN * gaps.mean():
            raise ValueError(f"values of component {component} are not evenly spaced")
        size = float(units.get(component, np.ptp(column) / 2))
        check_range("units", size, "", Range(above=0.0))
        columns.append(column / size)
        places.append(place)
        sizes.append(size)
    flat = np.ravel_multi_index(places, [len(column) for column in columns])
    cells = int(np.prod([len(column) for column in columns]))
    if len(flat) != cells or len(np.unique(flat)) != cells:
        raise ValueError(
            f"{len(flat)} initial states do not fill a grid of {cells}; allowed: those of "
            "state_grid"
        )
    steps = np.array([np.diff(column).mean() for column in columns])
    return _Grid(components, columns, steps, np.array(sizes), tuple(places))


def _largest_sphere(inside: np.ndarray, grid: _Grid) -> tuple[float, bool]:
    """Return the radius of the largest sphere in a basin, and if the edge limits it."""
    if not inside.any():
        return 0.0, False
    edge = scipy.ndimage.distance_transform_edt(
        np.pad(inside, 1), sampling=grid.steps
    )[(slice(1, -1),) * inside.ndim]  # fmt: skip
    radius = float(edge.max())
    if inside.all():
        return radius, True
    free = scipy.ndimage.distance_transform_edt(inside, sampling=grid.steps)
    return radius, bool(free.max() > radius)


def _nearest_other(basins: Basins, i: int, grid: _Grid) -> tuple[float, bool]:
    """Return an attractor's distance from other basins, and if the edge limits it."""
    points = basins.attractors.points[i]
    points = points[np.isfinite(points).all(axis=1)]
    fixed = np.setdiff1d(np.arange(points.shape[1]), grid.components)
    plane = basins.starts[0, fixed]
    size = np.maximum(np.abs(points[:, fixed]), np.abs(plane))
    if (np.abs(points[:, fixed] - plane) > _SAME_PLANE * size).any():
        return np.nan, False
    there = points[:, grid.components] / grid.units
    ends = np.array([(column[0], column[-1]) for column in grid.values])
    edge = np.minimum(there - ends[:, 0], ends[:, 1] - there)
    if (edge < 0).any():
        return np.nan, False
    nearest = float(np.min(edge + grid.steps))
    other = basins.label != i
    if not other.any():
        return nearest, True
    tree = scipy.spatial.KDTree(basins.starts[other][:, grid.components] / grid.units)
    apart = float(np.min(tree.query(there)[0]))
    return min(apart, nearest), nearest < apart
