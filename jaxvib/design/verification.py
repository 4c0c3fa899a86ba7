"""Verification of a stable range by branches at random points."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import ArrayLike, Float, Int, Real

from ..drawing import Plottable
from ..ensemble import Reason
from ..foundation.quantity import Range, check_range, result_field
from ..orbits.searches.robustness import share_intervals
from ..orbits.shooting.multipliers import STABLE
from ..systems.fields import is_autonomous
from ..systems.parameters import enclosing_bounds, parameter_at, parameters, replace
from .measures.diagram import Diagram, OwnBranch

_TAIL = 0.05  # probability that the share is above the reported bound
# Distance of a bifurcation from the interpolated way to it, relative to the states: those
# on other parts of a branch that turns back are not counted.
_ON_WAY = 0.05


class RangeVerification(Plottable):
    """Motions at random points of a range, each with its stability.

    `unstable_bound`: with 95 % confidence less than this share of the range is not
    stable, by the number of points and of those that are not.

    >>> seen = jv.design.verify_stable_range(
    ...     system, "load.amplitude", (499.0, 501.0), points=2
    ... )
    >>> seen.passed
    True
    """

    path: str = eqx.field(static=True)
    parameter: Float[np.ndarray, " point"] = result_field(
        "value of the parameter", "", ("point",)
    )
    others: dict[str, Float[np.ndarray, " point"]] = result_field(
        "value of another parameter", "", ("point",)
    )
    stable: Int[np.ndarray, " point"] = result_field(
        "1 stable, 0 unstable, -1 undecided or not found", "", ("point",)
    )
    growth: Float[np.ndarray, " point"] = result_field(
        "largest |multiplier|, or largest real part of an eigenvalue, 1/s", "", ("point",)
    )
    lost: Int[np.ndarray, " point"] = result_field(
        "bifurcations, except grazings, between the system's own value and the point, "
        "-1 if the branch does not reach it",
        "",
        ("point",),
    )
    result: Int[np.ndarray, " point"] = result_field("reason code", "", ("point",))
    unstable_bound: Float[np.ndarray, ""] = result_field(
        "upper bound of the share that is not stable or not on the branch, of 95 % "
        "confidence"
    )

    @property
    def passed(self) -> bool:
        """Whether the motion at all points is stable and on the branch."""
        return bool(((self.stable == STABLE) & (self.lost == 0)).all())

    def __repr__(self) -> str:
        good = int(np.sum((self.stable == STABLE) & (self.lost == 0)))
        return (
            f"RangeVerification along {self.path}: {good} of {len(self.stable)} random "
            f"points stable and on the branch; with 95 % confidence less than "
            f"{float(self.unstable_bound):.2%} of the range is not"
        )


def verify_stable_range(
    system: Any,
    path: str,
    bounds: tuple[float, float],
    *,
    box: Mapping[str, tuple[float, float]] | None = None,
    points: int = 200,
    periods: int = 1,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
    seed: int = 0,
) -> RangeVerification:
    """Verify that a motion stays stable within bounds by branches at random points.

    At each point the motion at the system's own value of the parameter is found, with
    the point's values of the uncertain parameters, and its branch is traced to the
    point's value: all bifurcations between, except grazings, are counted. Without a
    `box` the branches are the same, and one is traced to the outermost points.

    **Arguments:** `bounds`: enclose the system's own value, or end at it; `box`: bounds
    of uncertain parameters by path, from which values are drawn evenly. `periods`,
    `guess`: of the motion, see `bifurcation_measure`.
    **Raises:** `ValueError` for an unknown path, bounds that do not enclose the own
    value, or no point.

    >>> jv.design.verify_stable_range(
    ...     system, "load.amplitude", (499.0, 501.0), points=2
    ... ).lost.tolist()
    [0, 0]
    """
    box = {} if box is None else box
    own = float(parameter_at(system, path).value)
    for each in box:
        parameter_at(system, each)
    check_range("points", points, "", Range(at_least=1, at_most=1_000_000))
    low, high = enclosing_bounds(parameter_at(system, path), path, bounds, own)
    draw = np.random.default_rng(seed)
    values = draw.uniform(low, high, points)
    others = {name: draw.uniform(*ends, points) for name, ends in box.items()}
    if not box:
        seen = _Branch(system, path, (values.min(), values.max()), periods, guess)
        rows = [seen.at(value) for value in values]
    else:
        rows = []
        for i, value in enumerate(values):
            here = replace(system, {name: column[i] for name, column in others.items()})
            ends = min(own, value), max(own, value)
            rows.append(_Branch(here, path, ends, periods, guess).at(value))
    stable, growth, lost, result = (np.array(column) for column in zip(*rows, strict=True))
    bad = int(np.sum((stable != STABLE) | (lost != 0)))
    return RangeVerification(
        path, values, others, stable, growth, lost, result.astype(np.int32),
        np.asarray(share_intervals(np.array([bad]), points, _TAIL)[0, 1]),
    )  # fmt: skip


class _Branch:
    """The branch of a system's own motion, and motions at values along it."""

    def __init__(self, system, path: str, ends, periods: int, guess):
        own = float(parameters(system)[path].value)
        self.system, self.path, self.own = system, path, own
        bounds = min(ends[0], own), max(ends[1], own)
        self.diagram = Diagram.of(path, bounds, periods, guess)
        first = self.diagram.first_guess(system)
        self.motion = self.diagram.motion(system, first)
        self.code = Reason(int(self.motion.result))
        self.branch: OwnBranch | None = None
        if self.code == Reason.SUCCESS and bounds[0] < bounds[1]:
            branch = self.diagram.branch(system, self.motion)
            self.branch = OwnBranch(branch, self.motion, own, bounds[1] - bounds[0])

    def at(self, value: float) -> tuple[int, float, int, int]:
        """Return stability, growth, bifurcations on the way and the reason code."""
        if self.code != Reason.SUCCESS:
            return -1, np.nan, -1, int(self.code)
        if self.branch is None:
            found, lost = self.motion, 0
        else:
            section = self._section(self.branch, value)
            if not section:
                return -1, np.nan, -1, int(Reason.NOT_REACHED)
            near = _between(self.branch.branch, section, value)
            lost = self._bifurcations_before(self.branch.branch, section, value)
            found = self.diagram.motion(replace(self.system, {self.path: value}), near)
        code = int(found.result)
        if code:
            return -1, np.nan, lost, code
        if is_autonomous(self.system):
            growth = float(np.max(np.real(np.asarray(found.eigenvalues))))
        else:
            growth = float(np.max(np.abs(np.asarray(found.floquet_multipliers))))
        return int(found.stable), growth, lost, code

    def _section(self, along: OwnBranch, value: float) -> list[int]:
        """Return the points up to a value, none if the parameter turns back before."""
        side = int(np.sign(value - self.own))
        way, _ = along.way(side)
        reached = np.flatnonzero(side * (along.values[way] - value) >= 0)
        return way[: 1 + reached[0]] if reached.size else []

    def _bifurcations_before(self, branch: Any, section: list[int], value: float) -> int:
        """Return the bifurcations on a way between the own value and a value."""
        low, high = sorted((self.own, float(value)))
        size = np.abs(np.asarray(branch.states)).max() or 1.0
        passed = 0
        for point in branch.bifurcations:
            there = float(point.parameter)
            if point.kind != "grazing" and low < there < high:
                apart = np.asarray(point.state) - _between(branch, section, there)
                passed += bool(np.abs(apart).max() < _ON_WAY * size)
        return passed


def _between(branch: Any, section: list[int], value: float) -> np.ndarray:
    """Return the interpolated state at a value on a way along a branch."""
    order = np.argsort(np.asarray(branch.parameter)[section])
    along = np.asarray(branch.parameter)[section][order]
    columns = np.asarray(branch.states)[section][order].T
    return np.array([np.interp(value, along, column) for column in columns])
