"""Ensembles of random chains: the partition of their energy over time."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ...drawing.plottable import ResultRepr
from ...ensemble import Reason
from ...foundation.quantity import check_count, result_field
from ...systems.structures.chain import BeamChain
from ..propagation import propagate
from .energy import equilibrium_split, kinetic_split
from .starts import random_velocities

_BATCH = 32  # chains computed at once: memory holds their states at all times


class EnsembleSplit(ResultRepr):
    """Mean energy shares of random chains, and those of an infinite chain."""

    instants: Float[Array, " time"] = result_field("time", "s", ("time",))
    translational: Float[Array, " time"] = result_field(
        "translational share of the energy", "", ("time",)
    )
    translational_error: Float[Array, " time"] = result_field(
        "its standard error", "", ("time",)
    )
    rotational: Float[Array, " time"] = result_field(
        "rotational share of the energy", "", ("time",)
    )
    rotational_error: Float[Array, " time"] = result_field(
        "its standard error", "", ("time",)
    )
    predicted_translational: Float[Array, " time"] = result_field(
        "translational share in an infinite chain", "", ("time",)
    )
    predicted_rotational: Float[Array, " time"] = result_field(
        "rotational share in an infinite chain", "", ("time",)
    )
    equilibrium_translational: Float[Array, ""] = result_field(
        "long-time translational share, from the bands"
    )
    equilibrium_rotational: Float[Array, ""] = result_field(
        "long-time rotational share, from the bands"
    )
    energy_change: Float[Array, ""] = result_field("largest relative change of energy")
    result: Int[Array, ""] = result_field("reason code")


def ensemble_split(
    chain: BeamChain,
    times: Real[ArrayLike, " times"] | Sequence[Any],
    *,
    chains: int = 256,
    rotational: Real[ArrayLike, ""] | float = 0.0,
    seed: int = 0,
) -> EnsembleSplit:
    r"""Return the partition at `times` (s) of energy given as random velocities.

    `chains` chains start from `random_velocities` with the share `rotational` in
    rotation and move exactly. Shares are those of the mean energy; standard errors are
    those of a ratio of means. The prediction is that of an infinite uniform chain
    (`kinetic_split`, `equilibrium_split`): a chain of N bodies follows it until waves
    have travelled round or reached an end. **Raises:** `ValueError` for fewer than 2
    chains.

    >>> split = jv.dynamics.ensemble_split(chain, [0.0, 2.0], chains=16)
    >>> float(split.translational[0])
    1.0
    """
    times = jnp.asarray(times, float)
    check_count("chains", chains, 4 * chain.bodies * times.size, at_least=2)

    def one(number):
        key = jax.random.fold_in(jax.random.key(seed), number)
        state = random_velocities(chain, key, 1.0, rotational)
        energies = chain.energies(propagate(chain, state, times))
        start = chain.energies(state).total
        parts = jnp.stack([energies.translational, energies.rotational])
        return parts, start, jnp.max(jnp.abs(energies.total / start - 1))

    parts, starts, change = jax.lax.map(one, jnp.arange(chains), batch_size=_BATCH)
    energy = jnp.mean(starts)
    share = jnp.mean(parts, 0) / energy
    spread = parts - share[None] * starts[:, None, None]
    error = jnp.std(spread, 0) / energy / jnp.sqrt(float(chains - 1))
    predicted = kinetic_split(chain, times, rotational)
    settled = equilibrium_split(chain, rotational)
    finite = jnp.all(jnp.isfinite(share))
    code = jnp.where(finite, int(Reason.SUCCESS), int(Reason.BAD_PARAMETER))
    return EnsembleSplit(
        times, share[0], error[0], share[1], error[1], predicted.translational,
        predicted.rotational, settled.translational, settled.rotational,
        jnp.max(change), code.astype(jnp.int32),
    )  # fmt: skip
