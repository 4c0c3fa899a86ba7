"""Nonlinear springs and dampers."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ...foundation.quantity import quantity
from ..freedoms import check_direction, is_nowhere
from ..law import LoadLaw, SpringLaw, check_traits
from ..system_repr import SystemRepr
from ..variation import variation_field


class NonlinearSpring(SystemRepr):
    r"""A nonlinear spring-damper: the force on the degrees of freedom is $-n F$.

    $F = F(e, \dot e)$ with the elongation $e = n^T q$ from static equilibrium, in
    addition to the linear system. **Fields:** `direction` $n$, shape (n,): 1 and -1 at
    the degrees of freedom that it joins, 1 alone to the ground; `law`: see `SpringLaw`;
    `name`: on parameter paths, instead of the position among the springs; `variation`
    $v(t)$: a load law without a unit, by which the force varies in time,
    $F = [1 + v(t)]\,F(e, \dot e)$. **Raises:** `ValueError` for a direction of zeros.

    >>> cubic = jv.NonlinearSpring([1.0, 0.0], jv.PolynomialLaw([0.0, 0.0, 1e6]), "cubic")
    >>> hardened = jv.ImpactSystem(tower, loads=stopped.loads, springs=(cubic,))
    >>> "springs.cubic.law.coefficients" in jv.parameters(hardened)
    True
    >>> pump = jv.HarmonicLoad(amplitude=0.2, frequency=9.0)
    >>> jv.NonlinearSpring([1.0, 0.0], jv.PolynomialLaw([50.0]), "pumped", variation=pump)
    NonlinearSpring: direction [1, 0]
      law        coefficients [50] N/m^k
      variation  amplitude 0.2, frequency 9 rad/s, phase 0 rad
    """

    direction: Float[Array, " n"] = quantity("direction", "", "direction of the spring")
    law: SpringLaw
    name: str | None = eqx.field(default=None, static=True)
    variation: LoadLaw | None = variation_field()

    def __check_init__(self):
        check_traits(type(self.law))
        check_direction("a spring", self.direction)

    def contradicts(self) -> Any:
        """Return whether the direction is zero everywhere, of one or of a batch."""
        return is_nowhere(self.direction)
