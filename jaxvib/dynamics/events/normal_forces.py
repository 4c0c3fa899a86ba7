"""Normal forces on frictions: contact forces and their sizes."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ...foundation.types import Number
from .factors import scaled
from .parallel_frictions import joint, joint_flags
from .scalar_system import ContactTerm, ScalarSystem, along, factor_values

# Least unit of a friction force, relative to the motion's own forces.
_LEAST = 1e-3


def contact_forces(motion: ScalarSystem, lane: Any) -> list:
    """Return the force of each contact in a state, N, 0 for hard stops."""
    forces, number = [], 0
    factors = factor_values(motion, lane.time)
    for contact, touches in zip(motion.contacts, lane.touching, strict=True):
        depth = contact.depth(lane.position)
        force = jnp.zeros_like(depth)
        if contact.hertz:
            force = contact.stiffness * lane.roots[number] ** 3
            if contact.damped:
                force = force * (1 + contact.damping * along(contact, lane.velocity))
            number += 1
        elif contact.linear:
            force = contact.linear_force(lane.position, lane.velocity)
            force = jnp.where(touches, force, 0.0)
        forces.append(scaled(contact, force, factors))
    return forces


def has_normal_force(motion: ScalarSystem, touching: list) -> list:
    """Return for each friction whether it or a parallel one has a normal force."""
    own = [
        touching[friction.presses[0]] if friction.presses else jnp.ones((), bool)
        for friction in motion.frictions
    ]
    return joint_flags(motion.senses, own)


def loose_signs(motion: ScalarSystem, touching: list, sliding: list) -> list:
    """Return the signs of frictions' speeds, nonzero where there is no normal force."""
    return [
        jnp.where(bears | (sign != 0), sign, 1.0) if friction.presses else sign
        for friction, bears, sign in zip(
            motion.frictions, has_normal_force(motion, touching), sliding, strict=True
        )
    ]


def force_sizes(
    motion: ScalarSystem, lane: Any, rate: Number, sizes: Sequence | None = None
) -> list:
    """Return an estimate of the size of each contact force, N.

    `rate` of the motion, 1/s; `sizes`: of each u, where a Hertz contact may be closed.
    """
    sizes = [jnp.zeros(()) for _ in motion.hertz] if sizes is None else sizes
    roots = dict(zip(motion.hertz, sizes, strict=True))
    return [
        _force_size(contact, lane, rate, roots.get(j))
        for j, contact in enumerate(motion.contacts)
    ]


def limit_sizes(
    motion: ScalarSystem, lane: Any, rate: Number, sizes: Sequence | None = None
) -> list:
    """Return an estimate of each friction's sticking limit, N; see `force_sizes`.

    Includes parallel frictions; without derivatives.
    """
    forces = force_sizes(motion, lane, rate, sizes)
    limits = [friction.limit * friction.normal(forces) for friction in motion.frictions]
    return jax.lax.stop_gradient(joint(motion.senses, limits))


def _force_size(contact: ContactTerm, lane, rate, root):
    """Return an estimate of one contact's force, N; `root`: the size of its u."""
    speed = jnp.abs(along(contact, lane.velocity))
    if contact.hard:
        return jnp.zeros_like(speed)
    if contact.hertz:
        force = contact.stiffness * root**3
        return force * (1 + contact.damping * speed) if contact.damped else force
    stiffness = jnp.abs(contact.stiffness)
    if contact.damped:
        stiffness = stiffness + contact.damping * rate
    return stiffness * (jnp.abs(contact.depth(lane.position)) + speed / rate)


def limit_scales(motion: ScalarSystem, limits: list, acceleration: Number) -> list:
    """Return the units of sticking forces, N, from the sizes of their `limits`.

    With a contact's normal force the unit is at least a fraction of the force that
    gives the bodies the motion's own `acceleration`, m/s^2.
    """
    tiny = jnp.finfo(float).tiny
    return [
        jnp.maximum(limit, _LEAST * acceleration / along(f, f.response) + tiny)
        if f.presses
        else jnp.maximum(limit, tiny)
        for f, limit in zip(motion.frictions, limits, strict=True)
    ]
