"""Continuation of periodic orbits along one parameter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason, reason
from ..foundation.arrays import (
    combine_arrays,
    one_lane,
    partition_arrays,
    to_jax,
)
from ..foundation.command.progress import Report, progress_reporter
from ..orbits.limit_cycle import LimitCycle
from ..orbits.periodic_orbit import PeriodicOrbit
from ..orbits.samples.regimes import batched
from ..systems.base.system import System
from ..systems.fields import is_autonomous
from ..systems.parameters import parameter_at, parameters
from ..systems.unforced import is_unforced
from .problems.body_cycles import continue_body_cycle
from .problems.cycles import CycleBranch, continue_cycle
from .problems.orbit_problem import orbit_problem, trace_orbits
from .results.branch import Branch
from .tracing.parameter_range import parameter_range
from .tracing.settings import USUAL, ContinuationSettings, report_to

METHODS = ("arclength",)


@overload
def continue_orbit(system: System, orbit: PeriodicOrbit, *_: Any, **__: Any) -> Branch: ...


@overload
def continue_orbit(
    system: System, orbit: LimitCycle, *_: Any, **__: Any
) -> CycleBranch: ...


def continue_orbit(
    system: System,
    orbit: PeriodicOrbit | LimitCycle,
    path: str,
    bounds: tuple[float, float],
    method: str = "arclength",
    *,
    settings: ContinuationSettings = USUAL,
    progress: Report = None,
) -> Branch | CycleBranch:
    r"""Continue a periodic orbit along a parameter, in both directions from its value.

    Pseudo-arclength continuation (`tracing.arclength`) passes folds and ends at a
    bound or where the branch closes. If the largest step is shorter than the step size
    control allows, up to 32 points are corrected at once. Bifurcations along the branch
    are in `.bifurcations` (`tracing.test_functions`). A branch of orbits of an even
    number of periods ends where they become orbits of half the period (the reason
    `PERIOD_HALVED`); this period doubling is among the `bifurcations`.

    A cycle of an autonomous system is continued by arclength with its period as an
    additional unknown, down to the equilibrium to which it shrinks (the reason
    `EQUILIBRIUM`) or to the cycle of half its period; the result is a `CycleBranch`.
    It uses multiple shooting, with shorter `segments` where the motion is fast
    (`equations.cycle_equations`). If the flow's error would exceed 1e-5 of a segment's
    end, or 0.1 of a multiplier, as along a canard, their number is multiplied by four
    from there on; with a number in the settings, the branch ends with the reason
    `TOO_FEW_SEGMENTS`.

    So are cycles of bodies (`problems.body_cycles`). Where sticking or an impact begins
    or ends is a `"grazing"`, beyond which other cycles follow, or none (`GRAZING`). They
    are single segments: a branch may end where a multiplier grows without bound
    (`TOO_FEW_SEGMENTS`), as where the speeds of two belts meet.

    **Arguments:** `orbit`: of `system`. `path`, `bounds`: the parameter and its range,
    which contains the system's own value. `settings`: steps, tolerance, and events to
    locate or to stop at. `progress`: is called with the number of points found since
    its last call; by default a progress bar is shown after two seconds, or a line per
    minute without a terminal, and nothing with `False`.

    **Raises:** `ValueError` for an unknown path or method, bounds that do not enclose
    the system's value, or an orbit that was not found.

    **Source:** Keller, in Rabinowitz (ed.), *Applications of Bifurcation Theory* (1977).

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (450.0, 550.0))
    >>> float(branch.parameter[0]), float(branch.parameter[-1])
    (450.0, 550.0)
    """
    if method not in METHODS:
        raise ValueError(f"method = {method!r}; allowed: {', '.join(METHODS)}")
    if is_autonomous(system) or (isinstance(orbit, LimitCycle) and is_unforced(system)):
        follow = continue_cycle if is_autonomous(system) else continue_body_cycle
        with progress_reporter(progress, None, "continue_orbit", "points") as report:
            return follow(system, orbit, path, bounds, settings, report)
    if isinstance(orbit, LimitCycle):
        raise ValueError("orbit = LimitCycle; allowed: a PeriodicOrbit of the system")
    value = float(parameter_at(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(orbit.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(orbit.result)}")
    leaves, static = partition_arrays(system)
    one = one_lane((leaves, orbit.state, orbit.amplitude))
    problem = orbit_problem(one, static, path, extent.span, orbit.periods, settings)
    with progress_reporter(progress, None, "continue_orbit", "points") as report:
        starts = one[1], np.array([value])
        return trace_orbits(problem, *starts, extent.limits, settings, report)[0]


def continue_orbits(
    system: System,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    orbits: PeriodicOrbit,
    path: str,
    bounds: tuple[float, float],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> list[Branch]:
    """Continue many periodic orbits at once along a parameter, in both directions.

    Every branch equals that of `continue_orbit` by arclength for its sample, with
    individual steps, ends and bifurcations.

    **Arguments:** `samples`: values by parameter path, each of shape (branches,);
    `orbits`: of the samples, with a leading axis, from `regimes` or a `vmap` of
    `periodic_orbit`. The others as in `continue_orbit`. **Returns:** the branches in
    order; for an orbit that was not found, a branch without points and its reason code
    at both ends.

    **Raises:** `ValueError` for an unknown path, a value out of its range, bounds that
    do not enclose the samples' values, or orbits of another number.

    **Source:** Keller, in Rabinowitz (ed.), *Applications of Bifurcation Theory* (1977).

    >>> samples = {"load.frequency": [5.7, 5.8]}
    >>> settled = jv.orbits.regimes(system, samples)
    >>> bounds = (450.0, 550.0)
    >>> branches = jv.branches.continue_orbits(
    ...     system, samples, settled, "load.amplitude", bounds
    ... )
    >>> [float(branch.parameter[-1]) for branch in branches]
    [550.0, 550.0]
    """
    leaves, static = batched(system, samples)
    number = len(jax.tree.leaves(leaves)[0])
    if np.shape(orbits.result) != (number,):
        raise ValueError(
            f"orbits have shape {np.shape(orbits.result)}; allowed: ({number},)"
        )
    parameter_at(system, path)

    def value_of(leaves):
        return parameters(combine_arrays(leaves, static))[path].value

    values = np.asarray(jax.vmap(value_of)(leaves))
    first = combine_arrays(
        jax.device_put(jax.tree.map(lambda leaf: leaf[0], leaves)), static
    )
    extent = parameter_range(first, path, bounds, values, settings)
    there = np.flatnonzero(np.asarray(orbits.result) == Reason.SUCCESS)
    orbits = jax.tree.map(np.asarray, orbits)
    branches: dict[int, Branch] = {}
    if there.size:
        lanes = jax.tree.map(
            lambda leaf: leaf[there], (leaves, orbits.state, orbits.amplitude)
        )
        problem = orbit_problem(
            lanes, static, path, extent.span, orbits.periods[there], settings
        )
        starts, report = (lanes[1], values[there]), report_to(progress)
        found = trace_orbits(problem, *starts, extent.limits, settings, report)
        branches = dict(zip(there.tolist(), found, strict=True))
    return [
        branches[lane] if lane in branches else _without_points(path, orbits, lane)
        for lane in range(number)
    ]


def _without_points(path: str, orbits: PeriodicOrbit, lane: int) -> Branch:
    nothing = jnp.zeros(0)
    return Branch(
        path=path,
        unit="",
        parameter=nothing,
        orbits=to_jax(jax.tree.map(lambda leaf: leaf[:0], orbits)),
        predictor_error=nothing,
        periods=jnp.asarray(orbits.periods[lane], jnp.int32),
        ends=jnp.full(2, orbits.result[lane], jnp.int32),
    )
