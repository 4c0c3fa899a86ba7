"""Nonlinear springs and dampers."""

import equinox as eqx
from jaxtyping import Float

from ...foundation.quantity import Quantity, quantity
from ..base.law import LoadLaw, SpringLaw
from ..base.part import Part
from ..variation import variation_field


class NonlinearSpring(Part):
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

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of the spring")
    law: SpringLaw
    name: str | None = eqx.field(default=None, static=True)
    variation: LoadLaw | None = variation_field()

    kind = "a spring"
