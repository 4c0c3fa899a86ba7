"""Continuation of bifurcations in two parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from ..drawing import Chart, Plottable, draw
from ..drawing.axes import Axes
from ..ensemble import Reason, reason
from ..foundation.arrays import to_jax
from ..foundation.quantity import Range, check_range, result_field
from ..orbits.equilibrium import Equilibrium
from ..orbits.limit_cycle import LimitCycle
from ..orbits.periodic_orbit import PeriodicOrbit
from ..systems.base.system import System
from ..systems.fields import check_autonomous
from ..systems.parameters import enclosing_bounds, parameter_at, parameters, unknown_key
from .equations.defining_equations import KINDS
from .problems.field_curves import field_curve
from .problems.field_points import KINDS as KINDS_OF_FIELDS
from .problems.orbit_curves import orbit_curve
from .results.bifurcation_results import BifurcationPoint, FieldBifurcation
from .results.branch import AbstractBranch, passing
from .results.pictures import curves_chart
from .tracing.arclength import both_ways
from .tracing.codimension_two import CodimensionTwoPoint
from .tracing.parameter_range import check_periods_along
from .tracing.settings import USUAL, ContinuationSettings, report_to
from .tracing.trace import trace
from .tracing.tracer import Limits

_KINDS = (*KINDS, "hopf")
_SAME = 5e-3  # tolerance of equal points, relative to a parameter's range
_NOT_OF_CURVES = ("segments", "rtol", "evidence", "events", "stop_at")


class BifurcationCurve(Plottable):
    """Bifurcations of one kind along a curve in two parameters, in their order.

    `orbits`: a `PeriodicOrbit`, of autonomous systems an `Equilibrium` or a `LimitCycle`,
    whose fields have a leading axis of points. `ends` has the reason codes of the first
    and the last point; `codimension_two` are the codimension-two points of the curve.
    `test`: of equilibria and cycles the distance of the eigenvalue or multiplier.
    """

    kind: str = eqx.field(static=True)
    paths: tuple[str, str] = eqx.field(static=True)
    parameters: Float[Array, "points 2"] = result_field(
        "values of both parameters", "", ("point", "parameter")
    )
    orbits: PeriodicOrbit | Equilibrium | LimitCycle
    test: Float[Array, " points"] = result_field("test function", "", ("point",))
    ends: Int[Array, " 2"] = result_field("reason codes of both ends", "", ("end",))
    codimension_two: tuple[CodimensionTwoPoint, ...] = ()
    units: tuple[str, str] = eqx.field(static=True, default=("", ""))

    drawable = True

    def plot(self, *, ax: Axes = None) -> Axes:
        """Draw the curve in its two parameters on matplotlib axes and return them.

        `plot_curves` draws several, each in a colour and with a label.
        """
        return draw(curves_chart([self]), ax)

    def charts(self) -> list[Chart]:
        """Return the chart of `plot`, and those of all fields."""
        return [curves_chart([self]), *super().charts()]

    @property
    def states(self) -> Float[Array, "points n"]:
        """The states at t = 0."""
        return self.orbits.state

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers, largest modulus first, of orbits and cycles."""
        if isinstance(self.orbits, Equilibrium):
            raise AttributeError("equilibria have eigenvalues, and no floquet_multipliers")
        return self.orbits.floquet_multipliers

    @property
    def eigenvalues(self) -> Complex[Array, "points n"]:
        """The eigenvalues of equilibria, 1/s; otherwise the Floquet multipliers."""
        if isinstance(self.orbits, Equilibrium):
            return self.orbits.eigenvalues
        return self.floquet_multipliers

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
    point: BifurcationPoint | FieldBifurcation,
    bounds: Mapping[str, tuple[float, float]],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> BifurcationCurve:
    """Continue a bifurcation along a curve in two parameters, in both directions.

        point = branch.bifurcations[0]
        bounds = {"w": (0.9, 1.3), "f": (0.005, 0.05)}
        jv.branches.continue_bifurcation(system, point, bounds)

    Of orbits: folds, period doublings, Neimark-Sacker points and grazing; of equilibria:
    folds and Hopf points; of cycles: folds, period doublings and Neimark-Sacker points.
    Pseudo-arclength continuation (`tracing.arclength`) passes turning points in either
    parameter and cusps. A curve of Neimark-Sacker points ends where the two multipliers
    meet at 1 or -1 (`STRONG_RESONANCE`), of Hopf points at a Bogdanov-Takens point, and
    of grazing where its orbits touch earlier or elsewhere instead (`NO_BIFURCATION`). A
    curve of another kind of orbits ends at a grazing orbit where no step is short enough
    (`GRAZING`), of cycles where their segments are not resolved (`TOO_FEW_SEGMENTS`).

    **Arguments:** `point`: of a branch of `system`, or a `bifurcation_point`. `bounds`:
    by path, of the point's own parameter and of a second one, which has the system's own
    value at the point. `settings`: the steps, relative to these ranges, and
    `most_points`; the others do not apply.

    **Raises:** `ValueError` for a kind that has no curves, unknown paths, bounds that do
    not enclose the point, or a point that cannot be reproduced.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.3.
    """
    known = KINDS
    if isinstance(point, FieldBifurcation):
        check_autonomous(system, "continue_bifurcation of this point")
        known = KINDS_OF_FIELDS[point.of]
    if point.kind not in known:
        raise ValueError(f"kind = {point.kind!r}; allowed: {', '.join(known)}")
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
    problem, x = (
        field_curve(system, point, paths, start, pairs)
        if isinstance(point, FieldBifurcation)
        else orbit_curve(system, point, paths, start, pairs)
    )
    scaled, exact = (tuple(map(tuple, each)) for each in (pairs / ranges[:, None], pairs))
    limits = Limits(scaled, exact, **steps, most_points=settings.most_points)
    tracers = both_ways(problem, x[None], limits)
    if tracers[0][0].code == Reason.DIVERGED:
        raise ValueError(f"{point.kind} at {start}: no curve is found from this point")
    (found,) = trace(problem, tracers, limits, report_to(progress))
    found = problem.ended(found, start)
    return BifurcationCurve(
        kind=point.kind,
        paths=paths,
        parameters=to_jax(found.values),
        orbits=to_jax(found.solutions.orbit),
        test=to_jax(found.solutions.test),
        ends=to_jax(np.asarray(found.ends, np.int32)),
        codimension_two=tuple(found.results),
        units=(parameter_at(system, paths[0]).unit, parameter_at(system, paths[1]).unit),
    )


