"""Continuation of equilibria along a parameter, with folds and Hopf points."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex

from ..dynamics.scales import field_scales
from ..ensemble import Reason, reason
from ..foundation.arrays import partition_arrays, to_jax
from ..orbits.equilibrium import Equilibrium, equilibrium_at
from ..systems.autonomous import check_autonomous
from ..systems.system import System
from .arclength import both_ways
from .bifurcation_results import FieldBifurcation, field_bifurcation
from .branch import AbstractBranch
from .corrector import Corrected, in_plane, system_of
from .parameter_range import known_parameter, parameter_range
from .point import at
from .settings import USUAL, ContinuationSettings, report_to
from .sign_changes import SignChange, detect_bifurcations, pairs, product
from .smooth_branch import SmoothFrame
from .tracer import Limits, TracerContext

# Newton's method converges to rounding errors of the field.
_RTOL, _CLOSE = 1e-12, 1e-14
# Tolerance of a zero or imaginary eigenvalue, relative to the largest.
_NEAR = 1e-5
# Settings that apply to orbits only.
_NOT_OF_EQUILIBRIA = ("segments", "correct", "events", "stop_at")


class EquilibriumProblem(NamedTuple):
    """The data of a corrector for a branch, see `corrector.BranchProblem`."""

    leaves: Any
    units: Any
    rtol: Any
    close: Any


class EquilibriumBranch(AbstractBranch):
    """Equilibria along one parameter, in their order along the branch.

    `equilibria`: an `Equilibrium` whose fields have a leading axis of points. `ends`
    has the reason codes of the first and the last point.
    """

    noun = "equilibria"

    equilibria: Equilibrium
    bifurcations: tuple[FieldBifurcation, ...] = ()

    @property
    def found(self) -> Equilibrium:
        """The equilibria."""
        return self.equilibria

    @property
    def eigenvalues(self) -> Complex[Array, "points n"]:
        """The eigenvalues, 1/s, largest real part first."""
        return self.equilibria.eigenvalues


def continue_equilibrium(
    system: System,
    point: Equilibrium,
    path: str,
    bounds: tuple[float, float],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> EquilibriumBranch:
    r"""Continue an equilibrium along a parameter, in both directions from its value.

    Pseudo-arclength continuation passes folds, as in `continue_orbit`. Bifurcations are
    located on the branch and are in `.bifurcations`: a "fold", where the parameter
    turns back; a "branch_point", where another branch crosses, $\det J = 0$; a "hopf"
    point, with a complex pair $\lambda = \pm i \omega$ on the imaginary axis,
    $\prod_{i<j} (\lambda_i + \lambda_j) = 0$, and its `frequency`. `switch_branch`
    continues the cycles from a Hopf point.

    **Arguments:** `point`: of `system`. `path`, `bounds`: the parameter and its range,
    which contains the system's own value. `settings`: the steps. `progress`: is called
    with the number of points found since its last call.

    **Raises:** `ValueError` for a system that is not autonomous, an unknown path,
    bounds that do not enclose the system's value, or an equilibrium that was not found.

    **Source:** Keller, in Rabinowitz (ed.), *Applications of Bifurcation Theory* (1977);
    Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.2.
    """
    check_autonomous(system, "continue_equilibrium")
    settings.refuse("continue_equilibrium", *_NOT_OF_EQUILIBRIA)
    value = float(known_parameter(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(point.result) != Reason.SUCCESS:
        raise ValueError(f"equilibrium was not found: {reason(point.result)}")
    frame = EquilibriumFrame(system, path, point.state, extent.span)
    start = np.append(point.state, value) / frame.problem.units
    around = TracerContext(extent.limits, frame.correct)
    pair = both_ways(frame.lanes, frame.problems, start[None], [around])
    return frame.traced(pair[0], extent.limits, report_to(progress))


class EquilibriumFrame(SmoothFrame):
    """Shared data of a branch of equilibria."""

    def __init__(self, system, path: str, state, span: float):
        leaves, static = partition_arrays(system)
        units = np.append(equilibrium_units(system, jnp.asarray(state)), span)
        leaves = jax.tree.map(np.asarray, leaves)
        tolerances = np.asarray(_RTOL), np.asarray(_CLOSE)
        super().__init__(static, path, EquilibriumProblem(leaves, units, *tolerances))

    def corrector(self):
        """Return the function that corrects a lane's prediction."""
        return _corrector(self.static, self.path)

    def evaluator(self):
        """Return the function from a lane to parameter and equilibrium."""
        return _evaluator(self.static, self.path)

    def traced(self, pair, limits: Limits, report) -> EquilibriumBranch:
        """Return the branch traced by a pair of tracers."""
        followed = self.followed(pair, limits, report)
        changes = detect_bifurcations(self.correct, followed.points, TESTS)
        located = [self._bifurcation(change) for change in changes]
        equilibria = to_jax(followed.found)
        return EquilibriumBranch(equilibria=equilibria, **self.along(followed, located))

    def _bifurcation(self, change: SignChange) -> FieldBifurcation | None:
        """Return the bifurcation at a sign change, None if real eigenvalues cancel."""
        values, found = self.evaluated(change.x[None])
        eigenvalues = found.eigenvalues[0]
        size = np.abs(eigenvalues).max()
        turning = np.where(eigenvalues.imag > 0, np.abs(eigenvalues.real), np.inf)
        wrong, frequency = np.abs(eigenvalues).min(), np.nan
        if change.kind == "hopf":
            wrong = turning.min()
            frequency = eigenvalues.imag[turning.argmin()]
        if change.found and not wrong < _NEAR * size:
            return None
        code = Reason.SUCCESS if change.found else Reason.ITERATION_LIMIT
        return field_bifurcation(
            change.kind,
            "equilibrium",
            self.path,
            parameter=values[0],
            state=found.state[0],
            period=2 * np.pi / frequency,
            frequency=frequency,
            residual=found.residual[0],
            test=wrong,
            iterations=change.evaluations,
            result=code,
        )


