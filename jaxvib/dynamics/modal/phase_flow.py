r"""Motion of a system with linear contacts: exact in each phase between two events.

Every set of closed contacts has its own modes. As a flight ends before any gap can have
closed, so a step in contact ends before any can have opened. With the level $z < 0$ of
each contact, its Taylor series $P$ of degree K - 1 and bounds of derivatives,

$$|\ddot z| \le B, \qquad |z(t) - P(t)| \le B_K t^K,$$

there is no event for $2 |z| / (\dot z + \sqrt{\dot z^2 + 2 B |z|})$. Many such steps along
$P + B_K t^K$, which approach an event as Newton iteration does, make one of the modes.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..observables import Observables, observe_path
from ..stepping.step_polynomial import step_polynomial
from .displaced import Displaced, Observed, displaced
from .gaps import SOON, pressed
from .modal_form import ModalForm
from .one_phase import MOST_STEPS, Flight, Phase, flown_until, phase_of, place_of
from .phases import Phases

# In contact displacements are observed more finely by this, as penetrations are small, up
# to a limit.
_DEPTHS, _FINEST = 1e-4, 1e-12


class PhaseState(NamedTuple):
    """The state of a motion between two phases, or at its end.

    `closed` (c,): the contacts that act in the next one, `flips` (c,): those that have
    just opened or closed.
    """

    time: Any
    state: Any
    closed: Any
    flips: Any
    changes: Any
    observables: Any
    steps: Any


class _Detail(NamedTuple):
    """`grazing` depth, m, and the data of observed displacements in each phase."""

    grazing: Any
    known: Displaced


def phase_flow(
    system: ModalForm,
    state: Array,
    span: tuple[Array, Array],
    changes: Array | None,
    observed: Observed | None,
) -> PhaseState:
    """Return the motion over a time span, s.

    With what becomes of small `changes` of the state, (2n,) or columns (2n, m): as forces
    are continuous, events leave them as they are. Observables are updated if something
    is `observed`.
    """
    phases = system.phases
    assert phases is not None
    begin, end = span
    detail, observables = None, None
    if observed is not None:
        blur, observables = observed.blur, observed.observables
        fine = jnp.maximum(_DEPTHS * blur, jnp.minimum(blur, _FINEST))
        blurs = jnp.where(jnp.arange(phases.still.shape[0]) > 0, fine, blur)
        known = jax.vmap(lambda *part: displaced(system, *part))(blurs, phases)
        detail = _Detail(observed.grazing, known)
    closed = _closed_from(system, phases, state, begin)
    quiet = jnp.zeros(closed.shape, bool)
    steps = jnp.asarray(0, jnp.int32)
    first = PhaseState(begin, state, closed, quiet, changes, observables, steps)

    def in_one_phase(last: PhaseState) -> PhaseState:
        phase, y = phase_of(system, phases, last.closed, last.state, last.time)
        flight = phase.begun(last.time, y, last.steps)
        if detail is None:
            flight = flown_until(phase, flight, end)
            state, observables = phase.state(flight.y, flight.time), None
        else:
            flight, state, observables = _observed(phase, flight, end, detail, last)
        changes = last.changes
        if changes is not None:
            changes = phase.changes_after(changes, flight.age)
        closed = last.closed ^ flight.flips
        ended = flight.flips, changes, observables, flight.steps
        return PhaseState(flight.time, state, closed, *ended)

    def unfinished(last: PhaseState):
        return (last.time < end) & (last.steps < MOST_STEPS)

    return jax.lax.while_loop(unfinished, in_one_phase, first)


def _closed_from(system: ModalForm, phases: Phases, state: Array, time: Array) -> Array:
    """Return the contacts that are closed from a time on, without those that only touch."""
    none = jnp.zeros(phases.limits.shape[1], bool)
    phase, y = phase_of(system, phases, none, state, time)
    depth = phase.levels(y, time)[0]
    acting, y = phase_of(system, phases, depth > phase.touch, state, time)
    later, after = acting.longest * SOON[:, None], jnp.zeros((SOON.size, none.size))
    for level in acting.levels(y, time)[::-1]:
        after = after * later + level[None]
    return pressed(depth, after, phase.touch)


def _touched(last: PhaseState, begin: Array) -> Observables:
    """Return the observables with the first touch of contacts that act from now on."""
    begun = jnp.where(last.closed, begin, jnp.inf)
    first = jnp.minimum(last.observables.first_touch, begun)
    return last.observables._replace(first_touch=first)


class _Seen(NamedTuple):
    """What is observed at a time: state; depths and displacements with two derivatives."""

    state: Any
    depths: Any
    places: Any


def _seen(phase: Phase, flight: Flight, flips: Array) -> _Seen:
    """Return what is observed; contacts that open or close now have the depth 0."""
    state = phase.state(flight.y, flight.time)
    rate = phase.rate(flight.y, flight.time)
    depth, speed, bend = flight.levels[:3]
    # Rounding would make a contact begin or end elsewhere.
    depth = jnp.where(flips, 0.0, jnp.minimum(depth, 0.0))
    depths = phase.sides[None] * jnp.stack([depth, speed, 2 * bend])
    return _Seen(state, depths, phase.system.motion.displacements(0.0, state, rate))


def _observed(
    phase: Phase, flight: Flight, end: Array, detail: _Detail, last: PhaseState
) -> tuple[Flight, Array, Observables]:
    """Return the flight, its state and observables, which are updated by longer steps."""
    lengths, place = phase.system.steps.length, place_of(last.closed)
    known = jax.tree.map(lambda part: part[place], detail.known)

    def goes_on(now):
        flight, *_ = now
        going = (flight.time < end) & (flight.steps < MOST_STEPS)
        return going & ~jnp.any(flight.flips)

    def observed(now):
        flight, before, observables = now
        sizes = jnp.hypot(*jnp.split(flight.y, 2))
        until = jnp.minimum(end, flight.time + known.longest(sizes, lengths))
        new = flown_until(phase, flight, until)
        after, length = _seen(phase, new, new.flips), new.time - flight.time
        depths, places = zip(before[1:], after[1:], strict=True)
        moved = observe_path(
            observables,
            detail.grazing,
            length,
            lambda share: flight.time + share * length,
            (step_polynomial(length, *depths), depths[0][:2], depths[1][:2]),
            (step_polynomial(length, *places), places[0][:2], places[1][:2]),
            last.closed,
        )
        # A step too short to change the time has no rates.
        observables = jax.tree.map(
            lambda n, o: jnp.where(length > 0, n, o), moved, observables
        )
        return new, after, observables

    first = flight, _seen(phase, flight, last.flips), _touched(last, flight.time)
    flight, after, observables = jax.lax.while_loop(goes_on, observed, first)
    return flight, after.state, observables
