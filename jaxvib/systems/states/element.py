"""Elements with states of their own, attached to bodies."""

from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...foundation.quantity import OptionalQuantity, Quantity, quantity
from ...foundation.types import Number
from ..base.freedoms import check_direction, is_nowhere
from ..base.law import Law
from ..base.part import Part


class StateLaw(Law):
    r"""A force that depends on states $s$ with $\dot s = g(s, e, \dot e, t)$.

    To add one, implement the two methods and name the `states`, optionally with
    `units`. Time must act with the period of the bodies' loads.
    """

    states: ClassVar[tuple[str, ...]]
    methods = ("states", "rate", "force")

    def rate(self, states: Array, elongation: Array, speed: Array, time: Number) -> Array:
        """Return the rates of the states, at an elongation, m, and its rate, m/s."""
        raise NotImplementedError

    def force(self, states: Array, elongation: Array, speed: Array, time: Number) -> Array:
        """Return the restoring force, N."""
        raise NotImplementedError


class StateElement(Part):
    r"""An element with states: the force on the degrees of freedom is $-n F$.

    $F$ and the rates of its states depend on them, on the elongation $e = m^T q$ from
    static equilibrium and its rate, and on the time.

    **Fields:** `direction` $n$, shape (n,): 1 and -1 at the degrees of freedom that it
    joins, 1 alone to the ground; `law`: see `StateLaw`; `name`: on parameter paths,
    instead of the position among the elements; `senses` $m$, shape (n,): the direction
    of the elongation, if not $n$, as of a controller that moves another body than it
    measures. **Raises:** `ValueError` for a direction of zeros.

    >>> coil = jv.CoilCircuit(inductance=0.1, resistance=50.0, coupling=3.0)
    >>> jv.StateElement([1.0, 0.0], coil, "coil")
    StateElement: direction [1, 0]
      law  inductance 0.1 H, resistance 50 ohm, coupling 3 N/A
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of the force")
    law: StateLaw
    name: str | None = eqx.field(default=None, static=True)
    senses: OptionalQuantity[Float[Array, " n"]] = quantity(
        "senses", "", "direction of the elongation", optional=True
    )

    kind = "an element"

    def __check_init__(self) -> None:
        check_direction(self.kind, self.senses, "senses")

    def contradicts(self) -> Any:
        """Return whether a direction is zero everywhere, of one or of a batch."""
        return is_nowhere(self.direction) | is_nowhere(self.measured)

    @property
    def measured(self) -> Any:  # of one system or of a batch
        """The direction of the elongation."""
        return self.direction if self.senses is None else self.senses
