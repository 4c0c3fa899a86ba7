"""Distribution of a mode's energy over modules and degrees of freedom."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..foundation.quantity import result_field
from ..foundation.result_repr import ResultRepr
from ..systems.assembly import Assembled
from ..systems.linear_part import linear_part
from ..systems.roles import Linear
from .modal import natural_modes

_NAMED = 2  # modules and degrees of freedom listed in `describe`


class EnergyShares(ResultRepr):
    """Shares of each mode's energy; columns add up to 1 (0 for modes without strain).

    >>> jv.modes.energy_shares(tower).module_names
    ('ground-first', 'first-roof')
    """

    module_names: tuple[str, ...] = eqx.field(static=True)
    freedom_names: tuple[str, ...] = eqx.field(static=True)
    frequencies: Float[Array, " mode"] = result_field(
        "natural frequency", "rad/s", ("mode",)
    )
    potential: Float[Array, "module mode"] = result_field(
        "share of the potential energy", "", ("module", "mode")
    )
    kinetic: Float[Array, "freedom mode"] = result_field(
        "share of the kinetic energy", "", ("freedom", "mode")
    )

    def describe(self, mode: int) -> str:
        """Return a line with the largest energy shares of a mode."""
        parts = []
        for names, shares in (
            (self.module_names, self.potential),
            (self.freedom_names, self.kinetic),
        ):
            column = np.asarray(shares[:, mode])
            order = np.argsort(-column, kind="stable")[:_NAMED]
            listed = [f"{names[i]} {column[i]:.0%}" for i in order if column[i] >= 0.005]
            parts.append(", ".join(listed) or "none")
        value = float(self.frequencies[mode])
        return f"{value:.6g} rad/s: strained {parts[0]}; moving {parts[1]}"


def energy_shares(system: Linear) -> EnergyShares:
    r"""Return the shares of modules and degrees of freedom in the energy of each mode.

    A module's share is $\tfrac12 \varphi^T c \varphi$ over the mode's potential energy
    $\omega^2/2$, a degree of freedom's is $\tfrac12 \varphi_i (M \varphi)_i$ over the
    kinetic energy. Works under `jit` and `vmap`. **Raises:** `ValueError` for a system
    that is not an assembly of modules.

    >>> shares = jv.modes.energy_shares(tower)
    >>> shares.potential.round(3).tolist()
    [[0.667, 0.333], [0.333, 0.667]]
    """
    name, system = type(system).__name__, linear_part(system)
    if not isinstance(system, Assembled):
        raise ValueError(
            f"{name} is not an assembly of modules; allowed: an assembled system"
        )
    modes = natural_modes(system)
    shapes = modes.shapes
    weights, rows, owners = system.square_rows("potential")
    strained = weights[:, None] * (rows @ shapes) ** 2
    potential = jnp.zeros((len(system.modules), shapes.shape[1])).at[owners].add(strained)
    square = jnp.broadcast_to(modes.frequencies**2, potential.shape)
    potential = jnp.where(square > 0, potential / jnp.where(square > 0, square, 1.0), 0.0)
    kinetic = shapes * (system.mass @ shapes)
    return EnergyShares(
        system.module_names(),
        system.names,
        modes.frequencies,
        potential,
        kinetic,
    )
