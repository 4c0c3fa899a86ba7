r"""Events of damped contacts: onset, separation and renewed contact.

With $g = 1 + c \dot z$ (Hunt and Crossley) or $g = k z + c \dot z$ (a damped stop) the
force acts while z > 0 and g > 0. When g reaches 0 the contact separates: still indented
(z > 0) but without force, until z reaches 0, where it opens, or g does, where it pushes
again. The next event is the first root of g z.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.base.event_form import product_term
from .rows import minus, where
from .scalar_system import ContactTerm, ScalarSystem, along, size_along
from .series import Series, combination, value

# A penetration below this part of its terms is rounding.
_ROUNDING = 1e-12


def separated(contact: ContactTerm, touches: Array, position: list) -> Array:
    """Return whether an open contact has a positive penetration (is still indented)."""
    return ~touches & pressed_in(contact, position, contact.depth(position))


def pressed_in(contact: ContactTerm, position: list, depth: Array) -> Array:
    """Return whether a penetration exceeds the rounding error of the position."""
    return depth > _ROUNDING * (size_along(contact, position) + jnp.abs(contact.gap))


def lifted(
    motion: ScalarSystem, lane: Any, position: list, depths: Sequence[Series], s: Array
) -> list:
    """Return the position after a step, with contacts that open there just open.

    Rounding may leave one indented where z has reached 0. With a gap of 0 no term of
    z is larger than that, and it would open again and again, without end.
    """
    for j, contact in enumerate(motion.contacts):
        if contact.damped:
            depth = contact.depth(position)
            size = motion.still(value([jnp.abs(c) for c in depths[j]], s))
            stays = separated(contact, lane.touching[j], lane.position)
            stays = stays & pressed_in(contact, position, depth)
            over = depth + jnp.finfo(float).eps * size
            over = jnp.where(stays & (jnp.abs(depth) <= _ROUNDING * size), over, 0.0)
            over = motion.still(over / along(contact, contact.response))
            position = minus(position, contact.response, over)
    return position


def force_factor(
    contact: ContactTerm, depth: Number, speed: Number, constant: float = 1.0
) -> Number:
    """Return g, or with `constant` = 0 its coefficient of an order above 0."""
    elastic = constant if contact.hertz else contact.stiffness * depth
    return elastic + contact.damping * speed


def damped_signal(
    contact: ContactTerm,
    touches: Array,
    position: list,
    depth: Series,
    velocity: Sequence[Series],
    onset: Number,
    root: Series | None = None,
) -> list:
    """Return the series whose first root is a damped contact's next event.

    `depth`, `velocity`: series; `onset`: the least depth of an onset; `root`: the
    series of u, for a Hertz contact in contact steps.
    """
    grips = _force_factor_series(contact, depth, velocity)
    if root is None:
        closed = [-g for g in grips]
    else:
        closed = [-product_term(root, grips, k) for k in range(len(depth))]
    begins = [depth[0] - onset, *depth[1:]] if contact.hertz else depth
    apart = separated(contact, touches, position)
    leaves = [product_term(grips, depth, k) for k in range(len(depth))]
    return where(touches, closed, where(apart, leaves, begins))


def closes(
    contact: ContactTerm,
    touches: Array,
    position: list,
    meets: Array,
    depth: Series,
    velocity: Sequence[Series],
    s: Array,
) -> Array:
    """Return whether a contact begins or ends at its event at s.

    A parted contact opens if z, and not g, has reached 0, to within the truncation
    error of their product's series.
    """
    left = _relative_value(depth, s) < _relative_value(
        _force_factor_series(contact, depth, velocity), s
    )
    false = left | ~pressed_in(contact, position, value(depth, s))
    return meets & ~(separated(contact, touches, position) & false)


def _force_factor_series(
    contact: ContactTerm, depth: Series, velocity: Sequence[Series]
) -> list:
    """Return the series of g."""
    speed = combination(contact.direction, velocity)
    speed = [*speed, *[jnp.zeros_like(speed[0])] * (len(depth) - len(speed))]
    return [
        force_factor(contact, z, w, 1.0 if k == 0 else 0.0)
        for k, (z, w) in enumerate(zip(depth, speed, strict=True))
    ]


def _relative_value(series: Series, s):
    """Return the value at s relative to the sum of its absolute terms."""
    return jnp.abs(value(series, s)) / value([jnp.abs(c) for c in series], s)


def parts(contact: ContactTerm, velocity: list, root: Array, size: Array) -> Array:
    """Return whether a damped Hertz contact ends while it is indented."""
    back = force_factor(contact, 0.0, along(contact, velocity))
    return jnp.abs(back) * size < root
