r"""Hard stops: impacts that turn a velocity round, and contacts that hold.

An impact at speed w leaves the speed e w; while the free acceleration a presses the
bodies together, rebounds last 2 w / a each and shrink by e, so that infinitely many of
them end after $2 e w / (a (1 - e))$. They are cut off where what is left of their height,
$(e w)^2 / (a (1 - e))$, is below the error of the motion: the contact then holds, with
the force that keeps its acceleration at 0, until that force would have to pull.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .motion import Motion, acceleration_term, along, cosine_and_sine
from .series import any_of

# Speeds below this part of the motion's are rounding.
_ROUNDING = 1e-13
# How fast a contact that rests on its stop leaves it at least, in the same units.
_LEAVES = 1e-12
# A pivot below this part of its contact's own says that others hold it already.
_REDUNDANT = 1e-10


class Hold(NamedTuple):
    """Which hard contacts hold, and the factors of the equations for their forces."""

    holding: list
    rows: list
    inverses: list


def hold(motion: Motion, touching) -> Hold:
    """Return the equations for the forces of the hard contacts that hold."""
    hard = motion.hard
    holding = [touching[j] for j in hard]
    rows = []
    for i, j in enumerate(hard):
        row = []
        for m, other in enumerate(hard):
            both = holding[i] & holding[m]
            mass = along(motion.contacts[j], motion.contacts[other].response)
            row.append(jnp.where(both, mass, 1.0 if i == m else 0.0))
        rows.append(row)
    inverses = []
    for i, row in enumerate(rows):
        own = along(motion.contacts[hard[i]], motion.contacts[hard[i]].response)
        free = row[i] > _REDUNDANT * jnp.where(holding[i], own, 1.0)
        inverses.append(jnp.where(free, 1 / jnp.where(free, row[i], 1.0), 0.0))
        for later in range(i + 1, len(rows)):
            factor = rows[later][i] * inverses[i]
            rows[later][i] = factor
            for k in range(i + 1, len(rows)):
                rows[later][k] = rows[later][k] - factor * row[k]
    return Hold(holding, rows, inverses)


def kept(motion: Motion, held: Hold, accelerations: list) -> tuple[list, list]:
    """Return accelerations that leave closed contacts closed, and each one's force."""
    count = len(held.holding)
    forces = []
    for i, j in enumerate(motion.hard):
        pressing = along(motion.contacts[j], accelerations)
        pressing = jnp.where(held.holding[i], pressing, 0.0)
        forces.append(pressing - sum(held.rows[i][k] * forces[k] for k in range(i)))
    for i in reversed(range(count)):
        rest = sum(held.rows[i][k] * forces[k] for k in range(i + 1, count))
        forces[i] = (forces[i] - rest) * held.inverses[i]
    for j, force in zip(motion.hard, forces, strict=True):
        response = motion.contacts[j].response
        accelerations = [
            a - r * force for a, r in zip(accelerations, response, strict=True)
        ]
    return accelerations, forces


class Struck(NamedTuple):
    """Velocities after impacts, which contacts touch, and what the impacts were.

    `impulses`: N s; `losses`: J; `depths`: how deep, m, each impact would have gone
    without its stop.
    """

    velocity: list
    touching: list
    impulses: list
    losses: list
    depths: list


def strike(motion: Motion, lane, meets, size, slight) -> Struck:
    """Return what happens to the hard contacts that meet something at a lane's time.

    One that holds lets go; one that is open has an impact, and holds if what is left of
    its rebounds is less than `slight` (m). `size`: the motion's speed, m/s.
    """
    hard = motion.hard
    velocity, touching = list(lane.velocity), list(lane.touching)
    impulses, losses, depths = [], [], []
    strikes = [meets[j] & ~touching[j] for j in hard]
    free, _ = accelerations(motion, lane, touching)
    for i, j in enumerate(hard):
        contact = motion.contacts[j]
        speed = along(contact, velocity)
        pressing = along(contact, free)
        bounce = contact.restitution * jnp.maximum(speed, 0.0)
        ends = _at_rest(contact, bounce, pressing, size, slight)
        change = jnp.where(ends, speed, speed + bounce)
        change = jnp.where(strikes[i], change, 0.0)
        mass = 1 / along(contact, contact.response)
        velocity = [
            v - r * (mass * change) for v, r in zip(velocity, contact.response, strict=True)
        ]
        impulses.append(mass * change)
        losses.append(mass * change * (speed - change / 2))
        height = speed**2 / jnp.where(pressing < 0, -2 * pressing, 1.0)
        depths.append(jnp.where(pressing < 0, height, jnp.inf))
        lets_go = meets[j] & touching[j]
        touching[j] = jnp.where(strikes[i], ends, touching[j] & ~lets_go)
    if len(hard) > 1:
        lane = lane._replace(velocity=velocity)
        touching = _shaken(motion, lane, strikes, touching, size)
    return Struck(velocity, touching, impulses, losses, depths)


