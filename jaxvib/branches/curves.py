"""Continuation of bifurcations in two parameters."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from ..drawing import Plottable
from ..drawing.axes import Axes
from ..ensemble import Reason, TwoStageFunction, reason
from ..foundation.arrays import combine_arrays, one_lane, partition_arrays, to_jax
from ..foundation.quantity import Range, check_range, result_field
from ..kernels.calls.kernel_cache import cached_kernel
from ..orbits.periodic_orbit import PeriodicOrbit
from ..systems.base.system import System
from ..systems.parameters import enclosing_bounds, parameter_at, parameters, unknown_key
from .equations.corrector import Corrected, LaneData, lane_corrector
from .equations.defining_equations import (
    KINDS,
    beginnings,
    equations,
    section,
    state_at_zero,
    touching,
    with_values,
)
from .equations.point import orbit_at, shooting_at
from .results.bifurcation_results import BifurcationPoint
from .results.branch import Branch, passing
from .results.pictures import plot_curves
from .tracing.arclength import both_ways
from .tracing.parameter_range import check_periods_along
from .tracing.problem import BranchProblem
from .tracing.settings import USUAL, ContinuationSettings, report_to
from .tracing.test_functions import EvaluatedPoints, LocatedZero, Test, pairs, product
from .tracing.trace import Traced, trace
from .tracing.tracer import Limits

# Noise of test functions: the root of the matrix error (double multiplier). Without
# damping, two multipliers are at 1 or -1 along the whole curve.
_NOISE = 1e-4
_COSINES = {
    "resonance 1:1": 1.0,
    "resonance 1:2": -1.0,
    "resonance 1:3": -0.5,
    "resonance 1:4": 0.0,
}
ENDS_OF_TORI = ("resonance 1:1", "resonance 1:2")


class CodimensionTwoPoint(eqx.Module):
    """A codimension-two point: kind, both parameters, Floquet multipliers."""

    kind: str = eqx.field(static=True)
    parameters: Float[np.ndarray, "2"]
    floquet_multipliers: Complex[np.ndarray, " n"]

    def __repr__(self) -> str:
        first, second = self.parameters
        return f"{self.kind} at ({first:.8g}, {second:.8g})"


def codimension_two_tests(kind: str) -> tuple[Test, ...]:
    r"""Return the table of test functions along curves of a kind of bifurcation.

    With $\mu$ the multipliers except the one at 1 or -1, or $e^{\pm i\theta}$ the pair on
    the unit circle, the test functions along a curve of

    - folds: the direction of both parameters for a cusp; $\prod (1 - \mu)$ for the
      resonance 1:1; $\prod (1 + \mu)$ for a fold-flip;
    - period doublings: $\prod (1 + \mu)$ for the resonance 1:2; $\prod (1 - \mu)$ for a
      fold-flip;
    - Neimark-Sacker points: $2 \cos\theta - 2$, + 2, + 1 and $2 \cos\theta$ for the
      resonances 1:1, 1:2, 1:3 and 1:4. Beyond the first two the pair is real and there is
      no torus.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, chapter 9.
    """
    return _TABLE.get(kind, ())


def _without_nearest(multipliers, target: float):
    """Return the multipliers without the one nearest to `target`."""
    nearest = np.argmin(np.abs(multipliers - target), axis=-1)
    keep = np.arange(multipliers.shape[-1]) != nearest[:, None]
    return multipliers[keep].reshape(len(multipliers), -1)


def _cosine(multipliers):
    """Return the cosine of the pair on the circle; its modulus exceeds 1 if real."""
    sums, products = (pairs(multipliers, each) for each in (np.add, np.multiply))
    pair = np.argmin(np.abs(products - 1), axis=-1)
    return np.take_along_axis(sums, pair[:, None], -1)[:, 0].real / 2


def _resonance(cosine: float):
    return lambda seen, _: _cosine(seen.eigenvalues) - cosine


def _beside(target: float, other: float):
    return lambda seen, _: product(other - _without_nearest(seen.eigenvalues, target)).real


def _direction(seen: EvaluatedPoints, first: EvaluatedPoints) -> np.ndarray:
    return (seen.tangents * first.tangents).sum(-1)


def _tangent_reverses(seen: EvaluatedPoints) -> np.ndarray:
    return (seen.tangents[1:] * seen.tangents[:-1]).sum(-1) < 0


def _row(kind: str, value, changes=None) -> Test:
    row = Test(kind, value, tolerance=np.inf, noise=_NOISE, accuracy=1e-11)
    return row._replace(changes=changes)


_TABLE = {
    "fold": (
        _row("cusp", _direction, _tangent_reverses),
        _row("fold at resonance 1:1", _beside(1.0, 1.0)),
        _row("fold with flip", _beside(1.0, -1.0)),
    ),
    "period_doubling": (
        _row("flip at resonance 1:2", _beside(-1.0, -1.0)),
        _row("flip with fold", _beside(-1.0, 1.0)),
    ),
    "neimark_sacker": tuple(
        _row(kind, _resonance(cosine)) for kind, cosine in _COSINES.items()
    ),
}


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


# Newton's method ends at a relative step below the first (the equations are integrated
# at 1e-11), or below 30 times the second if steps no longer decrease.
_CLOSE, _RTOL = 1e-11, 1e-8
_GRAZES = 1e-6  # distance to a contact, per amplitude, below which grazing ends a curve
_SAME = 5e-3  # tolerance of equal points, relative to a parameter's range
_NOT_OF_CURVES = ("segments", "rtol", "evidence", "events", "stop_at")


class BifurcationCurve(Plottable):
    """Bifurcations of one kind along a curve in two parameters, in their order.

    `orbits`: a `PeriodicOrbit` whose fields have a leading axis of points. `ends` has
    the reason codes of the first and the last point; `codimension_two` are the
    codimension-two points of the curve.
    """

    kind: str = eqx.field(static=True)
    paths: tuple[str, str] = eqx.field(static=True)
    parameters: Float[Array, "points 2"] = result_field(
        "values of both parameters", "", ("point", "parameter")
    )
    orbits: PeriodicOrbit
    test: Float[Array, " points"] = result_field("test function", "", ("point",))
    ends: Int[Array, " 2"] = result_field("reason codes of both ends", "", ("end",))
    codimension_two: tuple[CodimensionTwoPoint, ...] = ()
    units: tuple[str, str] = eqx.field(static=True, default=("", ""))

    drawable = True

    def plot(self, *, ax: Axes = None) -> Axes:
        """Draw the curve in its two parameters on matplotlib axes and return them.

        `plot_curves` draws several, each in a colour and with a label.
        """
        return plot_curves([self], ax=ax)

    @property
    def states(self) -> Float[Array, "points n"]:
        """The states at t = 0."""
        return self.orbits.state

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers, largest modulus first."""
        return self.orbits.floquet_multipliers

    def __repr__(self) -> str:
        first, second = self.paths
        low, high = (reason(code) for code in np.asarray(self.ends))
        (a, b), (c, d) = self.parameters[0], self.parameters[-1]
        return "\n".join(
            [
                f"BifurcationCurve: {len(self.parameters)} points of kind {self.kind} "
                f"in {first} and {second}",
                f"  from ({a:.8g}, {b:.8g}): {low}",
                f"  to   ({c:.8g}, {d:.8g}): {high}",
                *(f"  {point!r}" for point in self.codimension_two),
            ]
        )


