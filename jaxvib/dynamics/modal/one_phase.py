"""One phase of a motion with linear contacts: its modes, and steps up to its end."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.types import Number
from .collocation import turn_less_one, turned
from .gaps import safe_for
from .modal_form import ModalForm
from .phases import TERMS, Phases

# Limits endless motions: steps are a quarter of a period unless contacts shorten them.
MOST_STEPS = 1_000_000
# A level closer to zero than this, relative to its terms, is at an event.
_TOUCH = 1e-13
# Steps along a series, which gain digits by a factor of 2 each.
_STEPS = 16
# The place of a bound, the power of the load's frequency in it, and its divisor.
_TERMS_OF_BOUNDS = {
    0: (0, 0, 1.0),
    2: (1, 2, 1.0),
    TERMS: (2, TERMS, float(math.factorial(TERMS))),
}


class Flight(NamedTuple):
    """A motion in a phase: amplitudes y, and `levels` (K, c), their series from here.

    The level of a contact is its penetration while it is open, with the sign changed while
    it is closed. `flips` (c,): those that open or close now. `age`: the time since the
    phase began, s.
    """

    time: Any
    age: Any
    y: Any
    levels: Any
    flips: Any
    steps: Any


class Phase(NamedTuple):
    """The motion while some contacts are `closed`.

    `sides` (c,): 1 for open contacts, else -1; `touch` (c,), m; `grown`: the growth of
    unstable modes in the `longest` step, s.
    """

    system: ModalForm
    linear: Phases
    sides: Any
    touch: Any
    grown: Any
    longest: Any

    def steady(self, time: Number) -> Float[Array, "2 state"]:
        """Return the steady state and its rate."""
        angle = self.system.frequency * time + self.system.phase
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        pace = self.system.frequency
        parts = [jnp.stack([cosine, sine]), jnp.stack([-pace * sine, pace * cosine])]
        value, rate = (jnp.tensordot(part, self.linear.forced, 2) for part in parts)
        return jnp.stack([value + self.linear.still, rate])

    def state(self, y: Array, time: Number) -> Float[Array, " state"]:
        """Return the state with amplitudes y at a time."""
        return y @ self.linear.modes.shapes + self.steady(time)[0]

    def rate(self, y: Array, time: Number) -> Float[Array, " state"]:
        """Return the rate of the state."""
        modes = self.linear.modes
        return modes.eigenvalues.of(y) @ modes.shapes + self.steady(time)[1]

    def begun(self, time: Array, y: Array, steps: Array) -> Flight:
        """Return a flight at its start."""
        levels = self.levels(y, time)
        quiet = jnp.zeros(levels.shape[1], bool)
        return Flight(time, jnp.zeros(()), y, levels, quiet, steps)

    def levels(self, y: Array, time: Array) -> Float[Array, "k c"]:
        """Return the series of the levels."""
        series, (cosines, sines) = self.linear.series, self.linear.steady
        frequency = self.system.frequency
        angle = frequency * time + self.system.phase
        cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        # Derivatives of the loads' part: even ones are this, odd ones that, up to signs.
        even, odd = cosines * cosine + sines * sine, sines * cosine - cosines * sine
        powers = [jnp.ones_like(frequency)]
        for k in range(1, TERMS):
            powers.append(powers[-1] * frequency / k)
        signs = [(-1.0) ** (k // 2) for k in range(TERMS)]
        loads = jnp.stack(
            [
                sign * (power @ (odd if k % 2 else even))
                for k, (sign, power) in enumerate(zip(signs, powers, strict=True))
            ]
        )
        found = (y @ series.reshape(y.shape[0], -1)).reshape(loads.shape) + loads
        limits = jnp.concatenate([self.linear.limits[None], jnp.zeros_like(loads[1:])])
        return self.sides[None] * (found - limits)

    def bound(self, y: Array, term: int) -> Float[Array, " c"]:
        """Return bounds of the levels' term 0, 2 (twice) or K at any time."""
        place, power, scale = _TERMS_OF_BOUNDS[term]
        sizes = jnp.hypot(*jnp.split(y, 2))
        loads = jnp.sqrt(jnp.sum(self.linear.steady**2, axis=0))
        own = self.linear.bounds[place] @ sizes
        return self.grown * own + self.system.frequency**power / scale @ loads

    def quiet_for(self, flight: Flight) -> Float[Array, ""]:
        """Return a time, s, in which certainly no contact opens or closes."""
        bend, rest = self.bound(flight.y, 2), self.bound(flight.y, TERMS)

        def along(time):
            """Return the distance from the event at a time, its rate, and its error."""
            value, slope = flight.levels[-1], jnp.zeros_like(rest)
            for term in flight.levels[-2::-1]:
                slope = slope * time + value
                value = value * time + term
            error = rest * time**TERMS
            return -value - error, slope + TERMS * rest * time ** (TERMS - 1), error

        def goes_on(last):
            time, depth, _, error, tries = last
            near = jnp.all((depth > self.touch) & (depth > error))
            return near & (time < self.longest) & (tries < _STEPS)

        def further(last):
            time, depth, rate, _, tries = last
            time = jnp.minimum(time + safe_for(depth, rate, bend), self.longest)
            return time, *along(time), tries + 1

        depth, rate = jnp.maximum(-flight.levels[0], self.touch), flight.levels[1]
        time = jnp.minimum(safe_for(depth, rate, bend), self.longest)
        first = time, *along(time), jnp.asarray(0)
        return jax.lax.while_loop(goes_on, further, first)[0]

    def changes_after(self, changes: Array, age: Array) -> Array:
        """Return changes of the state at an age of the phase, from those at its start.

        Of one (2n,), or of columns (2n, m).
        """
        modes, duals = self.linear.modes, self.linear.to_modes
        one = changes.ndim == 1
        y = changes @ duals if one else duals.T @ changes
        moved = turned(turn_less_one(modes.eigenvalues, age), y)
        return moved @ modes.shapes if one else modes.shapes.T @ moved

    def flown(self, last: Flight, until: Array) -> Flight:
        """Advance all modes exactly, up to where a contact may open or close."""
        left, wanted = until - last.time, self.quiet_for(last)
        length = jnp.minimum(wanted, left)
        time = jnp.where(wanted >= left, until, last.time + length)
        turn = turn_less_one(self.linear.modes.eigenvalues, length)
        y = turned(turn, last.y)
        levels = self.levels(y, time)
        flips = (levels[0] >= -self.touch) & (levels[1] > 0)
        return Flight(time, last.age + length, y, levels, flips, last.steps + 1)


