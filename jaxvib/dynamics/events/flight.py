"""Motion between contacts: one Taylor step that cannot pass the next event."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from .damped import closes, damped_signal
from .factors import ScaledSeries
from .friction import events_of, friction_signals
from .hard_stop import active_contacts, constrained, signal_of
from .normal_forces import limit_scales, limit_sizes
from .rows import extend
from .scalar_system import (
    ScalarSystem,
    acceleration_term,
    cosine_and_sine,
    gap_series,
    load_accelerations,
)
from .series import any_of, first_root, first_to_meet, largest, radius, refined
from .sliding import FrictionSeries
from .springs import SpringSeries

# Depths below this part of the motion's size are neglected: a contact that grows from
# rest as about the fifth power of time would otherwise need endless steps.
ONSET = 1e-14
_PUSHED = 1e-3  # of the motion by the loads without stops: the least size of a motion


def flight_series(
    motion: ScalarSystem, lane: Any, pushing: Sequence
) -> tuple[list[list], ...]:
    """Return the power series of each displacement in the time from now.

    `pushing`: for each contact 1 while a linear one is closed, else 0. Also returns the
    series of the forces that hold hard contacts closed and frictions stuck, and of each
    friction's normal force.
    """
    active = active_contacts(motion, lane.touching, lane.sliding)
    holding: list[list] = [[] for _ in motion.holders]
    angles = [load.frequency * lane.time + load.phase for load in motion.loads]
    waves = [cosine_and_sine(angle) for angle in angles]
    rows = [[x, v] for x, v in zip(lane.position, lane.velocity, strict=True)]
    spring_series, scaled = SpringSeries(motion.springs), ScaledSeries(motion.contacts)
    friction_series = FrictionSeries(motion.frictions, lane.sliding)
    for k in range(motion.order - 1):
        place = [row[k] for row in rows]
        rates = [row[k + 1] * (k + 1.0) for row in rows]
        forces: list = [0.0] * len(motion.contacts)
        for j, contact in enumerate(motion.contacts):
            if contact.linear:
                force = contact.linear_force(place, rates, k)
                forces[j] = pushing[j] * scaled.term(j, force, motion.varied)
        pairs = zip(waves, motion.loads, strict=True)
        loads = [_wave_term(*wave, load, k) for wave, load in pairs]
        loads += [row[k] if k < len(row) else 0.0 for row in motion.pushed]
        terms = acceleration_term(motion, place, rates, forces, loads)
        terms = spring_series.pulled(terms, place, motion.varied)
        terms = friction_series.slid(terms, rates, forces)
        terms, holds = constrained(motion, active, terms)
        extend(holding, holds)
        extend(rows, [term * (1 / ((k + 1) * (k + 2))) for term in terms])
    return rows, holding, friction_series.normals


def _wave_term(cosine, sine, load, order):
    """Return the coefficient of an order of cos(w t + phase)."""
    term = (cosine, sine)[order % 2] * load.powers[order]
    return -term if order % 4 in (1, 2) else term


class Step(NamedTuple):
    """A step to the next event, or as far as its series converge.

    `series`: of displacements in a flight, or all those of a step in contact; `depths`:
    the series of each contact's penetration, or of u while a Hertz contact is closed;
    `length`: of the step, in the variable of the series; `meets`: whether each contact
    begins or ends there, `slips`: whether each friction has an event, and `ends`: whether
    the end was reached.
    """

    series: Any
    depths: list
    length: Array
    meets: list
    slips: list
    ends: Array


def flight_step(
    motion: ScalarSystem,
    lane: Any,
    end: Number,
    accuracy: Number,
    rates: tuple[Number, Number],
    longest: Number,
) -> Step:
    """Step to the next event, or as far as the series converge, at most `longest`.

    `rates`: the greatest one of the motion, 1/s, and that without its loads.
    """
    (rate, own), pushing = rates, pushes(motion, lane.touching)
    rows, holds, normals = flight_series(motion, lane, pushing)
    fixed = motion.still(rows)
    depths = [gap_series(contact, fixed) for contact in motion.contacts]
    left = end - lane.time
    factorials = ((0, 1), (1, 1), (2, 2), (3, 6))
    size = largest([jnp.abs(row[k]) * f / rate**k for row in rows for k, f in factorials])
    size = jnp.maximum(size, jnp.finfo(float).tiny)
    if motion.holders:
        # Held by stops, a motion has no size of its own.
        pushed = load_accelerations(motion)
        size = jnp.maximum(size, _PUSHED * largest([jnp.zeros(()), *pushed]) / rate**2)
    # A velocity's truncation error propagates at the motion's own rate. Otherwise the
    # many short steps of a fast load would add up to far more than each one's error.
    speed = jnp.maximum(largest([jnp.abs(row[1]) for row in rows]), own * size)
    reach = radius(rows, [size] * len(rows), accuracy, speed / size)
    if motion.frictions:
        limits = limit_sizes(motion, lane, rate)
        scales = limit_scales(motion, limits, size * rate**2)
        reach = jnp.minimum(reach, radius(holds[len(motion.hard) :], scales, accuracy))
    reach = jnp.minimum(jax.lax.stop_gradient(jnp.minimum(reach, longest)), left)
    signals = [
        onset_signal(depth, size)
        if contact.hertz
        else [jnp.where(push > 0, -c, c) for c in depth]
        for contact, push, depth in zip(motion.contacts, pushing, depths, strict=True)
    ]
    for i, j in enumerate(motion.hard):
        contact, touching = motion.contacts[j], lane.touching[j]
        signals[j] = signal_of(contact, rows, depths[j], holds[i], touching, size, rate)
    rates = motion.still([[(k + 1.0) * c for k, c in enumerate(row[1:])] for row in rows])
    for j, contact in enumerate(motion.contacts):
        if contact.damped:
            state = lane.touching[j], lane.position
            known = depths[j], rates, ONSET * size
            signals[j] = damped_signal(contact, *state, *known)
    if motion.frictions:
        forces = holds[len(motion.hard) :]
        rubs = [jnp.abs(most * r) for g, most in zip(motion.frictions, limits, strict=True)
                for r in g.response]  # fmt: skip
        pushed = [*load_accelerations(motion), *rubs]
        speed = jnp.maximum(size * rate, largest(pushed) / rate)
        known = rates, forces, normals, limits
        new = friction_signals(motion, lane, *known, speed, rate)
        signals += [[*signal, jnp.zeros_like(size)] for signal in new]
    s, near = first_root(signals, reach)
    s = jnp.where(s >= left, left, s)
    meets = first_to_meet(signals, s, near, reach)
    s = refined(signals, s, meets, reach)
    # Step to a rounded time: at late times the rounding of many steps would add up.
    whole = (lane.time + s) - lane.time
    s = jnp.where(any_of(meets) | (whole <= 0) | (s >= left), s, whole)
    s = motion.still(s)
    ends = (s >= left) & ~any_of(meets)
    for j, contact in enumerate(motion.contacts):
        if contact.damped:
            state = lane.touching[j], lane.position
            meets[j] = closes(contact, *state, meets[j], depths[j], rates, s)
    return Step(rows, depths, s, *events_of(motion, meets), ends)


def onset_signal(depth: list, size: Number) -> list:
    """Return the series whose root is the onset of a Hertz contact."""
    first, *others = depth
    return [first - ONSET * size, *others]


def pushes(motion: ScalarSystem, touching: Sequence) -> list[jax.Array]:
    """Return for each contact 1 while a linear one is closed, else 0."""
    return [
        jnp.where(touches & contact.linear, 1.0, 0.0)
        for touches, contact in zip(touching, motion.contacts, strict=True)
    ]