def _shaken(motion: Motion, lane, strikes, touching, size):
    """Return which contacts still hold after an impact at another one."""
    touching = list(touching)
    for i, j in enumerate(motion.hard):
        speed = along(motion.contacts[j], lane.velocity)
        others = any_of([s for m, s in enumerate(strikes) if m != i])
        touching[j] = touching[j] & ~(others & (jnp.abs(speed) > _ROUNDING * size))
    return touching


def start_holding(motion: Motion, lane, size, slight):
    """Return positions, velocities and which contacts touch at a start.

    A contact that is closed to `slight` (m), does not close further, and whose
    rebounds would be as slight, holds.
    """
    position, velocity, touching = lane.position, lane.velocity, list(lane.touching)
    for j in motion.hard:
        contact = motion.contacts[j]
        depth, speed = along(contact, position) - contact.gap, along(contact, velocity)
        free, _ = accelerations(motion, lane._replace(velocity=velocity), touching)
        closed = (depth >= -slight) & (speed <= _ROUNDING * size)
        rests = closed & _at_rest(contact, -speed, along(contact, free), size, slight)
        mass = 1 / along(contact, contact.response)
        depth, speed = jnp.where(rests, depth, 0.0), jnp.where(rests, speed, 0.0)
        response = contact.response
        position = [x - r * mass * depth for x, r in zip(position, response, strict=True)]
        velocity = [v - r * mass * speed for v, r in zip(velocity, response, strict=True)]
        touching[j] = rests
    return position, velocity, touching


def accelerations(motion: Motion, lane, touching) -> tuple[list, list]:
    """Return the accelerations of a state, and the forces of hard contacts that hold."""
    forces, number = [], 0
    for contact, touches in zip(motion.contacts, touching, strict=True):
        depth = along(contact, lane.position) - contact.gap
        force = jnp.zeros_like(depth)
        if contact.hertz:
            force = contact.stiffness * lane.roots[number] ** 3
            number += 1
        elif contact.linear:
            force = jnp.where(touches, contact.stiffness * depth, 0.0)
        forces.append(force)
    loads = [
        cosine_and_sine(load.frequency * lane.time + load.phase)[0] for load in motion.loads
    ]
    free = acceleration_term(motion, lane.position, lane.velocity, forces, loads)
    return kept(motion, hold(motion, touching), free)


def _at_rest(contact, bounce, pressing, size, slight):
    """Return whether the rebounds from a speed, and all after them, are too slight."""
    bounce, pressing, restitution = jax.lax.stop_gradient(
        (bounce, pressing, contact.restitution)
    )
    height = bounce**2 <= slight * pressing * (1 - restitution)
    return (pressing > 0) & (height | (bounce <= _ROUNDING * size))


def signal_of(depth, force, holds, size, rate) -> list:
    """Return the series whose first root is a hard contact's next event.

    That is the force's, turned round, while it holds, and else the gap's without the
    roots that it has now: two where it rests on the stop, one where it leaves it. A
    force that would have to pull ends here, a contact that is pressed begins here.
    `size` (m) and `rate` (1/s) of the motion tell what is rounding.
    """
    none = jnp.zeros_like(depth[0])
    slight = _ROUNDING * size
    near = depth[0] >= -slight
    slow = jnp.abs(depth[1]) <= slight * rate
    pressed = near & slow & (depth[2] > slight * rate**2)
    now = jnp.where(holds, force[0] < 0, pressed)
    twice, once = near & slow, near & (depth[1] < 0)
    force = [*force, *[none] * (len(depth) - len(force))]
    shifted = [*depth, none, none]
    signal = []
    for k in range(len(depth)):
        # Below zero by a rounding: a gap that opens slowly is left in some steps.
        below = _LEAVES * size if k == 0 else 0.0
        gap = jnp.where(once, shifted[k + 1] - below * rate, depth[k])
        gap = jnp.where(twice, jnp.minimum(shifted[k + 2], 0) - below * rate**2
                        if k == 0 else shifted[k + 2], gap)  # fmt: skip
        here = jnp.where(holds, -force[k], gap)
        signal.append(jnp.where(now, 1.0 if k == 1 else 0.0, here))
    return signal
