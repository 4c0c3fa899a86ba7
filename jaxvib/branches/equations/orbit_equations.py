r"""Equations of orbits of forced systems, by multiple shooting.

The unknowns $x = (s_0/u, \dots, s_{m-1}/u, p/\ell)$ are the states at the starts of m
segments of the period and the parameter (u the scales of the components, \ell the range
of the parameter). The segments are continuous: $\varphi_i(s_i) - s_{i+1} = 0$.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...dynamics.flow import flow
from ...ensemble import TwoStageFunction
from ...foundation.arrays import combine_arrays
from ...kernels import Kernel
from ...kernels.calls.kernel_cache import cached_kernel
from ...kernels.lower.tangents import map_rows
from ...systems.base.system import System
from ...systems.drift import modulo_drift
from ...systems.fields import state_size
from ...systems.lane_kernel import lane_kernel
from .corrector import LaneData, joined, lane_corrector, system_of
from .point import at, orbit_at, shooting_at


@functools.lru_cache(maxsize=32)
def orbit_corrector(static: System, path: str, unknowns: int) -> Kernel:
    """Return the kernel that corrects a lane (data, predicted x, normal).

    The number of segments follows from that of the unknowns, which is part of the cache
    key, since maps cache compiled code by function.
    """

    def equations(data: LaneData, predicted, x):
        """Return the residual of continuity, see `lane_corrector`."""
        system = system_of(data, static)
        size = state_size(system)
        states = (x[:-1] * data.units[:-1]).reshape((unknowns - 1) // size, size)
        segments = states.shape[0]
        parts = jnp.arange(segments) / segments

        following = jnp.roll(states, -1, 0)

        def end(state, value, part, target):
            there = at(system, path, value)
            span = data.periods.astype(float) * there.period()
            begin = 0.0 if segments == 1 else part * span
            end = (part + 1 / segments) * span
            final = flow(there, state, begin, end, rtol=data.tight)
            final = modulo_drift(system, final, target)
            return final, final

        def sensitivities(state, part, target):
            value = x[-1] * data.units[-1]
            return jax.jacfwd(end, (0, 1), has_aux=True)(state, value, part, target)

        if segments == 1:
            one = sensitivities(states[0], 0.0, states[0])
            found = jax.tree.map(lambda leaf: leaf[None], one)
        else:
            found = map_rows(sensitivities, states, parts, following)
        (blocks, slopes), ends = found
        residual = (ends - following).reshape(-1)
        matrix = joined(blocks, size)
        columns = jnp.column_stack([matrix, slopes.reshape(-1)]) * data.units[None]
        monodromy = jnp.eye(size)
        for block in blocks:
            monodromy = block @ monodromy
        scale = data.units[:-1]
        return residual / scale, columns / scale[:, None], (monodromy, jnp.zeros(()))

    return cached_kernel(lane_corrector(equations), "orbit", static, path, unknowns)


@lane_kernel
def orbit_spreader(lane: Any, static: System, path: str, segments: int) -> Any:
    """Return the kernel from a lane (data, state, value) to its unknowns x."""
    data, state, value = lane
    system = at(system_of(data, static), path, value)
    span = data.periods.astype(float) * system.period()
    states = [state]
    for part in np.arange(1, segments) / segments:
        states.append(flow(system, state, 0.0, part * span, rtol=data.tight))
    return jnp.append(jnp.concatenate(states), value) / data.units


@functools.lru_cache(maxsize=32)
def orbit_evaluator(static: System, path: str) -> TwoStageFunction:
    """Return the function from a lane (data, x) to parameter and orbit.

    Integration runs in a kernel, the rest in NumPy.
    """

    def seen(lane):
        data, x = lane
        unscaled = x * data.units
        system = system_of(data, static)
        state = unscaled[: state_size(system)]
        there = at(system, path, unscaled[-1])
        settings = data.periods, data.rtol, data.tight
        return unscaled[-1], state, shooting_at(there, state, *settings)

    def finish(lanes, found):
        data, (value, state, shooting) = lanes[0], found
        one = jax.tree.map(lambda leaf: leaf[0], data.leaves)
        settings = data.periods, data.rtol, data.tight
        return value, orbit_at(combine_arrays(one, static), state, shooting, *settings)

    return TwoStageFunction(cached_kernel(seen, static, path), finish)
