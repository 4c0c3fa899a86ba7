"""Derivatives of natural frequencies, including repeated ones."""

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..foundation.arrays import require_concrete
from ..systems.base.roles import Linear
from ..systems.parameters import parameter_at, replace
from .modal import natural_modes

# Relative to the largest: modes of closer frequencies are mixed by rounding errors.
_SAME_FREQUENCY = 1e-8


def frequency_derivatives(system: Linear, paths: Sequence[str]) -> Float[Array, "path n"]:
    r"""Return the derivatives of the natural frequencies with respect to parameters.

    Values closer than 1e-8 times the largest one are a cluster with a basis $\Phi$ of
    modes. Along one parameter, the derivatives are the eigenvalues of

    $$\frac{1}{2 \omega} \Phi^T \Bigl(\frac{\partial C}{\partial p} - \omega^2
      \frac{\partial M}{\partial p}\Bigr) \Phi,$$

    in ascending order. For different paths, only the sum of the derivatives over the
    cluster is additive. Rigid-body modes have derivative 0 if the parameter does not
    strain them, otherwise NaN (the frequency grows as a square root), as do statically
    unstable modes. Computed on the host. **Raises:** `ValueError` for an unknown path,
    a parameter that is not a scalar, matrices that are not symmetric, or a parameter
    that makes them unsymmetric if values repeat.

    >>> jv.modes.frequency_derivatives(tower, ["modules.first-roof.mass"]).round(3).tolist()
    [[-4.082, -4.082]]
    """
    require_concrete("frequency_derivatives", system)
    modes = natural_modes(system)
    frequencies = np.asarray(modes.frequencies)
    shapes = np.asarray(modes.shapes)
    starts = _clusters(frequencies, _SAME_FREQUENCY * np.nanmax(frequencies))
    slopes = np.empty((len(paths), len(frequencies)))
    for row, path in zip(slopes, paths, strict=True):
        mass, stiffness = _changes(system, path)
        scale = max(np.abs(stiffness).max(), 1e-300)
        for start, stop in starts:
            basis, value = shapes[:, start:stop], frequencies[start:stop].mean()
            within = basis.T @ (stiffness - value**2 * mass) @ basis
            _check_split(within, path)
            if value > 0:
                row[start:stop] = np.linalg.eigvalsh(within) / (2 * value)
            else:
                stays = np.abs(within).max() < 1e-12 * scale * np.abs(basis).max() ** 2
                row[start:stop] = 0.0 if stays else np.nan
    return jnp.asarray(slopes)


def _changes(system, path):
    def matrices(value):
        mass, _, stiffness = replace(system, {path: value}).matrices()
        return mass, stiffness

    value = jnp.asarray(parameter_at(system, path).value, float)
    changes = jax.jacfwd(matrices)(value)
    return [np.asarray(change) for change in changes]


def _check_split(within, path: str) -> None:
    apart = np.abs(within - within.T).max()
    if apart > 1e-6 * np.abs(within).max():
        raise ValueError(
            f"{path} makes the matrices unsymmetric: repeated frequencies have no "
            "derivatives along it"
        )


def _clusters(frequencies, width) -> list[tuple[int, int]]:
    breaks = np.flatnonzero(~(np.diff(frequencies) <= width)) + 1  # NaN is separate
    edges = [0, *breaks.tolist(), len(frequencies)]
    return list(itertools.pairwise(edges))
