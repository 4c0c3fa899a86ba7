"""Options of event-driven integration."""

from typing import Any, NamedTuple

from ..measure import Measure
from .scalar_system import ORDER


class Request(NamedTuple):
    """Options of `integrate_events`: outputs besides the state, and differentiation.

    With a `grazing` depth, m, contacts, forces and displacements are observed, starting
    from `observables` if given. The `measure` is integrated along the motion.

    `differentiated`: whether sensitivities are computed. Flights then have shorter
    steps: the series of sensitivities can be longer than the motion's own.

    `steady`: whether only first derivatives are requested. They then follow the linear
    equations along the motion, at half the cost: the time elapsed in a Hertz contact
    has no derivative, as accelerations do not jump at its end. The time of its onset
    has one: otherwise velocities in a rigid contact would change by its great
    accelerations times that derivative, which cancel at its end. No effect with hard
    stops.

    `order`: of the Taylor steps of flights; in contact it is two thirds of that.
    """

    grazing: Any = None
    observables: Any = None
    measure: Measure | None = None
    differentiated: bool = False
    steady: bool = False
    order: int = ORDER
