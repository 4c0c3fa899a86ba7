"""Measures of the bifurcation diagram: where motions bifurcate along a parameter."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Real

from ...ensemble import Reason, reason
from ...foundation.arrays import stop_gradient_tree
from ...foundation.suggestions import unknown_key
from ...systems.parameters import parameter_at
from .diagram import Diagram, OwnBranch, distances
from .measure import EvaluationLostError, Measure, Outcome, plain

KINDS = ("fold", "period_doubling", "neimark_sacker", "grazing", "branch_point", "hopf")
_FIELDS = {
    "width": lambda ends: ends[2] - ends[0],
    "low": lambda ends: ends[0],
    "high": lambda ends: ends[2],
    "margin": lambda ends: jnp.minimum(ends[1] - ends[0], ends[2] - ends[1]),
}
FIELDS = tuple(_FIELDS)


@dataclasses.dataclass(frozen=True)
class BifurcationAnalysis:
    """The bifurcation point of a motion along a parameter.

    The start traces the branch of the system's own motion within the bounds and takes
    the bifurcation of the `kind` nearest to the system's parameter; afterwards the
    point is tracked from design to design.
    """

    kind: str
    diagram: Diagram
    compiled = True
    start_compiled = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(unknown_key("kind of bifurcation", self.kind, KINDS))

    def start(self, system: Any) -> Any:
        """Return the bifurcation on the branch.

        **Raises:** `EvaluationLostError` if the branch has no such point.
        """
        first = self.diagram.motion(system)
        code = Reason(int(first.result))
        if code != Reason.SUCCESS:
            raise EvaluationLostError(
                code if code.failed else Reason.NO_BIFURCATION,
                f"the first motion was not found: {reason(code)}",
            )
        path = self.diagram.path
        branch = self.diagram.branch(system, first)
        points = [point for point in branch.bifurcations if point.kind == self.kind]
        if not points:
            low, high = (float(branch.parameter[place]) for place in (0, -1))
            raise EvaluationLostError(
                Reason.NO_BIFURCATION,
                f"no {self.kind} on the branch along {path} from {low:g} to {high:g}",
            )
        own = float(parameter_at(system, path).value)
        return min(points, key=lambda point: abs(float(point.parameter) - own))

    def __call__(self, system, memory) -> Outcome:
        """Return the bifurcation point near the previous one."""
        point = self.diagram.point(system, memory)
        return plain(point, point.result)._replace(memory=point)


def bifurcation_measure(
    kind: str,
    path: str,
    bounds: tuple[float, float],
    *,
    periods: int = 1,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
    unit: str = "",
) -> Measure:
    """Return a measure of the parameter value of a bifurcation.

    The motion is the periodic orbit of a system with periodic loads, or an equilibrium
    of an autonomous system. An equality `Limit` places the bifurcation at a value.

    **Arguments:** `kind`: "fold", "period_doubling", "neimark_sacker" or "grazing" of
    an orbit, "fold" or "hopf" of an equilibrium; `bounds`: the range of the parameter
    at `path` in which the branch is traced; `periods`: of the load in one of the orbit;
    `guess`: a state of the motion, by default one after a transient, or the state of rest
    of an autonomous system.
    **Raises:** `ValueError` for an unknown kind.

    >>> flip = jv.design.bifurcation_measure(
    ...     "fold", "load.amplitude", (100.0, 500.0), unit="N"
    ... )
    >>> flip.unit
    'N'
    """
    analysis = BifurcationAnalysis(kind, Diagram.of(path, bounds, periods, guess))
    return Measure(analysis, _parameter, unit, f"{path} at the {kind}")


def _parameter(point):
    return point.parameter


@dataclasses.dataclass(frozen=True)
class StableRangeAnalysis:
    """The range of a parameter in which the system's own motion stays stable.

    The branch is traced anew at each design, so that bifurcations which appear or
    vanish while designing are found.
    """

    diagram: Diagram
    compiled = False
    start_compiled = False

    def start(self, system: Any) -> Array:
        """Return the first guess of the motion."""
        return self.diagram.first_guess(system)

    def __call__(self, system, memory) -> Outcome:
        """Return the lower end, the system's own value and the upper end."""
        here = stop_gradient_tree(system)
        motion = self.diagram.motion(here, memory)
        own = jnp.asarray(parameter_at(system, self.diagram.path).value, float)
        code, low, high = Reason(int(motion.result)), *jnp.full(2, jnp.nan)
        if code == Reason.SUCCESS and int(motion.stable) != 1:
            code = Reason.UNSTABLE
        if code == Reason.SUCCESS:
            branch = self.diagram.branch(here, motion)
            value = float(jax.lax.stop_gradient(own))
            stretch = _Stretch(branch, motion, value, float(np.ptp(self.diagram.bounds)))
            (one, low), (other, high) = (
                self._end(system, stretch, side) for side in (-1, 1)
            )
            code = max(one, other)
        outcome = plain(jnp.stack([low, own, high]), code)
        return outcome._replace(memory=memory if code else motion.state)

    def _end(self, system, stretch: "_Stretch", side: int) -> tuple[Reason, Array]:
        """Return a reason code, and the value at which stability ends on a side."""
        bound = self.diagram.bounds[0 if side < 0 else 1]
        last, following = stretch.end(side)
        if following < 0:
            reached = float(stretch.branch.parameter[last])
            if abs(reached - bound) <= 1e-9 * np.ptp(self.diagram.bounds):
                return Reason.SUCCESS, jnp.asarray(bound)
            return stretch.reason_of_end(last, side), jnp.asarray(jnp.nan)
        near = stretch.bifurcation(last, following)
        if near is None:
            return Reason.NO_BIFURCATION, jnp.asarray(jnp.nan)
        point = self.diagram.point(system, near)
        return Reason(int(jax.lax.stop_gradient(point.result))), point.parameter


