"""Rates and sizes of a motion, which scale its steps and their errors."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from .factors import steepest
from .normal_forces import force_sizes
from .scalar_system import ContactTerm, ScalarSystem, along, load_accelerations
from .series import largest, log2

# A time span this many times shorter than the motion's time scale does not set its
# rate.
_SHORT = 1e3
_NOWHERE = 1e-300  # m: avoids division by zero; the speed's rate stays finite
# Error of sensitivities in a step, relative to the tolerance.
_OF_SENSITIVITIES = 1e-2


def motion_rates(motion: ScalarSystem, lane: Any, span: Number) -> tuple[Array, Array]:
    """Return an estimate of a flight's greatest rate, 1/s, with and without loads.

    Both are at least the inverse of the time span, for a motion without rates; but not
    if the span is far shorter than the motion's time scale: speeds scaled by such a
    rate would dominate the motion's size.
    """
    stiff = [sum(jnp.abs(k) for k in row) for row in motion.stiffness]
    damped = [sum(jnp.abs(d) for d in row) for row in motion.damping]
    loads = sum(load.frequency for load in motion.loads)
    acting = (*motion.pushes, *motion.factors)
    pushes = [part.law.highest_angular_frequency() for part in acting]
    loads = loads + sum(frequency for frequency in pushes if frequency is not None)
    stops = []
    for contact in motion.contacts:
        if contact.linear:
            compliance = along(contact, contact.response)
            # A piecewise linear contact may soften with depth.
            stiffness = jnp.abs(steepest(motion, contact, contact.stiffness))
            stiffness = jax.lax.stop_gradient(stiffness)
            stops.append(jnp.sqrt(stiffness * jax.lax.stop_gradient(compliance)))
            if contact.damped:
                stops.append(steepest(motion, contact, contact.damping) * compliance)
    for friction in motion.frictions:
        if friction.sliding is not None and not friction.presses:
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


def _falling(friction: Any, normal):
    """Return the rate at which a falling friction removes or adds speed, 1/s."""
    fall = friction.sliding.steepest(friction.limit - friction.force)
    return normal * fall * along(friction, friction.response)


def pressed_rate(motion: ScalarSystem, lane: Any, rate: Array) -> Array | float:
    """Return the contribution of contact-loaded frictions to a motion's rate, 1/s."""
    falling = [f for f in motion.frictions if f.presses and f.sliding is not None]
    if not falling:
        return 0.0
    pairs = zip(lane.roots, lane.sizes, strict=True)
    forces = force_sizes(motion, lane, rate, [jnp.maximum(*pair) for pair in pairs])
    return sum(_falling(friction, friction.normal(forces)) for friction in falling)


def contact_rate(motion: ScalarSystem, lane: Any, rate: Array, sizes: list) -> Array:
    """Return an estimate of the greatest rate in contact, 1/s."""
    for j, size in zip(motion.hertz, sizes, strict=True):
        contact = motion.contacts[j]
        squared = 1.5 * contact.stiffness * size * along(contact, contact.response)
        rate = rate + jnp.where(lane.touching[j], jnp.sqrt(squared), 0.0)
        if contact.damped:
            drag = contact.damping * squared * size**2 / 1.5
            rate = rate + jnp.where(lane.touching[j], drag, 0.0)
    return rate


def motion_speed(motion: ScalarSystem, lane: Any, rate: Array, own: Array) -> Array:
    """Return the size of the motion, m/s: of its displacements, speeds and loads.

    `own`: the rate that converts displacements, 1/s.
    """
    loads = [acceleration / rate for acceleration in load_accelerations(motion)]
    shifts = [own * jnp.abs(x) for x in lane.position]
    speeds = [jnp.abs(v) for v in lane.velocity]
    belts = [jnp.abs(friction.speed) for friction in motion.frictions]
    return jnp.maximum(largest([*loads, *shifts, *speeds, *belts]), jnp.finfo(float).tiny)


def impact_size(contact: ContactTerm, speed: Array) -> Array:
    """Return the greatest sqrt(z) of an impact at a relative speed (Hertz's theory)."""
    mass = 1 / along(contact, contact.response)
    energy = 5 * mass * speed**2 / (4 * contact.stiffness)
    energy = jnp.maximum(jax.lax.stop_gradient(energy), jnp.finfo(float).tiny)
    return jnp.exp2(log2(energy) / 5)


def longest_turn(rtol: Number, order: int) -> Number:
    r"""Return the largest rate times step for sensitivities, given the order of series.

    Where the motion hardly moves, its own series would not limit the step. A
    sensitivity of the rate $\omega$ has the truncation error $(\omega h)^N / N!$ in a
    step of h.
    """
    return (_OF_SENSITIVITIES * rtol * float(math.factorial(order))) ** (1 / order)
