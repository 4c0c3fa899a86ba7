"""How dry friction falls from its static limit to the kinetic one with the speed."""

import abc
from collections.abc import Callable
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from ..base.event_form import product_term
from ..base.law import Law


class SlidingLaw(Law):
    """The part of the excess of static over kinetic friction that is left while sliding.

    It is 1 at rest and an analytic function of the speed $|w|$. To add one, implement
    the three methods.
    """

    methods: ClassVar[tuple[str, ...]] = ("left", "steepest", "series")

    @abc.abstractmethod
    def left(self, excess: Number, speed: Number) -> Float[Array, ""]:
        """Return what is left of an excess at a speed, m/s, of either sign."""

    @abc.abstractmethod
    def steepest(self, excess: Number) -> Float[Array, ""]:
        """Return the largest fall of an excess with the speed, by m/s."""

    @abc.abstractmethod
    def series(self) -> Callable[[Number], Number]:
        """Return a function from each next coefficient of $|w|$ to that of the part left.

        It is called with the coefficients of a power series in time, in their order.
        """


class StribeckCurve(SlidingLaw):
    r"""Stribeck's curve $1 / (1 + |w| / v_s)$.

    **Fields:** `speed` $v_s > 0$ (m/s), at which half of the excess is left. **Source:**
    Leine and Nijmeijer, *Dynamics and Bifurcations of Non-Smooth Mechanical Systems*
    (2004), section 3.2.
    """

    speed: Float[Quantity, ""] = quantity("speed", "m/s", "Stribeck velocity", above=0.0)

    def left(self, excess: Number, speed: Number) -> Float[Array, ""]:
        """Return what is left of an excess at a speed, m/s, of either sign."""
        return excess / (1 + jnp.abs(speed) / self.speed)

    def steepest(self, excess: Number) -> Float[Array, ""]:
        """Return the largest fall of an excess with the speed, by m/s: that at rest."""
        return excess / self.speed

    def series(self) -> Callable[[Number], Number]:
        """Return the series of $1/g$, $g = 1 + |w|/v_s$, from $g (1/g) = 1$."""
        slowness, inverse = [], []

        def term(speed):
            slowness.append(speed / self.speed if inverse else 1 + speed / self.speed)
            if not inverse:
                inverse.append(1 / slowness[0])
            else:
                rest = product_term(slowness[1:], inverse, len(inverse) - 1)
                inverse.append(-inverse[0] * rest)
            return inverse[-1]

        return term
