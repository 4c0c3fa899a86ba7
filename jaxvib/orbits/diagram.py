"""Bifurcation diagrams by brute force: where motions settle, value by value."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from .._arrays import rejoined
from .._progress import Report, telling
from .._quantity import Range, check_range, reported
from ..drawing import Drawn, draw
from ..dynamics.engines import engine_for
from ..dynamics.flow import checked_state, observe
from ..dynamics.observables import largest_forces
from ..ensemble import Reason, map_samples, recalled
from ..systems.parameters import replace, unit_at
from ..systems.periods import refuse_autonomous
from .aperiodic import watch_out
from .periodic_orbit import PeriodicOrbit, unknown_orbits
from .pictures import diagram_chart
from .regimes import batched
from .settings import USUAL, SettlingSettings
from .settling import GRAZING, Records, recurrences, run_out
from .shooting import ratios, scales

# A motion has a period if it recurs this closely, in units of its own size.
RECURS = 1e-4
_TRANSIENT = 256  # periods: 12 decay times at a damping ratio of 0.75 %
_TURNING = 8  # periods that are left out of the exponent
_FOLLOWED_AT_A_TIME = 32  # values, between two looks at the clock


class BifurcationDiagram(Drawn, eqx.Module):
    """Strobed states, exponent and class of the motions along one parameter.

    Of a motion with a period the states are those of one period and NaN beyond it.
    `orbits` is a `PeriodicOrbit` whose fields have a leading axis of values; strobing tells
    its last state, its periods (0 without), contacts (-1 without a period), amplitude,
    largest force, exponent and class, and no multipliers.
    """

    parameter: Float[np.ndarray, " value"] = reported(
        "value of the parameter", "", ("value",)
    )
    states: Float[np.ndarray, "value point state"] = reported(
        "states at t = 0, once a period of the load", "", ("value", "point", "state")
    )
    orbits: PeriodicOrbit
    path: str = eqx.field(static=True, default="")
    unit: str = eqx.field(static=True, default="")

    drawable = True

    def plot(self, component: int = 0, *, ax=None):
        """Draw the strobed states on axes of matplotlib, new ones unless given.

        Each motion has the colour of its period, or of what it is without one. Returns the
        axes. **Arguments:** `component`: of the state, by its position. **Raises:**
        `ValueError` for a component that there is not.
        """
        return draw(diagram_chart(self, component), ax)

    @property
    def periods(self) -> Int[np.ndarray, " value"]:
        """Periods of the load in one of the motion, 0 without."""
        return np.asarray(self.orbits.periods)

    @property
    def lyapunov_exponent(self) -> Float[np.ndarray, " value"]:
        """The largest Lyapunov exponents, 1/s."""
        return np.asarray(self.orbits.lyapunov_exponent)

    @property
    def lyapunov_error(self) -> Float[np.ndarray, " value"]:
        """Their standard errors, 1/s."""
        return np.asarray(self.orbits.lyapunov_error)

    @property
    def result(self) -> Int[np.ndarray, " value"]:
        """Reason codes: success of motions with a period."""
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
    system: eqx.Module,
    path: str,
    values: Sequence[float] | np.ndarray,
    *,
    state: Real[ArrayLike, " state"] | Sequence | None = None,
    follow: bool = False,
    points: int = 64,
    settings: SettlingSettings = USUAL,
    progress: Report = None,
) -> BifurcationDiagram:
    """Return where motions settle at each of the `values` of a parameter.

    Every motion runs for `transient` periods of the load (256), or 12 decay times of a
    linear system with contacts where these are longer, and is then strobed for
    `points` periods, with a direction that the columns of the flow turn: the rate at
    which its length grows is the largest Lyapunov exponent. It has a period if its last
    state recurs within `max_periods`; others are watched for 512 to 3584 periods more
    and told by what these show, as in `regimes`.

    **Arguments:** `state`: where each motion starts, at rest unless given. `follow`:
    start the first motion there, and each other one in the state in which the motion
    at the value before it ended: values that ascend and values that descend then show
    where motions coexist. `points`: a multiple of 8. `settings`: `evidence` and `chunk`
    are of no use here. `progress`: is called with the number of values done since its
    last call; by default a bar is shown from two seconds on, or a line a minute where
    there is no terminal, and with `False` nothing.

    **Raises:** `ValueError` for an unknown path, a value out of its range, or another
    argument out of its.
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"values have shape {values.shape}; allowed: (n,), one or more")
    leaves, static = batched(system, {path: values})
    refuse_autonomous(system)
    settings.refuse("bifurcation_diagram", "evidence", "chunk")
    max_periods = settings.max_periods
    check_range("points", points, "", Range(at_least=16))
    if points % 8:
        raise ValueError(f"points = {points} is not a multiple of 8")
    check_range("max_periods", max_periods, "", Range(at_least=1, at_most=points - 1))
    engine, _ = engine_for(system, settings.engine, 1 if follow else len(values))
    transient = settings.transient_or(_TRANSIENT)
    stage = _stage(static, transient, points, max_periods, engine)
    tolerance = np.full(len(values), settings.rtol)
    with telling(progress, len(values), "bifurcation_diagram", "values") as report:
        if follow:
            first = _starts(system, path, values[:1], state)[0]
            found = _followed(stage, leaves, tolerance, first, report)
        else:
            starts = _starts(system, path, values, state)
            lanes = leaves, starts, tolerance
            found = map_samples(stage, lanes, progress=report)
    recurs = found.nearest < RECURS
    periods = np.where(recurs.any(axis=1), recurs.argmax(axis=1) + 1, 0)
    periods = np.where(found.result == 0, periods, 0).astype(np.int32)
    found = _watched_out(found, periods, leaves, static, engine, max_periods)
    beyond = (np.arange(points) >= periods[:, None]) & (periods > 0)[:, None]
    states = np.where(beyond[:, :, None], np.nan, found.trail)
    orbits = _orbits_of(system, found, periods)
    return BifurcationDiagram(values, states, orbits, path, unit_at(system, path))