def place_of(closed: Array) -> Array:
    """Return the place of a set of closed contacts."""
    return jnp.sum(jnp.where(closed, jnp.asarray(2 ** np.arange(closed.shape[0])), 0))


def phase_of(
    system: ModalForm, phases: Phases, closed: Array, state: Array, time: Array
) -> tuple[Phase, Array]:
    """Return the motion with some contacts closed, and its amplitudes for a state."""
    place, longest = place_of(closed), system.steps.length[0]
    linear = jax.tree.map(lambda part: part[place], phases)
    sides, nothing = jnp.where(closed, -1.0, 1.0), jnp.zeros(closed.shape)
    phase = Phase(system, linear, sides, nothing, nothing, longest)
    fastest = jnp.maximum(jnp.max(linear.modes.eigenvalues.decay), 0.0)
    phase = phase._replace(grown=jnp.exp(fastest * longest))
    y = (state - phase.steady(time)[0]) @ linear.to_modes
    reach = phase.bound(y, 0) + jnp.abs(linear.limits)
    return phase._replace(touch=_TOUCH * reach), y


def flown_until(phase: Phase, flight: Flight, until: Array) -> Flight:
    """Return the flight up to a time, or to the first event."""

    def goes_on(last: Flight):
        return (last.time < until) & ~jnp.any(last.flips) & (last.steps < MOST_STEPS)

    return jax.lax.while_loop(goes_on, lambda last: phase.flown(last, until), flight)
