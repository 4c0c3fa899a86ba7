"""Natural continuation: steps in the parameter, corrected or uncorrected."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..ensemble import Reason, checkpointed
from ..orbits.periodic_orbit import PeriodicOrbit, orbit_from_guess
from ..orbits.shooting import scales
from .point import Linearised, Point, at, evaluate_state, linearised

# Step size control aims at this relative prediction error...
_PREDICTOR_ERROR = 3e-3
# ... and rejects steps with ten times that: an orbit found from so far away may belong
# to another branch.
_TOO_FAR = 10 * _PREDICTOR_ERROR


class Follower:
    """Steps along one parameter, each starting from the previous point."""

    def __init__(self, system, path, periods, rtol, factor, steps):
        self.system, self.path, self.periods = system, path, periods
        self.rtol, self.factor, self.steps = rtol, factor, steps

    def corrected(
        self, start: Point, bound: float, most: int, report: Callable[[int], None]
    ) -> tuple[list[Point], Reason]:
        """Return the corrected points towards a bound, and the reason of the end."""
        points, point = [], start
        step = self.steps["first_step"]
        sign = np.sign(bound - start.value)
        if sign == 0:
            return points, Reason.PARAMETER_BOUND
        slope = self._slope(point)
        while len(points) < most:
            target = point.value + sign * step
            if sign * (bound - target) <= 0:
                target = bound
            guess = point.orbit.state + slope * (target - point.value)
            found = self._find(target, guess)
            miss = _prediction_distance(self.system, guess, found)
            same_side = _side_of_fold(found) == _side_of_fold(start.orbit)
            if int(found.result) == Reason.SUCCESS and miss < _TOO_FAR and same_side:
                point = Point(target, found, miss)
                points.append(point)
                report(1)
                if target == bound:
                    return points, Reason.PARAMETER_BOUND
                slope = self._slope(point)
                growth = np.sqrt(_PREDICTOR_ERROR / max(miss, 1e-12))
                step = min(step * np.clip(growth, 0.5, 2.0), self.steps["largest_step"])
            else:
                step = abs(target - point.value) / 4
                if step < self.steps["smallest_step"]:
                    return points, _why_stuck(point.orbit, found)
        return points, Reason.POINT_LIMIT

    def uncorrected(
        self, start: Point, bound: float, most: int, report: Callable[[int], None]
    ) -> tuple[list[Point], Reason]:
        """Return the uncorrected points of the paper, and the reason of the end."""
        points, value, state = [], start.value, start.orbit.state
        step = self.steps["first_step"]
        sign = np.sign(bound - start.value)
        while len(points) < most:
            if value == bound:
                return points, Reason.PARAMETER_BOUND
            target = value + sign * step
            if sign * (bound - target) <= step * 1e-9:
                target = bound
            here = self._linearised(value, state)
            change = -here.residual - here.column * (target - value)
            state = state + jnp.asarray(linalg.solve_vector(here.matrix, change))
            value = target
            there = at(self.system, self.path, value)
            tight = self.rtol * self.factor
            seen = checkpointed(
                evaluate_state, there, state, self.periods, self.rtol, tight
            )
            if int(seen.result) != Reason.SUCCESS:
                return points, Reason(int(seen.result))
            points.append(Point(value, seen, float("nan")))
            report(1)
        return points, Reason.POINT_LIMIT

    def _find(self, value, guess) -> PeriodicOrbit:
        system = at(self.system, self.path, value)
        tolerances = self.rtol, self.factor
        return checkpointed(orbit_from_guess, system, guess, self.periods, *tolerances)

    def _linearised(self, value, state) -> Linearised:
        tight = self.rtol * self.factor
        return checkpointed(
            linearised, self.system, self.path, value, state, self.periods, tight
        )

    def _slope(self, point):
        here = self._linearised(point.value, point.orbit.state)
        return -jnp.asarray(linalg.solve_vector(here.matrix, here.column))


def _prediction_distance(system, guess, found) -> float:
    distance = jnp.max(jnp.abs(found.state - guess) / scales(system, guess))
    return float(distance) if np.isfinite(distance) else np.inf


def _side_of_fold(orbit: PeriodicOrbit) -> float:
    """Return the sign of det(I - M), which changes where a branch turns back."""
    return float(np.sign(np.prod(1 - np.asarray(orbit.floquet_multipliers)).real))


def _why_stuck(last: PeriodicOrbit, failed: PeriodicOrbit) -> Reason:
    """Return why no step is small enough: a multiplier at 1, or Newton's code."""
    to_fold = float(np.min(np.abs(np.asarray(last.floquet_multipliers) - 1)))
    if to_fold < 0.05:
        return Reason.SINGULAR
    code = Reason(int(failed.result))
    return Reason.DIVERGED if code is Reason.SUCCESS else code
