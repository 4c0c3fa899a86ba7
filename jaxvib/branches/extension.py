"""Extension of branches beyond their ends."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..ensemble import Reason, reason
from ..foundation.arrays import equal_lanes, partition_arrays
from ..systems.base.system import System
from .problems.orbit_problem import orbit_problem, traced_branches
from .results.branch import Branch
from .tracing.parameter_range import parameter_range
from .tracing.settings import USUAL, ContinuationSettings, report_to
from .tracing.tracer import RUNNING, BranchPoint, Tracer

_OPEN = (Reason.PARAMETER_BOUND, Reason.POINT_LIMIT, Reason.EVENT)


def extend_branch(
    system: System,
    branch: Branch,
    bounds: tuple[float, float],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> Branch:
    """Extend a branch at the ends where continuation is possible.

    These are ends at the limit of points, at an event, or at a bound that is wider now.
    Existing points are not recomputed.

    **Arguments:** `branch`: of `system`, with two points or more; the others as in
    `continue_orbit`, with `most_points` above the current number. **Returns:** the
    whole branch.

    **Raises:** `ValueError` for bounds that do not enclose the branch, or a branch
    without an end that can be extended.

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (450.0, 550.0))
    >>> longer = jv.branches.extend_branch(system, branch, (450.0, 600.0))
    >>> float(longer.parameter[-1])
    600.0
    """
    settings.refuse("extend_branch", "segments")
    values = np.asarray(branch.parameter)
    if len(values) < 2:
        raise ValueError(f"branch has {len(values)} points; allowed: 2 or more")
    extent = parameter_range(system, branch.path, bounds, values, settings)
    ends = [int(code) for code in np.asarray(branch.ends)]
    last = len(values) - 1
    tips = [(0, 1), (last, last - 1)]
    on_bound = [values[tip] in (extent.low, extent.high) for tip, _ in tips]
    going = [
        end
        for end in (0, 1)
        if ends[end] in _OPEN
        and not (on_bound[end] and ends[end] == Reason.PARAMETER_BOUND)
    ]
    if not going:
        why = " and ".join(reason(code) for code in ends)
        raise ValueError(f"branch has no end that can be extended: {why}")
    leaves, static = partition_arrays(system)
    number = len(going)
    states, amplitudes = np.asarray(branch.states), np.asarray(branch.orbits.amplitude)
    lanes = (
        equal_lanes(leaves, number),
        np.stack([states[tips[end][0]] for end in going]),
        np.stack([amplitudes[tips[end][0]] for end in going]),
    )
    periods = int(branch.periods)
    problem = orbit_problem(lanes, static, branch.path, extent.span, periods, settings)
    pairs = []
    for lane, end in enumerate(going):
        around = problem.context(lane, extent.limits)
        units = problem.data.units[lane]
        x, before = (np.append(states[i], values[i]) / units for i in tips[end])
        outward = (x - before) / linalg.norm(x - before)
        found = around.correct(x[None], outward[None])
        code = RUNNING if found.found[0] else Reason.DIVERGED
        tracer = Tracer(around, BranchPoint(x, found.tangent[0], 0.0), code)
        pairs.append([tracer, Tracer(around, tracer.start, Reason.BRANCHED)])
    parts = traced_branches(problem, pairs, extent.limits, report_to(progress))
    for end, part in zip(going, parts, strict=True):
        branch = _joined(branch, part, end)
    return branch


def _joined(branch: Branch, part: Branch, end: int) -> Branch:
    """Return a branch joined with a part that starts at one of its ends."""
    columns = branch.parameter, branch.orbits, branch.predictor_error
    # Its first point is the branch's own end.
    more = jax.tree.map(
        lambda leaf: leaf[1:], (part.parameter, part.orbits, part.predictor_error)
    )
    kinds, events = part.bifurcations, part.events
    if end == 0:
        pair = jax.tree.map(lambda leaf: leaf[::-1], more), columns
        kinds, events = kinds[::-1] + branch.bifurcations, events[::-1] + branch.events
    else:
        pair = columns, more
        kinds, events = branch.bifurcations + kinds, branch.events + events
    parameter, orbits, misses = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *pair)
    return dataclasses.replace(
        branch,
        parameter=parameter,
        orbits=orbits,
        predictor_error=misses,
        ends=branch.ends.at[end].set(part.ends[1]),
        bifurcations=kinds,
        events=events,
    )
