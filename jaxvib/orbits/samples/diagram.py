"""Brute-force bifurcation diagrams along a parameter."""

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, Int, Real

from ...drawing import Chart, Plottable, draw
from ...drawing.axes import Axes
from ...dynamics.engines import engine_for
from ...dynamics.flow import checked_state
from ...ensemble import Reason, checkpointed, map_samples
from ...foundation.arrays import concatenate_lanes, gather_lanes, require_concrete
from ...foundation.command.progress import Report, progress_reporter
from ...foundation.quantity import Range, check_range, result_field
from ...systems.base.system import System
from ...systems.parameters import parameter_at, replace
from ...systems.unforced import is_unforced, unforced_system
from ..orbit import PeriodicOrbit, with_fields
from ..pictures import diagram_chart
from ..searches.aperiodic import TrackedMotions
from ..searches.attractors import exponent_error_of, exponent_of
from ..settings import USUAL, SettlingSettings
from ..shooting.settling import samples_kernel
from .field_diagram import FieldMotions
from .regimes import batched
from .sample_orbits import SampleOrbits

_TRANSIENT = 256  # periods: 12 decay times at a damping ratio of 0.75 %
_MOST_NUMBERS = 2**28  # in a diagram's states: 2 GiB
_FOLLOWED_AT_A_TIME = 32  # values between updates of the progress


class BifurcationDiagram(Plottable):
    """Poincaré samples, Lyapunov exponents and classes of motions along one parameter.

    For a periodic motion the states are those of one period and NaN beyond it. `orbits`
    is a `PeriodicOrbit` whose fields have a leading axis of values; an aperiodic motion
    (0 `periods`, -1 `contacts`) has its last state, its amplitude, largest force,
    exponent and class, and no multipliers.
    """

    parameter: Float[np.ndarray, " value"] = result_field(
        "value of the parameter", "", ("value",)
    )
    states: Float[np.ndarray, "value point state"] = result_field(
        "states at t = 0, once a period of the load", "", ("value", "point", "state")
    )
    orbits: PeriodicOrbit
    path: str = eqx.field(static=True, default="")
    unit: str = eqx.field(static=True, default="")
    where: str = eqx.field(static=True, default="at t = 0")

    drawable = True

    def charts(self) -> list[Chart]:
        """Return the chart of the Poincaré samples, and those of all fields."""
        return [diagram_chart(self, 0), *super().charts()]

    def plot(self, component: int = 0, *, ax: Axes = None) -> Axes:
        """Draw the Poincaré samples on matplotlib axes, by default new ones.

        The colour of each motion is that of its period or class. Returns the axes.
        **Arguments:** `component`: position in the state. **Raises:** `ValueError` for
        a component out of range.
        """
        return draw(diagram_chart(self, component), ax)

    @property
    def periods(self) -> Int[np.ndarray, " value"]:
        """Periods of the load in one of the motion, 0 if aperiodic."""
        return np.asarray(self.orbits.periods)

    @property
    def lyapunov_exponent(self) -> Float[np.ndarray, " value"]:
        """The largest Lyapunov exponents, 1/s."""
        return np.asarray(self.orbits.lyapunov_exponent)

    @property
    def lyapunov_error(self) -> Float[np.ndarray, " value"]:
        """Their standard errors; for a periodic motion from that of its multipliers."""
        return np.asarray(self.orbits.lyapunov_error)

    @property
    def result(self) -> Int[np.ndarray, " value"]:
        """Reason codes: success for periodic motions."""
        return np.asarray(self.orbits.result)

    def __repr__(self) -> str:
        codes, counts = np.unique(
            np.where(self.periods > 0, self.periods, -self.result), return_counts=True
        )
        listed = ", ".join(
            f"{count} {f'of period {c}' if c > 0 else Reason(-c).name.lower()}"
            for c, count in zip(codes.tolist(), counts.tolist(), strict=True)
        )
        first, last = self.parameter[[0, -1]]
        span = f"{self.path} {first:g} to {last:g} {self.unit}".strip()
        return f"BifurcationDiagram of {len(self.parameter)} values, {span}: {listed}"


