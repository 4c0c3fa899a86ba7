"""What presses frictions: the forces of contacts, and how large they are."""

import jax
import jax.numpy as jnp

from .motion import Motion, Touch, along, gap
from .side_by_side import joint, joint_flags

# The least part of the motion's own forces that is a size of a friction's.
_LEAST = 1e-3


def contact_forces(motion: Motion, lane) -> list:
    """Return the force of each contact in a state, N, 0 of hard ones."""
    forces, number = [], 0
    for contact, touches in zip(motion.contacts, lane.touching, strict=True):
        depth = gap(contact, lane.position)
        force = jnp.zeros_like(depth)
        if contact.hertz:
            force = contact.stiffness * lane.roots[number] ** 3
            if contact.damped:
                force = force * (1 + contact.damping * along(contact, lane.velocity))
            number += 1
        elif contact.linear:
            force = contact.stiffness * depth
            if contact.damped:
                force = force + contact.damping * along(contact, lane.velocity)
            force = jnp.where(touches, force, 0.0)
        forces.append(force)
    return forces


def pressed(motion: Motion, touching: list) -> list:
    """Return of each friction whether something presses it, or one beside it."""
    own = [
        touching[friction.presses[0]] if friction.presses else jnp.ones((), bool)
        for friction in motion.frictions
    ]
    return joint_flags(motion.senses, own)


def loose_signs(motion: Motion, touching: list, sliding: list) -> list:
    """Return the signs of frictions' speeds, none of them 0 where nothing presses."""
    return [
        jnp.where(bears | (sign != 0), sign, 1.0) if friction.presses else sign
        for friction, bears, sign in zip(
            motion.frictions, pressed(motion, touching), sliding, strict=True
        )
    ]


def force_sizes(motion: Motion, lane, rate, sizes=None) -> list:
    """Return how large the force of each contact is about, N.

    `rate` of the motion, 1/s; `sizes`: of each u, where a Hertz contact may be closed.
    """
    sizes = [jnp.zeros(()) for _ in motion.hertz] if sizes is None else sizes
    roots = dict(zip(motion.hertz, sizes, strict=True))
    return [
        _force_size(contact, lane, rate, roots.get(j))
        for j, contact in enumerate(motion.contacts)
    ]


def limit_sizes(motion: Motion, lane, rate, sizes=None) -> list:
    """Return the most that each friction bears about when it sticks, N; see `force_sizes`.

    With those beside it, and without derivatives.
    """
    forces = force_sizes(motion, lane, rate, sizes)
    limits = [friction.limit * friction.normal(forces) for friction in motion.frictions]
    return jax.lax.stop_gradient(joint(motion.senses, limits))


def _force_size(contact: Touch, lane, rate, root):
    """Return how large one contact's force is about, N; `root`: the size of its u."""
    speed = jnp.abs(along(contact, lane.velocity))
    if contact.hard:
        return jnp.zeros_like(speed)
    if contact.hertz:
        force = contact.stiffness * root**3
        return force * (1 + contact.damping * speed) if contact.damped else force
    stiffness = jnp.abs(contact.stiffness)
    if contact.damped:
        stiffness = stiffness + contact.damping * rate
    return stiffness * (jnp.abs(gap(contact, lane.position)) + speed / rate)


def limit_scales(motion: Motion, limits: list, acceleration) -> list:
    """Return in which units forces of sticking are known, N, by the `limits`' sizes.

    Of one that a contact presses that is no less than a part of what gives its bodies the
    motion's own `acceleration`, m/s^2.
    """
    tiny = jnp.finfo(float).tiny
    return [
        jnp.maximum(limit, _LEAST * acceleration / along(f, f.response) + tiny)
        if f.presses
        else jnp.maximum(limit, tiny)
        for f, limit in zip(motion.frictions, limits, strict=True)
    ]
