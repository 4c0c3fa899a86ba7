"""Means of rates over a motion, such as powers."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.arrays import is_concrete
from ..systems.system import System
from .flow import flow
from .integrated_system import IntegratedSystem


def mean_rates(
    system: System, rates: Callable, count: int, state, times, rtol, throw: bool
) -> Float[Array, " count"]:
    """Return the means of `count` rates over `times` = (t0, t1), of a motion from `state`.

    `rates(equation, time, state)`. **Raises:** `ValueError` where t1 is t0 (NaN under
    transformations), and as `flow`.
    """
    t0, t1 = times
    if is_concrete(times) and t1 == t0:
        raise ValueError(f"t1 = {t1} s is t0: no time for a mean; allowed: later than t0")
    start = jnp.asarray(state, float)
    metered: Any = IntegratedSystem(system, rates, count)
    extended = jnp.concatenate([start, jnp.zeros(count)])
    end = flow(metered, extended, t0, t1, rtol=rtol, throw=throw)
    return end[start.shape[0] :] / (t1 - t0)
