r"""The smallest change of a state that takes it to another basin of attraction.

From a point on the boundary of the basin the nearest boundary is searched for along its
normal. Near the boundary the derivatives $\partial\varphi_T(x)/\partial x$ of the flow are
dominated by the growth across it: the normal is their leading right singular vector. The
projection of the attractor on the tangent plane gives the next direction, in which the
boundary is bracketed by settling motions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Real

from ... import linalg
from ...ensemble import Reason, map_samples, raise_if_empty
from ...ensemble.result import Result
from ...foundation.arrays import combine_arrays
from ...foundation.quantity import Range, check_range, result_field
from ...systems.base.system import System
from ...systems.lane_kernel import lane_kernel
from ..settings import USUAL, SettlingSettings
from ..shooting.orbit_shooting import ratios
from ..shooting.settling import poincare_map
from .basin_search import Search, repeated
from .basins import search_for

_LEVELS = 16  # sizes tried at a time in each direction
_REFINED = 8  # directions that are improved
_PARTS = (1.0, 0.5, 0.25, 0.125)  # of the turn towards the normal
_TURNS = 12  # improvements of a direction
_GROWN = 16  # periods over which derivatives of the flow are taken
_ROUNDS = 3  # searches from a smaller shock that the test found
_TESTS = 4  # smaller shocks tried at the end, for each direction
_NARROW = 1e-6  # relative width of the final bracket


class Shock(Result):
    """The smallest shock found that takes a motion to another basin.

    The attractor is left with `change`, and not with `inside` / `size` of it: both
    motions were integrated to their attractors. `tested` smaller shocks in random
    directions do not leave it either; this is evidence, not proof, that none does.

    >>> shock = jv.orbits.smallest_shock(
    ...     system, orbit.state, {2: 1.0}, 0.1, directions=2, throw=False
    ... )
    >>> int(shock.tested)
    0
    """

    change: Float[np.ndarray, " state"] = result_field(
        "change of the state", "", ("state",)
    )
    size: Float[np.ndarray, ""] = result_field("its size in the given units")
    inside: Float[np.ndarray, ""] = result_field(
        "size up to which a shock in this direction was found to stay"
    )
    tilt: Float[np.ndarray, ""] = result_field(
        "angle between the shock and the normal of the boundary, NaN if it is not smooth",
        "rad",
    )
    tested: Int[np.ndarray, ""] = result_field("smaller shocks that stay")
    undecided: Int[np.ndarray, ""] = result_field(
        "tested shocks, of all sizes, whose motion did not converge"
    )
    destination: Float[np.ndarray, " state"] = result_field(
        "a state of the attractor reached, NaN if the motion escapes", "", ("state",)
    )
    result: Int[Any, ""] = result_field("reason code")

    def _lines(self) -> list[str]:
        change = ", ".join(f"{value:.6g}" for value in self.change)
        return [
            f"Shock of size {float(self.size):.6g} ({float(self.inside):.6g} stays): "
            f"{change}; {int(self.tested)} smaller ones stay"
        ]


def smallest_shock(
    system: System,
    state: Real[np.ndarray, " state"] | Sequence[Any],
    units: Mapping[int, float],
    largest: float,
    *,
    directions: int = 64,
    period: float | None = None,
    settings: SettlingSettings = USUAL,
    throw: bool = True,
) -> Shock:
    r"""Return the smallest change of an attractor's state that leaves its basin.

    $$\min_d |d / u| \quad \text{such that the motion from } x_0 + d \text{ at } t = 0
      \text{ goes elsewhere},$$

    with d in the components of `units`, u. Random directions are searched at 16 sizes
    each, and the best ones improved with derivatives of the flow. Finally random shocks
    smaller than the result, four for each of the `directions`, are settled; if one of
    them leaves, the search continues from it. Motions that do not converge (see `basins`)
    or whose integration fails, such as diverging ones of a forced system, are not counted
    as leaving.

    **Arguments:** `state`: x_0, of the attractor at t = 0. `units`: by component of the
    state, of which a shock of size 1 changes one. `largest`: size of shocks up to which
    is searched. `period`: of an autonomous system, see `basins`.
    **Raises:** `ValueError` for an argument out of its range, or a state from which the
    motion converges to no attractor; `RuntimeError` if no shock was found to leave,
    unless `throw=False`: the result then has NaN and the code `NOT_REACHED`.

    >>> shock = jv.orbits.smallest_shock(
    ...     system, orbit.state, {2: 1.0}, 0.1, directions=2, throw=False
    ... )
    >>> int(shock.tested)
    0
    """
    state = np.asarray(state, float)
    _check(state, units, largest, directions)
    boundary = _Boundary(system, state, units, period, settings)
    if boundary.own < 0:
        raise ValueError(
            "the motion from the given state converges to no attractor; allowed: a "
            "state of an attractor at t = 0"
        )
    found = _smallest(boundary, largest, directions)
    raise_if_empty("smallest_shock", throw, found.result, found.size)
    return found


def smallest_shocks(
    system: System,
    states: Real[np.ndarray, "attractor state"],
    units: Mapping[int, float],
    largest: float,
    *,
    directions: int = 64,
    period: float | None = None,
    settings: SettlingSettings = USUAL,
) -> Shock:
    """Return the smallest shock of each of several attractors, along a leading axis.

    Where none is found, and for a state that is not finite or not of an attractor, the
    shock is NaN, with a reason code. Otherwise as `smallest_shock`.
    """
    found, states = [], np.asarray(states, float)
    if states.ndim != 2 or not len(states):
        raise ValueError(
            f"states have shape {states.shape}; allowed: (attractors, components), one "
            "attractor or more"
        )
    for state in states:
        _check(state, units, largest, directions)
        boundary = _Boundary(system, state, units, period, settings)
        if boundary.own < 0:
            found.append(_no_shock(len(state), boundary.code, boundary.undecided))
        else:
            found.append(_smallest(boundary, largest, directions))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *found)


def _smallest(boundary: "_Boundary", largest: float, directions: int) -> Shock:
    """Return the smallest shock that leaves the basin within a boundary."""
    count = len(boundary.lift)
    draw = np.random.default_rng(0)
    ways = _random_directions(draw, directions if count > 1 else 2, count)
    stays, leaves = boundary.bracket(ways, np.full(len(ways), largest))
    shortest = np.argsort(leaves, kind="stable")[:_REFINED]
    ways, stays, leaves = ways[shortest], stays[shortest], leaves[shortest]
    tested, tests = 0, _TESTS * directions
    for _ in range(_ROUNDS):
        ways, stays, leaves = boundary.improved(ways, stays, leaves)
        best = int(np.argmin(leaves))
        # Also where none leaves so far: another basin may be thinner than their distances.
        reach = min(leaves[best], largest)
        smaller = _random_directions(draw, tests, count)
        sizes = reach * draw.uniform(0, 1, tests) ** (1 / count)
        code = boundary.leaving(smaller * sizes[:, None])
        tested = int(np.sum(code == _STAYS))
        if not (code == _LEAVES).any():
            break
        tested = 0
        found = np.flatnonzero(code == _LEAVES)
        found = found[np.argsort(sizes[found], kind="stable")][: _REFINED - 1]
        ways = np.concatenate([ways[best : best + 1], smaller[found]])
        known = np.append(reach, sizes[found])
        stays, leaves = boundary.bracket(ways, known)
    return boundary.shock(ways, stays, leaves, tested)


def _no_shock(size: int, code: int, undecided: int) -> Shock:
    """Return the result where no shock was found, of a state of so many components."""
    nothing, nan = np.full(size, np.nan), np.asarray(np.nan)
    counts = np.asarray(0), np.asarray(undecided)
    return Shock(nothing, nan, nan, nan, *counts, nothing, np.asarray(code, np.int32))


# Codes of a shock.
_LEAVES, _STAYS, _UNKNOWN = 1, 0, -1  # as the motion goes elsewhere, back, nowhere known


def _check(state, units, largest, directions) -> None:
    if state.ndim != 1 or not state.size:
        raise ValueError(f"state has shape {state.shape}; allowed: (components,)")
    size = len(state)
    inside = Range(at_least=0, at_most=size - 1)
    if not units:
        raise ValueError("units = {}; allowed: a unit of one component or more")
    check_range("units: component", list(units), "", inside)
    check_range("units", list(units.values()), "", Range(above=0.0))
    check_range("largest", largest, "", Range(above=0.0, below=np.inf))
    check_range("directions", directions, "", Range(at_least=2, at_most=100_000))


def _random_directions(draw, number: int, count: int) -> np.ndarray:
    """Return unit vectors (number, count); both signs of one component."""
    if count == 1:
        return np.where(np.arange(number) % 2, -1.0, 1.0)[:, None]
    ways = draw.normal(size=(number, count))
    return ways / linalg.norm(ways)[:, None]


class _Boundary:
    """The boundary of the basin around a state, in shocks (s, components) in units."""

    def __init__(self, system, state, units: Mapping[int, float], period, settings):
        self.state, self.undecided = state, 0
        self.lift = np.zeros((len(units), len(state)))
        for row, (component, unit) in enumerate(units.items()):
            self.lift[row, component] = unit
        self.search: Search = search_for(system, state[None], period, settings)
        # The attractor's position, -1 if there is none, and the motion's reason code.
        self.own, self.code = (int(each[0]) for each in self._labels(state[None]))

    def _labels(self, states) -> tuple[np.ndarray, np.ndarray]:
        label, result, _ = self.search.classify_starts(states, lambda number: None)
        return label, result

    def leaving(self, shocks: np.ndarray) -> np.ndarray:
        """Return for each shock whether it leaves, stays or is undecided."""
        label, result = self._labels(self.state + shocks @ self.lift)
        elsewhere = (label >= 0) | (result == Reason.ESCAPED)
        code = np.where(label == self.own, _STAYS, np.where(elsewhere, _LEAVES, _UNKNOWN))
        self.undecided += int(np.sum(code == _UNKNOWN))
        return code

    def bracket(self, ways, reach) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes (ways,) that stay and leave in each direction, inf if none.

        16 sizes up to `reach` are tried, then 16 between the first that leaves and the
        last before it that stays, and so on until both are 1e-6 apart, relatively, or
        a size between them is undecided.
        """
        low = np.zeros(len(ways))
        high, going = np.full(len(ways), np.inf), np.arange(len(ways))
        top = np.asarray(reach, float).copy()
        while going.size:
            parts = np.arange(1, _LEVELS + 1) / _LEVELS
            sizes = low[going, None] + (top - low)[going, None] * parts
            shocks = (sizes[..., None] * ways[going, None]).reshape(-1, ways.shape[1])
            code = self.leaving(shocks).reshape(sizes.shape)
            moved = np.zeros(len(going), bool)
            for row, lane in enumerate(going):
                first = _first(code[row] == _LEAVES)
                if first is None:
                    continue
                stays = np.flatnonzero(code[row, :first] == _STAYS)
                high[lane] = top[lane] = sizes[row, first]
                if stays.size:
                    low[lane] = sizes[row, stays[-1]]
                # Undecided sizes between both cannot be decided by halving.
                between = code[row, (stays[-1] + 1 if stays.size else 0) : first]
                decided = not (between == _UNKNOWN).any()
                moved[row] = decided and top[lane] - low[lane] > _NARROW * top[lane]
            going = going[moved]
        return low, high

    def improved(self, ways, stays, leaves):
        """Return directions turned to the normals of the boundary, and their brackets."""
        if ways.shape[1] == 1:
            return ways, stays, leaves
        ways, stays, leaves = ways.copy(), stays.copy(), leaves.copy()
        active = np.flatnonzero(np.isfinite(leaves))
        for _ in range(_TURNS):
            if not active.size:
                break
            normals = self.normals(ways[active] * stays[active, None])
            sides = np.sign(np.sum(normals * ways[active], axis=1, keepdims=True))
            towards = np.where(np.isfinite(normals), sides * normals, ways[active])
            parts = np.array(_PARTS)[None, :, None]
            tried = ways[active, None] + parts * (towards - ways[active])[:, None]
            tried /= np.sqrt(np.sum(tried**2, axis=2, keepdims=True))
            reach = np.repeat(leaves[active], len(_PARTS))
            low, high = self.bracket(tried.reshape(-1, ways.shape[1]), reach)
            low, high = low.reshape(-1, len(_PARTS)), high.reshape(-1, len(_PARTS))
            best = high.argmin(axis=1)
            rows = np.arange(len(active))
            gain = 1 - high[rows, best] / leaves[active]
            better = gain > 0
            lanes = active[better]
            ways[lanes] = tried[rows, best][better]
            stays[lanes], leaves[lanes] = low[rows, best][better], high[rows, best][better]
            active = active[gain > _NARROW]
        return ways, stays, leaves

    def normals(self, shocks: np.ndarray) -> np.ndarray:
        """Return unit normals of the boundary at shocks next to it, NaN if unknown."""
        stage = _growth_kernel(self.search.static, _GROWN, self.search.engine)
        fixed = self.search.leaves, self.lift, np.asarray(self.search.rtol)
        leaves, lift, rtol = repeated(fixed, len(shocks))
        lanes = leaves, self.state + shocks @ self.lift, lift, rtol
        growth = np.asarray(map_samples(stage, lanes, chunk=self.search.chunk))
        return np.stack([_normal(each) for each in growth])

    def shock(self, ways, stays, leaves, tested: int) -> Shock:
        """Return the smallest shock of those found."""
        best = int(np.argmin(leaves))
        if not np.isfinite(leaves[best]):
            return _no_shock(len(self.state), Reason.NOT_REACHED, self.undecided)
        direction, size = ways[best], leaves[best]
        label, _ = self._labels((self.state + size * direction @ self.lift)[None])
        tilt = np.nan
        if len(direction) > 1:
            normal = self.normals(direction[None] * stays[best])[0]
            tilt = np.arccos(np.minimum(np.abs(normal @ direction), 1.0))
        destination = np.full(self.state.shape, np.nan)
        if label[0] >= 0:
            destination = self.search.attractors[label[0]].points[0]
        numbers = size, stays[best], tilt, tested, self.undecided
        return Shock(
            size * direction @ self.lift,
            *map(np.asarray, numbers),
            destination,
            np.asarray(Reason.SUCCESS, np.int32),
        )


def _first(flags: np.ndarray) -> int | None:
    places = np.flatnonzero(flags)
    return int(places[0]) if places.size else None


def _normal(growth: np.ndarray) -> np.ndarray:
    """Return the direction of growth of derivatives (periods, state, components).

    That after the number of periods at which it exceeds the others most, as far as
    rounding shows it.
    """
    best, found = 1.0, np.full(growth.shape[2], np.nan)
    limits = np.finfo(float)
    for matrix in growth:
        if not np.isfinite(matrix).all():
            break
        _, sizes, right = np.linalg.svd(matrix)
        ratio = sizes[0] / max(sizes[1], limits.eps * sizes[0], limits.tiny)
        if ratio > best:
            best, found = ratio, right[0]
    return found


@lane_kernel
def _growth_kernel(lane, static, count: int, engine: str):
    """Return the kernel of lanes to derivatives of states after each of some periods."""
    leaves, state, lift, rtol = lane
    system = combine_arrays(leaves, static)
    units = ratios(system, state)

    def trail(shock):
        states, _ = poincare_map(system, state + shock @ lift, count, rtol, engine)
        return states / units[None]

    return jax.jacfwd(trail)(jnp.zeros(lift.shape[0]))
