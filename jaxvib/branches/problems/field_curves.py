"""Bifurcations of equilibria and cycles of autonomous systems along curves.

At each value of the second parameter the equations are those of
`problems.field_points`, of the first parameter.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.arrays import partition_arrays
from ...orbits.equilibrium import Equilibrium
from ...systems.base.system import System
from ..equations.corrector import LaneData, lane_corrector, system_of
from ..equations.cycle_equations import CycleJoints
from ..equations.defining_equations import with_values
from ..equations.hopf_coefficient import hopf_coefficient
from ..equations.point import at
from ..equations.root import RTOL
from ..results.bifurcation_results import FieldBifurcation
from ..tracing.test_functions import OF_MULTIPLIERS, EvaluatedPoints
from ..tracing.trace import Traced
from .cycle_evaluation import cycle_at
from .equilibria import EquilibriumProblem, equilibrium_of, equilibrium_units
from .field_points import cycle_bifurcation_equations, rest_equations, rest_scales
from .orbit_curves import CurvePoint, CurveProblem

# Newton's method ends at a relative step below the first, or below 30 times the second
# if steps no longer decrease: of equilibria, and of cycles, which are integrated.
_OF_REST, _OF_CYCLES = (1e-13, 1e-10), (1e-11, 1e-8)


class Curve(NamedTuple):
    """What a curve is of: "equilibrium" or "cycle", its kind, and both parameters."""

    of: str
    kind: str
    paths: tuple[str, str]


class FieldCurveProblem(CurveProblem):
    """Bifurcations of equilibria or cycles along a curve."""

    def __init__(self, static, curve: Curve, data: LaneData):
        functions = _corrector(static, curve), _evaluator(static, curve)
        mine = static, curve.kind, curve.paths[0], data
        super().__init__(*mine, *functions, of=curve.of)
        rows = EquilibriumProblem.tests if curve.of == "equilibrium" else OF_MULTIPLIERS
        (self.row,) = (row for row in rows if row.kind == curve.kind)

    def eigenvalues(self, solutions: CurvePoint) -> np.ndarray:
        """Return the eigenvalues, or the multipliers without the trivial one."""
        motion = solutions.orbit
        if isinstance(motion, Equilibrium):
            return np.asarray(motion.eigenvalues)
        return np.asarray(motion.floquet_multipliers)[..., 1:]

    def ended(self, found: Traced, start: np.ndarray) -> Traced:
        """Return a traced curve with the distances of its points from the kind."""
        seen = EvaluatedPoints(None, self.eigenvalues(found.solutions), tuple)
        assert self.row.distance is not None
        test = self.row.distance(seen)
        return found._replace(solutions=found.solutions._replace(test=test))


def _first_alone(
    data: LaneData, static: System, curve: Curve, x
) -> tuple[System, LaneData]:
    """Return the system with its second parameter, and the data of the other unknowns."""
    there = at(system_of(data, static), curve.paths[1], x[-1] * data.units[-1])
    return there, data._replace(units=data.units[:-1], tight=jnp.asarray(RTOL))


@functools.lru_cache(maxsize=32)
def _corrector(static: System, curve: Curve) -> Callable:
    """Return the function that corrects a lane (data, predicted x, normal)."""
    rest, path = curve.of == "equilibrium", curve.paths[0]
    make = rest_equations if rest else cycle_bifurcation_equations
    left = make(static, curve.kind, path)

    def equations(data: LaneData, predicted, x):
        near, alone = _first_alone(data, static, curve, predicted)
        fixed: Any = alone.units, alone.speed, predicted[:-1]
        if rest:
            begun = predicted[:-1] * alone.units
            fixed = (rest_scales(near, curve.kind, path, begun, alone.units),)

        def both(x):
            leaves, _ = partition_arrays(_first_alone(data, static, curve, x)[0])
            residual, found = left(x[:-1], (leaves, *fixed))
            return residual, (residual, found)

        matrix, (residual, found) = jax.jacfwd(both, has_aux=True)(x)
        return residual, matrix, (found, jnp.zeros(())) if rest else found

    return lane_corrector(equations)


@functools.lru_cache(maxsize=32)
def _evaluator(static: System, curve: Curve) -> Callable:
    """Return the function from a lane (data, x) to both values and the motion."""

    def evaluate(lane):
        data, x = lane
        there, alone = _first_alone(data, static, curve, x)
        values = x[-2:] * data.units[-2:]
        there = at(there, curve.paths[0], values[0])
        motion = equilibrium_of if curve.of == "equilibrium" else cycle_at
        found = motion(there, alone, x[:-1])
        near = None
        if curve.kind == "hopf":
            field, units = there.equation().vector_field, alone.units[:-1]
            place = found.state / units
            near = hopf_coefficient(lambda x: field(0.0, x * units) / units, place)
        return values, CurvePoint(found, None, near)

    return evaluate


def field_curve(
    system: System, point: FieldBifurcation, paths: tuple[str, str], values, bounds
) -> tuple[FieldCurveProblem, np.ndarray]:
    """Return the problem of the curve through a point, and its scaled unknowns.

    `bounds`: of both parameters, (2, 2).
    """
    leaves, static = partition_arrays(system)
    if point.of == "equilibrium":
        close, rtol = _OF_REST
        unknowns, speed = np.asarray(point.state), ()
        units = _of_rest(with_values(system, paths, values), point.state, paths, bounds)
    else:
        close, rtol = _OF_CYCLES
        assert point.joints is not None
        units, unknowns, speed = _of_cycle(point.joints)
    units = np.append(units, bounds[:, 1] - bounds[:, 0])
    data = LaneData(leaves, units, rtol, close, speed=speed)
    data = jax.tree.map(lambda leaf: np.asarray(leaf)[None], data)
    problem = FieldCurveProblem(static, Curve(point.of, point.kind, paths), data)
    return problem, np.append(unknowns, values) / units


def _of_rest(system: System, state: Array, paths, bounds: np.ndarray) -> np.ndarray:
    """Return the scales of an equilibrium, also at the bounds: its state may be 0."""
    ends = [
        at(system, path, end)
        for path, pair in zip(paths, bounds, strict=True)
        for end in pair
    ]
    each = [np.asarray(equilibrium_units(one, state)) for one in (system, *ends)]
    return np.max([one for one in each if np.isfinite(one).all()], axis=0)


def _of_cycle(joints: CycleJoints) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return units and unknowns of a cycle without parameters, and its speed."""
    states, length = np.asarray(joints.states), np.asarray(joints.length)
    reached = np.abs(states).max(0)
    sizes = np.where(reached > 0, reached, 1.0)
    # Norms along the curve are root mean squares over the segments.
    each = np.tile(sizes, len(states)) * np.sqrt(len(states))
    return np.append(each, length), np.append(states, length), np.asarray(joints.speed)