def _orbits_of(system, found: "Strobed", periods: np.ndarray) -> PeriodicOrbit:
    """Return the motions found as orbits, as far as strobing tells what they are."""
    onsets = np.where(found.result == 0, found.contacts_per_period, 0.0) * periods
    contacts = np.where(periods > 0, np.rint(onsets), -1).astype(np.int32)
    return eqx.tree_at(
        lambda o: (
            o.state,
            o.period,
            o.periods,
            o.contacts,
            o.contacts_per_period,
            o.amplitude,
            o.max_contact_force,
            o.lyapunov_exponent,
            o.lyapunov_error,
            o.result,
        ),
        unknown_orbits(system, len(periods)),
        (
            found.trail[:, -1],
            np.where(periods > 0, periods * found.period, np.nan),
            periods,
            contacts,
            found.contacts_per_period,
            found.amplitude,
            found.max_contact_force,
            found.exponent,
            found.exponent_error,
            found.result,
        ),
    )


def _watched_out(found, periods, leaves, static, engine, longest):
    """Return what was found, of motions without a period what watching them tells.

    `periods` is changed where it turns out that a motion has one.
    """
    lanes = np.flatnonzero((periods == 0) & (found.result == Reason.SUCCESS))
    if not lanes.size:
        return found
    some = jax.tree.map(lambda leaf: leaf[lanes], leaves)
    watched = watch_out(some, static, found.state[lanes], engine=engine, longest=longest)
    known = watched.code == Reason.SUCCESS
    periods[lanes[known]] = watched.repeats[known]
    points = found.trail.shape[1]
    changes = {
        "exponent": watched.exponent / found.period[lanes],
        "exponent_error": watched.error / found.period[lanes],
        "contacts_per_period": watched.contacts_per_period,
        "max_contact_force": watched.max_contact_force,
        "amplitude": watched.amplitude,
        "result": watched.code,
    }
    if points <= watched.trail.shape[1]:
        changes["trail"] = watched.trail[:, -points:]
    found = found._replace(**{name: getattr(found, name).copy() for name in changes})
    for name, values in changes.items():
        getattr(found, name)[lanes] = values
    return found


def _starts(system, path: str, values: np.ndarray, state) -> np.ndarray:
    if state is not None:
        return np.tile(checked_state(system, state), (len(values), 1))
    some: Any = system
    rest = jax.jit(jax.vmap(lambda value: replace(some, {path: value}).rest()))
    return np.asarray(rest(values))


