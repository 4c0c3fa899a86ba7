"""Continuation of equilibria along a parameter, with folds and Hopf points."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex

from ... import linalg
from ...dynamics.stepping.scales import field_scales
from ...ensemble import Reason, reason
from ...foundation.arrays import one_lane, partition_arrays, to_jax
from ...foundation.types import AnyArray
from ...orbits.equilibrium import Equilibrium, equilibrium_at
from ...systems.base.system import System
from ...systems.fields import check_autonomous
from ...systems.parameters import parameter_at
from ..equations.corrector import LaneData, system_corrector, system_evaluator
from ..equations.point import at
from ..results.bifurcation_results import (
    BranchThrough,
    FieldBifurcation,
    found_bifurcation,
)
from ..results.branch import AbstractBranch
from ..tracing.arclength import both_ways, run_in_scale
from ..tracing.parameter_range import parameter_range
from ..tracing.problem import BranchProblem
from ..tracing.settings import USUAL, ContinuationSettings, report_to
from ..tracing.test_functions import (
    LocatedZero,
    branch_point,
    complex_pair,
    fold,
    off_axis,
    pairs,
    past_axis,
    relative,
)
from ..tracing.trace import trace
from ..tracing.tracer import Limits, Tracer, axis_of

# Newton's method converges to rounding errors of the field.
_RTOL, _SMALL_STEP = 1e-12, 1e-14
# Tolerance of a zero or imaginary eigenvalue, relative to the largest.
_ON_AXIS = 1e-5
# Eigenvalues nearer to the axis count as stable, relative to the largest.
_PAST = 1e-11
# Settings that apply to orbits only.
# A state is 0 within rounding below this part of its size at other parameter values.
_AT_ZERO = 1e-8
_NOT_OF_EQUILIBRIA = ("segments", "events", "stop_at")


class EquilibriumBranch(AbstractBranch):
    """Equilibria along one parameter, in their order along the branch.

    `orbits`: an `Equilibrium` whose fields have a leading axis of points. `ends`
    has the reason codes of the first and the last point.
    """

    noun = "equilibria"

    orbits: Equilibrium
    bifurcations: tuple[FieldBifurcation, ...] = ()

    @property
    def equilibria(self) -> Equilibrium:
        """The equilibria: `orbits`."""
        return self.orbits

    @property
    def eigenvalues(self) -> Complex[Array, "points n"]:
        """The eigenvalues, 1/s, largest real part first."""
        return self.orbits.eigenvalues


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
    value = float(parameter_at(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(point.result) != Reason.SUCCESS:
        raise ValueError(f"equilibrium was not found: {reason(point.result)}")
    problem = EquilibriumProblem(system, path, point.state, extent.span)
    start = np.append(point.state, value) / problem.units
    pairs = both_ways(problem, start[None], extent.limits)
    return problem.traced(pairs[0], extent.limits, report_to(progress))


_TESTS = (
    fold(0.0),
    complex_pair(
        "hopf",
        past_axis,
        lambda seen: off_axis(seen.eigenvalues).min(-1),
        lambda eigenvalues: pairs(relative(eigenvalues), np.add),
    ),
    branch_point(0.0, relative),
)


class EquilibriumProblem(BranchProblem):
    """Equilibria of one autonomous system; distances are relative to the eigenvalues."""

    tests = tuple(test._replace(tolerance=_ON_AXIS) for test in _TESTS)
    # A window of a thousandth of the range is seen, at some 10 us for each place.
    places = 1024

    def __init__(
        self,
        system: System,
        path: str,
        state: AnyArray,
        span: float,
        branch: BranchThrough | None = None,
    ):
        leaves, static = partition_arrays(system)
        inner = units_near_zero(system, path, span, jnp.asarray(state), branch)
        units = np.append(inner, span)
        data = one_lane(LaneData(leaves, units, _RTOL, _SMALL_STEP))
        corrector = system_corrector(_equations, static, path)
        evaluator = system_evaluator(equilibrium_of, static, path)
        super().__init__(static, path, data, corrector, evaluator)
        self.resolution = _RTOL

    def eigenvalues(self, solutions: Equilibrium) -> np.ndarray:
        """Return the eigenvalues of the Jacobian."""
        return np.asarray(solutions.eigenvalues)

    def unstable(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return the numbers of eigenvalues to the right of the imaginary axis."""
        return (relative(eigenvalues).real > _PAST).sum(-1)

    def size(self, eigenvalues: np.ndarray) -> float:
        """Return the modulus of the largest eigenvalue."""
        return np.abs(eigenvalues).max()

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation, a Hopf point with its frequency."""
        turning = find.eigenvalues[off_axis(find.eigenvalues).argmin()].imag
        frequency = turning if find.kind == "hopf" else np.nan
        numbers = self.path, 2 * np.pi / frequency, frequency
        branch = None
        if find.along is not None:
            branch = BranchThrough(*to_jax((self.units[:-1], find.along)))
        return found_bifurcation(find, "equilibrium", *numbers, branch=branch)

    def traced(
        self, pair: Sequence[Tracer], limits: Limits, report: Callable[[int], None]
    ) -> EquilibriumBranch:
        """Return the branch traced by a pair of tracers."""
        problem, pair = run_in_scale(self, pair, limits, report)
        (found,) = trace(problem, [pair], limits, report)
        return EquilibriumBranch(orbits=to_jax(found.solutions), **self.fields(found))


@eqx.filter_jit
def equilibrium_units(system: System, state: Array) -> Array:
    """Return the scales of an equilibrium's components; 1 for those that are rounding."""
    field = system.equation().vector_field
    matrix = jax.jacfwd(lambda state: field(0.0, state))(state)
    fastest = jnp.linalg.norm(matrix)
    period = 2 * jnp.pi / jnp.where(fastest > 0, fastest, 1.0)
    known = field_scales(field, 0.0, state, period)
    size = jnp.maximum(known.least, known.sizes(state))
    noise = jnp.finfo(float).eps * jnp.maximum(jnp.max(size), 1.0)
    return jnp.where(size > noise, size, 1.0)


