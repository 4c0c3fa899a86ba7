"""Certified eigenvalues of thousands of designs of a beam with bodies, in one call."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from .._quantity import reported
from ..ensemble.reasons import Reason
from ..systems.beam import BeamWithBodies
from .beam_spectrum import certified_spectrum
from .characteristic import dimensionless, mixing
from .fast_spectrum import fast_roots

_CHUNK = 64


class BeamSpectra(eqx.Module):
    """First eigenvalues of many designs, with Im >= 0 and by modulus in each of them."""

    values: Complex[np.ndarray, "sample value"] = reported(
        "eigenvalues", "rad/s", ("sample", "value")
    )
    residuals: Float[np.ndarray, "sample value"] = reported(
        "last relative steps, or backward errors of designs done again", "",
        ("sample", "value"),
    )  # fmt: skip
    certified: Bool[np.ndarray, " sample"] = reported(
        "the argument principle counts as many as were found", "", ("sample",)
    )
    radius: Float[np.ndarray, " sample"] = reported(
        "radius of the certified circle", "rad/s", ("sample",)
    )
    repeated: Bool[np.ndarray, " sample"] = reported(
        "the quick way was not enough and the careful one was taken", "", ("sample",)
    )
    result: Int[np.ndarray, " sample"] = reported("reason code", "", ("sample",))


@mixing
def beam_spectra(
    system: Callable[..., BeamWithBodies],
    samples: dict,
    count: int = 10,
    *,
    progress: Callable[[int], None] | None = None,
) -> BeamSpectra:
    """Return the first `count` eigenvalues of many designs.

    **Arguments:** `system`: from one sample, a dictionary like `samples` without its
    leading axis, to a beam with bodies, jittable; keep the same function between calls
    and its compiled form is kept too. `samples`: arrays with one leading axis.
    Designs go in chunks through one program; those that it leaves without certificate
    are done again one by one, and what then has none is marked in `certified` and
    `result`. `progress` is called with the number of designs done.
    """
    number = len(next(iter(samples.values())))
    quick = _quick(system, count)
    chunks = []
    # one chunk at a time: two concurrent runs of the same linear algebra can block
    # each other in the pool of threads that XLA has on two cores
    for start in range(0, number, _CHUNK):
        lanes = np.minimum(np.arange(start, start + _CHUNK), number - 1)
        chunk = quick({name: np.asarray(values)[lanes] for name, values in samples.items()})
        chunks.append(jax.tree.map(np.asarray, chunk))
        if progress is not None:
            progress(min(_CHUNK, number - start))
    joined = jax.tree.map(lambda *parts: np.concatenate(parts)[:number], *chunks)
    values, residuals, certified, radius = (np.array(part) for part in joined)
    repeated = ~certified
    for index in np.flatnonzero(repeated):
        one = {name: jnp.asarray(part[index]) for name, part in samples.items()}
        scaled = jax.tree.map(np.asarray, dimensionless(system(one)))
        found = certified_spectrum(scaled, count, None)
        values[index] = found.values / scaled.time
        residuals[index] = found.backward_errors
        certified[index] = found.certified
        radius[index] = np.nan if found.radius is None else found.radius / scaled.time
    result = np.where(certified, int(Reason.SUCCESS), int(Reason.NOT_CERTIFIED))
    return BeamSpectra(values, residuals, certified, radius, repeated, result)


@functools.lru_cache(maxsize=32)
def _quick(system, count):
    def of_one(sample):
        scaled = dimensionless(system(sample))
        roots, steps, certified, radius = fast_roots(scaled, count)
        return roots / scaled.time, steps, certified, radius / scaled.time

    return jax.jit(jax.vmap(of_one))