# Test functions of the tangent's parameter component and of eigenvalues (points, n).
TESTS: dict[str, Callable] = {
    "fold": lambda tangents, values: tangents,
    "hopf": lambda tangents, values: product(pairs(values, np.add)).real,
    "branch_point": lambda tangents, values: product(values).real,
}


@eqx.filter_jit
def equilibrium_units(system, state):
    """Return the scales of an equilibrium's components."""
    field = system.equation().vector_field
    matrix = jax.jacfwd(lambda state: field(0.0, state))(state)
    fastest = jnp.linalg.norm(matrix)
    period = 2 * jnp.pi / jnp.where(fastest > 0, fastest, 1.0)
    known = field_scales(field, 0.0, state, period)
    size = jnp.maximum(known.least, known.sizes(state))
    noise = jnp.finfo(float).eps * jnp.max(size)
    return jnp.where(size > noise, size, 1.0)


@functools.lru_cache(maxsize=32)
def _corrector(static, path: str):
    """Return the function that corrects a lane (problem, predicted x, normal)."""

    def map_(problem, x):
        system = system_of(problem, static)

        def rate(x):
            unscaled = x * problem.units
            there = at(system, path, unscaled[-1])
            found = there.equation().vector_field(0.0, unscaled[:-1])
            return found / problem.units[:-1], found / problem.units[:-1]

        matrix, left = jax.jacfwd(rate, has_aux=True)(x)
        return left, matrix, matrix[:, :-1]

    def correct(lane) -> Corrected:
        problem, predicted, normal = lane
        here = functools.partial(map_, problem)
        return in_plane(here, problem.rtol, problem.close, predicted, normal)

    return correct


@functools.lru_cache(maxsize=32)
def _evaluator(static, path: str):
    """Return the function from a lane (problem, x) to parameter and equilibrium."""

    def evaluate(lane):
        problem, x = lane
        unscaled = x * problem.units
        there = at(system_of(problem, static), path, unscaled[-1])
        leaves, rest = partition_arrays(there)
        nothing = jnp.asarray(0, jnp.int32)
        units = problem.units[:-1]
        state = unscaled[:-1]
        return unscaled[-1], equilibrium_at(rest, leaves, state, units, nothing, nothing)

    return evaluate
