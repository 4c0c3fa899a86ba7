"""Tables of modes: frequencies, damping, shapes and energy shares."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..ensemble import Reason
from ..foundation.quantity import result_field
from ..systems.assembly import Assembled
from ..systems.impact import LinearSystem
from .energy_shares import energy_shares
from .modal import damped_modes, natural_modes


class ModeTable(eqx.Module):
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
