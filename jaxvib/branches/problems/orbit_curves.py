"""Bifurcations of periodic orbits of forced systems along curves in two parameters."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...ensemble import Reason, TwoStageFunction
from ...foundation.arrays import combine_arrays, one_lane, partition_arrays
from ...kernels.calls.kernel_cache import cached_kernel
from ...systems.base.system import System
from ..equations.corrector import Corrected, LaneData, lane_corrector
from ..equations.defining_equations import (
    beginnings,
    equations,
    section,
    state_at_zero,
    touching,
    with_values,
)
from ..equations.point import orbit_at, shooting_at
from ..results.bifurcation_results import BifurcationPoint
from ..tracing.codimension_two import (
    END_OF_HOPF_POINTS,
    ENDS_OF_TORI,
    CodimensionTwoPoint,
    codimension_two_tests,
)
from ..tracing.problem import BranchProblem
from ..tracing.test_functions import LocatedZero
from ..tracing.trace import Traced

# Newton's method ends at a relative step below the first (the equations are integrated
# at 1e-11), or below 30 times the second if steps no longer decrease.
_SMALL_STEP, _RTOL = 1e-11, 1e-8
_GRAZES = 1e-6  # distance to a contact, per amplitude, below which grazing ends a curve


class CurvePoint(NamedTuple):
    """A point of a curve: its motion, and the residual of the test function.

    It is NaN where an orbit does not graze: see `defining_equations.touching`. Of a Hopf
    point, `hopf`: its `equations.hopf_coefficient` in units of the state.
    """

    orbit: Any
    test: Any
    hopf: Any = None


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


class CurveProblem(BranchProblem):
    """Bifurcations of one kind along a curve in two parameters."""

    parameters = 2

    def __init__(
        self, static, kind: str, path: str, data: LaneData, *functions, of="cycle"
    ):
        super().__init__(static, path, data, *functions)
        self.tests = codimension_two_tests(kind, of)
        if kind == "neimark_sacker":
            self.stops = dict.fromkeys(ENDS_OF_TORI, Reason.STRONG_RESONANCE)
        if kind == "hopf":
            self.stops = {END_OF_HOPF_POINTS: Reason.NO_BIFURCATION}

    def result(self, find: LocatedZero) -> CodimensionTwoPoint | None:
        """Return a codimension-two point, None if not located."""
        numbers = np.asarray(find.value), find.eigenvalues.astype(complex)
        return CodimensionTwoPoint(find.kind, *numbers) if find.located else None

    def ended(self, found: Traced, start: np.ndarray) -> Traced:
        """Return a traced curve with the reasons of its ends."""
        return found


class OrbitCurveProblem(CurveProblem):
    """Bifurcations of orbits along a curve."""

    def __init__(self, static, kind: str, paths: tuple[str, str], data: LaneData):
        mine = static, kind, paths
        functions = curve_corrector(*mine), curve_evaluator(*mine)
        super().__init__(static, kind, paths[0], data, *functions)
        self.grazes = kind == "grazing"

    def eigenvalues(self, solutions: CurvePoint) -> np.ndarray:
        """Return the Floquet multipliers."""
        return np.asarray(solutions.orbit.floquet_multipliers)

    def ended(self, found: Traced, start: np.ndarray) -> Traced:
        """Return a traced curve whose orbits graze, or with the ends that do."""
        if self.grazes:
            return _while_it_grazes(found, start)
        return found._replace(ends=_by_grazing(found.ends, found.solutions.orbit))


def _while_it_grazes(found: Traced, start: np.ndarray) -> Traced:
    """Return the part of a curve around its start whose orbits graze."""
    lost = np.flatnonzero(np.isnan(found.solutions.test))
    own = np.argmin(np.abs(found.values - start).max(-1))
    low = lost[lost < own].max(initial=-1) + 1
    high = lost[lost > own].min(initial=len(found.values))
    parts = found.values, found.solutions, found.misses
    values, solutions, misses = jax.tree.map(lambda leaf: leaf[low:high], parts)
    first, last = found.ends
    ends = (
        Reason.NO_BIFURCATION if low > 0 else first,
        Reason.NO_BIFURCATION if high < len(found.values) else last,
    )
    return Traced(values, solutions, misses, ends, found.results)


def _by_grazing(ends: tuple[Reason, Reason], orbits) -> tuple[Reason, Reason]:
    """Return the reason codes of both ends, with GRAZING at grazing orbits."""
    margins = np.asarray(orbits.grazing_margin) / np.max(orbits.amplitude, axis=-1)

    def end(code: Reason, tip: int) -> Reason:
        grazes = code == Reason.DIVERGED and margins[tip] < _GRAZES
        return Reason.GRAZING if grazes else code

    return end(ends[0], 0), end(ends[1], -1)


def orbit_curve(
    system: System, point: BifurcationPoint, paths: tuple[str, str], values, bounds
) -> tuple[OrbitCurveProblem, np.ndarray]:
    """Return the problem of the curve through a point, and its scaled unknowns."""
    leaves, static = partition_arrays(system)
    ranges = bounds[:, 1] - bounds[:, 0]
    data, x = _start(leaves, static, point, paths, ranges, values[1])
    return OrbitCurveProblem(static, point.kind, paths, one_lane(data)), np.asarray(x)


@eqx.filter_jit
def _start(leaves, static, point: BifurcationPoint, paths, ranges, second):
    """Return the data of a curve and the scaled unknowns of its first point."""
    values = jnp.stack([point.parameter, jnp.asarray(second, float)])
    system = with_values(combine_arrays(leaves, static), paths, values)
    cut = section(system, point.state, point.periods.astype(float), point.kind)
    start, setting = beginnings(cut, values, jnp.asarray(ranges))
    if cut.touches is not None:
        start, stop = jax.tree.map(lambda leaf: leaf[0], (start, setting.stop))
        setting = setting._replace(stop=stop)
    units = setting.units
    return LaneData(leaves, units, _RTOL, _SMALL_STEP, setting=setting), start / units