def _followed(stage, leaves, tolerance, state, report):
    """Return what a stage finds from value to value, each from where the last ended."""
    run = _follower(stage)
    number, parts = len(tolerance), []
    for first in range(0, number, _FOLLOWED_AT_A_TIME):
        # The last few values are repeated, so that one program serves all.
        wanted = np.arange(first, first + _FOLLOWED_AT_A_TIME)
        lanes = np.minimum(wanted, number - 1)
        some = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], leaves)
        state, found = recalled(run, state, (some, tolerance[lanes]))
        kept = int(np.sum(wanted < number))
        parts.append(jax.tree.map(lambda leaf, k=kept: np.asarray(leaf)[:k], found))
        report(kept)
    return jax.tree.map(lambda *each: np.concatenate(each), *parts)


@functools.lru_cache(maxsize=32)
def _follower(stage):
    def step(state, lane):
        leaves, rtol = lane
        found = stage((leaves, state, rtol))
        last = found.state
        # From a motion that failed the next one starts where that one started.
        return jnp.where(jnp.all(jnp.isfinite(last)), last, state), found

    return jax.jit(lambda state, lanes: jax.lax.scan(step, state, lanes))


class Strobed(NamedTuple):
    """A motion strobed over some periods, and what was seen on the way.

    `nearest` (periods,): how closely its last state recurs after 1, 2, ... periods.
    """

    trail: Float[Array, "point state"]
    nearest: Float[Array, " periods"]
    exponent: Float[Array, ""]
    exponent_error: Float[Array, ""]
    contacts_per_period: Float[Array, ""]
    max_contact_force: Float[Array, ""]
    amplitude: Float[Array, " freedom"]
    state: Float[Array, " state"]
    period: Float[Array, ""]
    result: Int[Array, ""]


@functools.lru_cache(maxsize=32)
def _stage(static, transient, points, longest, engine):
    def stage(lane):
        leaves, state, rtol = lane
        system = rejoined(leaves, static)
        settled, result = run_out(system, state, transient, rtol, engine)
        return _strobed(system, settled, result, points, longest, rtol, engine)

    return stage


class _Turning(NamedTuple):
    """A motion, the direction that turns with it, and why it failed, if it did."""

    state: Float[Array, " state"]
    direction: Float[Array, " state"]
    result: Int[Array, ""]


def _strobed(system, state, result, points, longest, rtol, engine) -> Strobed:
    """Follow a motion and one direction with it, which the columns of its flow turn."""
    period = system.period()
    equation = system.equation()
    units = ratios(system, state)
    grazing = GRAZING * scales(system, state)[0]
    size = state.shape[0]

    def step(last: _Turning, _) -> tuple[_Turning, Records]:
        state, so_far = last.state, last.result
        end = jnp.where(so_far == Reason.SUCCESS, period, 0.0)
        seen = observe(system, state, 0.0, end, rtol=rtol, grazing=grazing, engine=engine)
        moved = seen.monodromy @ (last.direction * units) / units
        length = jnp.linalg.norm(moved)
        result = jnp.where(so_far == Reason.SUCCESS, seen.result, so_far)
        force = jnp.max(largest_forces(equation, seen.watched), initial=0.0)
        onsets = jnp.sum(seen.watched.onsets).astype(float)
        extremes = seen.watched.highest, seen.watched.lowest
        records = Records(seen.state, jnp.log(length), onsets, force, *extremes)
        return _Turning(seen.state, moved / length, result), records

    start = _Turning(state, jnp.ones(size) / jnp.sqrt(float(size)), result)
    last, seen = jax.lax.scan(step, start, length=points)
    # The direction turns to where it belongs in the first few periods.
    blocks = jnp.mean(seen.growth[_TURNING:].reshape(8, -1), axis=1) / period
    return Strobed(
        seen.states,
        recurrences(system, seen.states, longest),
        jnp.mean(blocks),
        jnp.std(blocks, ddof=1) / jnp.sqrt(8.0),
        jnp.mean(seen.onsets),
        jnp.max(seen.force),
        (jnp.max(seen.highest, axis=0) - jnp.min(seen.lowest, axis=0)) / 2,
        last.state,
        period,
        last.result,
    )
