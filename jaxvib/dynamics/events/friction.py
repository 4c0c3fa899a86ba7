r"""Dry friction from event to event: bodies that slide, stick, and let go.

While a friction slides its force is constant, and its event is where its speed w comes to
0. There it sticks if the force R that keeps w at 0 is within its limit, and else slides on
the other way. While it sticks it is a constraint like a hard stop that holds, but R may
push and pull; its event is where |R| reaches the limit. Speeds that stick are 0 to the last
digit: they are set so at the end of each step.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .motion import Motion, along
from .series import any_of, first_of, largest, square_term
from .sliding import DryFriction, slid
from .stop import active_contacts, constrained, free_accelerations, taken_away

# Speeds and forces below this part of their sizes are rounding.
_ROUNDING = 1e-13


def friction_signals(motion: Motion, lane, velocity, forces, size, rate) -> list[list]:
    """Return the series whose first roots are the frictions' next events.

    `velocity`, `forces`: series of the motion and of the frictions that stick; `size` (m/s)
    and `rate` of the motion in the series' variable tell what is rounding. All signals are
    as long as the series of the velocity.
    """
    signals = []
    for friction, sign, force in zip(motion.frictions, lane.sliding, forces, strict=True):
        speed = _speed_series(friction, velocity)
        none = jnp.zeros_like(speed[0])
        signed = [sign * term for term in [*speed, none, none]]
        near = jnp.abs(signed[0]) <= _ROUNDING * size
        slow = near & (jnp.abs(signed[1]) <= _ROUNDING * size * rate)
        # Roots that it has now are divided out: one where it starts to slide, or two.
        ahead = jnp.where(slow, signed[2], signed[1])
        turned = near & (ahead < 0)
        force = [*force, *[none] * (len(speed) - len(force))]
        signal = []
        for k in range(len(speed)):
            sliding = jnp.where(near, signed[k + 1], signed[k])
            sliding = -jnp.where(slow, signed[k + 2], sliding)
            sliding = jnp.where(turned, 1.0 if k == 1 else 0.0, sliding)
            sticking = square_term(force, k) - (friction.limit**2 if k == 0 else 0.0)
            signal.append(jnp.where(sign == 0, sticking, sliding))
        signals.append(signal)
    return signals


def _speed_series(friction: DryFriction, velocity) -> list:
    rows = zip(*velocity, strict=True)
    first, *others = [
        sum(d * x for d, x in zip(friction.direction, row, strict=True)) for row in rows
    ]
    return [first - friction.speed, *others]


def start_sliding(motion: Motion, lane, size):
    """Return a lane at its start whose frictions slide or stick; `size`: m/s."""
    speeds = [along(g, lane.velocity) - g.speed for g in motion.frictions]
    rests = [jnp.abs(w) <= _ROUNDING * size for w in jax.lax.stop_gradient(speeds)]
    signs = [jnp.sign(w) for w in jax.lax.stop_gradient(speeds)]
    signs = [jnp.where(rest, 0.0, s) for rest, s in zip(rests, signs, strict=True)]
    return _stuck(motion, lane._replace(sliding=_settled(motion, lane, signs, rests)))


def after_frictions(motion: Motion, before: list, lane, meets: list, ends):
    """Return a lane after a step whose frictions are at an event where one `meets`.

    So they are where the step `ends` at a break of a load. `before`: how they slid on the
    step.
    """
    if not motion.frictions:
        return lane
    _, forces = _held(*_still(motion, lane), before)
    signs, rests = [], []
    for sign, force, meet in zip(before, forces, meets, strict=True):
        lets_go = meet & (sign == 0)
        signs.append(jnp.where(lets_go, jnp.sign(force), jnp.where(meet, 0.0, sign)))
        rests.append((sign == 0) | meet)
    breaks = any(push.law.breaks for push in motion.pushes)
    event = any_of([*meets, ends]) if breaks else any_of(meets)
    settled = _settled(motion, lane, signs, rests)
    sliding = [jnp.where(event, s, b) for s, b in zip(settled, before, strict=True)]
    return _stuck(motion, lane._replace(sliding=sliding))


class _Choice(NamedTuple):
    """How frictions slide by now, which of them is wrong, and the turns so far."""

    sliding: list
    wrong: list
    turns: Any


def _settled(motion: Motion, lane, sliding: list, rests: list) -> list:
    """Return how frictions slide on: those at rest stick where their limits allow it.

    Of several the first that is wrong is turned round until none is: one that sticks with
    a force beyond its limit, or slides against its own acceleration.
    """
    still = _still(motion, lane)
    motion, _, free, _ = still
    sizes = [
        sum(jnp.abs(d * a) for d, a in zip(friction.direction, free, strict=True))
        for friction in motion.frictions
    ]
    rounding = _ROUNDING * largest(sizes)

    def looked_at(sliding):
        left, forces = _held(*still, sliding)
        wrong = []
        for friction, sign, force, rest in zip(
            motion.frictions, sliding, forces, rests, strict=True
        ):
            slips = jnp.abs(force) > friction.limit * (1 + _ROUNDING)
            sticks = sign * along(friction, left) < -rounding
            wrong.append(rest & jnp.where(sign == 0, slips, sticks))
        return forces, first_of(wrong)

    def turn(choice: _Choice) -> _Choice:
        forces, wrong = looked_at(choice.sliding)
        sliding = [
            jnp.where(bad, jnp.where(sign == 0, jnp.sign(force), 0.0), sign)
            for bad, sign, force in zip(wrong, choice.sliding, forces, strict=True)
        ]
        return _Choice(sliding, looked_at(sliding)[1], choice.turns + 1)

    if len(sliding) == 1:
        forces, wrong = looked_at(sliding)
        (sign,), (force,), (bad,) = sliding, forces, wrong
        # One that lets go slides on whatever its acceleration: that may begin at 0.
        return [jnp.where(bad & (sign == 0), jnp.sign(force), sign)]
    most = 3 ** len(sliding)
    start = _Choice(sliding, looked_at(sliding)[1], jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(
        lambda choice: any_of(choice.wrong) & (choice.turns < most), turn, start
    ).sliding


def _still(motion: Motion, lane) -> tuple[Motion, list, list, list]:
    """Return without derivatives a motion's frictions, contacts, accelerations, speeds."""
    free = jax.lax.stop_gradient(free_accelerations(motion, lane))
    frictions = jax.lax.stop_gradient(motion.frictions)
    velocity = jax.lax.stop_gradient(lane.velocity)
    return motion._replace(frictions=frictions), lane.touching, free, velocity