def bifurcation_diagram(
    system: System,
    path: str,
    values: Sequence[float] | np.ndarray,
    *,
    state: Real[ArrayLike, " state"] | Sequence[Any] | None = None,
    follow: bool = False,
    points: int = 64,
    settings: SettlingSettings = USUAL,
    progress: Report = None,
) -> BifurcationDiagram:
    """Return the motions to which a system converges at each of the `values`.

    Every motion runs for `transient` periods of the load (256), or 12 decay times of a
    linear system with contacts if these are longer, and is then sampled for `points`
    periods. If its last state recurs within `max_periods`, Newton iteration finds its
    orbit, whose multipliers give the largest Lyapunov exponent. A motion without a
    stable orbit is observed for 256 to 3584 more periods, as in `regimes`, which give
    its class and its exponent.

    Of an autonomous system, or of bodies under constant loads, the crossings of
    `settings.section`, a `FieldSection`, replace the load's periods. A motion that
    recurs is a cycle, found by Newton iteration; one that does not cross any more is an
    `EQUILIBRIUM` if it is in a region that a Lyapunov function shows to be attracted;
    two exponents over 1024 crossings distinguish `CHAOTIC` and `QUASI_PERIODIC` motions.

    **Arguments:** `state`: initial state of each motion, by default at rest. `follow`:
    start each motion but the first in the final state of the motion at the previous
    value: ascending and descending values then show coexisting motions.
    `points`: more than `max_periods`. `progress`: is called with the number of values
    done since its last call; by default a bar is shown after two seconds, or a line per
    minute where there is no terminal, and with `False` nothing.

    **Raises:** `ValueError` for an unknown path, or a value or another argument out of
    its range.
    """
    require_concrete("bifurcation_diagram", system, values)
    values = np.asarray(values, float)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"values have shape {values.shape}; allowed: (n,), one or more")
    leaves, static = batched(system, {path: values})
    max_periods, unit = settings.max_periods, parameter_at(system, path).unit
    _check_points(system, points, values.size, max_periods)
    if is_unforced(system):
        starts, parts = _starts(system, path, values, state), (leaves, static)
        motions = _field_motions(system, parts, starts, settings)
        found = _field_results(motions, starts, points, follow, progress)
        return BifurcationDiagram(values, *found, path, unit, "at the section")
    settings.refuse("bifurcation_diagram of a system with loads", "section")
    engine, _ = engine_for(system, settings.engine, 1 if follow else len(values))
    transient = settings.transient_or(_TRANSIENT)
    stage = samples_kernel(static, points, max_periods, engine, transient)
    tolerance = np.full(len(values), settings.rtol)
    starts = _starts(system, path, values, state)
    parts = leaves, static
    found = SampleOrbits(system, parts, starts, settings, engine, lambda done: None)
    with progress_reporter(
        progress, len(values), "bifurcation_diagram", "values"
    ) as report:
        if follow:
            seen = _continued(stage, leaves, tolerance, starts[0], report)
        else:
            lanes = leaves, starts, tolerance
            seen = map_samples(stage, lanes, chunk=settings.chunk, progress=report)
    last = seen.trail[:, -1]
    tracked = found.find(last, seen.nearest, seen.result, seen.period, True)
    orbits = _with_exponents(found.orbits)
    states = _aperiodic_states(seen.trail, *tracked)
    periodic = np.flatnonzero(orbits.periods)
    if periodic.size:
        first = orbits.state[periodic]
        later = map_samples(
            samples_kernel(static, max_periods + 1, max_periods, engine),
            (gather_lanes(leaves, periodic), first, tolerance[periodic]),
        ).trail
        around = np.concatenate([first[:, None], later[:, : max_periods - 1]], axis=1)
        beyond = np.arange(max_periods) >= orbits.periods[periodic, None]
        states[periodic] = np.nan
        states[periodic, :max_periods] = np.where(beyond[:, :, None], np.nan, around)
    return BifurcationDiagram(values, states, orbits, path, unit)


