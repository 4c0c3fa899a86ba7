r"""Checks of a branch after it is computed: its points, and what changes between them.

A point with state $s$ and error bar $\epsilon$ is an orbit if another flow over its period
returns to it: with the residual $r = \varphi^T(s) - s$ the orbit of that flow is
$(I - M)^{-1} r$ away, which must be within $\epsilon$. Between neighbouring points the
number of contacts changes only at a grazing, the number of unstable multipliers only at a
bifurcation, and the direction of the parameter only at a fold or a grazing.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ... import linalg
from ...dynamics.engines import engine_for
from ...dynamics.flow import observe
from ...ensemble import Reason, map_samples, reason
from ...foundation.arrays import (
    combine_arrays,
    concatenate_lanes,
    gather_lanes,
    partition_arrays,
)
from ...foundation.command.progress import Report, progress_reporter
from ...foundation.quantity import Range, check_range
from ...foundation.result_repr import NotebookRepr
from ...orbits.shooting.orbit_shooting import scales
from ...orbits.shooting.settling import GRAZING
from ...systems.base.system import System
from ...systems.drift import modulo_drift
from ...systems.lane_kernel import lane_kernel
from ...systems.parameters import parameter_at
from ..equations.point import at

Branch = Any  # its module imports this one
# Tolerance of the flow: a hundredth of that of the points of a "checked" branch.
_RTOL = 1e-12
# Error of that flow in units of its tolerance; error bars by which a state must vary.
_NOISE = 10
# A bar above this part of a motion's size says nothing about it.
_WIDE = 1e-3
_AT_ONCE = 32  # points between two looks at the clock
_MOST_LISTED = 10  # faults in the text
# A change of the parameter below this part of its range is rounding.
_SAME = 1e-12
# Where the parameter may turn: the motions from a branch point often lie on one side.
_TURNS = {"fold", "grazing", "branch_point"}


class BranchFault(NamedTuple):
    """A place where a branch is wrong: what, near which parameter value, and numbers."""

    kind: str
    parameter: float
    words: str


class BranchCheck(NotebookRepr):
    """The result of `branch.check()`.

    `points`, `checked`: the number of points, and of those integrated; `unchecked`: why
    others were not, with their number; `faults`: where the branch is wrong.

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (490.0, 510.0))
    >>> branch.check(system).faults
    ()
    """

    path: str = eqx.field(static=True)
    noun: str = eqx.field(static=True)
    points: int = eqx.field(static=True)
    checked: int = eqx.field(static=True)
    unchecked: tuple[tuple[str, int], ...] = eqx.field(static=True)
    faults: tuple[BranchFault, ...] = eqx.field(static=True)

    def __repr__(self) -> str:
        found = f"{len(self.faults)} faults" if self.faults else "no fault found"
        left = "".join(f", {count} {why}" for why, count in self.unchecked)
        lines = [
            f"BranchCheck of {self.points} {self.noun} along {self.path}: {found}",
            f"  points integrated: {self.checked}{left}",
        ]
        for fault in self.faults[:_MOST_LISTED]:
            lines.append(f"  {fault.kind} at {fault.parameter:.10g}: {fault.words}")
        if len(self.faults) > _MOST_LISTED:
            lines.append(f"  and {len(self.faults) - _MOST_LISTED} more")
        return "\n".join(lines)


def check_branch(
    branch: Branch, system: System | None, budget: float | None, progress: Report
) -> BranchCheck:
    """Return what is wrong with a branch, see `AbstractBranch.check`."""
    if budget is not None:
        check_range("budget", budget, "s", Range(above=0.0))
    count = len(branch.parameter)
    faults, checked, unchecked = [], 0, [("without a system", count)]
    if system is not None:
        if "period" not in _names(branch.orbits):
            raise ValueError(f"system of {branch.noun}, which have no flow; allowed: None")
        parameter_at(system, branch.path)
        claimed = np.flatnonzero(_claimed(branch.orbits))
        if len(claimed):
            with progress_reporter(progress, len(claimed), "check", "points") as report:
                returned = _returned(branch, system, claimed, budget, report)
            checked = len(returned.code)
            faults = _of_points(branch, returned, claimed[:checked])
        unchecked = [
            ("with a reason code or without an error bar", count - len(claimed)),
            ("beyond the budget", len(claimed) - checked),
        ]
    if count > 1:
        faults += _of_chords(branch)
    order = sorted(faults, key=lambda fault: fault[0])
    return BranchCheck(
        path=branch.path,
        noun=branch.noun,
        points=count,
        checked=checked,
        unchecked=tuple((why, number) for why, number in unchecked if number),
        faults=tuple(fault for _, fault in order),
    )


def _claimed(found: Any) -> np.ndarray:
    """Return which points are given as solutions with an error bar."""
    codes, bars = np.asarray(found.result), np.asarray(found.state_error)
    return np.asarray((codes == Reason.SUCCESS) & np.isfinite(bars))


class _Returned(NamedTuple):
    """The flow over a period from points: residual, its rate, contacts, reason code.

    `nearest`: the smallest distance of a gap from grazing; `rate`: that of the state, along
    which a cycle has no position.
    """

    residual: Any
    rate: Any
    contacts: Any
    nearest: Any
    code: Any


@lane_kernel
def _flow_kernel(lane, static: System, path: str, engine: str):
    """Return the kernel from (leaves, parameter, state, period) to `_Returned`."""
    leaves, value, state, period = lane
    there = at(combine_arrays(leaves, static), path, value)
    shallow = GRAZING * scales(there, state)[0]
    end, seen, code = observe(
        there, state, 0.0, period, engine=engine, rtol=_RTOL, grazing=shallow
    )
    rate = there.equation().vector_field(jnp.zeros(()), state)
    return _Returned(
        modulo_drift(there, end, state) - state,
        rate,
        jnp.sum(seen.onsets),
        jnp.min(seen.nearest, initial=jnp.inf),
        code,
    )


def _returned(
    branch: Branch,
    system: System,
    claimed: np.ndarray,
    budget: float | None,
    report: Callable[[int], None],
) -> _Returned:
    """Return the flows from points, in their order until the budget is spent."""
    leaves, static = partition_arrays(system)
    engine = _other_engine(system)
    found, count = branch.orbits, len(claimed)
    shared = jax.tree.map(
        lambda leaf: np.broadcast_to(leaf, (count, *np.shape(leaf))), leaves
    )
    own = gather_lanes((branch.parameter, found.state, found.period), claimed)
    lanes = (shared, *jax.tree.map(np.asarray, own))
    kernel = _flow_kernel(static, branch.path, engine)
    began, parts = time.monotonic(), []
    for start in range(0, count, _AT_ONCE):
        if parts and budget is not None and time.monotonic() - began > budget:
            break
        some = jax.tree.map(lambda leaf, a=start: leaf[a : a + _AT_ONCE], lanes)
        parts.append(map_samples(kernel, some, progress=report))
    return concatenate_lanes(parts)


def _other_engine(system: System) -> str:
    """Return an engine that did not make the branch, if one supports the system."""
    own, _ = engine_for(system, "auto", lanes=1)
    if own != "event":
        return own
    try:
        return engine_for(system, "diffrax", lanes=1)[0]
    except ValueError:  # hard stops and friction
        return own


def _of_points(branch: Branch, seen: _Returned, points: np.ndarray) -> list:
    found = branch.orbits
    faults = []
    for row, i in enumerate(points):
        value, bar = float(branch.parameter[i]), float(found.state_error[i])
        state, matrix = (np.asarray(x[i]) for x in (found.state, found.monodromy))

        def fault(kind: str, words: str, i=i, value=value):
            faults.append((i, BranchFault(kind, value, words)))

        if int(seen.code[row]):
            fault("not an orbit", f"its flow: {reason(seen.code[row])}")
            continue
        away, noise = _away(branch, matrix, state, seen, row)
        size = np.abs(state).max()
        if not away <= bar + noise:
            fault("not an orbit", f"an orbit is {away:.1e} away, its error bar {bar:.1e}")
        elif bar > _WIDE * size:
            fault("not an orbit", f"its error bar {bar:.1e} is as large as the motion")
        elif "contacts" in _names(found) and seen.nearest[row] > bar:
            told, right = int(found.contacts[i]), int(seen.contacts[row])
            if told != right:
                fault("contacts", f"{told} told, {right} seen")
    return faults


def _names(found: Any) -> set[str]:
    return set(type(found).__dataclass_fields__)


def _away(branch: Branch, matrix, state, seen: _Returned, row: int) -> tuple[float, float]:
    """Return the distance to the orbit of the flow, and that by the flow's error."""
    left, residual = np.eye(len(state)) - matrix, seen.residual[row]
    if branch.noun == "cycles":
        left = np.column_stack([left, -seen.rate[row]])  # and another period
    inverse = np.linalg.pinv(left)[: len(state)]
    reach = np.abs(state).max() + np.abs(matrix) @ np.abs(state)
    noise = np.abs(inverse) @ (_NOISE * _RTOL * reach)
    return np.abs(inverse @ residual).max(), float(noise.max())


