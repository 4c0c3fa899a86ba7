"""Attracting motions of many samples: transients, shooting and classification."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jaxtyping import PyTree

from ...dynamics.engines import MANY, engine_for
from ...dynamics.engines.choice import MODAL
from ...dynamics.modal import ModalForm, modal_form
from ...ensemble import Reason, compile_ahead, map_samples
from ...foundation.arrays import (
    combine_arrays,
    gather_lanes,
    partition_arrays,
    put_lanes,
    require_concrete,
)
from ...foundation.quantity import Range, check_number, check_range
from ...kernels.gpu.device_choice import by_xla
from ...linalg import kernel_of
from ...systems.base.system import System
from ...systems.drift import check_drift
from ...systems.parameters import replace
from ...systems.periods import refuse_autonomous
from ...systems.sample_checks import check_batch, check_samples
from ...systems.unforced import is_unforced, refuse_period
from ..orbit import PeriodicOrbit, unknown_orbits
from ..searches.aperiodic import track_stage
from ..settings import USUAL, SettlingSettings
from ..shooting.linear_steady_state import transient_periods, what_is_left
from ..shooting.motion_kernels import Beginning, beginning_kernel, poincare_kernel
from ..shooting.transient import LONGEST_PERIOD
from .modal_lanes import modal_groups
from .sample_cycles import cycles_from_rest
from .sample_orbits import RECURRING, SampleOrbits

_TRANSIENT = 384  # periods: 12 decay times at a damping ratio of 0.5 %
_SEGMENT = 32  # periods, after which converged lanes are removed
_LIKELY = 3  # segments after which an unsettled motion most likely never converges


def regimes(
    system: System,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    *,
    settings: SettlingSettings = USUAL,
    number: int | None = None,
    progress: Callable[[int], None] | None = None,
    period: float | None = None,
) -> PeriodicOrbit:
    """Return the motion to which each sample converges from rest.

    If a system is linear except for its contacts and no gap closes after the start from
    rest, the result is its linear steady state. Any other sample runs until it recurs
    within `max_periods` periods of its load, or until no gap closes any more: for at most
    `transient` periods (384), or 12 of the slowest decay times of the linear system if
    these are longer. Newton iteration then finds its orbit, with the evidence of
    `periodic_orbit`. A motion without a stable orbit is observed for 256 to 3584 more
    periods, in which Newton iteration is tried from its extrapolated limit, and
    classified (`classify`): `QUASI_PERIODIC`, `CHAOTIC`, `LONGER_PERIOD`, or undecided
    for the reason `TRANSIENT`, `UNDECIDED_MOTION` or `UNDAMPED`. These are results and
    not failures. Chaos that ends after these periods (transient chaos) is called chaotic:
    2 % of the chaotic samples of the README's map.

    An autonomous system, or bodies under constant loads only, have equilibria and limit
    cycles: `period` is then an approximate period of the motions, s, and replaces that
    of the load. A sample runs for `transient` such periods, from which Newton iteration
    finds its cycle, with `periods` 1, its own. A sample at rest, which includes steady
    sliding, is an `EQUILIBRIUM` with its state and without a verdict; a motion whose
    cycle is not found, is unstable or elsewhere, is `NOT_CONVERGED`. `max_periods` is not
    used.

    **Arguments:** `samples`: values by parameter path, each of shape (samples,).
    `settings`: for `engine` see `transient_engine`; if "auto" selects events and a
    kernel supports them, orbits and their monodromy matrices use them too, otherwise
    the engine for single motions. `number`: total number of samples, if these are a
    part of them, for "auto". `progress`: is called with the number of samples finished
    since its last call. `period`: see above.
    **Returns:** a `PeriodicOrbit` of NumPy arrays with a leading axis of samples.
    **Raises:** `ValueError` for an unknown path, a value out of its range, or a `period`
    of a system under loads that change.

    >>> settled = jv.orbits.regimes(system, {"load.frequency": [5.6, 5.8]})
    >>> settled.periods.tolist(), settled.contacts.tolist()
    ([1, 1], [1, 1])
    """
    settings.refuse("regimes", "section")
    if period is not None:
        return _cycles(system, samples, settings, progress, period)
    refuse_autonomous(system)
    within = Range(at_least=1, at_most=_SEGMENT - 1)
    check_range("max_periods", settings.max_periods, "", within)
    leaves, static = batched(system, samples)
    number = number or len(jax.tree.leaves(leaves)[0])
    engine, _ = transient_engine(system, settings.engine, number, settings.max_periods)
    report = progress or (lambda done: None)
    if engine != MODAL:
        return _regimes_by(engine, system, leaves, static, settings, report)
    orbits = unknown_orbits(system, len(jax.tree.leaves(leaves)[0]))
    other, _ = engine_for(system, "auto", number)
    for lanes, *parts in modal_groups(leaves, static):
        if isinstance(parts[1], ModalForm):
            found = _regimes_by(MODAL, system, *parts, _in_modes(settings), report)
        else:
            found = _regimes_by(other, system, *parts, settings, report)
        put_lanes(orbits, lanes, found)
    return orbits


def _cycles(system, samples, settings, progress, period) -> PeriodicOrbit:
    """Return the cycles of samples of a system without a period of its own."""
    if not is_unforced(system):
        refuse_period(system, period)
    check_number("period", period, "s", Range(above=0.0))
    settings.refuse("regimes of an autonomous system", "max_periods")
    check_drift(system)
    parts = batched(system, samples)
    report = progress or (lambda done: None)
    return cycles_from_rest(system, parts, float(period), settings, report)


def _in_modes(settings: SettlingSettings) -> SettlingSettings:
    """Return settings with few lanes in each chunk, so that small groups use all cores."""
    return dataclasses.replace(settings, chunk=2)


def _regimes_by(engine, system, leaves, static, settings, report) -> PeriodicOrbit:
    """Return the motions of samples by an engine of transients."""
    run = functools.partial(map_samples, chunk=settings.chunk, in_order=False)
    start = run(beginning_kernel(static), leaves)
    parts = leaves, static
    found = SampleOrbits(system, parts, start.rest, settings, engine, report)
    found.find(*_transient_ends(run, *parts, start, settings, engine), start.period)
    return found.orbits


def transient_engine(
    system: System, engine: str, samples: int, longest: int = LONGEST_PERIOD
) -> tuple[str, str]:
    """Return the engine of transients, and the reason.

    "auto" selects "modal" for a system that has a modal form, and the event-driven one
    for few samples too if it is a kernel, which compiles in a second. Otherwise see
    `engine_for`.

    >>> jv.orbits.transient_engine(system, "diffrax", 10)[0]
    'diffrax'
    """
    chosen = engine_for(system, engine, samples)
    if is_unforced(system):  # cycles take the engine of single motions
        return engine_for(system, engine, 1)
    if engine == "auto" and _by_modes(system, longest):
        return MODAL, "a large linear system with elastic contacts"
    if engine != "auto" or chosen[0] == "event":
        return chosen
    quick = engine_for(system, engine, MANY)
    if quick[0] == "event":
        leaves, static = partition_arrays(system)
        stage = poincare_kernel(static, _SEGMENT, longest, "event")
        if not stage.unsupported_reason((leaves, system.rest())):
            return quick
    return chosen


def _by_modes(system: System, longest: int) -> bool:
    """Return whether a system has contacts, and modes whose transients are kernels."""
    any_system: Any = system  # of a subclass with contacts
    form = modal_form(system) if any_system.contacts else None
    if form is None or by_xla():
        return False
    leaves, static = partition_arrays(form)
    stage = poincare_kernel(static, _SEGMENT, longest, MODAL)
    return not stage.unsupported_reason((leaves, form.rest()))


def batched(
    system: eqx.Module, samples: Mapping[str, Sequence[float] | np.ndarray]
) -> tuple[PyTree, Any]:
    """Return a system's parameters with a leading axis of samples, and the rest."""
    require_concrete("a batch of samples", system, samples)
    values = {path: np.asarray(value, float) for path, value in samples.items()}
    lengths = {path: value.shape for path, value in values.items()}
    if (
        not values
        or len(set(lengths.values())) != 1
        or len(next(iter(lengths.values()))) != 1
    ):
        raise ValueError(f"samples have shapes {lengths}; allowed: one shape (samples,)")
    check_samples(system, values)
    _, static = partition_arrays(system)

    def place(values):
        return eqx.filter(replace(system, values), eqx.is_inexact_array)

    leaves = _of_all(place, values)
    check_batch(system, combine_arrays(leaves, static), values)
    return leaves, static


