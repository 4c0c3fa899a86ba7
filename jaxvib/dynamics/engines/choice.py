"""Selection of an engine by name or automatically."""

import difflib
from collections.abc import Callable
from typing import Any, NamedTuple

from ...foundation.arrays import is_concrete, stop_gradient_tree
from ...foundation.environment import require_float64
from ...foundation.suggestions import replaced
from ...systems.base.system import System, equation_shape, structural_fact
from ..events import requires_events_reason
from ..modal import ModalForm, modal_form
from .engine import Engine
from .event import EventEngine
from .modal import ModalEngine
from .stepped import DiffraxEngine

ENGINES = {
    "diffrax": DiffraxEngine(),
    "event": EventEngine(),
}
# An engine for single motions and orbits of large systems, not for batches.
MODAL = "modal"
# Largest system (degrees of freedom) whose event kernels compile in seconds.
MOST_AT_ONCE = 6
MANY = 512  # lanes; fewer of larger systems finish before event kernels are compiled


class Plan(NamedTuple):
    """How one call computes a motion.

    `engine`; `modal`: a large system in its modes, if it is integrated in these;
    `by_kernels`: by kernels, whose results NumPy processes; otherwise by one program of
    XLA, for traced values and for modes.
    """

    engine: str | Engine
    modal: ModalForm | None
    by_kernels: bool


def plan_for(
    system: System, engine: str | Engine, *values: Any, modal: bool = False
) -> Plan:
    """Return how one call computes a motion of a system, with the other `values`.

    `modal`: whether "auto" may select the modal form. **Raises:** as `engine_for`.
    """
    concrete = is_concrete(system, values)
    if modal and engine in ("auto", MODAL):
        form = modal_form(system if concrete else stop_gradient_tree(system))
        if form is not None:
            return Plan(engine, form, by_kernels=False)
    return Plan(engine_for(system, engine, lanes=1)[0], None, concrete)


def engine_of(system: System, engine: str | Engine, *values: Any) -> Engine:
    """Return the engine for one motion of a system, possibly in modal form.

    With `values`, those of the motion, "auto" selects the modal form of a large system
    for concrete values, differentiated or not: a batch would repeat its tables.
    """
    if isinstance(engine, ModalEngine):
        return engine
    if isinstance(system, ModalForm) or engine == MODAL:
        return ModalEngine()
    if values and engine == "auto":
        known = system, values
        fixed = known if is_concrete(known) else stop_gradient_tree(known)
        if is_concrete(fixed) and modal_form(fixed[0]) is not None:
            return ModalEngine()
    chosen, _ = engine_for(system, engine, lanes=1)
    return chosen if isinstance(chosen, Engine) else ENGINES[chosen]


Unsupported = Callable[[], str]


def engine_for(
    system: System,
    engine: str | Engine,
    lanes: int,
    unsupported: Unsupported | None = None,
) -> tuple[Any, str]:
    """Return the engine for many motions of a system, and the reason.

    "auto" selects "event" if the system is linear except for contacts supported by it,
    and is small enough for a kernel that compiles in seconds or has enough lanes to
    repay a longer compilation; with hard stops, friction or discontinuous forces
    always. `unsupported`: returns why the motions with "event" are not a kernel; if
    they are one ("") it is selected for few lanes too. **Raises:** `ValueError` for an
    unknown engine, for "event" if it does not support the system, or for others if the
    system has hard stops or friction.
    """
    check_engine(engine)
    require_float64()
    facts = _Facts(**structural_fact(_facts, system))
    only = facts.needs_events
    chosen = "event" if engine == "auto" and only else engine
    if chosen != "auto":
        if isinstance(chosen, Engine):
            reason = chosen.refusal(equation_shape(system))
        else:
            reason = facts.refusals[chosen]
        if reason:
            others = [name for name, refusal in facts.refusals.items() if not refusal]
            allowed = ", ".join(["auto", *others])
            raise ValueError(f"engine = {engine!r}: {reason}; allowed: {allowed}")
        return chosen, only or "requested"
    reason = facts.refusals["event"]
    if facts.jumps:
        return "event", "forces jump, which time stepping cannot differentiate"
    slow = not reason and lanes < MANY and not facts.compiles_at_once
    if slow and (unsupported is None or unsupported()):
        reason = (
            f"{lanes} samples are fewer than {MANY}, needed for events to pay off with "
            f"more than {MOST_AT_ONCE} degrees of freedom"
        )
    return ("diffrax", reason) if reason else ("event", "linear except for contacts")


class _Facts(NamedTuple):
    """Properties of an equation of motion that decide its engine.

    `needs_events`: why it requires events, and `refusals`: why each engine does not
    support it, "" if not; with a form of events, whether its forces `jump`, and whether
    its kernel `compiles_at_once`.
    """

    needs_events: str
    refusals: dict[str, str]
    jumps: bool
    compiles_at_once: bool


def _facts(system: System) -> dict[str, Any]:
    """Return the `_Facts` of a system's equation as plain data."""
    equation = equation_shape(system)
    refusals = {name: engine.refusal(equation) for name, engine in ENGINES.items()}
    by_events = not refusals["event"]
    return _Facts(
        requires_events_reason(equation),
        refusals,
        bool(by_events and equation.may_jump()),
        bool(by_events and equation.inertia.size <= MOST_AT_ONCE),
    )._asdict()


def check_engine(engine: str | Engine) -> None:
    """Raise `ValueError` for an engine that is not allowed, naming the nearest one."""
    allowed = ("auto", *ENGINES)
    if not isinstance(engine, Engine) and engine not in allowed:
        near = difflib.get_close_matches(str(engine), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        if instead := replaced("engine", engine):
            hint = f"; {instead}"
        raise ValueError(f"engine = {engine!r}; allowed: {', '.join(allowed)}{hint}")
