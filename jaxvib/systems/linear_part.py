"""Linearisation of a system: matrices, and slopes of nonlinear springs."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..foundation.arrays import is_concrete
from ..foundation.environment import require_float64
from .base.around import part
from .base.law import force_of
from .base.roles import Linear
from .base.system import System
from .impact import ImpactSystem
from .loads import time_varying
from .springs import NonlinearSpring

# Elongations and rates on both sides of 0, far below any length of a system: a law that
# is smooth there has the same slope at all of them ...
_NEAR = (1e-200, -1e-200, 1e-150, -1e-150)
# ... within this relative tolerance, far above rounding, or this absolute one.
_SAME, _NOTHING = 1e-9, 1e-70


class Tangent(Linear):
    """A linear system with nonlinear springs linearised at the unstrained position."""

    linear: Linear
    bent: tuple[NonlinearSpring, ...]

    freedom_names = part("freedom_names", of="linear")
    rotations = part("rotations", of="linear")

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C) with slopes included; NaN if a traced law has none."""
        mass, damping, stiffness = self.linear.matrices()
        for spring in self.bent:
            square = jnp.outer(spring.direction, spring.direction)
            stiffer, slower = slopes(spring.law)
            stiffness, damping = stiffness + stiffer * square, damping + slower * square
        return mass, damping, stiffness


def linear_part(system: Any) -> Linear:
    r"""Return the linear part of a system, with its `matrices()`.

    Contacts, frictions, elements and loads are dropped; nonlinear springs and dampers
    contribute $\partial F/\partial e$ and $\partial F/\partial \dot e$ at the unstrained
    position.

    **Raises:** `ValueError` for a system without a linear part: a spring's law has a
    kink there, constant loads strain it, or its force varies in time.
    """
    require_float64()
    linear = system.linear_part() if isinstance(system, System | Linear) else None
    if linear is None:
        raise ValueError(
            f"{type(system).__name__} has no mass, damping and stiffness matrices; "
            "allowed: an assembled system, a chain, a LinearSystem, or one with contacts"
        )
    if not isinstance(system, ImpactSystem) or not system.springs:
        return linear
    if len(time_varying(system.loads)) < len(system.loads):
        raise ValueError(
            "constant loads strain springs, whose slopes depend on the position; "
            "allowed: a LinearSystem of the slopes there (`static_equilibrium`), or no "
            "such loads"
        )
    for place, spring in enumerate(system.springs):
        if spring.variation is not None:
            raise ValueError(
                f"springs.{spring.name or place}.variation: the slope of the force varies "
                "in time; allowed: None, or a LinearSystem of the mean slopes"
            )
        traced = not is_concrete(spring)
        if not traced and np.isnan(slopes(spring.law)).any():
            raise ValueError(
                f"spring {spring.name or place}: its law has no slope at the "
                "unstrained position; allowed: laws that are smooth there"
            )
    return Tangent(linear, system.springs)


def linear_part_alone(system: Any) -> Linear:
    """Return the linear part of a system whose responses its matrices give.

    **Raises:** `ValueError` for elements, whose states act on the bodies, and as
    `linear_part`.
    """
    if system.elements:
        raise ValueError(
            "elements have states beside the bodies'; allowed: systems without elements, "
            "such as `system.linear`, the bodies alone"
        )
    return linear_part(system)


def slopes(law: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return a law's slopes by elongation and rate at 0, NaN if they jump."""
    points = jnp.asarray(list(itertools.product(_NEAR, _NEAR)))
    rows = jax.vmap(jax.jacfwd(lambda point: force_of(law, *point)))(points)
    lowest, highest = jnp.min(rows, 0), jnp.max(rows, 0)
    largest = jnp.maximum(jnp.abs(lowest), jnp.abs(highest))
    smooth = highest - lowest <= _SAME * largest + _NOTHING
    found = jnp.where(smooth, rows[0], jnp.nan)
    return found[0], found[1]
