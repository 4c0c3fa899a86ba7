"""An element that pulls by how far it is stretched, and how fast."""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ..._quantity import quantity
from ..printed import Printed


@runtime_checkable
class SpringLaw(Protocol):
    """A force by an elongation, and by its rate.

    To add one, write an `equinox.Module` whose `force` takes an elongation, m, or an
    elongation and its rate, m/s, and returns the force, N, that pulls it back; its numbers
    declared by `quantity`. `jumps = False` says that the force is continuous. Engines that
    step take any law, "event" polynomials.
    """

    def force(self, *motion) -> Array:
        """Return the force, N, at an elongation, m (and its rate, m/s)."""
        ...


class NonlinearSpring(Printed):
    r"""A spring, a damper or both of any law: the force on what moves is $-n F$.

    $F = F(e, \dot e)$ with the elongation $e = n^T q$ from static equilibrium, beside what
    the linear system has there. **Fields:** `direction` $n$, shape (n,): 1 and -1 at the
    degrees of freedom that it joins, 1 alone to the ground; `law`: see `SpringLaw`; `name`:
    on parameter paths, instead of the position among the springs. **Raises:** `ValueError`
    for a direction of zeros.

    >>> cubic = jv.NonlinearSpring([1.0, 0.0], jv.PolynomialLaw([0.0, 0.0, 1e6]), "cubic")
    >>> hardened = jv.ImpactSystem(tower, loads=stopped.loads, springs=(cubic,))
    >>> "springs.cubic.law.coefficients" in jv.parameters(hardened)
    True
    """

    direction: Float[Array, " n"] = quantity("direction", "", "direction of the spring")
    law: SpringLaw
    name: str | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        traced = isinstance(self.direction, jax.core.Tracer)
        if not traced and not np.asarray(self.direction).any():
            raise ValueError("direction of a spring = 0 everywhere; allowed: a "
                             "direction in which the system can move")  # fmt: skip
