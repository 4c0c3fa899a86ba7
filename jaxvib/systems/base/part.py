"""Base class of the parts of a system: contacts, loads, frictions, springs, elements."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from .freedoms import check_direction, is_nowhere
from .law import check_traits
from .system_repr import SystemRepr, with_field


class Part(SystemRepr):
    """A part that acts on a system along its `direction`, (n,), or `rows`, (k, n).

    `law` $F$ gives the force on the degrees of freedom; `name`: on parameter paths,
    instead of the position; `variation`: None, or the law of a relative change in time.
    `response` $M^{-1} n$: the accelerations by a unit force, of the parts of an equation
    of motion only.
    """

    response: Any = eqx.field(default=None, kw_only=True)

    # Not annotated, as fields would precede those of a subclass.
    kind = "a part"
    may_be_nowhere = False  # whether the direction may be 0
    variation = None

    def __check_init__(self: Any) -> None:
        check_traits(type(self.law))
        if not self.may_be_nowhere:
            check_direction(self.kind, self.direction)

    @property
    def rows(self: Any) -> Float[Array, "1 n"]:
        """The directions in which it acts."""
        return self.direction[None]

    def contradicts(self: Any) -> Any:
        """Return whether the direction is 0 but may not be, of one or of a batch."""
        return is_nowhere(self.direction) & (not self.may_be_nowhere)

    def acting(self: Any, inverse: Float[Array, "n n"]) -> Any:
        """Return the part of an equation of motion with this inverse mass matrix."""
        return with_field(self, "response", inverse @ self.direction)