def _held(
    motion: Motion, touching, free: list, velocity: list, sliding: list
) -> tuple[list, list]:
    """Return the accelerations as frictions slide, and the forces of those that stick."""
    held = active_contacts(motion, touching, sliding)
    left, forces = constrained(motion, held, slid(motion, sliding, free, velocity))
    return left, forces[len(motion.hard) :]


def _stuck(motion: Motion, lane):
    """Return a lane whose frictions that stick have no speed, to the last digit."""
    held = active_contacts(motion, lane.touching, lane.sliding)
    still = [jnp.zeros_like(lane.time) for _ in motion.hard]
    speeds = [
        along(friction, lane.velocity) - friction.speed for friction in motion.frictions
    ]
    velocity = taken_away(motion, lane.velocity, held, [*still, *speeds])
    # One moves what another has set, where several hold the same bodies.
    for _ in motion.frictions:
        for friction, sign in zip(motion.frictions, lane.sliding, strict=True):
            velocity = _exactly(friction, velocity, sign == 0)
    return lane._replace(velocity=velocity)


def _exactly(friction: DryFriction, velocity: list, sticks) -> list:
    """Return velocities whose first one along a friction makes its speed 0."""
    chosen = first_of([d != 0 for d in friction.direction])
    new = []
    for i, (mine, v) in enumerate(zip(chosen, velocity, strict=True)):
        pairs = enumerate(zip(friction.direction, velocity, strict=True))
        others = sum(d * x for k, (d, x) in pairs if k != i)
        by = jnp.where(mine, friction.direction[i], 1.0)
        new.append(jnp.where(sticks & mine, (friction.speed - others) / by, v))
    return new