def bifurcation_curves(
    system: System,
    branch: AbstractBranch,
    bounds: Mapping[str, tuple[float, float]],
    *,
    kinds: Sequence[str] = _KINDS,
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
        if kind not in _KINDS:
            raise ValueError(unknown_key("kind", kind, _KINDS))
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


def _passes(system, curve: BifurcationCurve, point: Any, bounds) -> bool:
    """Return whether a curve passes through a point."""
    of_field = isinstance(point, FieldBifurcation)
    of_cycle = of_field and point.of == "cycle"
    if curve.kind != point.kind or isinstance(curve.orbits, LimitCycle) != of_cycle:
        return False
    # The state of a cycle at t = 0 is any of its states.
    name = "period" if of_cycle else "state"
    states, mine = (np.asarray(getattr(each, name)) for each in (curve.orbits, point))
    states = states.reshape(len(states), -1)
    first, second = (np.asarray(curve.parameters)[:, i] for i in (0, 1))
    level = float(parameters(system)[curve.paths[1]].value)
    size = np.abs(states).max(axis=0) + np.finfo(float).tiny
    low, high = bounds[curve.paths[0]]
    for value, state in passing(second, level, first, states):
        apart = np.abs(state - mine) / size
        if (
            abs(value - float(point.parameter)) < _SAME * (high - low)
            and (apart < 0.1).all()
        ):
            return True
    return False


def _checked_paths(
    system, point: BifurcationPoint | FieldBifurcation, bounds
) -> tuple[str, str]:
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
