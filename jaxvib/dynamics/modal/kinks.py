"""Kinks: depths and rates of closed contacts at which slopes of their forces jump."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...systems.base.event_form import form_of
from ...systems.base.law import trait
from .collocation import PLACES
from .crossing import bracket
from .gaps import Gaps

# A kink is passed where a level is on its other side by more than this many `touch`: the
# force beyond is wrong by less than rounding, and steps that end at kinks reach them.
_NEAR = 100.0
# The distance of rates, relative to that of the kink, that is as near.
_NEAR_RATE = 1e-11


class Kinks(NamedTuple):
    """Levels with zeros at the kinks of all contacts, in a step.

    `levels` (k, m) at the step's nodes and ends, 0 for open contacts; `near` (m,): the
    distance from zero that is no side.
    """

    levels: Float[Array, "k m"]
    near: Float[Array, " m"]

    def first(self) -> Float[Array, ""]:
        """Return the first place in the step where a level changes sides, inf if none."""
        far = jnp.abs(self.levels) > self.near[None]
        every = jnp.arange(self.near.size)
        # One that begins at a kink has the side on which it goes on.
        side = jnp.sign(self.levels[jnp.argmax(far, axis=0), every])
        levels = side[None] * self.levels
        found = bracket(levels, self.near)
        return jnp.min(jnp.where(found.found, found.place(levels), jnp.inf))

    def reached(self) -> Bool[Array, ""]:
        """Return whether the step ends at a kink."""
        return jnp.any((jnp.abs(self.levels[0]) > self.near) & self._at_end())

    def soon(self, length: Array) -> Float[Array, ""]:
        """Return when the next level is zero by its last slope, s; inf if not soon."""
        last, end = self.levels[-2], self.levels[-1]
        slope = (end - last) / ((1 - PLACES[-1]) * length)
        nears = (end * slope < 0) & ~self._at_end()
        time = jnp.min(jnp.where(nears, -end / jnp.where(nears, slope, 1.0), jnp.inf))
        return jnp.where(time < length, time, jnp.inf)

    def _at_end(self) -> Bool[Array, " m"]:
        return jnp.abs(self.levels[-1]) <= self.near


def kinks_of(
    contacts: Sequence, gaps: Gaps, closed: Bool[Array, " c"], path: Float[Array, "2 k d"]
) -> Kinks | None:
    """Return the levels of kinks along a path, None if no law has one."""
    jumps = [_jumps(contact.law) for contact in contacts]
    if not any(depths or rates for depths, rates in jumps):
        return None
    motion = gaps.penetrations(path)
    levels, near = [], []
    for c, kinds in enumerate(jumps):
        for kind, (at, values) in enumerate(zip(motion, kinds, strict=True)):
            for value in values:
                levels.append(jnp.where(closed[c], at[:, c] - value, 0.0))
                distance = _NEAR_RATE * jnp.abs(value)
                near.append(distance if kind else _NEAR * gaps.touch[c])
    return Kinks(jnp.stack(levels, axis=1), jnp.stack(near))


def _jumps(law: Any) -> tuple[list, list]:
    """Return the depths, m, and the rates, m/s, at which the slope of a force jumps."""
    form, release_rate = form_of(law), trait(law, "release_rate")
    depths = [] if form is None else [stop.depth for stop in form.stops]
    return depths, [] if release_rate is None else [release_rate()]
