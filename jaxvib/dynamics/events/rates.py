"""How fast and how large a motion is: what its steps and their errors are measured in."""

import math

import jax
import jax.numpy as jnp

from .motion import Motion, along, load_accelerations
from .pressing import force_sizes
from .series import largest, log2
from .sliding import DryFriction

# Times that are this many times as short as a motion's own say nothing of its rate.
_SHORT = 1e3
_NOWHERE = 1e-300  # m: a place at which speeds are no rate, but finite
# Sensitivities are wrong by this part of the tolerance in a step.
_OF_SENSITIVITIES = 1e-2


def motion_rates(motion: Motion, lane, span):
    """Return the order of the greatest rate of a flight, 1/s, and that without loads.

    Both are those of the span at least, for what has none; but of no span that is far
    shorter than all that the motion does: speeds that are measured by such a rate, and are
    nothing beside it, would be those of the motion.
    """
    stiff = [sum(jnp.abs(k) for k in row) for row in motion.stiffness]
    damped = [sum(jnp.abs(d) for d in row) for row in motion.damping]
    loads = sum(load.frequency for load in motion.loads)
    pushes = [push.law.fastest() for push in motion.pushes]
    loads = loads + sum(frequency for frequency in pushes if frequency is not None)
    stops = []
    for contact in motion.contacts:
        if contact.linear:
            compliance = along(contact, contact.response)
            # A corner of a polygon may be softer behind than before.
            stiffness = jax.lax.stop_gradient(jnp.abs(contact.stiffness))
            stops.append(jnp.sqrt(stiffness * jax.lax.stop_gradient(compliance)))
            if contact.damped:
                stops.append(contact.damping * compliance)
    for friction in motion.frictions:
        if friction.stribeck is not None and not friction.presses:
            stops.append(_falling(friction, 1.0))
    own = jnp.sqrt(largest(stiff)) + largest(damped) + sum(stops)
    least = 1 / jnp.where(span > 0, span, 1.0)
    place = jnp.maximum(largest([jnp.abs(x) for x in lane.position]), _NOWHERE)
    speed = largest([jnp.abs(v) for v in lane.velocity])
    pushed = largest([jnp.zeros(()), *load_accelerations(motion)])
    moves = own + loads + speed / place + jnp.sqrt(pushed / place)
    least = jnp.where(moves > 0, jnp.minimum(least, _SHORT * moves), least)
    least = jax.lax.stop_gradient(least)
    return jnp.maximum(own + loads, least), jnp.maximum(own, least)


def _falling(friction: DryFriction, normal):
    """Return how fast Stribeck's curve takes speed away or gives it, 1/s."""
    excess = (friction.limit - friction.force) / friction.stribeck
    return normal * excess * along(friction, friction.response)


def pressed_rate(motion: Motion, lane, rate):
    """Return by how much frictions that contacts press raise a motion's rate, 1/s."""
    falling = [f.presses and f.stribeck is not None for f in motion.frictions]
    if not any(falling):
        return 0.0
    pairs = zip(lane.roots, lane.sizes, strict=True)
    forces = force_sizes(motion, lane, rate, [jnp.maximum(*pair) for pair in pairs])
    return sum(
        _falling(friction, friction.normal(forces))
        for friction, falls in zip(motion.frictions, falling, strict=True)
        if falls
    )


def contact_rate(motion: Motion, lane, rate, sizes):
    """Return the order of the greatest rate in contact, 1/s."""
    for j, size in zip(motion.hertz, sizes, strict=True):
        contact = motion.contacts[j]
        squared = 1.5 * contact.stiffness * size * along(contact, contact.response)
        rate = rate + jnp.where(lane.touching[j], jnp.sqrt(squared), 0.0)
        if contact.damped:
            drag = contact.damping * squared * size**2 / 1.5
            rate = rate + jnp.where(lane.touching[j], drag, 0.0)
    return rate


def motion_speed(motion: Motion, lane, rate, own):
    """Return the size of the motion, m/s: of its shifts, its rates and its loads.

    `own`: the rate at which shifts count, 1/s.
    """
    loads = [acceleration / rate for acceleration in load_accelerations(motion)]
    shifts = [own * jnp.abs(x) for x in lane.position]
    speeds = [jnp.abs(v) for v in lane.velocity]
    belts = [jnp.abs(friction.speed) for friction in motion.frictions]
    return jnp.maximum(largest([*loads, *shifts, *speeds, *belts]), jnp.finfo(float).tiny)


def impact_size(contact, speed):
    """Return the greatest sqrt(z) of an impact at a relative speed (Hertz's theory)."""
    mass = 1 / along(contact, contact.response)
    energy = 5 * mass * speed**2 / (4 * contact.stiffness)
    energy = jnp.maximum(jax.lax.stop_gradient(energy), jnp.finfo(float).tiny)
    return jnp.exp2(log2(energy) / 5)


def longest_turn(rtol, order: int):
    r"""Return how far sensitivities may turn in a step: they follow a series of some order.

    Where the motion rests, or hardly moves, its own series would let a step be as long as
    one likes. Of a sensitivity that moves at the rate $\omega$ a step of h leaves out
    $(\omega h)^N / N!$.
    """
    return (_OF_SENSITIVITIES * rtol * float(math.factorial(order))) ** (1 / order)
