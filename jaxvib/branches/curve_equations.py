"""Newton correction and evaluation of points on bifurcation curves."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import TwoStageFunction
from ..foundation.arrays import combine_arrays
from ..kernels.calls.kernel_cache import cached_kernel
from ..orbits.periodic_orbit import PeriodicOrbit
from ..systems.system import System
from .corrector import Corrected, LaneData, lane_corrector
from .defining_equations import equations, state_at_zero, touching, with_values
from .point import orbit_at, shooting_at


class CurvePoint(NamedTuple):
    """A point of a curve: its orbit, and the residual of the test function.

    It is NaN where an orbit does not graze: see `defining_equations.touching`.
    """

    orbit: PeriodicOrbit
    test: Any


@functools.lru_cache(maxsize=32)
def curve_corrector(
    static: System, kind: str, paths: tuple[str, str]
) -> Callable[[Any], Corrected]:
    """Return the function that corrects a lane (data, predicted x, normal)."""
    left = equations(static, kind, paths)

    def curve(data: LaneData, predicted, x):
        def both(x):
            rest, monodromy = left(x, (data.leaves, data.setting))
            return rest, (rest, monodromy)

        matrix, (rest, monodromy) = jax.jacfwd(both, has_aux=True)(x)
        return rest, matrix, (monodromy, jnp.zeros(()))

    return lane_corrector(curve)


@functools.lru_cache(maxsize=32)
def curve_evaluator(static: System, kind: str, paths: tuple[str, str]) -> TwoStageFunction:
    """Return the function from a lane (data, x) to both values and the point.

    Integration runs in a kernel, the rest in NumPy.
    """
    left = equations(static, kind, paths)

    def seen(lane):
        data, x = lane
        setting = data.setting
        unscaled = x * setting.units
        values = unscaled[-2:]
        system = with_values(combine_arrays(data.leaves, static), paths, values)
        state = state_at_zero(kind, system, setting, unscaled)
        rest, _ = left(x, (data.leaves, data.setting))
        test = jnp.abs(rest[len(state) :]).max()
        if kind == "grazing":
            test = jnp.where(touching(system, setting, unscaled)[0], test, jnp.nan)
        periods = setting.periods.astype(jnp.int32)
        shooting = shooting_at(system, state, periods, data.rtol, data.rtol * 1e-2)
        return values, test, state, shooting

    def finish(lanes, found):
        data, (values, test, state, shooting) = lanes[0], found
        one = jax.tree.map(lambda leaf: leaf[0], data.leaves)
        periods = data.setting.periods.astype(np.int32)
        settings = periods, data.rtol, data.rtol * 1e-2
        orbit = orbit_at(combine_arrays(one, static), state, shooting, *settings)
        return values, CurvePoint(orbit, test)

    return TwoStageFunction(cached_kernel(seen, static, kind, paths), finish)
