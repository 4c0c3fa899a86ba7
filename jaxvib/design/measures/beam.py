"""Measures of a beam with bodies: eigenvalue locations and damping."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...ensemble import Reason
from ...modes import beam_eigenvalues
from .measure import Measure, Outcome, Partial, plain


@dataclasses.dataclass(frozen=True)
class BeamAnalysis:
    """The first certified eigenvalues of a beam with bodies, by modulus."""

    count: int
    compiled = False
    start_compiled = False

    def start(self, system: eqx.Module) -> tuple:
        """Return an empty memory."""
        return ()

    def __call__(self, system, memory) -> Outcome:
        """Return the eigenvalues; the outcome fails if the certificate fails."""
        modes = beam_eigenvalues(system, count=self.count)
        certified = jax.lax.stop_gradient(modes.certified)
        code = jnp.where(certified, Reason.SUCCESS, Reason.NOT_CERTIFIED)
        return plain(modes.values, code)


_FIELDS = {
    "damping_ratio": (lambda values: -values.real / jnp.abs(values), ""),
    "decay": (lambda values: -values.real, "1/s"),
    "frequency": (lambda values: values.imag, "rad/s"),
    "modulus": (jnp.abs, "rad/s"),
    "gap": (lambda values: jnp.diff(jnp.abs(values)), "rad/s"),
}
FIELDS = tuple(_FIELDS)


def beam_measure(
    field: str,
    values: tuple[int, ...],
    count: int | None = None,
    *,
    below: float | None = None,
) -> Measure:
    r"""Return a measure of the eigenvalues $\lambda$ with indices `values`.

    "damping_ratio" $-\mathrm{Re}\lambda/|\lambda|$, "decay" $-\mathrm{Re}\lambda$
    (1/s), "frequency" $\mathrm{Im}\lambda$ and "modulus" (rad/s), or "gap": the
    difference of the moduli of neighbours in `values` (rad/s). Eigenvalues are sorted
    by modulus, so modes that cross swap indices. With `below` (rad/s), damping ratios
    of eigenvalues of larger modulus are replaced by 1, so that the smallest ratio is
    that of the modes in the range. **Raises:** `ValueError` for an unknown field, or
    `below` with a field other than "damping_ratio".

    >>> jv.design.beam_measure("decay", (0, 1)).unit
    '1/s'
    """
    if field not in _FIELDS:
        raise ValueError(f"field = {field!r}; allowed: {', '.join(_FIELDS)}")
    if below is not None and field != "damping_ratio":
        raise ValueError(f"below requires field = 'damping_ratio', not {field!r}")
    places = tuple(values)
    analysis = BeamAnalysis(count or max(places) + 1)
    words = f"{field} of eigenvalues {', '.join(map(str, places))}"
    read = Partial(_chosen, (field, places, below))
    return Measure(analysis, read, _FIELDS[field][1], words)


def _chosen(values, field, places, below):
    chosen = values[np.array(places)]
    numbers = _FIELDS[field][0](chosen)
    return numbers if below is None else jnp.where(jnp.abs(chosen) < below, numbers, 1.0)


def placement_measure(targets: tuple[complex, ...], count: int) -> Measure:
    r"""Return a measure of the distance of eigenvalues from target values.

    For each target $\mu$, the real and imaginary part of $(\lambda - \mu)/|\mu|$, where
    $\lambda$ is the nearest of the first `count` eigenvalues; use `combine="squares"`.

    >>> jv.design.placement_measure((-1 + 20j,), count=3).description
    'misplacement'
    """
    read = Partial(_misplacement, (tuple(targets),))
    return Measure(BeamAnalysis(count), read, "", "misplacement")


def _misplacement(values, targets):
    targets = jnp.asarray(targets, complex)
    apart = values[None, :] - targets[:, None]
    nearest = jnp.argmin(jax.lax.stop_gradient(jnp.abs(apart)), axis=1)
    missed = jnp.take_along_axis(apart, nearest[:, None], axis=1)[:, 0]
    missed = missed / jnp.abs(targets).astype(complex)
    return jnp.concatenate([missed.real, missed.imag])