class _Stretch(OwnBranch):
    """The stretch of a branch with the system's own motion on which it stays stable."""

    def end(self, side: int) -> tuple[int, int]:
        """Return the last point of the stretch and the next one, -1 if there is none.

        It ends where stability is lost or the parameter turns back.
        """
        way, beyond = self.way(side)
        stable = np.asarray(self.branch.stable) == 1
        there = next((i for i, point in enumerate(way) if i and not stable[point]), None)
        return (way[-1], beyond) if there is None else (way[there - 1], way[there])

    def reason_of_end(self, last: int, side: int) -> Reason:
        """Return why the branch ends at its first or last point, on a side."""
        ends = np.asarray(self.branch.ends)
        final = len(self.values) - 1
        return Reason(int(ends[int(last == final and (final > 0 or side > 0))]))

    def bifurcation(self, last: int, following: int) -> Any:
        """Return the bifurcation between two points, None if there is none."""
        within = 2 * distances(self.points[following], self.points[last])
        near = []
        for point in self.branch.bifurcations:
            place = np.append(np.asarray(point.state), float(point.parameter))
            apart = distances(place / self.units, self.points[last])
            if apart <= within:
                near.append((point.kind == "grazing", apart, point))
        return min(near, key=lambda one: one[:2])[2] if near else None


def stable_range_measure(
    field: str,
    path: str,
    bounds: tuple[float, float],
    *,
    periods: int = 1,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
    unit: str = "",
) -> Measure:
    """Return a measure of the parameter range in which the system's motion stays stable.

    From the system's own parameter value the branch of its motion is traced in both
    directions to the first bifurcation at which stability is lost or the branch turns
    back, or to the bounds. The branch is traced anew at each design: bifurcations that
    appear or vanish on the way are found. Derivatives are those of the bifurcation
    points, by the implicit function theorem; an end at a bound has none. A branch that
    ends before has no value on that side, but the reason of its end. Where two
    bifurcations meet and vanish, the range jumps to the next one.

    **Arguments:** `field`: "low" or "high", the ends of the range; "width", high - low;
    "margin", the distance of the system's own value from the nearer end. `path`,
    `bounds`: the parameter and the range in which the branch is traced; `periods`: of
    the load in one of the motion, which is a periodic orbit, or an equilibrium of an
    autonomous system; `guess`: its state, see `bifurcation_measure`. **Raises:**
    `ValueError` for an unknown field.

    >>> width = jv.design.stable_range_measure("width", "load.amplitude", (100.0, 900.0))
    >>> width.description
    'width of the stable range of load.amplitude'
    """
    if field not in _FIELDS:
        raise ValueError(unknown_key("field of a stable range", field, FIELDS))
    analysis = StableRangeAnalysis(Diagram.of(path, bounds, periods, guess))
    return Measure(analysis, _FIELDS[field], unit, f"{field} of the stable range of {path}")
