r"""Derivatives of eigenvalues with respect to parameters, batched over designs.

With null vectors $y^T M = 0$ and $M x = 0$ of the characteristic matrix

$$\frac{d\lambda}{dp} = -\frac{y^T (\partial M/\partial p) x}{y^T (\partial M/\partial
  \lambda) x}.$$
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex

from ...systems.structures.beam import BeamWithBodies
from .characteristic import dimensionless, equilibrated, matrix, mixing
from .fast_spectrum import null_vectors
from .spectra import in_chunks

# Designs per chunk: with `SPARE_LANES` lanes 64, a multiple of the vector width.
_CHUNK = 56
_TOGETHER = 1e-9  # relative distance below which values count as repeated


@mixing
def beam_slopes(
    system: Callable[..., BeamWithBodies],
    samples: dict,
    values: Complex[np.ndarray, "sample value"],
) -> dict[str, Complex[np.ndarray, "sample value"]]:
    """Return the derivatives of eigenvalues with respect to each swept number.

    **Arguments:** `system`, `samples`: as for `beam_spectra`, scalars only; `values`:
    the eigenvalues found by it. **Returns:** derivatives by name of the samples; NaN
    for repeated values.
    """
    samples = {name: np.asarray(column) for name, column in samples.items()}
    return in_chunks(_slopes(system), np.arange(len(values)), samples, values, chunk=_CHUNK)


@functools.lru_cache(maxsize=32)
def _slopes(system):
    def of_one(sample, values):
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            slopes = jax.vmap(lambda value: _slopes_of_value(system, sample, value))(values)
            gaps = jnp.abs(values[:, None] - values) + jnp.diag(
                jnp.full(len(values), jnp.inf)
            )
            alone = jnp.min(gaps, axis=1) > _TOGETHER * jnp.abs(values)
            return {name: jnp.where(alone, each, jnp.nan) for name, each in slopes.items()}

    return jax.jit(jax.vmap(of_one))


def _slopes_of_value(system, sample, value):
    def rows_at(sample, value):
        scaled = dimensionless(system(sample))
        return matrix(scaled, value * scaled.time)

    full, by_value = jax.jvp(
        lambda at: rows_at(sample, at), (value,), (jnp.ones_like(value),)
    )
    m, rows, columns = equilibrated(full)
    right, left = null_vectors(m)
    right, left = right * columns, left * rows
    below = left @ (by_value @ right)

    def by_parameter(name):
        here = sample[name]
        change = jax.jvp(
            lambda at: rows_at({**sample, name: at}, value), (here,), (jnp.ones_like(here),)
        )[1]
        return -(left @ (change @ right)) / below

    return {name: by_parameter(name) for name in sample}
