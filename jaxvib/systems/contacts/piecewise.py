"""Piecewise linear contact."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ...foundation.arrays import host_namespace
from ...foundation.quantity import Quantity, check_ascending, quantity
from ..base.event_form import ContactForm, Stop
from ..base.law import ContactLaw


class PiecewiseLinearContact(ContactLaw):
    r"""A piecewise linear elastic stop (a bump stop).

    With stiffnesses $k_0, k_1, \dots$ and depths $0 = b_0 < b_1 < \dots$ (m)

    $$F(z) = \sum_i (k_i - k_{i-1}) \max(z - b_i, 0), \qquad k_{-1} = 0,$$

    a force with slope $k_i$ between $b_i$ and $b_{i+1}$. Arrays of any shape are mapped
    elementwise. **Fields:** `stiffness`: all $k_i \ge 0$, in N/m, shape (m,); `depths`:
    $b_1, b_2, \dots$, in m, shape (m - 1,), ascending and above 0. **Raises:**
    `ValueError` for fields out of range, not ascending, or of inconsistent shapes.

    >>> bump = jv.PiecewiseLinearContact([1e4, 1e5], depths=[1e-3])
    >>> float(bump.force(2e-3))
    110.0
    """

    stiffness: Float[Quantity, " m"] = quantity(
        "stiffness", "N/m", "stiffnesses of the stop, in order of depth", at_least=0.0
    )
    depths: Float[Quantity, " m-1"] = quantity(
        "depths", "m", "penetrations where the stiffness changes", above=0.0
    )
    jumps = False

    def __check_init__(self) -> None:
        count, changes = jnp.shape(self.stiffness), jnp.shape(self.depths)
        if len(count) != 1 or changes != (count[0] - 1,):
            raise ValueError(
                f"stiffness, depths have shapes {count}, {changes}; allowed: (m,), (m - 1,)"
            )
        check_ascending("depths", self.depths, "m")

    def contradicts(self) -> Any:
        """Return whether `depths` do not ascend, of one or of a batch."""
        xp = host_namespace(self.depths)
        return xp.any(xp.diff(self.depths) <= 0, axis=-1)

    def parts(self) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """Return equivalent parallel linear stops: depths (m) and stiffnesses (N/m)."""
        nothing = jnp.zeros(1, self.depths.dtype)
        start = jnp.concatenate([nothing, self.depths])
        return start, jnp.diff(self.stiffness, prepend=0.0)

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        further = list(zip(*self.parts(), strict=True))[1:]
        stops = tuple(Stop(depth, stiffness) for depth, stiffness in further)
        return ContactForm(self.stiffness[0], stops=stops)

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        return self._sum(penetration, lambda over: over)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        return self._sum(penetration, lambda over: over**2 / 2)

    def _sum(self, penetration, of):
        depth, total = jnp.asarray(penetration), jnp.zeros(())
        for start, stiffness in zip(*self.parts(), strict=True):
            over = depth - start
            total = total + stiffness * of(jnp.where(over > 0, over, 0))
        return total
