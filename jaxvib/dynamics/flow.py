"""The flow of a system: its state at one time from its state at another."""

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from .._environment import require_float64
from .._quantity import Range, check_range, floats, reported
from ..ensemble import Reason, raise_if_empty
from . import exponential
from .events import travel, travel_columns, travel_problem, why_not, why_only
from .lanes import step_lanes
from .looks import LOOKS, LOOKS_OF_A_LANE, has_jump, longest_step, may_jump
from .observables import Watched, start_watching, steps_over_contact, watch_step
from .scales import scales_of
from .single import in_float32
from .solve import (
    Problem,
    Solution,
    Tolerance,
    augmented,
    ended,
    integrate,
    reason_of,
    solve,
)

ENGINES = ("auto", "diffrax", "event", "stepping")
PRECISIONS = ("float32", "float64")
STEPPED = ("auto", "diffrax")  # where samples on the way or multipliers are wanted
MANY = 512  # lanes; fewer are done before an event engine is compiled


class Trajectory(eqx.Module):
    """A motion at the times asked for; NaN from where its solve failed."""

    times: Float[Array, " times"] = reported("time", "s", ("time",))
    states: Float[Array, "times state"] = reported("state", "", ("time", "state"))
    contact_force: Float[Array, "times contacts"] = reported(
        "contact force", "N", ("time", "contact")
    )
    result: Int[Array, ""] = reported("reason code")


def flow(
    system: eqx.Module,
    state: Real[ArrayLike, " state"] | Sequence,
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    engine: str = "auto",
    precision: str = "float64",
    throw: bool = True,
) -> Float[Array, " state"]:
    r"""Return the state at time `t1` (s) of the motion that is in `state` at `t0`.

    It works under `jit`, `vmap` and differentiation of any order, forward and
    reverse, with respect to the state, the times and every physical parameter.
    `jax.jacfwd` of it over one period is the monodromy matrix, its columns integrated
    under the same error control as the state. A solve that fails gives NaN in a batch
    and under transformations; a single call raises unless `throw=False`.

    `engine="event"` goes from contact to contact (`dynamics.events`): several times as
    fast, but slower to compile; "auto" takes it for ensembles and for hard stops, see
    `engine_for`. `engine="stepping"` (`dynamics.lanes`) is for many lanes of any vector
    field under `vmap`. With `precision="float32"` it evaluates the rates of a system
    without contacts in float32 and adds steps up in float64, for a GPU of few float64
    units above all; parameters have seven digits then, and `rtol` must be 1e-6 or more.

    **Raises:** `ValueError` for a state of the wrong shape, a tolerance out of range,
    an unknown engine, one that the system cannot be taken by, or float32 where the error
    does not allow it; `RuntimeError` with the reason why a single solve failed.
    """
    check_precision(precision, system, engine, rtol)
    engine, _ = engine_for(system, engine, lanes=1)
    solution = solve_system(
        system, state, t0, t1, rtol=rtol, engine=engine, precision=precision
    )
    raise_if_empty("flow", throw, solution.result, solution.state)
    return solution.state


def solve_system(
    system, state, t0, t1, *, rtol, engine="auto", precision="float64"
) -> Solution:
    """Return `flow` together with its reason code and the number of steps."""
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    state = checked_state(system, state)
    if isinstance(system, exponential.Decoupled):
        found = exponential.travel(system, state, t0, t1, rtol)
        return Solution(found.state, found.result, found.steps)
    problem, parameters = problem_of(system, engine, precision)
    if _by_events(system, engine):
        return travel_problem(problem.prepare, state, parameters, t0, t1, rtol)
    return solve(problem, state, parameters, t0, t1, Tolerance(rtol))


def engine_for(system, engine: str, lanes: int) -> tuple[str, str]:
    """Return the engine that many motions of a system are computed by, and why.

    "auto" goes from event to event where the system is linear but for contacts with
    Hertz's or a linear law, under harmonic loads, and where there are lanes enough for
    its longer compilation to pay; with hard stops always. **Raises:** `ValueError` for an
    unknown engine, for "event" where the system is not such a one, or for "diffrax" where
    it has hard stops.
    """
    check_engine(engine)
    problem, parameters = problem_of(system)
    equation = eqx.filter_eval_shape(problem.prepare, parameters)
    reason, only = why_not(equation), why_only(equation)
    if engine in ("diffrax", "stepping"):
        if only:
            raise ValueError(f"engine = {engine!r}: {only}; allowed: auto, event")
        return engine, "asked for"
    if engine == "event" or only:
        if reason:
            raise ValueError(
                f"engine = {engine!r}: {reason}; allowed: auto, diffrax, stepping"
            )
        return "event", only or "asked for"
    if not reason and lanes < MANY:
        reason = f"{lanes} samples are fewer than {MANY}, from where on events pay"
    return ("diffrax", reason) if reason else ("event", "linear but for its contacts")