def continue_bifurcation(
    system: System,
    point: BifurcationPoint,
    bounds: Mapping[str, tuple[float, float]],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> BifurcationCurve:
    """Continue a bifurcation along a curve in two parameters, in both directions.

        point = branch.bifurcations[0]
        bounds = {"w": (0.9, 1.3), "f": (0.005, 0.05)}
        jv.branches.continue_bifurcation(system, point, bounds)

    For folds, period doublings, Neimark-Sacker points and grazing. Pseudo-arclength
    continuation (`tracing.arclength`) passes turning points in either parameter and
    cusps. A curve of Neimark-Sacker points ends where the two multipliers meet at 1 or
    -1 (`STRONG_RESONANCE`); a curve of another kind except grazing ends at a grazing
    orbit where no step is short enough (`GRAZING`), and a curve of grazing where its
    orbits touch earlier or elsewhere instead (`NO_BIFURCATION`).

    **Arguments:** `point`: of a branch of `system`, or a `bifurcation_point`. `bounds`:
    by path, of the point's own parameter and of a second one, which has the system's own
    value at the point. `settings`: the steps, relative to these ranges, and
    `most_points`; the others do not apply.

    **Raises:** `ValueError` for a kind that has no curves, unknown paths, bounds that do
    not enclose the point, or a point that cannot be reproduced.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.3.
    """
    if point.kind not in KINDS:
        raise ValueError(f"kind = {point.kind!r}; allowed: {', '.join(KINDS)}")
    paths = _checked_paths(system, point, bounds)
    if int(point.result):
        raise ValueError(f"{point.kind} was not found: {reason(point.result)}")
    start = np.array([point.parameter, parameters(system)[paths[1]].value], float)
    pairs = np.array([bounds[path] for path in paths], float)
    for path, pair, value in zip(paths, pairs, start, strict=True):
        _check_bounds(system, path, pair, value)
    settings.refuse("continue_bifurcation", *_NOT_OF_CURVES)
    steps = settings.steps(1.0)
    for name, step in steps.items():
        check_range(name, step, "", Range(above=0.0, at_most=1.0))

    ranges = pairs[:, 1] - pairs[:, 0]
    leaves, static = partition_arrays(system)
    data, x = _start(leaves, static, point, paths, ranges, start[1])
    scaled, exact = (tuple(map(tuple, each)) for each in (pairs / ranges[:, None], pairs))
    limits = Limits(scaled, exact, **steps, most_points=settings.most_points)
    problem = CurveProblem(static, point.kind, paths, one_lane(data))
    tracers = both_ways(problem, np.asarray(x)[None], limits)
    if tracers[0][0].code == Reason.DIVERGED:
        raise ValueError(f"{point.kind} at {start}: no curve is found from this point")
    (found,) = trace(problem, tracers, limits, report_to(progress))
    orbits, ends = found.solutions.orbit, found.ends
    if point.kind != "grazing":
        ends = _by_grazing(ends, orbits)
    else:
        found = _while_it_grazes(found, start)
        orbits, ends = found.solutions.orbit, found.ends
    return BifurcationCurve(
        kind=point.kind,
        paths=paths,
        parameters=to_jax(found.values),
        orbits=to_jax(orbits),
        test=to_jax(found.solutions.test),
        ends=to_jax(np.asarray(ends, np.int32)),
        codimension_two=tuple(found.results),
        units=(parameter_at(system, paths[0]).unit, parameter_at(system, paths[1]).unit),
    )


class CurveProblem(BranchProblem):
    """Bifurcations of one kind along a curve in two parameters."""

    parameters = 2

    def __init__(self, static, kind: str, paths: tuple[str, str], data: LaneData):
        mine = static, kind, paths
        functions = curve_corrector(*mine), curve_evaluator(*mine)
        super().__init__(static, paths[0], data, *functions)
        self.tests = codimension_two_tests(kind)
        if kind == "neimark_sacker":
            self.stops = dict.fromkeys(ENDS_OF_TORI, Reason.STRONG_RESONANCE)

    def eigenvalues(self, solutions: CurvePoint) -> np.ndarray:
        """Return the Floquet multipliers."""
        return np.asarray(solutions.orbit.floquet_multipliers)

    def result(self, find: LocatedZero) -> CodimensionTwoPoint | None:
        """Return a codimension-two point, None if not located."""
        numbers = np.asarray(find.value), find.eigenvalues.astype(complex)
        return CodimensionTwoPoint(find.kind, *numbers) if find.located else None


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


def _by_grazing(ends, orbits) -> list[Reason]:
    """Return the reason codes of both ends, with GRAZING at grazing orbits."""
    margins = np.asarray(orbits.grazing_margin) / np.max(orbits.amplitude, axis=-1)
    return [
        Reason.GRAZING if code == Reason.DIVERGED and margins[tip] < _GRAZES else code
        for code, tip in zip(ends, (0, -1), strict=True)
    ]


def bifurcation_curves(
    system: System,
    branch: Branch,
    bounds: Mapping[str, tuple[float, float]],
    *,
    kinds: Sequence[str] = KINDS,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> list[BifurcationCurve]:
    """Continue all bifurcations of a branch in two parameters: a stability chart.

    Bifurcations that lie on a curve found before are skipped. **Arguments:** `branch`:
    of `system`, with its `bifurcations`; `kinds`: the kinds to continue; the others as
    in `continue_bifurcation`.

    **Raises:** `ValueError` for an unknown kind and as `continue_bifurcation`.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(unknown_key("kind", kind, KINDS))
    curves: list[BifurcationCurve] = []
    for point in branch.bifurcations:
        is_located = point.kind in kinds and not int(point.result)
        if is_located and not any(
            _passes(system, curve, point, bounds) for curve in curves
        ):
            curve = continue_bifurcation(
                system, point, bounds, settings=settings, progress=progress
            )
            curves.append(curve)
    return curves


def _passes(system, curve: BifurcationCurve, point: BifurcationPoint, bounds) -> bool:
    """Return whether a curve passes through a point."""
    if curve.kind != point.kind:
        return False
    first, second = (np.asarray(curve.parameters)[:, i] for i in (0, 1))
    level = float(parameters(system)[curve.paths[1]].value)
    states = np.asarray(curve.states)
    size = np.abs(states).max(axis=0) + np.finfo(float).tiny
    low, high = bounds[curve.paths[0]]
    for value, state in passing(second, level, first, states):
        apart = np.abs(state - np.asarray(point.state)) / size
        if (
            abs(value - float(point.parameter)) < _SAME * (high - low)
            and (apart < 0.1).all()
        ):
            return True
    return False


def _checked_paths(system, point: BifurcationPoint, bounds) -> tuple[str, str]:
    for path in bounds:
        parameter_at(system, path)
    others = [path for path in bounds if path != point.path]
    if len(bounds) != 2 or len(others) != 1:
        raise ValueError(
            f"bounds of {', '.join(bounds)}; allowed: of {point.path}, the point's own "
            "parameter, and of one other"
        )
    return point.path, others[0]


def _check_bounds(system, path: str, pair, value: float) -> None:
    enclosing_bounds(parameter_at(system, path), path, pair, value)
    check_periods_along(system, path, pair)


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
    return LaneData(leaves, units, _RTOL, _CLOSE, setting=setting), start / units
