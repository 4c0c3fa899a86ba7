"""Where the energy of a mode sits: in which modules and on which freedoms."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._quantity import reported
from ..systems.assembly import Assembled
from .modal import natural_modes


class EnergyShares(eqx.Module):
    """Shares of each mode's energy, columns that add up to 1 (0 without strain)."""

    module_names: tuple[str, ...] = eqx.field(static=True)
    freedom_names: tuple[str, ...] = eqx.field(static=True)
    frequencies: Float[Array, " mode"] = reported("natural frequency", "rad/s", ("mode",))
    potential: Float[Array, "module mode"] = reported(
        "share of the potential energy", "", ("module", "mode")
    )
    kinetic: Float[Array, "freedom mode"] = reported(
        "share of the kinetic energy", "", ("freedom", "mode")
    )

    def describe(self, mode: int, count: int = 2) -> str:
        """Return a line that names where a mode's energy sits, largest shares first."""
        parts = []
        for names, shares in (
            (self.module_names, self.potential),
            (self.freedom_names, self.kinetic),
        ):
            column = np.asarray(shares[:, mode])
            order = np.argsort(-column, kind="stable")[:count]
            listed = [f"{names[i]} {column[i]:.0%}" for i in order if column[i] >= 0.005]
            parts.append(", ".join(listed) or "none")
        value = float(self.frequencies[mode])
        return f"{value:.6g} rad/s: strained {parts[0]}; moving {parts[1]}"


def energy_shares(system: Assembled) -> EnergyShares:
    r"""Return which modules are strained and which freedoms move in each mode.

    A module's share is $\tfrac12 \varphi^T c \varphi$ over the mode's potential energy
    $\omega^2/2$, a freedom's is $\tfrac12 \varphi_i (M \varphi)_i$ over the kinetic
    energy. On the host.
    """
    modes = natural_modes(system)
    shapes = np.asarray(modes.shapes)
    padded = np.vstack([np.zeros(shapes.shape[1]), shapes])
    position = {name: i + 1 for i, name in enumerate(system.names)}
    potential = np.zeros((len(system.modules), shapes.shape[1]))
    for row, module in zip(potential, system.modules, strict=True):
        local = padded[[position.get(name, 0) for name in module.freedoms]]
        for weight, coefficients in module.potential():
            strain = np.array([float(c) for c in coefficients]) @ local
            row += float(weight) * strain**2
    square = np.asarray(modes.frequencies) ** 2
    potential = np.where(square > 0, potential / np.where(square > 0, square, 1.0), 0.0)
    kinetic = shapes * (np.asarray(system.mass) @ shapes)
    return EnergyShares(
        system.module_names(),
        system.names,
        modes.frequencies,
        jnp.asarray(potential),
        jnp.asarray(kinetic),
    )