def _by_events(system, engine: str) -> bool:
    """Return whether one motion goes from event to event; "auto": only if it must."""
    return engine_for(system, engine, lanes=1)[0] == "event"


def simulate(
    system: eqx.Module,
    state: Real[ArrayLike, " state"] | Sequence,
    times: Sequence[float] | Array | np.ndarray,
    rtol: Real[Array, ""] | float = 1e-10,
    *,
    engine: str = "auto",
    throw: bool = True,
) -> Trajectory:
    """Return the motion from `state` at `times[0]`, sampled at ascending `times` (s).

    The force of a hard stop is that with which it holds; its impulses have none.

    **Raises:** `ValueError` for a state of the wrong shape, times that do not ascend,
    a tolerance out of range or an unknown engine; `RuntimeError` with the reason where
    a single call fails before its second time, unless `throw=False`.
    """
    check_engine(engine, STEPPED)
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    state = checked_state(system, state)
    times = jnp.asarray(times, float)
    if times.ndim != 1 or times.size < 2:
        raise ValueError(f"times has shape {times.shape}; allowed: (2,) or longer")
    if not isinstance(times, jax.core.Tracer) and not bool(jnp.all(jnp.diff(times) > 0)):
        raise ValueError("times do not ascend; allowed: ascending times, s")
    rtol = jnp.asarray(rtol, float)
    run = _travel_by if _by_events(system, engine) else _simulate
    found = run(system, state, times, rtol)
    raise_if_empty("simulate", throw, found.result, found.states[1:])
    return found


@eqx.filter_jit
def _travel_by(system, state, times, rtol) -> Trajectory:
    equation = system.equation()

    def step(carry, span):
        state, result = carry
        found = travel(equation, state, span[0], span[1], rtol)
        result = jnp.where(result == Reason.SUCCESS, found.result, result)
        force = equation.contact_forces(equation.penetrations(found.state)) + found.held
        return (found.state, result), (found.state, force)

    begin = travel(equation, state, times[0], times[0], rtol)
    force = equation.contact_forces(equation.penetrations(state)) + begin.held
    spans = jnp.stack([times[:-1], times[1:]], axis=1)
    (_, result), (states, forces) = jax.lax.scan(step, (state, begin.result), spans)
    states = jnp.concatenate([state[None], states])
    return Trajectory(times, states, jnp.concatenate([force[None], forces]), result)


@eqx.filter_jit
def _simulate(system, state, times, rtol) -> Trajectory:
    problem, parameters = problem_of(system)
    equation = problem.prepare(parameters)
    solution, finite = integrate(
        problem, state, equation, times[0], times[-1], Tolerance(rtol),
        diffrax.SaveAt(ts=times),
    )  # fmt: skip
    states = jnp.where(jnp.isfinite(solution.ys), solution.ys, jnp.nan)
    result = reason_of(solution.result, finite)
    if hasattr(equation, "contact_forces"):
        force = jax.vmap(lambda s: equation.contact_forces(equation.penetrations(s)))(
            states
        )
    else:
        force = jnp.zeros((times.shape[0], 0))
    return Trajectory(times, states, force, result)


class Observation(NamedTuple):
    """A motion's end: its state, its monodromy, what was watched, a reason code."""

    state: Float[Array, " 2n"]
    monodromy: Float[Array, "2n 2n"]
    watched: Watched
    result: Int[Array, ""]


def observe(
    system, state, t0, t1, *, rtol, grazing, watched=None, engine="auto", longest=None
) -> Observation:
    """Return the flow of a vibro-impact system and what was watched on the way.

    `grazing`: the depth (m) up to which a touch is not counted as a contact;
    `watched`: what is known from before t0; `longest`: the longest step, s, unless one is
    to be looked for. The result is not differentiable; `flow` to a watched time is.
    """
    if isinstance(system, exponential.Decoupled):
        found = exponential.travel(
            system, state, t0, t1, rtol, grazing=grazing, watched=watched, columns=True
        )
        return Observation(found.state, found.columns, found.watched, found.result)
    problem, parameters = problem_of(system, engine)
    if _by_events(system, engine):
        equation = problem.prepare(parameters)
        columns, found = travel_columns(equation, state, t0, t1, rtol, grazing, watched)
        return Observation(found.state, columns, found.watched, found.result)
    whole = augmented(problem, None)
    start = state, jnp.eye(state.shape[0])
    prepared = whole.prepare(parameters)
    (final, columns), watched, result = _watch(
        whole, start, prepared, prepared[0], lambda y: y[0], t0, t1,
        Tolerance(rtol, longest), grazing, watched,
    )  # fmt: skip
    return Observation(final, columns.T, watched, result)