def units_near_zero(
    system: System,
    path: str,
    span: float,
    state: Array,
    branch: BranchThrough | None = None,
) -> Array:
    """Return the scales of an equilibrium, whose state may be 0 within rounding.

    If it is, they are those of a branch through it, if that is known, or those with the
    parameter half a range away.
    """
    own = equilibrium_units(system, state)
    if branch is None:
        value = parameter_at(system, path).value
        beside = [at(system, path, value + side * span / 2) for side in (-1, 1)]
        far = jnp.stack([equilibrium_units(one, state) for one in beside])
        away = jnp.max(jnp.nan_to_num(far, posinf=0.0), axis=0)
    else:
        away = branch.units
    return jnp.where(own < _AT_ZERO * away, away, own)


def crossing_direction(
    system: System,
    path: str,
    units: np.ndarray,
    x: np.ndarray,
    branch: BranchThrough | None,
) -> np.ndarray | None:
    r"""Return the unit direction of the branch that crosses another at a branch point.

    With the last left singular vector $l$ of the equations' matrix, and the two vectors
    $v_i$ that it maps to 0, branches go along the roots of $\sum_{ij} l \cdot
    f''[v_i, v_j]\, c_i c_j = 0$. One is that of `branch` or, if it is not known, the
    one along which the parameter changes more. None if there are no two.

    **Source:** Keller, *Numerical Solution of Bifurcation and Nonlinear Eigenvalue
    Problems*, 1977, section 5.
    """
    slopes = _expanded(system, path, jnp.asarray(units), jnp.asarray(x))
    matrix, curvature = map(np.asarray, slopes)
    left, _, right = np.linalg.svd(matrix)
    form = np.einsum("i,ijk,aj,bk", left[:, -1], curvature, right[-2:], right[-2:])
    (low, high), axes = np.linalg.eigh(form)
    if not low < 0 < high:
        return None
    roots = np.sqrt([high, -low]) * [[1, 1], [1, -1]]
    both = roots @ axes.T @ right[-2:]
    both = both / linalg.norm(both)[:, None]
    known = axis_of(len(x), -1) if branch is None else np.asarray(branch.direction)
    return both[np.argmin(np.abs(both @ known))]


@eqx.filter_jit
def _expanded(system: System, path: str, units: Array, x: Array) -> tuple[Array, Array]:
    """Return the first and second derivatives of the scaled rates."""

    def rate(x):
        unscaled = x * units
        field = at(system, path, unscaled[-1]).equation().vector_field
        return field(0.0, unscaled[:-1]) / units[:-1]

    slopes = jax.jacfwd(rate)
    return slopes(x), jax.jacfwd(slopes)(x)


def _equations(system: System, path: str, data: LaneData, predicted: Array, x: Array):
    """Return the residual of an equilibrium's equations, see `lane_corrector`."""

    def rate(x):
        unscaled = x * data.units
        there = at(system, path, unscaled[-1])
        found = there.equation().vector_field(0.0, unscaled[:-1])
        return found / data.units[:-1], found / data.units[:-1]

    matrix, left = jax.jacfwd(rate, has_aux=True)(x)
    return left, matrix, (matrix[:, :-1], jnp.zeros(()))


def equilibrium_of(system: System, data: LaneData, x: Array) -> Equilibrium:
    """Return the equilibrium of a scaled point."""
    leaves, static = partition_arrays(system)
    units, nothing = data.units[:-1], jnp.asarray(0, jnp.int32)
    return equilibrium_at(static, leaves, x[:-1] * units, units, nothing, nothing)
