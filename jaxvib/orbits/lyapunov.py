"""Lyapunov exponents and Poincaré sections of a motion."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Real

from ..drawing.plottable import ResultRepr
from ..dynamics.engines import check_engine
from ..dynamics.flow import checked_state, solve_system
from ..ensemble import Reason, raise_if_empty
from ..ensemble.result import Result
from ..foundation.arrays import partition_arrays
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_range, result_field
from ..systems.base.system import System
from ..systems.periods import check_period, period_of
from ..systems.unforced import (
    UnforcedSystem,
    field_in_spans,
    is_unforced,
    may_stick_or_hit,
)
from .crossings import FieldSection, crossings_kernel
from .settings import MOST_PERIODS
from .shooting.orbit_shooting import no_period, ratios
from .shooting.settling import poincare_map

_BLOCKS = 8  # whose means give the standard error, to a quarter of its value
_RESOLVED = 1e-13  # a direction that shrinks more than this, next to others, is rounding
_AT_REST = 1e-6  # a smaller motion in a period, relative to the size, is rounding


class LyapunovExponents(Result):
    """The exponents of a motion, largest first, with standard errors.

    An exponent is -inf where neighbouring motions coincide, as in a holding hard
    contact.

    >>> found = jv.lyapunov_exponents(system, orbit.state, periods=16, count=1, skip=0)
    >>> found.exponents.shape
    (1,)
    """

    exponents: Float[Array, " exponent"] = result_field(
        "Lyapunov exponents, largest first", "1/s", ("exponent",)
    )
    errors: Float[Array, " exponent"] = result_field(
        "standard errors, from the means of eight blocks", "1/s", ("exponent",)
    )
    dimension: Float[Array, ""] = result_field(
        "Kaplan-Yorke dimension: of the attractor's section, or of a field's attractor"
    )
    state: Float[Array, " state"] = result_field("state at the end", "", ("state",))
    result: Int[Array, ""] = result_field("reason code")

    def _empty(self) -> bool:
        return not np.isfinite(self.dimension)

    def _lines(self) -> list[str]:
        pairs = zip(np.asarray(self.exponents), np.asarray(self.errors), strict=True)
        listed = ", ".join(f"{value:.6g} (error {error:.1e})" for value, error in pairs)
        return [f"LyapunovExponents: {listed} 1/s, dimension {self.dimension:.4g}"]


def lyapunov_exponents(
    system: System,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    periods: int = 512,
    count: int | None = None,
    *,
    skip: int = 64,
    period: Real[Array, ""] | float | None = None,
    rtol: Real[Array, ""] | float = 1e-8,
    engine: str = "auto",
    throw: bool = True,
) -> LyapunovExponents:
    r"""Return the `count` largest Lyapunov exponents of the motion from a state.

    An orthonormal frame $Q$ of directions is carried along the motion; each period of
    the load maps it by the flow's derivative and orthonormalizes it,

    $$\frac{\partial\varphi^T}{\partial s}\,Q_k = Q_{k+1} R_{k+1}, \qquad
      \lambda_i = \frac{1}{nT} \sum_{k=1}^{n} \ln |(R_k)_{ii}|,$$

    with columns that are integrated under error control or event-driven
    (`flow`), so that hard stops and Hertz contacts are covered as well. Works under
    `jit` and `vmap`.

    An autonomous field, or bodies under constant loads, have one exponent 0, that of a
    shift along the motion, unless they come to rest; the one nearest to 0 counts as 0 in
    the dimension.

    **Arguments:** `state`: at t = 0. `periods`: of the load, to average over, 16
    or more. `count`: by default all exponents. `skip`: preceding periods, in which
    the motion and the frame converge. `period`: of an autonomous system, the time (s)
    after which the frame is orthonormalized, such as a mean return time. An exponent
    is NaN if its direction shrinks to rounding errors in that time, as where a body
    sticks; otherwise try a shorter one.

    **Raises:** `ValueError` for an argument out of its range or a state of the wrong
    shape; `RuntimeError` with the reason if the motion of a single call fails; with
    `throw=False` the result is NaN with a reason code.

    **Source:** Benettin, Galgani, Giorgilli and Strelcyn, *Meccanica* 15 (1980) 9;
    Shimada and Nagashima, *Prog. Theor. Phys.* 61 (1979) 1605.

    >>> found = jv.lyapunov_exponents(system, orbit.state, periods=16, count=1, skip=0)
    >>> bool(found.exponents[0] < 0)
    True
    """
    check_engine(engine)
    system = _with_period(system, period)
    state = checked_state(system, state)
    size = state.shape[0]
    count = size if count is None else count
    check_range("count", count, "", Range(at_least=1, at_most=size))
    within = Range(at_least=2 * _BLOCKS, at_most=MOST_PERIODS)
    check_range("periods", periods, "", within)
    check_range("skip", skip, "", Range(at_least=0, at_most=MOST_PERIODS))
    found = _exponents(system, state, periods, count, skip, jnp.asarray(rtol), engine)
    raise_if_empty("lyapunov_exponents", throw, found.result, found.exponents)
    return found


def _with_period(system: System, period: Any) -> System:
    """Return the system whose period is that of the load, or a given time.

    **Raises:** `ValueError` for a period that is missing, or not allowed.
    """
    if not is_unforced(system):
        if period is not None:
            raise ValueError(
                f"period = {period} of a system with periodic loads; allowed: periods, "
                "the number of load periods"
            )
        check_period(system)
        return system
    require_float64()
    if period is None:
        raise ValueError(
            "period = None in lyapunov_exponents of a system without a load period; "
            "allowed: a time, s, such as a mean return time of the motion"
        )
    check_range("period", period, "s", Range(above=0.0))
    return field_in_spans(system, period, modulo_drift=False)


class _Framed(NamedTuple):
    """A motion with an orthonormal frame of directions, and its reason code."""

    state: Float[Array, " state"]
    frame: Float[Array, "state exponents"]
    result: Int[Array, ""]


@eqx.filter_jit
def _exponents(system, state, periods, count, skip, rtol, engine) -> LyapunovExponents:
    period = period_of(system)
    # Units common to all components: only their ratios matter.
    units = ratios(system, state)
    jumps = isinstance(system, UnforcedSystem) and may_stick_or_hit(system.moved)
    moved_by = system.moved if jumps else system  # by events, which the field has not

    def step(last: _Framed, _):
        end = jnp.where(last.result == Reason.SUCCESS, period, 0.0)

        def moved(along):
            start = last.state + units * (last.frame @ along)
            solution = solve_system(moved_by, start, 0.0, end, rtol=rtol, engine=engine)
            return solution.state / units, (solution.state, solution.result)

        columns, (image, code) = jax.jacfwd(moved, has_aux=True)(jnp.zeros(count))
        result = jnp.where(last.result == Reason.SUCCESS, code, last.result)
        good = result == Reason.SUCCESS
        # LAPACK may not return from matrices of NaN.
        frame, triangle = jnp.linalg.qr(jnp.where(good, columns, last.frame))
        lengths = jnp.abs(jnp.diagonal(triangle))
        if isinstance(system, UnforcedSystem):  # of a load, the period cannot be shorter
            lost = lengths < _RESOLVED * jnp.max(jnp.abs(columns))
            lengths = jnp.where(lost, jnp.nan, lengths)
        growth = jnp.log(lengths)
        return _Framed(image, frame, result), jnp.where(good, growth, jnp.nan)

    frame = jnp.eye(state.shape[0], count)
    start = _Framed(state, frame, jnp.asarray(0, jnp.int32))
    started, _ = jax.lax.scan(step, start, length=skip)
    last, growth = jax.lax.scan(step, started, length=periods)
    even = periods - periods % _BLOCKS
    blocks = jnp.mean(growth[:even].reshape(_BLOCKS, -1, count), axis=1) / period
    exponents = jnp.mean(growth, axis=0) / period
    order = jnp.argsort(-exponents)
    result = no_period(system, period, last.result)
    known = exponents[order]
    if isinstance(system, UnforcedSystem):
        nearest = jnp.arange(count) == jnp.nanargmin(jnp.abs(known))
        known = jnp.where(nearest & _is_moving(system, last.state, units), 0.0, known)
    return LyapunovExponents(
        exponents[order],
        (jnp.std(blocks, axis=0, ddof=1) / jnp.sqrt(float(_BLOCKS)))[order],
        _dimension(known),
        last.state,
        result,
    )


def _is_moving(system: UnforcedSystem, state: Array, units: Array) -> Bool[Array, ""]:
    """Return whether an autonomous motion has not come to rest."""
    rate = system.equation().vector_field(jnp.zeros(()), state)
    return jnp.any(jnp.abs(rate) * system.span > _AT_REST * units)


def _dimension(exponents: Float[Array, " exponent"]) -> Float[Array, ""]:
    r"""Return the Kaplan-Yorke dimension $j + (\lambda_1 + ... + \lambda_j) /
    |\lambda_{j+1}|$ with the largest j whose sum is not negative.

    NaN where the sum of all exponents that are known is not negative.
    """  # noqa: D205
    sums = jnp.cumsum(exponents)
    integer_part = jnp.sum(sums >= 0)
    is_known = integer_part < exponents.shape[0]
    following = jnp.where(is_known, integer_part, 0)
    before = jnp.where(integer_part > 0, sums[jnp.maximum(integer_part, 1) - 1], 0.0)
    dimension = integer_part.astype(float) + before / jnp.abs(exponents[following])
    return jnp.where(is_known, dimension, jnp.nan)


class Section(ResultRepr):
    """The states of a motion once per load period, at phase 0 of the load.

    Of an autonomous motion: at its crossings of a `FieldSection`.

    >>> section = jv.orbits.poincare_section(system, orbit.state, periods=16, skip=0)
    >>> section.states.shape
    (16, 4)
    """

    states: Float[Array, "point state"] = result_field(
        "states once a period", "", ("point", "state")
    )
    times: Float[Array, " point"] = result_field(
        "times since the previous point", "s", ("point",)
    )
    result: Int[Array, ""] = result_field("reason code")


def poincare_section(
    system: System,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    periods: int = 512,
    skip: int = 64,
    *,
    section: FieldSection | None = None,
    rtol: Real[Array, ""] | float = 1e-8,
    engine: str = "auto",
    throw: bool = True,
) -> Section:
    """Return a motion's states at the end of each of `periods` periods of the load.

    The preceding `skip` periods are omitted. An autonomous system, or bodies under
    constant loads, need a `section`; `periods` and `skip` are then numbers of crossings,
    each located to rounding along the motion. Works under `jit` and `vmap`; a failed
    motion has NaN states from there on.

    **Raises:** `ValueError` for an argument out of its range, a state of the wrong
    shape, or a section that is missing or not allowed; `RuntimeError` with the reason if
    a single call has no finite state, unless `throw=False`.

    >>> section = jv.orbits.poincare_section(system, orbit.state, periods=16, skip=0)
    >>> bool(abs(section.states - orbit.state).max() < 1e-5)
    True
    """
    check_engine(engine)
    unforced = is_unforced(system)
    if unforced and section is None:
        raise ValueError(
            "section = None of a system without a load period; allowed: "
            "jv.orbits.FieldSection(period, function)"
        )
    if section is not None and not unforced:
        raise ValueError("section of a system with periodic loads; allowed: None")
    if unforced:
        require_float64()
    else:
        check_period(system)
    state = checked_state(system, state)
    check_range("periods", periods, "", Range(at_least=1, at_most=MOST_PERIODS))
    check_range("skip", skip, "", Range(at_least=0, at_most=MOST_PERIODS))
    if section is not None:
        leaves, static = partition_arrays(system)
        stage = crossings_kernel(static, section.function, skip, periods, engine)
        seen = stage((leaves, state, jnp.asarray(rtol, float), section.period))
        found = Section(*map(jnp.asarray, (seen.states, seen.times, seen.result)))
    else:
        found = _section(system, state, periods, skip, jnp.asarray(rtol), engine)
    raise_if_empty("poincare_section", throw, found.result, found.states)
    return found


@eqx.filter_jit
def _section(system, state, periods, skip, rtol, engine) -> Section:
    states, result = poincare_map(system, state, skip + periods, rtol, engine)
    return Section(states[skip:], jnp.full(periods, period_of(system)), result)
