"""Dry friction with sticking and sliding."""

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.arrays import host_namespace, is_concrete
from ...foundation.quantity import OptionalQuantity, Quantity, check_range, quantity
from ...foundation.range import Range
from ...foundation.types import UNKNOWN, Number
from ..base.law import check_traits
from ..base.part import Part
from .sliding import SlidingLaw, StribeckCurve

# Gauss-Seidel sweeps over frictions that stick together: if each sweep halves the
# error, 53 of them reach rounding.
_SWEEPS = 60


class Friction(Part):
    """A dry friction element: its direction, its belt and its coefficients.

    To add one, write an `equinox.Module` with these fields, its numbers declared by
    `quantity`: `direction`; `speed` of the belt, m/s; `contact` of the system with the
    normal force, None for a constant force; `kinetic` and `static`: coefficients of
    sliding and sticking for that contact's force, or forces, N; `stribeck`, m/s, or
    `curve`: how sticking passes into sliding.
    """

    if TYPE_CHECKING:  # the order of the fields is that of the subclasses
        direction = contact = static = speed = stribeck = curve = UNKNOWN

    kind = "a friction"
    law = None
    unit = "N"  # of the coefficients

    @property
    @abc.abstractmethod
    def kinetic(self) -> Any:  # of one system or of a batch
        """The coefficient of sliding; for a constant normal force the force, N."""

    def __check_init__(self) -> None:
        check_traits(type(self.curve))
        falls = "curve" if self.stribeck is None else "stribeck"
        if getattr(self, falls) is not None and self.static is None:
            raise ValueError(f"{falls} is given without static; allowed: with it, as "
                             "friction decreases from the static one")  # fmt: skip
        if self.stribeck is not None and self.curve is not None:
            raise ValueError("stribeck and curve are given; allowed: one of them")
        if self.static is not None and is_concrete((self.kinetic, self.static)):
            least = Range(at_least=float(self.kinetic))
            check_range("static", self.static, self.unit, least)

    @property
    def sliding(self) -> SlidingLaw | None:
        """How friction falls from the static one; None if it is constant."""
        return self.curve if self.stribeck is None else StribeckCurve(self.stribeck)

    def contradicts(self) -> Any:
        """Return whether the numbers contradict each other, of one or of a batch."""
        nowhere, static, kinetic = super().contradicts(), self.static, self.kinetic
        if static is None:
            return nowhere
        return nowhere | host_namespace(static, kinetic).less(static, kinetic)


class CoulombFriction(Friction):
    r"""Dry friction under a constant normal force, on the ground, a belt or a body.

    With the sliding velocity $w = n^T \dot q - v$ the force on the degrees of freedom
    is $-n R$,

    $$R = \mu N\,\mathrm{sgn}\,w \text{ where } w \ne 0, \qquad
      |R| \le \mu_s N \text{ with } w = 0 \text{ while that can hold}.$$

    With the Stribeck velocity $v_s$ the kinetic friction decreases from the
    static limit, $R = [\mu N + (\mu_s - \mu) N / (1 + |w|/v_s)]\,\mathrm{sgn}\,w$.

    **Fields:** `direction` $n$, shape (n,): 1 at the degree of freedom that rubs and -1
    at the one that it rubs on (none for the ground); `force` $\mu N \ge 0$ (N),
    kinetic; `static` limit $\mu_s N \ge \mu N$ (N), by default equal; `speed` $v$
    of the belt, m/s; `name`: on parameter paths, instead of the position among the
    frictions; `stribeck` $v_s > 0$, m/s, at which half of the excess of `static` is
    lost: optional, requires `static`; `curve`: another `SlidingLaw` in its place.
    Requires the event-driven engine (`engine="event"`). **Raises:** `ValueError` for a
    field out of its range or a direction of zeros. **Source:** Leine and Nijmeijer,
    *Dynamics and Bifurcations of Non-Smooth Mechanical Systems* (2004), section 3.2.

    >>> pad = jv.CoulombFriction([1.0, 0.0], force=2.0, static=3.0, name="pad")
    >>> rubbing = jv.ImpactSystem(tower, loads=stopped.loads, frictions=(pad,))
    >>> "frictions.pad.force" in jv.parameters(rubbing)
    True
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of sliding")
    force: Float[Quantity, ""] = quantity(
        "force", "N", "kinetic friction force", at_least=0.0
    )
    static: OptionalQuantity[Float[Array, ""]] = quantity(
        "static", "N", "static friction limit", optional=True, at_least=0.0
    )
    speed: Float[Quantity, ""] = quantity("speed", "m/s", "speed of the belt", default=0.0)
    name: str | None = eqx.field(default=None, static=True)
    stribeck: OptionalQuantity[Float[Array, ""]] = quantity(
        "stribeck", "m/s", "Stribeck velocity", optional=True, above=0.0
    )
    curve: SlidingLaw | None = None

    contact = None

    @property
    def kinetic(self) -> Any:  # of one system or of a batch
        """The kinetic friction force, N."""
        return self.force


def sticking_limit(friction: Friction) -> Float[Array, ""]:
    """Return the limit of sticking, in the units of `Friction.kinetic`."""
    return friction.kinetic if friction.static is None else friction.static


def sliding_share(friction: Friction, speed: Number) -> Float[Array, ""]:
    """Return the sliding friction at a speed, in the units of `Friction.kinetic`."""
    if (law := friction.sliding) is None:
        return friction.kinetic
    excess = sticking_limit(friction) - friction.kinetic
    return friction.kinetic + law.left(excess, speed)


def friction_forces(
    frictions: Sequence[Friction],
    pressed: Sequence[Number],
    velocity: Array,
    acceleration: Array,
) -> list:
    """Return the force R of each friction, N, from frictionless accelerations.

    `pressed`: the normal force of each, N; 1 if it is constant. For frictions that
    stick (w = 0), projected Gauss-Seidel iterations find forces within their limits.
    """
    sliding = [friction.direction @ velocity - friction.speed for friction in frictions]
    forces = [
        n * sliding_share(f, w) * jnp.sign(w)
        for f, n, w in zip(frictions, pressed, sliding, strict=True)
    ]
    limits = [sticking_limit(f) * n for f, n in zip(frictions, pressed, strict=True)]

    def sweep(_, forces):
        for i, friction in enumerate(frictions):
            left = acceleration
            for m, other in enumerate(frictions):
                left = left if m == i else left - other.response * forces[m]
            needed = friction.direction @ left / (friction.direction @ friction.response)
            holding = jnp.clip(needed, -limits[i], limits[i])
            forces[i] = jnp.where(sliding[i] == 0, holding, forces[i])
        return forces

    return jax.lax.fori_loop(0, 1 if len(frictions) == 1 else _SWEEPS, sweep, forces)