def _field_motions(system, parts, starts, settings: SettlingSettings) -> FieldMotions:
    if settings.section is None:
        raise ValueError(
            "settings.section = None of a system without a load period; allowed: "
            "jv.orbits.FieldSection(period, function)"
        )
    seen = unforced_system(system, settings.section.period, "bifurcation_diagram")
    engine, _ = engine_for(seen, settings.engine, 1)
    return FieldMotions(parts, starts, settings, engine)


def _field_results(motions: FieldMotions, starts, points: int, follow, progress):
    """Return the states and the orbits of a field at each value."""
    number, skip = len(starts), motions.settings.transient_or(_TRANSIENT)
    with progress_reporter(progress, number, "bifurcation_diagram", "values") as report:
        if follow:
            seen, start = [], starts[:1]
            for lane in range(number):
                one = motions.lanes(np.array([lane]), start)
                seen.append(map_samples(motions.stage(skip, points), one))
                last = seen[-1].end
                start = last if np.isfinite(last).all() else start
                report(1)
            whole = concatenate_lanes(seen)
        else:
            lanes = motions.lanes(np.arange(number), starts)
            stage, chunk = motions.stage(skip, points), motions.settings.chunk
            whole = map_samples(stage, lanes, chunk=chunk, progress=report)
    return motions.found(whole)


def _check_points(system: Any, points: int, values: int, longest: int) -> None:
    """Raise `ValueError` if the states are too many or fewer than the periods."""
    most = _MOST_NUMBERS // (values * len(system.rest()))
    check_range("points", points, "", Range(at_least=longest + 1, at_most=most))


def _with_exponents(orbits: PeriodicOrbit) -> PeriodicOrbit:
    """Return orbits with exponents from their multipliers; 0 periods if aperiodic."""
    periodic = orbits.result == Reason.SUCCESS
    exponents, errors = exponent_of(orbits), exponent_error_of(orbits)
    return with_fields(
        orbits,
        period=np.where(periodic, orbits.period, np.nan),
        periods=np.where(periodic, orbits.periods, 0),
        lyapunov_exponent=np.where(periodic, exponents, orbits.lyapunov_exponent),
        lyapunov_error=np.where(periodic, errors, orbits.lyapunov_error),
    )


def _aperiodic_states(trail, lanes, tracked: TrackedMotions | None) -> np.ndarray:
    """Return the last states of aperiodic motions, where they were observed."""
    states, points = trail.copy(), trail.shape[1]
    if tracked is not None:
        seen = tracked.trail[:, -points:]
        states[lanes, points - seen.shape[1] :] = seen
    return states


def _starts(system, path: str, values: np.ndarray, state) -> np.ndarray:
    if state is not None:
        return np.tile(checked_state(system, state), (len(values), 1))
    some: Any = system
    rest = jax.jit(jax.vmap(lambda value: replace(some, {path: value}).rest()))
    return np.asarray(rest(values))


def _continued(stage, leaves, tolerance, state, report):
    """Return a stage's results value by value, each from the previous final state."""
    run = _follower(stage)
    number, parts = len(tolerance), []
    for first in range(0, number, _FOLLOWED_AT_A_TIME):
        # The last values are repeated, so that one program serves all batches.
        places = np.arange(first, first + _FOLLOWED_AT_A_TIME)
        lanes = np.minimum(places, number - 1)
        some = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], leaves)
        state, found = checkpointed(run, state, (some, tolerance[lanes]))
        count = int(np.sum(places < number))
        parts.append(jax.tree.map(lambda leaf, k=count: np.asarray(leaf)[:k], found))
        report(count)
    return concatenate_lanes(parts)


@functools.lru_cache(maxsize=32)
def _follower(stage):
    def step(state, lane):
        leaves, rtol = lane
        found = stage((leaves, state, rtol))
        last = found.trail[-1]
        # After a failed motion the next one starts from that one's start.
        return jnp.where(jnp.all(jnp.isfinite(last)), last, state), found

    return jax.jit(lambda state, lanes: jax.lax.scan(step, state, lanes))
