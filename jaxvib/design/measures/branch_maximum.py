r"""The largest value of an orbit's field over a branch, with derivatives.

Between the points of a branch the maximum is searched along its pseudo-arclength, which
passes folds. With the field g of the orbit at the parameter $\mu$ of a design p,

$$G(p) = \max_{\mu} g(\mu, p), \qquad
  \frac{dG}{dp} = \frac{\partial g}{\partial p}(\mu^*, p),$$

at an interior maximum, where $\partial g / \partial\mu = 0$, and at an end of the range,
which is fixed.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .optimize
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ...branches import Branch
from ...branches.equations.corrector import LaneData
from ...branches.equations.point import at
from ...branches.problems.orbit_problem import OrbitProblem
from ...branches.tracing.problem import lane_of
from ...branches.tracing.settings import USUAL
from ...drawing import Plottable
from ...ensemble import Reason
from ...foundation.arrays import one_lane, partition_arrays, stop_gradient_tree
from ...foundation.quantity import result_field
from ...orbits import PeriodicOrbit, periodic_orbit
from ...systems.fields import is_autonomous
from ...systems.parameters import parameters, replace
from .diagram import Diagram
from .measure import EvaluationLostError, Measure, Outcome
from .orbit import orbit_field

_RTOL = 1e-10  # of the flow
# Newton's steps back to the branch, their relative size.
_ITERATIONS, _SMALL_STEP = 12, 1e-9
# Of the distance between points: the error of the maximum is of its square.
_RESOLVED = 1e-6
# Of the parameter's extent from one neighbour of the highest point to the other: secant
# of the slope, and how far the maximum may move by them.
_SECANT, _NEAR = 1e-5, 1e-2
_HIGHER = 2.0  # times as high: a branch is traced again from there
# Ends at which a branch is complete within the range.
_COMPLETE = {
    Reason.PARAMETER_BOUND,
    Reason.CLOSED,
    Reason.BRANCHED,
    Reason.PERIOD_HALVED,
}


class BranchMaximum(Plottable):
    """The largest value of a field over a branch.

    >>> tuned = jv.replace(system, {"load.frequency": 5.7})
    >>> peak = jv.design.branch_maximum(
    ...     tuned, "max_contact_force", "load.amplitude", (480.0, 520.0)
    ... )
    >>> bool(peak.interior), float(peak.parameter)
    (False, 520.0)
    """

    value: Float[Array, ""] = result_field("largest value")
    parameter: Float[Array, ""] = result_field("value of the parameter there")
    interior: Bool[Array, ""] = result_field("whether it is not at an end of the branch")
    orbit: PeriodicOrbit

    def __repr__(self) -> str:
        place = "within the branch" if bool(self.interior) else "at an end of the branch"
        value, parameter = float(self.value), float(self.parameter)
        return f"BranchMaximum: {value:.8g} at {parameter:.8g}, {place}"


@dataclasses.dataclass(frozen=True)
class BranchMaximumAnalysis:
    """The largest value of an orbit's field over the branch of the system's own motion.

    The branch is traced anew at each design.
    """

    diagram: Diagram
    read: Any
    compiled = False
    start_compiled = False

    def start(self, system: Any) -> Array:
        """Return the first guess of the motion. **Raises:** `ValueError` without loads."""
        if is_autonomous(system):
            raise ValueError("the system is autonomous; allowed: systems with a period")
        return self.diagram.first_guess(system)

    def __call__(self, system, memory) -> Outcome:
        """Return the `BranchMaximum`."""
        here = stop_gradient_tree(system)
        motion = self.diagram.motion(here, memory)
        code = Reason(int(motion.result))
        place = parameters(here)[self.diagram.path].value
        interior, near = False, motion.state
        if code == Reason.SUCCESS:
            branch = self._branch(here, motion)
            ends = [Reason(int(end)) for end in np.asarray(branch.ends)]
            code = max((end for end in ends if end not in _COMPLETE), default=code)
        if code == Reason.SUCCESS:
            found = _FieldAlongBranch(here, self.diagram.path, branch, self.read).maximum()
            place, near, interior = found
        there = replace(system, {self.diagram.path: place})
        orbit = periodic_orbit(
            there, near, self.diagram.periods, rtol=_RTOL, evidence="quick", throw=False
        )
        code = code or Reason(int(orbit.result))
        known = jnp.where(code == Reason.SUCCESS, 1.0, jnp.nan)
        value, place = self.read(orbit) * known, jnp.asarray(place) * known
        maximum = BranchMaximum(value, place, jnp.asarray(interior), orbit)
        margin = orbit.grazing_margin / jnp.max(orbit.amplitude)
        memory = memory if code else motion.state
        return Outcome(
            maximum, memory, jnp.asarray(int(code), jnp.int32), margin, orbit.contacts
        )

    def _branch(self, system, motion):
        """Return the branch of a motion.

        Steps are measured by the size of the first motion: a resonance a hundred times as
        high takes all points. It is then traced again from its highest one.
        """
        size = float(np.max(motion.amplitude))
        while True:
            branch = self.diagram.branch(system, motion)
            assert isinstance(branch, Branch)  # `start` refuses autonomous systems
            sizes = np.max(np.asarray(branch.orbits.amplitude), axis=1)
            top = int(np.argmax(sizes))
            limited = int(Reason.POINT_LIMIT) in np.asarray(branch.ends)
            if not limited or sizes[top] < _HIGHER * size:
                return branch
            size, place = float(sizes[top]), float(branch.parameter[top])
            there = replace(system, {self.diagram.path: place})
            again = self.diagram.motion(there, branch.states[top])
            if int(again.result):
                return branch
            system, motion = there, again


class _FieldAlongBranch:
    """The values of a field along a branch, at its points and between them."""

    def __init__(self, system, path: str, branch: Any, read):
        self.system, self.path, self.branch, self.read = system, path, branch, read
        values, states = np.asarray(branch.parameter), np.asarray(branch.states)
        self.periods = np.asarray(branch.orbits.periods)[0]
        self.units = np.append(
            np.abs(states).max(axis=0, initial=1e-300), np.ptp(values) or 1.0
        )
        self.points = np.column_stack([states, values]) / self.units
        leaves, static = partition_arrays(system)
        data = LaneData(leaves, self.units, _RTOL, _SMALL_STEP, _RTOL, self.periods)
        self.problem = OrbitProblem(static, path, one_lane(data), USUAL)

    def maximum(self) -> tuple[float, np.ndarray, bool]:
        """Return the parameter, the state, and whether the maximum is not at an end."""
        number = len(self.points)
        values = np.asarray(eqx.filter_vmap(self.read)(self.branch.orbits))
        top = int(np.argmax(values))
        last, following = (
            self.points[max(top - 1, 0)],
            self.points[min(top + 1, number - 1)],
        )
        tangent = following - last
        length = float(np.sqrt(tangent @ tangent))
        if not length:
            return *self._unscaled(self.points[top]), False
        tangent = tangent / length
        begin, end = (
            float(tangent @ (each - self.points[top])) for each in (last, following)
        )

        def negative(distance):
            point = self._corrected(self.points[top], tangent, distance)
            return np.inf if point is None else -self._field(point)

        found = scipy.optimize.minimize_scalar(
            negative, bounds=(begin, end), method="bounded",
            options={"xatol": _RESOLVED * (end - begin)},
        )  # fmt: skip
        best = self._corrected(self.points[top], tangent, float(found.x))
        if best is None or -found.fun <= self._field(self.points[top]):
            best = self.points[top]
        apart = float(np.abs(best - self.points[top]).max())
        at_end = top in (0, number - 1) and apart <= 2 * _RESOLVED * length
        if at_end:
            return *self._unscaled(self.points[top]), False
        around = np.ptp([last[-1], self.points[top][-1], following[-1]])
        around = float(around * self.units[-1])
        return *self._stationary_point(*self._unscaled(best), around), True

    def _stationary_point(
        self, value: float, state: np.ndarray, around: float
    ) -> tuple[float, np.ndarray]:
        """Return the maximum near a parameter and a state, by secants of the slope.

        `around`: the extent of the parameter around it.

        Values locate a maximum only to the root of their rounding, and slopes by the
        design are as wrong as its place. At a kink secants fail: the place is kept.
        """

        def field(value):
            there, periods = at(self.system, self.path, value), int(self.periods)
            orbit = periodic_orbit(
                there, state, periods, rtol=_RTOL, evidence="quick", throw=False
            )
            return self.read(orbit), orbit.state

        slope_at = jax.jacfwd(field, has_aux=True)
        places = [value, value + _SECANT * around]
        slopes = [float(slope_at(jnp.asarray(place))[0]) for place in places]
        least = abs(slopes[0])
        for _ in range(_ITERATIONS):
            rise, width = slopes[-1] - slopes[-2], places[-1] - places[-2]
            new = places[-1] - slopes[-1] * width / rise if rise else np.nan
            if not abs(new - value) <= _NEAR * around:
                return value, state
            slope, found = slope_at(jnp.asarray(new))
            places, slopes = [places[-1], new], [slopes[-1], float(slope)]
            if abs(places[1] - places[0]) <= _SMALL_STEP * around:
                break
        return (new, np.asarray(found)) if abs(slopes[-1]) <= least else (value, state)

    def _unscaled(self, point) -> tuple[float, np.ndarray]:
        values = point * self.units
        return float(values[-1]), values[:-1]

    def _field(self, point) -> float:
        """Return the field of the orbit at a point of the branch."""
        orbit = lane_of(self.problem.evaluated([0], point[None])[1], 0)
        return float(self.read(orbit))

    def _corrected(self, start, tangent, distance: float) -> np.ndarray | None:
        """Return the point of the branch at a distance along a way, None if not found."""
        predicted = start + distance * tangent
        found = self.problem.correct_of(0, predicted[None], tangent[None])
        return np.asarray(found.x[0]) if found.found[0] else None


def _analysis(field, component, path, bounds, periods, guess) -> BranchMaximumAnalysis:
    diagram = Diagram.of(path, bounds, periods, guess)
    return BranchMaximumAnalysis(diagram, orbit_field(field, component))


def branch_maximum(
    system: Any,
    field: str,
    path: str,
    bounds: tuple[float, float],
    component: int = 0,
    *,
    periods: int = 1,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
) -> BranchMaximum:
    """Return the largest value of an orbit's field over the branch along a parameter.

    See `branch_maximum_measure`. **Raises:** `ValueError` for an unknown field or an
    autonomous system; `EvaluationLostError` if the branch is not complete.

    >>> peak = jv.design.branch_maximum(
    ...     system, "max_contact_force", "load.amplitude", (480.0, 520.0)
    ... )
    >>> bool(peak.interior), float(peak.parameter)
    (False, 520.0)
    """
    analysis = _analysis(field, component, path, bounds, periods, guess)
    found = analysis(system, analysis.start(system))
    if int(found.code):
        raise EvaluationLostError(int(found.code))
    return found.result


def branch_maximum_measure(
    field: str,
    path: str,
    bounds: tuple[float, float],
    component: int = 0,
    *,
    periods: int = 1,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
) -> Measure:
    """Return a measure of the largest value of an orbit's field over a branch.

    From the system's own motion the branch is traced to both bounds, past folds: motions
    on all its points count, stable or not. The maximum is located between points;
    derivatives are those at its place. Where two maxima are equal, or at a grazing, the
    derivative jumps. A branch that ends elsewhere than at the bounds or another branch
    has no value.

    **Arguments:** `field`, `component`: as in `orbit_measure`; `path`, `bounds`: the
    parameter and its range; `periods`: of the load in one of the orbit; `guess`: a
    state of the motion, see `bifurcation_measure`. **Raises:** `ValueError` for an
    unknown field.

    >>> force = jv.design.branch_maximum_measure(
    ...     "max_contact_force", "load.amplitude", (480.0, 520.0)
    ... )
    >>> force.unit
    'N'
    """
    analysis = _analysis(field, component, path, bounds, periods, guess)
    described = f"largest {field}[{component}] over {path}"
    return Measure(analysis, _value, analysis.read.unit, described)


def _value(maximum: BranchMaximum):
    return maximum.value
