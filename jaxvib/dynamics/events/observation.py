"""Updates of observables over event-driven steps; not differentiable."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.arrays import stop_gradient_tree
from ..observables import Observables, observe_forces, observe_path
from ..stepping.step_polynomial import Polynomial, RootPath
from .damped import separated
from .hard_stop import Impacts
from .scalar_system import ScalarSystem, along


def observed_in_flight(
    context: Any,
    lane: Any,
    new: Any,
    rows: list,
    depths: list,
    length: Array,
    impacts: Impacts | None,
) -> Observables:
    """Update the observables after a step in flight."""
    motion, lane, new = _first_pieces(context, lane, new)
    grazing = context.grazing
    depth, path = _scaled((depths[: len(motion.contacts)], rows), length, motion)
    path = path.shifted(context.equation.offset)
    # Open contacts are known to be open: their z at the ends is rounding.
    opened = [~touches for touches in lane.touching]
    for j, contact in enumerate(motion.contacts):
        if contact.damped:
            pressed = separated(contact, lane.touching[j], lane.position)
            opened[j] = opened[j] & ~pressed
    depth = depth.shut(jnp.stack(opened)) if opened else depth
    assert lane.observables is not None
    observables = observe_path(
        lane.observables,
        grazing,
        length,
        lambda x: lane.time + x * length,
        _known(motion, lane, new, _with_ends(depth)),
        _with_ends(path),
        _closed(motion, lane),
    )
    observables = observe_forces(
        observables,
        stop_gradient_tree(context.equation),
        lambda x: lane.time + x * length,
        lambda x: (depth.value(x), depth.slope(x) / length, length),
    )
    return _with_impacts(motion, lane, observables, impacts, grazing, length)


def observed_in_contact(
    context: Any, lane: Any, new: Any, kinds: tuple, length: Array, impacts: Impacts | None
) -> Observables:
    """Update the observables after a step in contact."""
    motion, lane, new = _first_pieces(context, lane, new)
    grazing, passed = context.grazing, new.time - lane.time
    depths = kinds[0][: len(motion.contacts)]
    depth, path, clock = _scaled((depths, *kinds[1:3]), length, motion)
    path = path.shifted(context.equation.offset)
    squared = jnp.stack(
        [t & c.hertz for t, c in zip(lane.touching, motion.contacts, strict=True)]
    )
    assert lane.observables is not None
    observables = observe_path(
        lane.observables,
        grazing,
        passed,
        lambda x: Polynomial(tuple(c[0] for c in clock.coefficients)).value(x),
        _known(motion, lane, new, _with_ends(RootPath(depth, squared))),
        _with_ends(path),
        _closed(motion, lane),
    )
    velocity, clock = _scaled((kinds[-1], kinds[2]), length, motion)

    def motion_at(x):
        dt_dtau, rates = clock.slope(x)[0], velocity.value(x)
        return (
            RootPath(depth, squared).value(x),
            jnp.stack([along(contact, list(rates)) for contact in motion.contacts]),
            dt_dtau,
        )

    equation = stop_gradient_tree(context.equation)
    observables = observe_forces(
        observables, equation, lambda x: clock.value(x)[0], motion_at
    )
    return _with_impacts(motion, lane, observables, impacts, grazing, passed)


def _first_pieces(context, *lanes):
    """Return a motion and lanes without the additional pieces of its contacts."""
    count = len(context.equation.contacts)
    motion = context.motion._replace(contacts=context.motion.contacts[:count])
    return motion, *(lane._replace(touching=lane.touching[:count]) for lane in lanes)


def _known(motion: ScalarSystem, lane, new, path):
    """Return a path of gaps whose ends have their known signs.

    At an onset or a release z is only rounding. Hard contacts are never penetrated, and
    have no speed while they hold.
    """
    depth, *ends = path
    if not motion.contacts:
        return path
    hard = jnp.asarray([contact.hard for contact in motion.contacts])
    holds = hard & jnp.stack(lane.touching)
    tiny = jnp.finfo(float).tiny
    known = []
    for (depths, speeds), there in zip(ends, (lane, new), strict=True):
        closed = jnp.stack(there.touching) & ~hard
        apart = jnp.minimum(depths, 0.0)
        for j, contact in enumerate(motion.contacts):
            if contact.damped:
                pressed = separated(contact, there.touching[j], there.position)
                apart = apart.at[j].set(jnp.where(pressed, depths[j], apart[j]))
        depths = jnp.where(closed, jnp.maximum(depths, tiny), apart)
        known.append((depths, jnp.where(holds, 0.0, speeds)))
    return depth, *known


def _closed(motion: ScalarSystem, lane):
    """Return which contacts are closed during the whole step, except hard ones."""
    closed = [
        touches & (not contact.hard)
        for touches, contact in zip(lane.touching, motion.contacts, strict=True)
    ]
    if any(contact.damped for contact in motion.contacts):
        # Open ones may be indented, and separate during the step.
        damped = jnp.asarray([contact.damped for contact in motion.contacts])
        unknown = damped & ~jnp.stack(lane.touching)
        return jnp.where(unknown, jnp.nan, jnp.stack(closed).astype(float))
    return jnp.stack(closed) if closed else None


def _with_impacts(
    motion: ScalarSystem, lane, observables, impacts: Impacts | None, grazing, passed
):
    """Update the observables after a step that may have ended with an impact."""
    if impacts is None:
        return observables
    fields = {
        name: list(getattr(observables, name))
        for name in ("touching", "onsets", "duration", "nearest", "impulse", "lost")
    }
    for i, j in enumerate(motion.hard):
        impulse, depth = impacts.impulses[i], impacts.depths[i]
        occurred = impacts.occurred[i]
        fields["touching"][j] = impacts.touching[j]
        counted = (occurred & (depth > grazing)).astype(jnp.int32)
        fields["onsets"][j] = fields["onsets"][j] + counted
        in_contact = jnp.where(lane.touching[j], passed, 0.0)
        fields["duration"][j] += in_contact - impacts.unrest[i]
        nearest = jnp.minimum(fields["nearest"][j], jnp.where(occurred, depth, jnp.inf))
        fields["nearest"][j] = nearest
        fields["impulse"][j] = jnp.maximum(fields["impulse"][j], impulse)
        fields["lost"][j] = fields["lost"][j] + impacts.losses[i]
    return observables._replace(**{name: jnp.stack(rows) for name, rows in fields.items()})


def _with_ends(path):
    ends = [(path.value(jnp.asarray(x)), path.slope(jnp.asarray(x))) for x in (0.0, 1.0)]
    return path, *ends


def _scaled(kinds, length, motion):
    """Return series as polynomials in the fraction of the step."""
    powers = [jnp.ones_like(length)]
    while len(powers) < max(len(row) for rows in kinds for row in rows):
        powers.append(powers[-1] * length)
    return [
        Polynomial(
            tuple(
                jnp.stack([row[k] * power for row in rows])
                for k, power in enumerate(powers[: len(rows[0])])
            )
            if rows
            else (jnp.zeros(0),) * 3
        )
        for rows in kinds
    ]
