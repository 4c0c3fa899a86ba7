"""The response of a system to arbitrary loads: peaks, mean squares, first passages."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing import Plottable
from ..dynamics import simulate
from ..dynamics.engines import MANY, check_engine, engine_for
from ..dynamics.flow import checked_state
from ..dynamics.observables import largest_forces
from ..ensemble import Reason, raise_if_empty
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, result_field
from ..systems.base.system import Mechanical, System
from ..systems.impact import EquationOfMotion
from .by_engine import (
    observe_by_events,
    observe_by_steps,
    states_by_events,
    states_by_steps,
)
from .limits import (
    Limit,
    check_limits,
    extremes_and_passages,
    freedoms_of,
    with_limits,
)
from .slopes import at_stops, stops_of, with_slopes

# Tolerance factor of the second run; the error is the difference of both runs.
COARSER = 100.0


class Response(Plottable):
    """Extremes, means and final state of a motion; displacements are from rest."""

    drawn: ClassVar[tuple[str, ...]] = ("highest", "lowest", "mean")

    highest: Float[Array, " freedom"] = result_field(
        "highest displacement", "m", ("freedom",)
    )
    lowest: Float[Array, " freedom"] = result_field(
        "lowest displacement", "m", ("freedom",)
    )
    peak: Float[Array, " freedom"] = result_field(
        "largest magnitude of the displacement", "m", ("freedom",)
    )
    peak_time: Float[Array, " freedom"] = result_field("its time", "s", ("freedom",))
    peak_error: Float[Array, " freedom"] = result_field(
        "its change at a tolerance a hundred times coarser", "m", ("freedom",)
    )
    mean: Float[Array, " freedom"] = result_field(
        "mean displacement over the time", "m", ("freedom",)
    )
    mean_square: Float[Array, " freedom"] = result_field(
        "mean square displacement over the time", "m^2", ("freedom",)
    )
    mean_square_error: Float[Array, " freedom"] = result_field(
        "its change at a tolerance a hundred times coarser", "m^2", ("freedom",)
    )
    mean_square_velocity: Float[Array, " freedom"] = result_field(
        "mean square velocity over the time", "m^2/s^2", ("freedom",)
    )
    state: Float[Array, " state"] = result_field("state at the end", "", ("state",))
    contacts: Int[Array, " contact"] = result_field("onsets of contact", "", ("contact",))
    max_contact_force: Float[Array, " contact"] = result_field(
        "largest contact force", "N", ("contact",)
    )
    extreme: Float[Array, " limit"] = result_field(
        "extreme of each limit's quantity", "m", ("limit",)
    )
    first_passage: Float[Array, " limit"] = result_field(
        "time at which each limit is first reached, inf if never", "s", ("limit",)
    )
    result: Int[Array, ""] = result_field("reason code")

    @property
    def root_mean_square(self) -> Float[Array, " freedom"]:
        """The root-mean-square displacement over the time, m."""
        return jnp.sqrt(self.mean_square)

    def __repr__(self) -> str:
        if np.ndim(self.result) or isinstance(self.result, jax.core.Tracer):
            return f"Response of shape {np.shape(self.result)}"
        peaks = ", ".join(f"{x:.6g} +- {e:.1g} m" for x, e in zip(
            np.asarray(self.peak), np.asarray(self.peak_error), strict=True))  # fmt: skip
        return f"Response: peaks {peaks}"


def response(
    system: System,
    duration: Real[Array, ""] | float,
    state: Real[ArrayLike, " state"] | Sequence[Any] | None = None,
    *,
    start: Real[Array, ""] | float = 0.0,
    limits: Sequence[Limit] = (),
    rtol: Real[Array, ""] | float = 1e-8,
    engine: str = "auto",
    throw: bool = True,
) -> Response:
    r"""Return the response of a system to its loads over a `duration` (s), from rest.

    Peaks and contact forces are extremes of the dense output; mean squares are
    integrals along the motion; first passages are events. The motion is computed twice,
    the second time at a hundred times the tolerance: the reported error is the
    difference, an error estimate of the coarser run and at least the tolerance; results
    are those of the finer run. Works under `jit`, `vmap` and forward- and reverse-mode
    differentiation. With the event-driven engine, derivatives are exact for the steps
    taken, except that those of errors are 0; with other engines, second derivatives
    after a contact, and all derivatives after a jump of the force, are NaN. Systems with
    elements are integrated by other engines.

    **Arguments:** `state`: at the `start` (s), default: rest; `limits`: levels whose
    first passages are computed; `engine`: as in `flow`; "auto" is event-driven where
    possible, and then a load with many harmonics, or a record, is integrated piece by
    piece, at a cost independent of its length.

    **Raises:** `ValueError` for an argument out of its range or a system without
    displacements; `RuntimeError` with the reason if a single motion fails, unless
    `throw=False`: the result then has NaN and the reason code.

    >>> noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    >>> law = noise.load(highest=60.0, duration=10.0, seed=1)
    >>> roof = jv.AppliedLoad([0.0, 1.0], law, "noise")
    >>> shaken = jv.ImpactSystem(tower, loads=(roof,))
    >>> print(jv.response(shaken, 10.0).peak)
    [0.04892 0.08802]
    """
    chosen = chosen_engine(system, engine)
    check_range("duration", duration, "s", Range(above=0.0))
    check_range("start", start, "s", Range())
    if is_concrete(start, duration) and not start + duration > start:
        raise ValueError(
            f"duration = {duration:g} s is lost to rounding at start = {start:g} s; "
            "allowed: a longer one"
        )
    check_range("rtol", rtol, "", Range(above=0.0, at_most=1e-4))
    state = system.rest() if state is None else checked_state(system, state)
    limits = tuple(limits)
    check_limits(limits, freedoms_of(system))
    times = jnp.asarray(start, float), jnp.asarray(start + duration, float)
    found = respond(system, state, *times, jnp.asarray(rtol, float), limits, chosen)
    raise_if_empty("response", throw, found.result, found.peak)
    return found


def chosen_engine(system: System, engine: str) -> str:
    """Return the name of the engine that computes responses of a system.

    **Raises:** `ValueError` for a system without displacements or an unknown engine.
    """
    if not isinstance(system, Mechanical):
        raise ValueError(
            f"{type(system).__name__} has no displacements; allowed: systems of bodies"
        )
    check_engine(engine)
    name, _ = engine_for(system, engine, MANY)
    return name


@eqx.filter_jit
def respond(
    system: System,
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    limits: tuple[Limit, ...],
    engine: str,
) -> Response:
    """Return the `response` from `t0` to `t1` by a chosen engine."""
    # The tolerance is an argument, not a closure variable: it may differ between lanes.
    given = system, state, t0, t1, limits, rtol
    arrays, static = eqx.partition(given, eqx.is_array)

    def found(arrays):
        return _found(*eqx.combine(arrays, static), engine)

    def smooth(arrays, stops):
        return _smooth(*eqx.combine(arrays, static), engine, stops)

    return with_slopes(found, smooth, arrays)[0]


def _found(system, state, t0, t1, limits, rtol, engine: str):
    """Return the response without derivatives, and the times of its extremes."""
    equation = system.equation()
    own = len(equation.contacts)
    limited = with_limits(equation, limits)

    def run(rtol):
        if engine == "event":
            assert isinstance(limited, EquationOfMotion)
            return observe_by_events(limited, state, t0, t1, rtol)
        return observe_by_steps(system, limits, state, t0, t1, rtol, engine)

    found = run(rtol)
    end, observables, result = found.state, found.observables, found.result
    # With invalid times a motion takes no step, so nothing else fails.
    result = jnp.where((t0 < t1) & jnp.isfinite(t1 - t0), result, Reason.BAD_PARAMETER)
    result = result.astype(jnp.int32)
    rest = system.rest()[: freedoms_of(system)]

    def numbers(found):
        observables, total = found.observables, found.integral
        high, low = observables.highest - rest, observables.lowest - rest
        mean, square, speed = jnp.split(total / (t1 - t0), 3)
        return high, low, jnp.maximum(high, -low), mean, square, speed

    high, low, peak, mean, square, speed = numbers(found)
    _, _, other_peak, _, other_square, _ = numbers(run(COARSER * rtol))
    depths, touches = observables.deepest[own:], observables.first_touch[own:]
    extreme, passage = extremes_and_passages(limits, depths, touches)
    good = result == 0

    def known(values):
        return jnp.where(good, values, jnp.nan)

    response = Response(
        known(high),
        known(low),
        known(peak),
        known(jnp.where(high >= -low, observables.highest_time, observables.lowest_time)),
        known(jnp.maximum(jnp.abs(other_peak - peak), rtol * peak)),
        known(mean),
        known(square),
        known(jnp.maximum(jnp.abs(other_square - square), 2 * rtol * square)),
        known(speed),
        end,
        jnp.where(good, observables.onsets[:own], -1),
        known(largest_forces(limited, observables)[:own]),
        known(extreme),
        known(passage),
        result,
    )
    return response, stops_of(limited, observables, t0, t1)


def _smooth(system, state, t0, t1, limits, rtol, engine: str, stops) -> dict[str, Array]:
    """Return the differentiable fields of a response, by name."""
    equation, rtol = system.equation(), jax.lax.stop_gradient(rtol)
    own = len(equation.contacts)
    limited = with_limits(equation, limits)
    if engine == "event":
        states, end, total = states_by_events(equation, state, t0, t1, rtol, stops)
    else:
        states, end, total = states_by_steps(system, state, t0, t1, rtol, stops, engine)
    sides, (depths, forces, touches) = at_stops(limited, states, stops, t0, t1)
    rest = system.rest()[: freedoms_of(system)]
    (high, high_time), (low, low_time) = sides
    high, low = high - rest, low - rest
    upper = high >= -low
    mean, square, speed = jnp.split(total / (t1 - t0), 3)
    extreme, passage = extremes_and_passages(limits, depths[own:], touches[own:])
    return {
        "highest": high,
        "lowest": low,
        "peak": jnp.where(upper, high, -low),
        "peak_time": jnp.where(upper, high_time, low_time),
        "mean": mean,
        "mean_square": square,
        "mean_square_velocity": speed,
        "state": end,
        "max_contact_force": forces[:own],
        "extreme": extreme,
        "first_passage": passage,
    }


class History(Plottable):
    """Displacements from rest, and states of elements, at given times."""

    instants: Float[Array, " time"] = result_field("times", "s", ("time",))
    displacements: Float[Array, "time freedom"] = result_field(
        "displacements from rest", "m", ("time", "freedom")
    )
    further_states: Float[Array, "time further"] = result_field(
        "states of elements", "", ("time", "further")
    )


def history(
    system: System, state: Float[Array, " state"], times: Float[Array, " time"], rtol: float
) -> History:
    """Return the motion of a system from a state at times (s), NaN where it fails."""
    count = freedoms_of(system)
    change = simulate(system, state, times, rtol, throw=False).states - system.rest()[None]
    # states of elements are behind the velocities, and 0 at rest
    return History(times, change[:, :count], change[:, 2 * count :])
