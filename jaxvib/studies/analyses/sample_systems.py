"""The systems of samples, as an iterator or as a batched pytree."""

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...foundation.arrays import one_lane
from ...systems import replace
from ...systems.sample_checks import check_batch, check_samples


def systems(system: Any, samples: Mapping[str, np.ndarray]) -> Iterator[Any]:
    """Yield the system of each sample, or the system itself if nothing is swept."""
    if not samples:
        yield system
        return
    for values in zip(*samples.values(), strict=True):
        yield replace(system, dict(zip(samples, map(float, values), strict=True)))


def each_system(system: Any, samples: Mapping[str, np.ndarray]) -> Any:
    """Return the systems of samples as one pytree, each leaf with a leading axis.

    A function of it can be vmapped, and its compiled form is reused. Without a sweep:
    the system itself, with a leading axis of length 1. **Raises:** `ValueError` for the
    first sample that `replace` would refuse.
    """

    def numbers(values):
        changed = replace(system, values) if values else system
        return eqx.filter(changed, eqx.is_array_like)

    others = eqx.filter(system, eqx.is_array_like, inverse=True)
    if not samples:
        return eqx.combine(one_lane(numbers({})), others)
    check_samples(system, samples)
    found = eqx.combine(jax.jit(jax.vmap(numbers))(dict(samples)), others)
    check_batch(system, found, samples)
    return found
