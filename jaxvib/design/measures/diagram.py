"""The branch of a system's own motion along a parameter, for measures of diagrams."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...branches import (
    Branch,
    EquilibriumBranch,
    bifurcation_point,
    continue_equilibrium,
    continue_orbit,
)
from ...orbits import equilibrium, periodic_orbit
from ...systems.fields import is_autonomous
from ...systems.parameters import replace
from .orbit import OrbitAnalysis


@dataclasses.dataclass(frozen=True)
class Diagram:
    """The branch of a system's own motion along a parameter.

    The motion is the periodic orbit of a system with periodic loads, and the
    equilibrium of an autonomous system. It is the one near a `guess` if that is given,
    by default the one after a transient, or near the state of rest.
    """

    path: str
    bounds: tuple[float, float]
    periods: int = 1
    guess: tuple[float, ...] | None = None

    @classmethod
    def of(cls, path: str, bounds, periods: int, guess) -> "Diagram":
        """Return the diagram, hashable, of the arguments of a measure."""
        state = None if guess is None else tuple(map(float, np.ravel(guess)))
        return cls(path, tuple(bounds), periods, state)

    def motion(self, system: Any, guess: Any = None) -> Any:
        """Return the motion; its reason code may be a failure."""
        guess = self.guess if guess is None else guess
        guess = None if guess is None else jnp.asarray(guess)
        if is_autonomous(system):
            return equilibrium(system, guess, throw=False)
        return periodic_orbit(system, guess, self.periods, throw=False)

    def branch(self, system: Any, motion: Any) -> Branch | EquilibriumBranch:
        """Return the branch of a motion, with its bifurcations."""
        if is_autonomous(system):
            return continue_equilibrium(system, motion, self.path, self.bounds)
        return continue_orbit(system, motion, self.path, self.bounds, method="arclength")

    def point(self, system: Any, near: Any) -> Any:
        """Return the bifurcation near another one, differentiable by the system."""
        there = replace(system, {self.path: jax.lax.stop_gradient(near.parameter)})
        return bifurcation_point(there, near, near.kind, self.path, throw=False)

    def first_guess(self, system: Any) -> Array:
        """Return the given guess, or a state after a transient, or that of rest."""
        if self.guess is not None:
            return jnp.asarray(self.guess)
        if is_autonomous(system):
            return system.rest()
        return OrbitAnalysis(self.periods).start(system)
