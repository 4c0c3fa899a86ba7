"""Systems of samples as an iterator or a batched pytree; stacking of results."""

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...systems import replace


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
    the system itself, with a leading axis of length 1.
    """

    def numbers(values):
        changed = replace(system, values) if values else system
        return eqx.filter(changed, eqx.is_array_like)

    others = eqx.filter(system, eqx.is_array_like, inverse=True)
    if not samples:
        one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], numbers({}))
        return eqx.combine(one, others)
    return eqx.combine(jax.jit(jax.vmap(numbers))(dict(samples)), others)


def tree_stack(results: list) -> Any:
    """Stack modules of arrays along a new leading axis."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(x) for x in leaves]), *results)
