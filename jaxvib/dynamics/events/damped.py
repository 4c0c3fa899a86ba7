r"""Contacts with damping from event to event: where they begin, end, and part.

With $g = 1 + c \dot z$ (Hunt and Crossley) or $g = k z + c \dot z$ (a damped stop) the
force acts while z > 0 and g > 0. A contact that g has come to 0 in is parted: it is
pressed in still, and has no force, until z comes to 0, where it is apart, or g does, where
it closes again: until the first root of g z.
"""

from collections.abc import Sequence

import jax.numpy as jnp

from .motion import Touch, along, gap
from .series import Series, combination, product_term, value

# A penetration below this part of what it is a difference of is rounding.
_ROUNDING = 1e-12


def parted(contact: Touch, touches, position: list):
    """Return whether a contact that is open is pressed in all the same."""
    return ~touches & pressed_in(contact, position, gap(contact, position))


def pressed_in(contact: Touch, position: list, depth):
    """Return whether a penetration is more than the rounding of a position's."""
    pairs = zip(contact.direction, position, strict=True)
    size = sum(jnp.abs(d * x) for d, x in pairs) + jnp.abs(contact.gap)
    return depth > _ROUNDING * size


def grip_of(contact: Touch, depth, speed, constant=1.0):
    """Return g, or with `constant` = 0 the coefficient of an order above the first."""
    elastic = constant if contact.hertz else contact.stiffness * depth
    return elastic + contact.damping * speed


def damped_signal(contact: Touch, touches, position, depth, velocity, onset, root=None):
    """Return the series whose first root is a damped contact's next event.

    `depth`, `velocity`: series; `onset`: below which depth nothing begins; `root`: the
    series of u, where it is one that may be closed.
    """
    grips = _grips(contact, depth, velocity)
    if root is None:
        closed = [-g for g in grips]
    else:
        closed = [-product_term(root, grips, k) for k in range(len(depth))]
    begins = [depth[0] - onset, *depth[1:]] if contact.hertz else depth
    apart = parted(contact, touches, position)
    leaves = [product_term(grips, depth, k) for k in range(len(depth))]
    return [
        jnp.where(touches, shut, jnp.where(apart, back, z))
        for shut, back, z in zip(closed, leaves, begins, strict=True)
    ]


def closes(contact: Touch, touches, position, meets, depth: Series, velocity, s):
    """Return whether a contact that meets its event at s does begin or end there.

    One that is apart leaves where z, and not g, has come to 0: to the error of a product
    of two series that is cut off.
    """
    left = _rest(depth, s) < _rest(_grips(contact, depth, velocity), s)
    false = left | ~pressed_in(contact, position, value(depth, s))
    return meets & ~(parted(contact, touches, position) & false)


def _grips(contact: Touch, depth: Series, velocity: Sequence[Series]) -> list:
    """Return the series of g."""
    speed = combination(contact.direction, velocity)
    speed = [*speed, *[jnp.zeros_like(speed[0])] * (len(depth) - len(speed))]
    return [
        grip_of(contact, z, w, 1.0 if k == 0 else 0.0)
        for k, (z, w) in enumerate(zip(depth, speed, strict=True))
    ]


def _rest(series: Series, s):
    """Return the value at s as a part of the terms that it is the sum of."""
    return jnp.abs(value(series, s)) / value([jnp.abs(c) for c in series], s)


def parts(contact: Touch, velocity, root, size):
    """Return whether a Hertz contact with damping ends while it is pressed in."""
    back = grip_of(contact, 0.0, along(contact, velocity))
    return jnp.abs(back) * size < root
