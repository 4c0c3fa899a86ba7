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


class OwnBranch:
    """The branch of a system's own motion, from that motion on.

    `own`: the system's value of the parameter; distances are relative to its range, of
    length `span`, and to the largest states.
    """

    def __init__(self, branch: Any, motion: Any, own: float, span: float):
        self.branch, self.values = branch, np.asarray(branch.parameter)
        states = np.asarray(branch.states)
        self.units = np.append(np.abs(states).max(axis=0, initial=1e-300), span)
        self.points = np.column_stack([states, self.values]) / self.units
        start = np.append(np.asarray(motion.state), own) / self.units
        self._own = int(np.argmin(distances(self.points, start)))

    def way(self, side: int) -> tuple[list[int], int]:
        """Return the points on which the parameter moves to a side, 1 or -1.

        From that of the own motion to where the parameter turns back, and the next point
        there, -1 at an end of the branch.
        """
        way = [self._own]
        for step in (1, -1):
            beyond = self._own + step
            while 0 <= beyond < len(self.values):
                if side * (self.values[beyond] - self.values[way[-1]]) <= 0:
                    break
                way.append(beyond)
                beyond += step
            if len(way) > 1:
                return way, beyond if 0 <= beyond < len(self.values) else -1
        return way, -1  # the first point is at a bound, or the branch turns there


def distances(points: np.ndarray, point: np.ndarray) -> Any:
    """Return the largest differences of points (..., unknowns) from one."""
    return np.abs(points - point).max(axis=-1)
