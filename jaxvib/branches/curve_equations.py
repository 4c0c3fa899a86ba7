"""Newton correction and evaluation of points on bifurcation curves."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..ensemble import TwoStageFunction
from ..foundation.arrays import combine_arrays
from ..kernels.kernel_cache import cached_kernel
from .corrector import Corrected, in_plane
from .defining_equations import Setting, equations, state_at_start, with_values
from .point import orbit_at, shooting_at


class CurveProblem(NamedTuple):
    """The data of a corrector for a curve: system leaves, setting and tolerances.

    Newton's method has converged if its step is shorter than `close`, or below 30
    `rtol` and no longer decreasing.
    """

    leaves: Any
    setting: Setting
    rtol: Any
    close: Any


@functools.lru_cache(maxsize=32)
def curve_corrector(static, kind: str, paths: tuple[str, str]):
    """Return the function that corrects a lane (problem, predicted x, normal)."""
    left = equations(static, kind, paths)

    def correct(lane) -> Corrected:
        problem, predicted, normal = lane

        def map_(x):
            def both(x):
                rest, monodromy = left(x, (problem.leaves, problem.setting))
                return rest, (rest, monodromy)

            matrix, (rest, monodromy) = jax.jacfwd(both, has_aux=True)(x)
            return rest, matrix, monodromy

        return in_plane(map_, problem.rtol, problem.close, predicted, normal)

    return correct


@functools.lru_cache(maxsize=32)
def curve_evaluator(static, kind: str, paths: tuple[str, str]) -> TwoStageFunction:
    """Return the function from a lane (problem, x) to values, orbit and test function.

    Integration runs in a kernel, the rest in NumPy.
    """
    left = equations(static, kind, paths)

    def seen(lane):
        problem, x = lane
        setting = problem.setting
        unscaled = x * setting.units
        values, size = unscaled[-2:], x.size - 2 - (kind == "grazing")
        system = with_values(combine_arrays(problem.leaves, static), paths, values)
        state = state_at_start(kind, system, setting, unscaled, 2)
        rest, _ = left(x, (problem.leaves, problem.setting))
        periods = setting.periods.astype(jnp.int32)
        shooting = shooting_at(system, state, periods, problem.rtol, problem.rtol * 1e-2)
        return values, jnp.abs(rest[size:]).max(), state, shooting

    def finish(lanes, found):
        problem, (values, test, state, shooting) = lanes[0], found
        one = jax.tree.map(lambda leaf: leaf[0], problem.leaves)
        periods = problem.setting.periods.astype(np.int32)
        settings = periods, problem.rtol, problem.rtol * 1e-2
        orbit = orbit_at(combine_arrays(one, static), state, shooting, *settings)
        return values, orbit, test

    return TwoStageFunction(cached_kernel(seen, static, kind, paths), finish)