def watch(
    system, state, t0, t1, *, rtol, grazing, engine="auto"
) -> tuple[Array, Watched, Array]:
    """Return `observe` without a monodromy: state, what was watched, reason code."""
    if isinstance(system, exponential.Decoupled):
        found = exponential.travel(system, state, t0, t1, rtol, grazing=grazing)
        return found.state, found.watched, found.result
    problem, parameters = problem_of(system, engine)
    equation = problem.prepare(parameters)
    if _by_events(system, engine):
        found = travel(equation, state, t0, t1, rtol, grazing=grazing)
        return found.state, found.watched, found.result
    tolerance = Tolerance(rtol)
    return _watch(
        problem, state, equation, equation, lambda y: y, t0, t1, tolerance, grazing, None
    )


def _watch(
    problem, start, prepared, equation, state_of, t0, t1, tolerance, grazing, watched
):
    if watched is None:
        watched = start_watching(t0, state_of(start), equation)

    def update(watched, t0, t1, first, last):
        first, last = (tuple(map(state_of, pair)) for pair in (first, last))
        return watch_step(watched, grazing, t0, t1, first, last, equation)

    if problem.stepping:
        final, result, _, watched = step_lanes(
            problem, start, prepared, t0, t1, tolerance, (watched, update)
        )
        return final, watched, result
    saveat = diffrax.SaveAt(t1=True, solver_state=True)
    solution, finite = integrate(
        problem, start, prepared, t0, t1, tolerance, saveat, (watched, update)
    )
    final, result = ended(solution, finite)
    return final, solution.solver_state[-1], result


def problem_of(system, engine="diffrax", precision="float64") -> tuple[Problem, Any]:
    """Return a system's initial value problem for an engine, and its parameters."""
    require_float64()
    parameters, static = eqx.partition(system, eqx.is_inexact_array)
    touches = bool(getattr(system, "has_contacts", False))

    def prepare(parameters):
        return eqx.combine(parameters, static).equation()

    def field(time, state, equation):
        return equation.vector_field(time, state)

    def scales(t0, t1, state, equation):
        return scales_of(equation, equation.vector_field, t0, t1, state)

    stepping = engine == "stepping"

    def longest(t0, t1, state, equation):
        looks = LOOKS_OF_A_LANE if stepping else LOOKS
        return longest_step(equation, equation.vector_field, t0, t1, state, looks)

    def jumps(scales, time, first, last, equation):
        if not may_jump(equation):
            return None
        return has_jump(lambda y: equation.vector_field(time, y), scales, first, last)

    problem = Problem(
        prepare,
        field,
        scales,
        skips=steps_over_contact if touches else None,
        stepping=stepping,
        longest=longest,
        jumps=jumps,
    )
    if precision == "float32":

        def period(parameters):
            return eqx.combine(parameters, static).period()

        problem = in_float32(problem, period if hasattr(system, "period") else None)
    return problem, parameters


def checked_state(system, state) -> Float[Array, " state"]:
    """Return the state as floats; raise `ValueError` if its shape is not the system's."""
    state = floats("state", state)
    expected = jax.eval_shape(system.rest).shape
    if state.shape != expected:
        raise ValueError(f"state has shape {state.shape}; allowed: {expected}")
    return state


def check_precision(precision: str, system, engine: str, rtol) -> None:
    """Raise `ValueError` for a precision that is not known, or that the error forbids."""
    if precision not in PRECISIONS:
        allowed = ", ".join(PRECISIONS)
        raise ValueError(f"precision = {precision!r}; allowed: {allowed}")
    if precision == "float32":
        if engine != "stepping":
            raise ValueError(
                f"precision = 'float32' with engine = {engine!r}; allowed: 'stepping'"
            )
        if getattr(system, "has_contacts", False) or len(getattr(system, "loads", ())) > 1:
            raise ValueError(
                "precision = 'float32' of a system with contacts or several loads; "
                "allowed: 'float64', as bodies are pressed in by a ten thousandth of "
                "their travel and times are told within one period"
            )
        check_range("rtol", rtol, "in float32", Range(at_least=1e-6, at_most=0.1))


def check_engine(engine: str, allowed: Sequence[str] = ENGINES) -> None:
    """Raise `ValueError` for an engine that is not allowed, naming the nearest one."""
    if engine not in allowed:
        near = difflib.get_close_matches(str(engine), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"engine = {engine!r}; allowed: {', '.join(allowed)}{hint}")
