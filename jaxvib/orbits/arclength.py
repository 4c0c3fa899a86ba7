r"""Pseudo-arclength continuation: steps along a branch, round its folds.

With $x = (s/u, p/\ell)$ (u what each component is measured in, \ell the range of the
parameter) and the unit tangent t of the branch, the next point solves

$$r(x) = 0, \qquad t \cdot (x - x_0 - h t) = 0$$

by Newton's method, whose matrix is regular at a fold. **Source:** Keller, in Rabinowitz
(ed.), *Applications of Bifurcation Theory* (1977) 359.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..ensemble import Reason
from .periodic_orbit import orbit_from_guess
from .point import Point, at, linearised, look
from .shooting import scales

_MOST_ITERATIONS = 8
# Steps are chosen so that the first Newton step is this long, per size of the branch...
_CORRECTION = 3e-3
# ... and taken again where it is ten times that, or where the tangent turns by more.
_TOO_FAR = 10 * _CORRECTION
_TURN = np.cos(np.radians(25.0))


class _Place(NamedTuple):
    """A point in scaled coordinates, with its tangent."""

    x: np.ndarray
    tangent: np.ndarray
    point: Point


class Arc:
    """A branch along one parameter, followed by its arc length between two bounds."""

    def __init__(self, system, path, bounds, periods, rtol, factor, steps):
        self.system, self.path, self.bounds = system, path, bounds
        self.periods, self.rtol, self.factor = periods, rtol, factor
        self.range = bounds[1] - bounds[0]
        self.steps = {name: step / self.range for name, step in steps.items()}

    def both_ways(self, start: Point, most: int, tell):
        """Return all points in order, and the reasons at both ends."""
        units = np.asarray(scales(self.system, start.orbit.state))
        self.units = np.append(units, self.range)
        x = np.append(np.asarray(start.orbit.state), start.value) / self.units
        _, matrix = self._map(x)
        tangent = np.linalg.svd(matrix)[2][-1]
        tangent = tangent * np.sign(tangent[-1])
        first = _Place(x, tangent, start)
        above, last = self._walk(first, most - 1, tell)
        if last is Reason.CLOSED:
            return [start, *above], (last, last)
        back = first._replace(tangent=-tangent)
        below, low = self._walk(back, most - 1 - len(above), tell)
        return [*reversed(below), start, *above], (low, last)

    def _walk(self, first: _Place, most: int, tell):
        """Return the points that follow from a place along its tangent, and the end."""
        points: list[Point] = []
        here, step = first, self.steps["first_step"]
        while len(points) < most:
            new, miss = self._step(here, step)
            if new is None or miss > _TOO_FAR or new.tangent @ here.tangent < _TURN:
                step = step / 4
                if step < self.steps["smallest_step"]:
                    return points, Reason.DIVERGED
                continue
            low, high = self.bounds
            if not low < new.point.value < high:
                landed = self._landed(here, new)
                return [*points, *landed], Reason.PARAMETER_BOUND
            points.append(new.point)
            tell(1)
            near = np.linalg.norm(new.x - first.x) < step
            if len(points) > 2 and near and new.tangent @ first.tangent > _TURN:
                return points, Reason.CLOSED
            here = new
            growth = np.clip(np.sqrt(_CORRECTION / max(miss, 1e-12)), 0.5, 2.0)
            step = min(step * growth, self.steps["largest_step"])
        return points, Reason.POINT_LIMIT

    def _step(self, here: _Place, step: float):
        """Return the place a step along, or None, and how long the first correction was."""
        x = predicted = here.x + step * here.tangent
        miss = 0.0
        for iteration in range(_MOST_ITERATIONS):
            residual, matrix = self._map(x)
            bordered = np.vstack([matrix, here.tangent])
            wrong = np.append(residual, here.tangent @ (x - predicted))
            if not (np.isfinite(bordered).all() and np.isfinite(wrong).all()):
                return None, np.inf
            change = np.linalg.solve(bordered, -wrong)
            x, length = x + change, np.abs(change).max()
            miss = length if iteration == 0 else miss
            if length < 30 * float(self.rtol):
                tangent = np.linalg.solve(bordered, np.eye(len(x))[-1])
                tangent = tangent / np.linalg.norm(tangent)
                return _Place(x, tangent, self._point(x, miss)), miss
            if length > 10 * _TOO_FAR:
                break
        return None, np.inf

    def _map(self, x):
        """Return the scaled residual of the period map and its matrix by x."""
        state, value = self._unscaled(x)
        tight = self.rtol * self.factor
        # As an array, so that another value is not another compilation.
        value = jnp.asarray(value)
        here = linearised(self.system, self.path, value, state, self.periods, tight)
        columns = np.column_stack([here.matrix, here.column]) * self.units
        scale = self.units[:-1]
        return np.asarray(here.residual) / scale, columns / scale[:, None]

    def _point(self, x, miss: float) -> Point:
        state, value = self._unscaled(x)
        system = at(self.system, self.path, value)
        return Point(value, look(system, state, self.periods, self.rtol), miss)

    def _unscaled(self, x):
        state = jnp.asarray(x[:-1] * self.units[:-1])
        return state, float(x[-1] * self.units[-1])

    def _landed(self, here: _Place, beyond: _Place) -> list[Point]:
        """Return the orbit on the bound between two places, if it is found."""
        low, high = self.bounds
        bound = low if beyond.point.value <= low else high
        share = (bound - here.point.value) / (beyond.point.value - here.point.value)
        guess, _ = self._unscaled(here.x + share * (beyond.x - here.x))
        system = at(self.system, self.path, bound)
        found = orbit_from_guess(system, guess, self.periods, self.rtol, self.factor)
        miss = float(jnp.max(jnp.abs(found.state - guess) / self.units[:-1]))
        return [Point(bound, found, miss)] if int(found.result) == 0 else []
