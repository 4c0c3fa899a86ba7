"""Selection of an engine by name or automatically."""

import difflib
from collections.abc import Sequence
from typing import overload

from ...foundation.environment import require_float64
from ...systems.system import equation_shape
from ..events import requires_events_reason
from .diffrax_engine import DiffraxEngine
from .engine import Engine
from .event import EventEngine
from .stepping import SteppingEngine, check_precision

ENGINES = {
    "diffrax": DiffraxEngine(),
    "event": EventEngine(),
    "stepping": SteppingEngine(),
}
# Largest system (degrees of freedom) whose event kernels compile in seconds.
MOST_AT_ONCE = 6
MANY = 512  # lanes; fewer of larger systems finish before event kernels are compiled


def engine_of(system, engine: str | Engine) -> Engine:
    """Return the engine for one motion of a system."""
    chosen, _ = engine_for(system, engine, lanes=1)
    return chosen if isinstance(chosen, Engine) else ENGINES[chosen]


@overload
def engine_for(system, engine: str, lanes: int) -> tuple[str, str]: ...


@overload
def engine_for(system, engine: Engine, lanes: int) -> tuple[Engine, str]: ...


def engine_for(system, engine, lanes: int):
    """Return the engine for many motions of a system, and the reason.

    "auto" selects "event" if the system is linear except for contacts supported by it,
    and is small enough for a kernel that compiles in seconds or has enough lanes to
    repay a longer compilation; with hard stops, friction or discontinuous forces
    always. **Raises:** `ValueError` for an unknown engine, for "event" if it does not
    support the system, or for others if the system has hard stops or friction.
    """
    check_engine(engine)
    require_float64()
    equation = equation_shape(system)
    only = requires_events_reason(equation)
    chosen = "event" if engine == "auto" and only else engine
    if chosen != "auto":
        module = chosen if isinstance(chosen, Engine) else ENGINES[chosen]
        reason = module.refusal(equation)
        if reason:
            others = [
                name for name, other in ENGINES.items() if not other.refusal(equation)
            ]
            allowed = ", ".join(["auto", *others])
            raise ValueError(f"engine = {engine!r}: {reason}; allowed: {allowed}")
        return chosen, only or "requested"
    reason = ENGINES["event"].refusal(equation)
    if not reason and equation.may_jump():
        return "event", "forces jump, which time stepping cannot differentiate"
    if not reason and lanes < MANY and not _compiles_at_once(equation):
        reason = (
            f"{lanes} samples are fewer than {MANY}, needed for events to pay off with "
            f"more than {MOST_AT_ONCE} degrees of freedom"
        )
    return ("diffrax", reason) if reason else ("event", "linear except for contacts")


def _compiles_at_once(equation) -> bool:
    return equation.inertia.size <= MOST_AT_ONCE


def in_precision(engine: str | Engine, precision: str) -> str | Engine:
    """Return the engine that evaluates rates in a precision, "float64" by default.

    **Raises:** `ValueError` for an unknown precision, or one the engine does not have.
    """
    check_precision(precision)
    if precision == "float64":
        return engine
    if engine != "stepping":
        raise ValueError(
            f"precision = 'float32' with engine = {engine!r}; allowed: 'stepping'"
        )
    return SteppingEngine(precision)


def check_engine(engine: str | Engine, allowed: Sequence[str] = ("auto", *ENGINES)) -> None:
    """Raise `ValueError` for an engine that is not allowed, naming the nearest one."""
    if not isinstance(engine, Engine) and engine not in allowed:
        near = difflib.get_close_matches(str(engine), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"engine = {engine!r}; allowed: {', '.join(allowed)}{hint}")
