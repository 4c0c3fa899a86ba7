"""Annular contacts: a tube in a round hole, a rotor in its stator, with friction."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.arrays import is_concrete
from ...foundation.quantity import OptionalQuantity, Quantity, check_shape, quantity
from ..base.freedoms import component
from ..base.law import ContactLaw, LoadLaw, is_impulsive
from ..base.part import Part
from ..base.system_repr import with_field
from ..variation import variation_field

STICKS = (
    "friction of an annular contact without surface_speed, so that it may stick; "
    "allowed: with a regularization, m/s"
)


class AnnularContact(Part):
    r"""A contact of a round body with the round hole around it.

    With the displacement $r = (n_x^T q, n_y^T q) - o$ of the body's centre from that of
    the hole, the unit vectors $e = r/|r|$ and $\tau = (-e_y, e_x)$, and the sliding
    speed $v$ of the body's surface, the penetration and the force on the body are

    $$z = |r| - g, \qquad v = \tau^T \dot r + v_s, \qquad
      F = -F_n(z, \dot z)\,[e + \mu\,s(v)\,\tau], \qquad
      s(v) = \frac{v}{\sqrt{v^2 + v_0^2}}.$$

    A shaft of radius R that spins at $\Omega$ from x to y has $v_s = \Omega R$; while
    $v > 0$ its friction drives it round the hole backwards. Without $v_0$, $s$ is the
    sign of v: exact while v keeps its sign in contact; orbits and derivatives are
    rejected where it does not. With $v_0$ a friction that would stick creeps instead.
    The moment of the friction about the body's axis is left out, as for a spin that is
    held constant.

    **Fields:** `directions` $n_x$, $n_y$, shape (2, n): of the plane's axes, 1 at the
    body and -1 at the hole (none for a fixed one); `gap` $g > 0$ (m), the radial
    clearance; `law`: a contact law with a force; `friction_coefficient` $\mu \ge 0$;
    `surface_speed` $v_s$, m/s; `regularization` $v_0 > 0$, m/s, at which the friction
    is 71 % of its largest value; `offset` $o$, shape (2,), m, of the hole's centre from
    the body's at static equilibrium: one larger than the gap is a preload; `name` and
    `variation` as of `Contact`. The system is integrated by time stepping.

    **Raises:** `ValueError` for a field out of its range or of a wrong shape, a
    direction of zeros, parallel directions, a hard stop as law, or friction with neither
    a `surface_speed` nor a `regularization`.

    **Source:** Muszynska, *Rotordynamics* (2005), chapter 5.

    >>> stator = jv.AnnularContact(np.eye(2), gap=1e-3, law=jv.LinearContact(1e6))
    >>> float(stator.penetration(jnp.array([3e-3, 4e-3])))
    0.004
    """

    directions: Float[Quantity, "2 n"] = quantity(
        "directions", "", "directions of the plane's axes"
    )
    gap: Float[Quantity, ""] = quantity("gap", "m", "radial clearance", above=0.0)
    law: ContactLaw
    friction_coefficient: Float[Quantity, ""] = quantity(
        "friction_coefficient", "", "coefficient of friction", default=0.0, at_least=0.0
    )
    surface_speed: Float[Quantity, ""] = quantity(
        "surface_speed", "m/s", "speed of the surface of a spinning body", default=0.0
    )
    regularization: OptionalQuantity[Float[Array, ""]] = quantity(
        "regularization",
        "m/s",
        "sliding speed at 71 % of the friction force",
        optional=True,
        above=0.0,
    )
    offset: Float[Quantity, " 2"] = quantity(
        "offset", "m", "position of the hole's centre", default=(0.0, 0.0)
    )
    name: str | None = eqx.field(default=None, static=True)
    variation: LoadLaw | None = variation_field()

    may_be_nowhere = True  # its own checks are stricter
    has_linear_gap = False

    def __check_init__(self) -> None:
        if is_impulsive(self.law):
            raise ValueError(
                "law of an annular contact is a hard stop; allowed: a contact law with a "
                "force"
            )
        if jnp.ndim(self.directions) != 2 or jnp.shape(self.directions)[0] != 2:
            raise ValueError(
                f"directions has shape {jnp.shape(self.directions)}; allowed: (2, n)"
            )
        check_shape("offset", self.offset, (2,))
        numbers = self.directions, self.friction_coefficient, self.surface_speed
        if not is_concrete(numbers):
            return
        plane = np.asarray(self.directions)
        if not plane.any(axis=-1).all():
            raise ValueError(
                "directions of an annular contact = 0 everywhere along one axis; allowed: "
                "directions in which the system can move"
            )
        if self._is_flat():
            given = np.array2string(plane, threshold=12, edgeitems=2, separator=", ")
            raise ValueError(
                f"directions = {' '.join(given.split())} of an annular contact are "
                "parallel; allowed: two independent directions"
            )
        if self.may_stick():
            raise ValueError(STICKS)

    @property
    def rows(self) -> Float[Array, "2 n"]:
        """The directions in which it acts."""
        return self.directions

    @property
    def reverses(self) -> bool:
        """Whether the friction jumps where the sliding reverses."""
        return self.regularization is None

    def may_stick(self) -> np.ndarray:
        """Return whether friction would stick where the body rests, of one or a batch."""
        rubs = np.asarray(self.friction_coefficient) > 0
        still = np.asarray(self.surface_speed) == 0
        return np.asarray(rubs & still & (self.regularization is None))

    def contradicts(self) -> np.ndarray | np.bool:
        """Return whether the numbers contradict each other, of one or of a batch."""
        return self._is_flat() | self.may_stick()

    def _is_flat(self) -> np.ndarray | np.bool:
        """Return whether the directions are zero or parallel."""
        plane = np.asarray(self.directions)
        size = np.abs(plane).max(axis=-1, keepdims=True)
        return np.linalg.matrix_rank(plane / np.where(size > 0, size, 1.0)) < 2

    def penetration(self, position: Float[Array, " n"]) -> Float[Array, ""]:
        """Return the penetration, m, negative if open."""
        return self._polar(position)[0] - self.gap

    def closing_rate(self, position: Array, velocity: Array) -> Float[Array, ""]:
        """Return the rate of the penetration, m/s."""
        _, (ex, ey) = self._polar(position)
        vx, vy = self._plane(velocity)
        return ex * vx + ey * vy

    def closing_acceleration(
        self, position: Array, velocity: Array, acceleration: Array
    ) -> Float[Array, ""]:
        """Return the second time derivative of the penetration, m/s^2."""
        radius, (ex, ey) = self._polar(position)
        vx, vy = self._plane(velocity)
        ax, ay = self._plane(acceleration)
        across = ex * vy - ey * vx
        # Near the centre |r| has a corner, from which no polynomial should overshoot.
        round_ = across**2 / jnp.maximum(radius, self.gap / 8)
        return ex * ax + ey * ay + round_

    def sliding_speed(self, position: Array, velocity: Array) -> Float[Array, ""]:
        """Return the sliding speed v of the body's surface, m/s."""
        _, (ex, ey) = self._polar(position)
        vx, vy = self._plane(velocity)
        return ex * vy - ey * vx + self.surface_speed

    def tangential_force(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, ""]:
        """Return the friction against v, N, under a normal force, N."""
        speed = self.sliding_speed(position, velocity)
        if self.regularization is None:
            return self.friction_coefficient * force * jnp.sign(speed)
        return (
            self.friction_coefficient
            * force
            * speed
            / jnp.hypot(speed, self.regularization)
        )

    def rubbing_power(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, ""]:
        """Return the power lost to friction under a normal force, W."""
        rub = self.tangential_force(force, position, velocity)
        return rub * self.sliding_speed(position, velocity)

    def reach(self, size: Float[Array, " n"]) -> Float[Array, ""]:
        """Return the largest change of the penetration by displacements of a size, m."""
        x, y = (component(jnp.abs(direction), size) for direction in self.directions)
        return jnp.sqrt(x**2 + y**2)

    def acting(self, inverse: Float[Array, "n n"]) -> "AnnularContact":
        """Return the contact of an equation of motion with this inverse mass matrix."""
        response = jnp.stack([inverse @ direction for direction in self.directions])
        return with_field(self, "response", response)

    def retarded(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, " n"]:
        """Return the reduction of the accelerations by normal force and friction."""
        _, (ex, ey) = self._polar(position)
        rub = self.tangential_force(force, position, velocity)
        x, y = force * ex - rub * ey, force * ey + rub * ex
        return self.response[0] * x + self.response[1] * y

    def from_place(self, place: Float[Array, " n"]) -> "AnnularContact":
        """Return the contact of displacements from a place at which its offset is given."""
        moved = self.offset + self.directions @ place
        return eqx.tree_at(lambda contact: contact.offset, self, moved)

    def _plane(self, vector) -> list[Array]:
        return [component(direction, vector) for direction in self.directions]

    def _polar(self, position) -> tuple[Array, tuple[Array, Array]]:
        """Return the distance from the hole's centre, m, and the direction, 0 there."""
        x, y = self._plane(position)
        x, y = x - self.offset[0], y - self.offset[1]
        squared = x**2 + y**2
        away = squared > 0
        # The inner `where` avoids the infinite slope of the root at the centre.
        radius = jnp.where(away, jnp.sqrt(jnp.where(away, squared, 1.0)), 0.0)
        inverse = 1 / jnp.where(away, radius, 1.0)
        return radius, (x * inverse, y * inverse)


def annular(contacts: Sequence) -> list[int]:
    """Return the positions of annular contacts."""
    return [j for j, contact in enumerate(contacts) if not contact.has_linear_gap]