def _of_chords(branch: Branch) -> list:
    """Return the changes between neighbouring points that no bifurcation explains."""
    found, names = branch.orbits, _names(branch.orbits)
    listed, every = _listed(branch), _claimed(branch.orbits)
    outside, certain = _unstable_directions(found, names)
    columns = [("stability", outside, every & certain, None, "unstable multipliers")]
    if "contacts" in names:
        sure = every & (np.asarray(found.grazing_margin) > np.asarray(found.state_error))
        columns.append(
            ("contacts", np.asarray(found.contacts), sure, {"grazing"}, "contacts")
        )
    values, faults = np.asarray(branch.parameter), []
    for kind, counts, known, allowed, words in columns:
        points = np.flatnonzero(known)
        for i, j in itertools.pairwise(points):
            kinds = set().union(*listed[i:j])
            explained = kinds if allowed is None else kinds & allowed
            if counts[i] != counts[j] and not explained:
                text = f"{counts[i]} {words}, {counts[j]} at {values[j]:.10g}"
                faults.append((i, BranchFault(kind, float(values[i]), text)))
    return faults + _turns(values, listed)


def _unstable_directions(found: Any, names: set[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return how many eigenvalues are unstable, and where this is certain."""
    if "eigenvalues" in names:
        distance, error = np.asarray(found.eigenvalues).real, found.eigenvalue_error
    else:
        multipliers = np.asarray(found.floquet_multipliers)
        if "period_error" in names:  # of a cycle the first one is 1
            multipliers = multipliers[:, 1:]
        distance, error = np.abs(multipliers) - 1, found.multiplier_error
    beyond = np.abs(distance) > np.asarray(error)[:, None]
    return (distance > 0).sum(axis=1), np.asarray(beyond.all(axis=1))


def _listed(branch: Branch) -> list[set[str]]:
    """Return the kinds of bifurcations on each chord: the one with the least detour."""
    values, states = np.asarray(branch.parameter), np.asarray(branch.states)
    spread = np.ptp(states, axis=0)
    bars = np.nan_to_num(np.asarray(branch.orbits.state_error), posinf=0.0)
    varies = spread > _NOISE * np.median(bars)
    units = np.append(np.where(varies, spread, 1.0), np.ptp(values) or 1.0)
    x = np.column_stack([states, values]) / units
    lengths = linalg.norm(np.diff(x, axis=0))
    kinds: list[set[str]] = [set() for _ in lengths]
    for point in branch.bifurcations:
        away = linalg.norm(x - np.append(point.state, point.parameter) / units)
        detours = away[1:] + away[:-1] - lengths
        # A bifurcation at a point is on both chords.
        for i in np.flatnonzero(detours <= max(1.5 * detours.min(), 1e-8)):
            kinds[i].add(point.kind)
    return kinds


def _turns(values: np.ndarray, listed: Sequence[set[str]]) -> list:
    """Return where the parameter turns back without a fold or grazing."""
    steps = np.diff(values)
    steps = np.where(np.abs(steps) > _SAME * np.ptp(values), np.sign(steps), 0)
    moving = np.flatnonzero(steps)
    faults = []
    for i, j in itertools.pairwise(moving):
        if steps[i] != steps[j] and not set().union(*listed[i : j + 1]) & _TURNS:
            words = "the parameter turns back"
            faults.append((j, BranchFault("direction", float(values[j]), words)))
    return faults