def _of_all(place: Callable, values: dict[str, np.ndarray]) -> PyTree:
    """Return a function of each sample; one that computes nothing is not compiled."""
    one = {path: jax.ShapeDtypeStruct((), float) for path in values}
    closed, shapes = jax.make_jaxpr(place, return_shape=True)(one)
    if closed.jaxpr.eqns:
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(place))(values))
    given = jax.tree.leaves(values)
    found = [
        np.array(np.broadcast_to(value, (len(given[0]), *shape.shape)))
        for value, shape in zip(
            jaxpr_as_fun(closed)(*given), jax.tree.leaves(shapes), strict=True
        )
    ]
    return jax.tree.unflatten(jax.tree.structure(shapes), found)


def _transient_ends(
    run, leaves, static, start: Beginning, settings: SettlingSettings, engine
):
    """Return the ends of transients from rest, their recurrences, and reason codes.

    They end when they recur, in the steady state once no gap closes any more, or after
    12 decay times.
    """
    state, number = np.array(start.rest), len(start.rest)
    least, longest = settings.transient_or(_TRANSIENT), settings.max_periods
    nearest, result = np.full((number, longest), np.inf), np.zeros(number, np.int32)
    limit = np.full(number, least)
    if start.end is not None:
        limit = run(kernel_of(_limit_stage), (start.end, start.period, limit))
    transient_stage = poincare_kernel(static, _SEGMENT, longest, engine)
    waiting = np.arange(number)
    for segment in range(1, -(-int(limit.max()) // _SEGMENT) + 1):
        if start.end is not None:
            ends = gather_lanes(start.end, waiting)
            steady, free = run(kernel_of(what_is_left), (ends, state[waiting]))
            recurring = waiting[steady]
            state[recurring], nearest[recurring, 0] = ends.state[steady], 0.0
            result[waiting[free]] = Reason.UNDAMPED
            waiting = waiting[~steady & ~free]
            if not waiting.size:
                break
        # Converged lanes are removed; the others form a new batch.
        found = run(transient_stage, (gather_lanes(leaves, waiting), state[waiting]))
        state[waiting], nearest[waiting], result[waiting] = found
        _, apart, code = found
        unconverged = (apart.min(axis=1) > RECURRING) & (code == 0)
        waiting = waiting[unconverged & (segment * _SEGMENT < limit[waiting])]
        if not waiting.size:
            break
        if segment == _LIKELY:
            stage = track_stage(static, engine)
            one = jax.tree.map(lambda leaf: leaf[0], (leaves, state, state))
            compile_ahead(stage, one, chunk=settings.chunk)
    near = nearest.min(axis=1)
    going = np.flatnonzero((near > 0) & (near < RECURRING) & (result == 0))
    if engine == "event" and going.size:
        # One more segment costs a hundredth of the Newton step that it saves.
        found = run(transient_stage, (gather_lanes(leaves, going), state[going]))
        state[going], nearest[going], result[going] = found
    return state, nearest, result


def _limit_stage(lane):
    end, period, least = lane
    return transient_periods(end, period, least)
