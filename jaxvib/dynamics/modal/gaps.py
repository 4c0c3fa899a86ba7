"""Gaps of a system in modal form: values, rates, and certified bounds."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...foundation.types import Number
from .axes import Axes, axes_of, axis_limits
from .collocation import turn_less_one, turned
from .modal_form import ModalForm

# A gap closer to zero than this, relative to its terms, is at an onset or a release.
_TOUCH = 1e-13
# Times, relative to the longest step, at which a gap may first differ from 0.
SOON = 2.0 ** np.arange(-40, 1)


class Gaps(NamedTuple):
    r"""The gaps of a system in modal form, as functions of amplitudes y and time.

    Displacements along the d axes of contacts and their rates are `rows` (2, d, 2p) times
    y and the part of the loads. `speeds` (d, p) are $|r_k \lambda_k^2|$, so that their
    second derivatives stay below the sum with $|a_k|$, plus that of the loads, until the
    contacts act; `grown` is the growth of unstable modes in a flight. `touch` (c,): the
    distance from zero at which a contact begins, m. `radii` (c,): clearances of annular
    contacts g, whose level is $(|r|^2 - g^2) / 2 g$: it has the sign of the penetration,
    and is smooth where $|r|$ is not. That of others is the penetration.
    """

    axes: Axes
    radii: Array

    rows: Array
    steady: Array
    limits: Array
    frequency: Array
    phase: Array
    speeds: Array
    of_loads: Array
    grown: Array
    touch: Array

    def at(self, y: Array, time: Number) -> Float[Array, "2 d"]:
        """Return the displacements along all axes, and their rates."""
        return self.rows @ y + self.carried(time)

    def levels(self, motion: Float[Array, "2 *k d"]) -> Float[Array, "2 *k c"]:
        """Return the level of each contact, m, and its rate, positive if closed."""
        axes = self.axes
        if not axes.some_round:
            return motion
        (x, y), (vx, vy) = ((m[..., axes.first], m[..., axes.second]) for m in motion)
        shape = (*[1] * (x.ndim - 1), -1)
        g, is_round = self.radii.reshape(shape), axes.is_round.reshape(shape)
        level = jnp.where(is_round, (x**2 + y**2 - g**2) / (2 * g), x)
        return jnp.stack([level, jnp.where(is_round, (x * vx + y * vy) / g, vx)])

    def penetrations(self, motion: Float[Array, "2 k d"]) -> Float[Array, "2 k c"]:
        """Return the penetration of each contact, m, and its rate, m/s."""
        axes = self.axes
        if not axes.some_round:
            return motion
        (x, y), (vx, vy) = ((m[..., axes.first], m[..., axes.second]) for m in motion)
        radius, is_round = jnp.hypot(x, y), axes.is_round[None]
        rate = (x * vx + y * vy) / jnp.where(radius > 0, radius, 1.0)
        depth = jnp.where(is_round, radius - self.radii[None], x)
        return jnp.stack([depth, jnp.where(is_round, rate, vx)])

    def reach(self) -> Float[Array, " c"]:
        """Return the sizes of the terms of each gap, m."""
        return self.touch / _TOUCH

    def carried(self, time: Number) -> Float[Array, "*t 2 d"]:
        """Return the part of the loads at times of any shape."""
        time = jnp.asarray(time, float)[..., None]
        shape = (*[1] * (time.ndim - 1), -1)
        w = self.frequency.reshape(shape)
        angle = w * time + self.phase.reshape(shape)
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        first, second = self.steady
        value = cosine @ first + sine @ second - self.limits.reshape(shape)
        slope = (w * cosine) @ second - (w * sine) @ first
        return jnp.stack([value, slope], axis=-2)

    def apart_for(self, y: Array, motion: Float[Array, "2 d"]) -> Float[Array, ""]:
        r"""Return a time, s, in which certainly no gap closes.

        With $z < 0$ and $|\ddot z| \le B$ it is $2 |z| / (\dot z + \sqrt{\dot z^2 + 2 B
        |z|})$, which approaches an onset from one side as Newton iteration does. For an
        annular contact the same of its level, with $B + v^2 / g$ for B: as long as $|r +
        v t|^2 < g^2 - g B t^2 < (g - B t^2 / 2)^2$ also $|r| < g$.
        """
        axes, bound = self.axes, self.axes.sizes(self._curvature(y))
        if axes.some_round:
            x, y = motion[1, axes.first], motion[1, axes.second]
            bound = bound + jnp.where(axes.is_round, (x**2 + y**2) / self.radii, 0.0)
        level, rate = self.levels(motion)
        depth = jnp.maximum(-level, self.touch)
        return safe_for(depth, rate, bound)

    def closed_from(self, system: ModalForm, y: Array, time: Number) -> Bool[Array, " c"]:
        """Return the contacts closed from a time on, without those that only touch."""

        def depth_after(length):
            moved = turned(turn_less_one(system.modes.eigenvalues, length), y)
            return self.levels(self.at(moved, time + length))[0]

        after = jax.vmap(depth_after)(system.steps.length[0] * SOON)
        return pressed(depth_after(jnp.zeros(())), after, self.touch)

    def straight_for(self, y: Array, motion: Float[Array, "2 d"]) -> Number:
        r"""Return a time, s, in which |r| of annular contacts is nearly a polynomial.

        In which r moves by less than an eighth of |r|, or of a quarter of the clearance.
        """
        axes = self.axes
        if not axes.some_round:
            return jnp.inf
        x, v, bound = (
            jnp.hypot(part[axes.first], part[axes.second])
            for part in (*motion, self._curvature(y))
        )
        most = jnp.maximum(x, self.radii / 4) / 8
        time = most / jnp.maximum(v + jnp.sqrt(bound * most), jnp.finfo(float).tiny)
        return jnp.min(jnp.where(axes.is_round, time, jnp.inf))

    def _curvature(self, y: Array) -> Float[Array, " d"]:
        """Return bounds of the second derivatives along the axes, without contacts."""
        half = y.shape[0] // 2
        sizes = jnp.hypot(y[:half], y[half:])
        return self.grown * (self.speeds @ sizes) + self.of_loads


def gaps_of(system: ModalForm, y: Array, longest: Number) -> Gaps:
    """Return the gaps of a system, for flights of at most `longest` seconds."""
    motion, values = system.motion, system.modes.eigenvalues
    half = system.modes.shapes.shape[1] // 2
    first = system.gap_rows
    rows = jnp.stack([first, values.rates_of(first)])
    positions = system.forced[..., :half]
    contacts, axes = motion.contacts, axes_of(motion.contacts)
    limits = axis_limits(contacts)
    radii = [jnp.ones(()) if c.has_linear_gap else c.gap for c in contacts]
    if contacts:
        directions = jnp.concatenate([contact.rows for contact in contacts])
        steady = positions @ directions.T
    else:
        steady = jnp.zeros((*positions.shape[:2], 0))
    sizes = jnp.sqrt(jnp.sum(steady**2, axis=0))
    amplitudes = jnp.hypot(*jnp.split(y, 2))
    largest = jnp.hypot(*jnp.split(first, 2, axis=-1))
    reach = axes.sizes(largest @ amplitudes + jnp.sum(sizes, axis=0) + jnp.abs(limits))
    growth = jnp.maximum(jnp.max(values.decay), 0.0)
    return Gaps(
        axes,
        jnp.stack(radii) if radii else jnp.zeros(0),
        rows,
        steady,
        limits,
        system.frequency,
        system.phase,
        largest * values.paces()[None] ** 2,
        jnp.sum(system.frequency[:, None] ** 2 * sizes, axis=0),
        jnp.exp(growth * longest),
        _TOUCH * reach,
    )


def safe_for(depth: Array, rate: Array, bound: Array) -> Float[Array, ""]:
    """Return a time, s, in which no level rises by its `depth`.

    From its `rate` and a `bound` of its second derivative, each (c,).
    """
    root = jnp.sqrt(rate**2 + 2 * bound * depth)
    bent = bound > 0
    # For a level that falls the same without cancellation.
    late = jnp.where(bent, (root - rate) / jnp.where(bent, bound, 1.0), jnp.inf)
    soon = 2 * depth / jnp.maximum(rate + root, jnp.finfo(float).tiny)
    return jnp.min(jnp.where(rate > 0, soon, late), initial=jnp.inf)


def pressed(
    depth: Float[Array, " c"], after: Float[Array, "t c"], touch: Float[Array, " c"]
) -> Bool[Array, " c"]:
    """Return whether contacts are closed from a time on, by their depths at later ones.

    One that touches, such as a body at rest on a stop, is closed if it is pressed when
    its gap first differs from 0: its rate before may be rounding.
    """
    differs = jnp.abs(after) > touch[None]
    first = jnp.take_along_axis(after, jnp.argmax(differs, axis=0)[None], axis=0)[0]
    touches = jnp.abs(depth) <= touch
    return (depth > touch) | (touches & jnp.any(differs, axis=0) & (first > 0))
