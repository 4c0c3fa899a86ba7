"""Distribution of a mode's energy over modules and degrees of freedom."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..drawing import Plottable
from ..drawing.plottable import ResultRepr
from ..ensemble import Reason
from ..foundation.quantity import result_field
from ..systems.assembly import Assembled
from ..systems.base.roles import Linear
from ..systems.impact import LinearSystem
from ..systems.linear_part import linear_part
from .modal import damped_modes, natural_modes

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


class ModeTable(Plottable):
    """Undamped modes with energy shares, and the damped eigenvalues.

    One eigenvalue of each conjugate pair is listed, ascending in modulus.
    """

    frequencies: Float[Array, " mode"] = result_field(
        "natural frequency", "rad/s", ("mode",)
    )
    damping_ratios: Float[Array, " mode"] = result_field(
        "damping ratio of the undamped mode", "", ("mode",)
    )
    shapes: Float[Array, "freedom mode"] = result_field(
        "mode shape of unit modal mass", "", ("freedom", "mode")
    )
    potential_shares: Float[Array, "module mode"] = result_field(
        "share of the potential energy", "", ("module", "mode")
    )
    kinetic_shares: Float[Array, "freedom mode"] = result_field(
        "share of the kinetic energy", "", ("freedom", "mode")
    )
    decays: Float[Array, " eigenvalue"] = result_field(
        "decay rate, -Re of the damped eigenvalue", "1/s", ("eigenvalue",)
    )
    damped_frequencies: Float[Array, " eigenvalue"] = result_field(
        "damped frequency, Im of the eigenvalue", "rad/s", ("eigenvalue",)
    )
    rotations: Int[Array, " freedom"] = result_field(
        "1 if a degree of freedom is a rotation", "", ("freedom",)
    )
    result: Int[Array, ""] = result_field("reason code")


class Undamped(eqx.Module):
    """The part of a mode table that works under `vmap`."""

    matrices: tuple
    modes: eqx.Module
    shares: eqx.Module


def undamped(system: Assembled) -> Undamped:
    """Return matrices, undamped modes and energy shares; works under `vmap`."""
    return Undamped(system.matrices(), natural_modes(system), energy_shares(system))


def mode_table(system: Assembled, found: Undamped | None = None) -> ModeTable:
    """Return the mode table of an assembled system; `found`: its undamped part.

    The damped eigenvalues are computed by LAPACK on the host.
    """
    found = jax.tree.map(jnp.asarray, undamped(system) if found is None else found)
    finite = all(np.isfinite(matrix).all() for matrix in found.matrices)
    size = len(system.names)
    values = np.full(2 * size, np.nan + 0j)
    if finite:
        values = np.asarray(damped_modes(LinearSystem(*found.matrices)).values)
    return ModeTable(
        found.modes.frequencies,
        found.modes.damping_ratios,
        found.modes.shapes,
        found.shares.potential,
        found.shares.kinetic,
        jnp.asarray(-values.real),
        jnp.asarray(values.imag),
        jnp.asarray(system.rotations(), int),
        jnp.asarray(int(Reason.SUCCESS if finite else Reason.BAD_PARAMETER), jnp.int32),
    )
