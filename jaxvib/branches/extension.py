"""Branches that go on where they had stopped."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason, reason
from ..orbits.periodic_orbit import evidence_factor
from .branch import OF_ORBITS, Branch
from .events import watch_of
from .following import frame_of, walked
from .limits import checked_steps, enclosing, known_parameter, limits_of
from .one_way import GOING, Place, Walk

_OPEN = (Reason.PARAMETER_BOUND, Reason.POINT_LIMIT, Reason.EVENT)
_PER_POINT = ("parameter", "states", "predictor_error", *OF_ORBITS)


def extend_branch(
    system: eqx.Module,
    branch: Branch,
    bounds: tuple[float, float],
    *,
    first_step: float | None = None,
    smallest_step: float | None = None,
    largest_step: float | None = None,
    most_points: int = 500,
    rtol: float = 1e-8,
    evidence: str = "checked",
    events: Mapping[str, float | Callable] | None = None,
    stop_at: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Branch:
    """Go on with a branch beyond those of its ends where it could.

    That is where it had enough points, or met an event, or a bound of the parameter that
    is wider now. Nothing that is known of the branch is computed again.

    **Arguments:** `branch`: of `system`, of two points or more; the others are those of
    `continue_orbit`. `most_points`: more than there are. **Returns:** the whole branch.

    **Raises:** `ValueError` for bounds that do not enclose the branch, or a branch that
    has no end to go on from.
    """
    declared = known_parameter(system, branch.path)
    values = np.asarray(branch.parameter)
    if len(values) < 2:
        raise ValueError(f"branch has {len(values)} points; allowed: 2 or more")
    low, high = enclosing(declared, branch.path, bounds, values)
    steps = checked_steps(high - low, first_step, smallest_step, largest_step)
    limits, watch = limits_of(low, high, steps, most_points), watch_of(events, stop_at)
    tell = progress or (lambda count: None)

    ends = [int(code) for code in np.asarray(branch.ends)]
    last = len(values) - 1
    tips = [(0, 1), (last, last - 1)]
    on_bound = [values[tip] in (low, high) for tip, _ in tips]
    going = [
        end
        for end in (0, 1)
        if ends[end] in _OPEN
        and not (on_bound[end] and ends[end] == Reason.PARAMETER_BOUND)
    ]
    if not going:
        why = " and ".join(reason(code) for code in ends)
        raise ValueError(f"branch has no end to go on from: {why}")
    leaves, static = eqx.partition(system, eqx.is_inexact_array)
    number = len(going)
    lanes = (
        jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * number), leaves),
        np.stack([np.asarray(branch.states)[tips[end][0]] for end in going]),
        np.stack([np.asarray(branch.amplitude)[tips[end][0]] for end in going]),
    )
    periods, factor = int(branch.periods), evidence_factor(evidence)
    frame = frame_of(
        lanes, static, branch.path, high - low, periods, rtol, factor, segments=1
    )
    pairs = []
    for lane, end in enumerate(going):
        around = frame.around(lane, limits)
        states, units = np.asarray(branch.states), frame.courses.units[lane]
        x, before = (np.append(states[i], values[i]) / units for i in tips[end])
        outward = (x - before) / np.linalg.norm(x - before)
        found = around.correct(x[None], outward[None])
        code = GOING if found.found[0] else Reason.DIVERGED
        walk = Walk(around, Place(x, found.tangent[0], 0.0), code)
        pairs.append([walk, Walk(around, walk.start, Reason.BRANCHED)])
    parts = walked(frame, pairs, limits, tell, watch)
    for end, part in zip(going, parts, strict=True):
        branch = _joined(branch, part, end)
    return branch


def _joined(branch: Branch, part: Branch, end: int) -> Branch:
    """Return a branch with a part that begins at one of its ends."""
    ends = np.array(branch.ends)
    ends[end] = part.ends[1]
    new = {name: getattr(part, name)[1:] for name in _PER_POINT}
    found = {name: getattr(part, name) for name in ("bifurcations", "events")}
    if end == 0:
        for name, values in new.items():
            new[name] = jnp.concatenate([values[::-1], getattr(branch, name)])
        for name, points in found.items():
            found[name] = points[::-1] + getattr(branch, name)
    else:
        for name, values in new.items():
            new[name] = jnp.concatenate([getattr(branch, name), values])
        for name, points in found.items():
            found[name] = getattr(branch, name) + points
    whole: dict[str, Any] = {**new, **found, "ends": jnp.asarray(ends)}
    return dataclasses.replace(branch, **whole)
