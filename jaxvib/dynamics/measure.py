"""Measures: rates along a motion, which every engine integrates with it."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.types import Number
from ..systems.base.equation import Equation
from ..systems.impact import EquationOfMotion


class Measure(eqx.Module):
    """Rates along the motions of a system, with arrays of that system as fields.

    To add one, write a class with `rates`, `sizes` unless they are powers, and `of` if
    it has fields. Event-driven motions integrate rates by Gauss quadratures on their
    steps; time stepping integrates them as further states, under its error control.
    """

    @classmethod
    def of(cls, system: Any) -> "Measure":
        """Return the measure of a system."""
        return cls()

    @abc.abstractmethod
    def rates(
        self,
        equation: Any,
        time: Number,
        state: Float[Array, " state"],
        borne: Callable[[], Any] = tuple,
    ) -> Float[Array, " rates"]:
        """Return the rates; `borne()`: the force R of each friction, N, in that state."""

    def sizes(
        self, equation: Equation, start: Float[Array, " state"], pace: Number, time: Number
    ) -> Float[Array, "..."]:
        """Return the sizes of the integrals, to which errors are relative beside theirs.

        Of a motion with the sizes `start`, which accumulates them in the time `pace`, s,
        and is at `time` s at most. Here those of powers: the size of the energy, J. An
        integral has none of its own before its rates begin, such as a contact's force.
        """
        bodies = bodies_of(equation)
        return jnp.max(bodies.inertia * velocities_in(bodies, start) ** 2)

    def stored(self, equation: Any, state: Float[Array, " state"]) -> Array | None:
        """Return energies, J, whose changes are no part of the integrals of powers."""
        return None

    def at_impacts(
        self, equation: Any, losses: Sequence[Number]
    ) -> Float[Array, " rates"] | None:
        """Return what impacts at hard stops add, from the energies that they lose, J."""
        return None


def bodies_of(equation: Any) -> EquationOfMotion:
    """Return the equation of the bodies inside of another."""
    while not isinstance(equation, EquationOfMotion):
        equation = equation.moved
    return equation


def velocities_in(bodies: EquationOfMotion, state: Array) -> Array:
    """Return the part of a state, or of its sizes, that are velocities of bodies."""
    size = bodies.inertia.shape[0]
    return state[size : 2 * size]
