"""Base and stop motion: moving supports or stops, in coordinates relative to them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.quantity import Quantity, quantity
from ..foundation.suggestions import did_you_mean
from .base.part import Part
from .base.system import System
from .loads import Load

# Number of time derivatives to an acceleration, and the unit.
GIVEN: Mapping[str, tuple[int, str]] = {
    "acceleration": (0, "m/s^2"),
    "velocity": (1, "m/s"),
    "displacement": (2, "m"),
}


class BaseMotion(Part):
    r"""The motion $y(t)$ of the ground, or of another common base of all supports.

    With the displacements $q$ of the bodies relative to it, it is a load,

    $$M \ddot q + D \dot q + C q = -M \iota \ddot y,$$

    and is listed among the loads of a system. States are relative then;
    `absolute_states` converts them to absolute ones.

    **Fields:** `direction` $\iota$, shape (n,): the displacement of each degree of
    freedom when the system moves rigidly with a unit displacement of the support, 1 for
    translations along it; `motion`: a law of the displacement (m), the velocity (m/s)
    or the acceleration (m/s^2), as stated by `given`; `name`: on parameter paths,
    instead of the position among the loads. **Raises:** `ValueError` for another word
    in `given`, or a law that has no acceleration, such as a record of displacements.

    >>> shake = jv.BaseMotion([1.0, 1.0], jv.HarmonicLoad(0.5, 12.0), given="acceleration")
    >>> shaken = jv.ImpactSystem(tower, loads=(shake,))
    >>> round(float(jv.periodic_orbit(shaken).amplitude[1]), 5)
    0.0783
    """

    direction: Float[Quantity, " n"] = quantity(
        "direction", "", "displacement under a unit static motion of the support"
    )
    motion: Load
    given: str = eqx.field(static=True, default="acceleration")
    name: str | None = eqx.field(default=None, static=True)

    kind, may_be_nowhere = "a base motion", True

    def __check_init__(self) -> None:
        if self.given not in GIVEN:
            hint = did_you_mean(self.given, GIVEN)
            raise ValueError(f"given = {self.given!r}; allowed: {', '.join(GIVEN)}{hint}")
        _ = self.law

    @property
    def law(self) -> Load:
        """The acceleration as a law, in m/s^2."""
        derived = self.motion
        for _ in range(GIVEN[self.given][0]):
            derived = derived.rate()
        return derived

    @property
    def law_units(self) -> Mapping[str, str]:
        """The unit of the law in place of N."""
        return {"N": GIVEN[self.given][1]}

    def push(self, mass: Float[ArrayLike, "n n"]) -> Float[Array, " n"]:
        """Return the forces of a unit acceleration of the support, N."""
        return -jnp.asarray(mass) @ self.direction

    def displacement(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the displacement of the support, m, see `absolute_states`."""
        law = self.motion
        for _ in range(2 - GIVEN[self.given][0]):
            law = law.integral()
        return law.force(time)

    def velocity(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the velocity of the support, m/s, see `absolute_states`."""
        if self.given == "displacement":
            return self.motion.rate().force(time)
        law = self.motion
        return (law if self.given == "velocity" else law.integral()).force(time)


class StopMotion(Part):
    r"""The imposed motion $y(t)$ of stops and anchors, such as a cam under a follower.

    The supports stay at rest, the stops move: with $q = r + \iota y$ a contact of the
    direction $n$ has the penetration $n^T r - g = n^T q - n^T \iota\, y - g$, and so do
    nonlinear springs and frictions. It is listed among the loads,

    $$M \ddot r + D \dot r + C r = -M \iota \ddot y - D \iota \dot y - C \iota y.$$

    States are the relative $r$; `absolute_states` converts them. The force that the motion
    takes is that of the contacts and springs along it. **Fields:** `direction` $\iota$,
    shape (n,): 1 at a body whose stops move by $y$, 0 at those that meet none;
    `motion`: a law of the displacement, m; `name`: as of a `BaseMotion`. **Raises:**
    `ValueError` for a law without an acceleration.

    >>> lift = jv.FourierLoad(frequency=6.0, cosine=[-0.01], sine=[0.0], mean=0.01)
    >>> cam = jv.StopMotion([0.0, 1.0], lift, name="cam")
    >>> driven = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(cam,))
    >>> round(float(jv.absolute_states(driven, [1.0], [driven.rest()])[0, 1]), 6)
    0.000398
    """

    direction: Float[Quantity, " n"] = quantity(
        "direction", "", "displacement of the stops under a unit motion"
    )
    motion: Load
    name: str | None = eqx.field(default=None, static=True)

    kind, may_be_nowhere = "a motion of stops", True
    law_units: ClassVar[Mapping[str, str]] = {"N": "m"}

    def __check_init__(self) -> None:
        _ = self.motion.rate().rate()

    @property
    def law(self) -> Load:
        """The displacement as a law, m."""
        return self.motion

    def displacement(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the displacement of the stops, m."""
        return self.motion.force(time)

    def velocity(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the velocity of the stops, m/s."""
        return self.motion.rate().force(time)


def pushes(load: Any, matrices: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the forces of a load: directions, in N per unit, and their laws."""
    if not isinstance(load, StopMotion):
        return [(load.push(matrices[0]), load.law)]
    mass, damping, stiffness = (-jnp.asarray(m) @ load.direction for m in matrices)
    rate = load.motion.rate()
    return [(mass, rate.rate()), (damping, rate), (stiffness, load.motion)]


def absolute_states(
    system: System,
    times: Real[Array, " times"] | np.ndarray,
    states: Real[Array, "times state"] | np.ndarray,
) -> Float[Array, "times state"]:
    r"""Return absolute states: $(q + \iota y, \dot q + \iota \dot y)$.

    If velocities or accelerations are given, the displacements have no mean.
    **Raises:** `ValueError` for a system without base motions, or one whose law has no
    such displacement.

    >>> shake = jv.BaseMotion([1.0, 1.0], jv.HarmonicLoad(0.01, 12.0), given="displacement")
    >>> shaken = jv.ImpactSystem(tower, loads=(shake,))
    >>> jv.absolute_states(shaken, np.array([0.0]), np.zeros((1, 4))).tolist()
    [[0.01, 0.01, 7.34788e-18, 7.34788e-18]]
    """
    moving = [load for load in system.loads if isinstance(load, BaseMotion | StopMotion)]
    if not moving:
        raise ValueError("loads have no BaseMotion or StopMotion: states are absolute")

    def at(time, state):
        for base in moving:
            there = jnp.stack([base.displacement(time), base.velocity(time)])
            state = state + (there[:, None] * base.direction[None]).reshape(-1)
        return state

    times, states = jnp.asarray(times, float), jnp.asarray(states, float)
    return jax.vmap(at)(times, states)
