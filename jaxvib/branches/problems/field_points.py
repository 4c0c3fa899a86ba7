r"""Bifurcations of equilibria and cycles of autonomous systems, by Newton's method.

With J the Jacobian of the vector field and $2 J \odot I$ its bialternate sum, whose
eigenvalues are sums of two eigenvalues of J; B the monodromy matrix transverse to the
cycle, which is solved for by multiple shooting (`equations.cycle_equations`):

- an equilibrium's `"fold"`: $J$ is singular;  `"hopf"`: $2 J \odot I$ is singular;
- a cycle's `"fold"`: $\det(B - I) = 0$;  `"period_doubling"`: $\det(B + I) = 0$;
  `"neimark_sacker"`: $\det(B^{(2)} - I) = 0$.

A matrix A is singular where $\det G = 0$ in a bordered system, with at most four of its
last singular vectors at the guess in L and R; its determinant is the product of all rates,
in a stiff field of powers of ten of them:

$$\begin{pmatrix} A & L \\ R^T & 0 \end{pmatrix}
  \begin{pmatrix} V \\ G \end{pmatrix} = \begin{pmatrix} 0 \\ I \end{pmatrix}.$$

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.2; Govaerts,
*Numerical Methods for Bifurcations of Dynamical Equilibria* (2000), chapter 3.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ... import linalg
from ...dynamics.flow import checked_state
from ...ensemble import Reason, raise_if_empty, reason
from ...foundation.arrays import combine_arrays, partition_arrays
from ...foundation.types import AnyArray, Number
from ...orbits.equilibrium import Equilibrium, equilibrium_near
from ...orbits.limit_cycle import LimitCycle
from ...systems.base.system import System
from ...systems.parameters import parameter_at
from ..equations.corrector import LaneData
from ..equations.cycle_equations import (
    PACE,
    SEGMENTS,
    SPLIT,
    CycleJoints,
    across,
    cycle_map,
    durations,
    joints_of,
    motion,
    segments_at,
)
from ..equations.defining_equations import is_torus, multiplier_test
from ..equations.point import at
from ..equations.root import RTOL, bifurcation_near
from ..results.bifurcation_results import FieldBifurcation, field_bifurcation
from .equilibria import equilibrium_units

KINDS = {
    "equilibrium": ("fold", "hopf"),
    "cycle": ("fold", "period_doubling", "neimark_sacker"),
}
# The largest number of segments, whose Jacobian is dense.
_MOST_SEGMENTS = 96
_BORDERS = 4  # singular vectors by which a matrix is bordered
_ON_AXIS = 1e-6  # distance to the imaginary axis, relative to the norm of the Jacobian


class FieldGuess(NamedTuple):
    """The start of Newton's method; the period of an equilibrium is infinite.

    `joints`: of a cycle, if known.
    """

    of: str
    state: Array
    period: Array
    value: Array
    joints: CycleJoints | None = None


def field_bifurcation_point(
    system: System,
    guess: Any,
    kind: str,
    path: str,
    throw: bool,
) -> FieldBifurcation:
    """Return the bifurcation of a kind near a guess, see `bifurcation_point`."""
    start = _started(system, guess, parameter_at(system, path).value)
    if kind not in KINDS[start.of]:
        allowed = ", ".join(KINDS[start.of])
        raise ValueError(f"kind = {kind!r} of an {start.of}; allowed: {allowed}".replace(
            "an cycle", "a cycle"))  # fmt: skip
    if start.state.shape[0] < {"hopf": 2, "neimark_sacker": 3}.get(kind, 1):
        raise ValueError(f"kind = {kind!r}; the system has too few states")
    start = FieldGuess(start.of, *jax.lax.stop_gradient(tuple(start[1:])))
    if start.of == "cycle":
        found = _cycle_bifurcation(system, start, kind, path)
    else:
        found = _equilibrium_bifurcation(system, start.state, start.value, kind, path)
    raise_if_empty(f"bifurcation_point: {kind}", throw, found.result)
    return found


def hopf_near(
    system: System, path: str, value: Number, state: AnyArray
) -> FieldBifurcation | None:
    """Return the Hopf point near a small cycle's state, or None if it is not found."""
    there = at(system, path, value)
    rest = equilibrium_near(there, jnp.asarray(state))
    found = field_bifurcation_point(there, rest, "hopf", path, throw=False)
    return None if int(found.result) else found


def _started(system, guess, value) -> FieldGuess:
    """Return the values of a guess; raise `ValueError` for a failed one."""
    if isinstance(guess, FieldGuess):
        return guess
    value, nothing = jnp.asarray(value, float), jnp.asarray(jnp.inf)
    if not isinstance(guess, Equilibrium | LimitCycle | FieldBifurcation):
        return FieldGuess("equilibrium", checked_state(system, guess), nothing, value)
    code = guess.result
    if not isinstance(code, jax.core.Tracer) and int(code) not in (0, Reason.SINGULAR):
        raise ValueError(f"guess was not found: {reason(code)}")
    if isinstance(guess, Equilibrium):
        return FieldGuess("equilibrium", guess.state, nothing, value)
    if isinstance(guess, LimitCycle):
        return FieldGuess("cycle", guess.state, guess.period, value)
    numbers = guess.state, guess.period, guess.parameter, guess.joints
    return FieldGuess(guess.of, *numbers)


class RestScales(NamedTuple):
    """What the equations of an equilibrium's bifurcation are divided by near a point.

    `units`: of state and parameter; `fastest`: the size of the Jacobian; `borders`: of
    the matrix that becomes singular.
    """

    units: Array
    fastest: Array
    borders: "Borders"


def rest_scales(system: System, kind: str, path: str, start: Array, units: Array):
    """Return the `RestScales` near an unscaled point, a state and a value."""

    def near(value):
        return scaled_jacobian(at(system, path, value), start[:-1], units[:-1])

    matrix, _ = near(start[-1])
    fastest = jnp.linalg.norm(matrix)
    if start.size == 2:  # the Jacobian itself vanishes at a fold
        _, by_value = jax.jacfwd(near)(start[-1])
        fastest = jnp.maximum(fastest, jnp.abs(by_value[0]) * units[1])
    fastest = jnp.where(fastest > 0, fastest, 1.0)
    return RestScales(units, fastest, borders_of(_tested(matrix, kind)))


def rest_equations(static: System, kind: str, path: str) -> Callable:
    """Return the function from (scaled x, (leaves, `RestScales`)) to residual and J.

    The unknowns are the state and the parameter; J is relative to its size at the start.
    """

    def equations(x, arguments):
        leaves, (units, fastest, borders) = arguments
        unscaled = x * units
        there = at(combine_arrays(leaves, static), path, unscaled[-1])
        matrix, left = scaled_jacobian(there, unscaled[:-1], units[:-1])
        test = singularity(_tested(matrix, kind), borders)
        return jnp.append(left / fastest, test), matrix / fastest

    return equations


def scaled_jacobian(system: System, state: Array, units: AnyArray) -> tuple[Array, Array]:
    """Return the Jacobian of the field at a state and its rate, in units of the state."""
    field = system.equation().vector_field

    def rate(state):
        found = field(0.0, state)
        return found, found

    matrix, left = jax.jacfwd(rate, has_aux=True)(state)
    return matrix * units[None] / units[:, None], left / units


def _tested(matrix: Array, kind: str) -> Array:
    return bialternate_sum(matrix) if kind == "hopf" else matrix


@eqx.filter_jit
def _equilibrium_bifurcation(
    system, state, value, kind: str, path: str
) -> FieldBifurcation:
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    size = state.shape[0]
    here = combine_arrays(frozen, static)
    inner = equilibrium_units(at(here, path, value), state)
    start, units = jnp.append(state, value), jnp.append(inner, _size_of(value))
    scales = rest_scales(here, kind, path, start, units)
    genuine = _is_hopf if kind == "hopf" else None
    equations = rest_equations(static, kind, path)
    found, solved = bifurcation_near(
        equations, start, units, (frozen, scales), (leaves, scales), genuine
    )
    frequency = jnp.asarray(0.0)  # that of the eigenvalue 0
    if kind == "hopf":
        there = at(system, path, solved[size])
        matrix, _ = scaled_jacobian(there, solved[:size], inner)
        frequency = _pair_on_axis(linalg.eigenvalues(matrix))[1]
    return field_bifurcation(
        kind,
        "equilibrium",
        path,
        None,
        None,
        parameter=solved[size],
        state=solved[:size],
        period=2 * jnp.pi / frequency,
        frequency=frequency,
        **found.accuracy(size),
    )


class Borders(NamedTuple):
    """What borders a matrix: scales of its rows, and its last singular vectors.

    Several, since the eigenvalue nearest to its limit may not be the one that passes.
    """

    rows: Array
    left: Array
    right: Array


def borders_of(matrix: Float[Array, "m m"]) -> Borders:
    """Return the borders for matrices near one."""
    largest = jnp.max(jnp.abs(matrix), axis=1)
    rows = 1 / jnp.where(largest > 0, largest, 1.0)
    left, _, right = jnp.linalg.svd(matrix * rows[:, None])
    return Borders(rows, left[:, -_BORDERS:], right[-_BORDERS:])


def singularity(matrix: Float[Array, "m m"], borders: Borders) -> Array:
    """Return det G of the bordered system, which is 0 where a matrix is singular."""
    rows, left, right = borders
    size, number = left.shape
    nothing = jnp.zeros((number, number))
    bordered = jnp.block([[matrix * rows[:, None], left], [right, nothing]])
    wanted = jnp.eye(size + number)[:, size:]
    return jnp.linalg.det(linalg.solve(bordered, wanted)[size:])


def _is_hopf(matrix):
    """Return whether a complex pair is on the axis, nearer to it than real ones cancel."""
    values = linalg.eigenvalues(matrix)
    off, _ = _pair_on_axis(values)
    first, second = np.triu_indices(len(values), 1)
    real = (values.imag[first] == 0) & (values.imag[second] == 0)
    sums = jnp.where(real, jnp.abs(values.real[first] + values.real[second]), jnp.inf)
    return (off < _ON_AXIS) & (2 * off <= jnp.min(sums))


def _pair_on_axis(values):
    """Return the complex pair nearest to the imaginary axis: distance and frequency."""
    off = jnp.where(values.imag > 0, jnp.abs(values.real), jnp.inf)
    pair = jnp.argmin(jax.lax.stop_gradient(off))
    return off[pair], values.imag[pair]


def _cycle_bifurcation(system, start: FieldGuess, kind: str, path: str) -> FieldBifurcation:
    """Return the bifurcation of a cycle, with more segments if they are not resolved.

    Under transformations, their number is that of the guess, or the smallest one.
    """
    numbers = start.value, kind, path
    if start.joints is not None:
        return _segmented_bifurcation(system, start.joints, *numbers)
    leaves, static = partition_arrays(at(system, path, start.value))
    here = combine_arrays(jax.tree.map(jax.lax.stop_gradient, leaves), static)
    speed = _speed(here, start.state, start.period)
    segments = SEGMENTS
    while True:
        joints = joints_of(here, start.state, start.period, segments, speed)
        found = _segmented_bifurcation(system, joints, *numbers)
        code = found.result
        last = segments * SPLIT > _MOST_SEGMENTS or isinstance(code, jax.core.Tracer)
        if last or int(code) != Reason.TOO_FEW_SEGMENTS:
            return found
        segments *= SPLIT


@eqx.filter_jit
def _speed(system, state, period):
    """Return the speed of `TimeRescaledSystem` for a cycle."""
    largest = jnp.max(jnp.abs(motion(system, state, period)[0]), axis=0)
    return _sizes(largest) * PACE * 2 * jnp.pi / period


def _sizes(reached):
    """Return scales of components from their largest values."""
    largest = jnp.max(reached)
    return jnp.maximum(reached, 1e-3 * jnp.where(largest > 0, largest, 1.0))


def flow_data(units: Array, speed: Array) -> LaneData:
    """Return the data of a cycle's equations near a bifurcation."""
    return LaneData((), units, RTOL, RTOL, jnp.asarray(RTOL), speed=speed)


def cycle_bifurcation_equations(static: System, kind: str, path: str) -> Callable:
    """Return the function from (scaled x, arguments) to residual and what is found.

    The unknowns are the joints, the length and the parameter; the arguments are leaves,
    units, the speed of `TimeRescaledSystem`, and an anchor. See `cycle_map`.
    """

    def equations(x, arguments):
        leaves, units, speed, anchor = arguments
        there, lane = combine_arrays(leaves, static), flow_data(units, speed)
        rest, _, found = cycle_map(there, path, lane, anchor, x)
        test = multiplier_test(kind, found[0])
        if kind == "fold" and len(speed) == 2:
            # Along a canard the only multiplier changes by many powers of ten.
            segments = segments_at(there, path, lane, x)
            _, others = across(segments.blocks, segments.rates)
            test = jnp.sum(jnp.log(jnp.abs(others)))
        return jnp.append(rest, test), found

    return equations


@eqx.filter_jit
def _segmented_bifurcation(system, joints: CycleJoints, value, kind: str, path: str):
    """Return the bifurcation near a cycle with given joints, by multiple shooting."""
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    states, length, speed = joints
    number, size = states.shape
    sizes = _sizes(jnp.max(jnp.abs(states), axis=0))
    ends = jnp.stack([length, _size_of(value)])
    units = jnp.concatenate([jnp.tile(sizes, number), ends])
    start = jnp.concatenate([states.reshape(-1), jnp.stack([length, value])])

    equations = cycle_bifurcation_equations(static, kind, path)
    fixed = units, speed, start / units
    genuine = (lambda found: is_torus(found[0])) if kind == "neimark_sacker" else None
    both = (frozen, *fixed), (leaves, *fixed)
    found, solved = bifurcation_near(equations, start, units, *both, genuine)
    unresolved = equations(found.x, (frozen, *fixed))[1][1]
    code = jnp.where(unresolved >= 1, Reason.TOO_FEW_SEGMENTS, found.code)
    found = found._replace(code=code)
    there = at(combine_arrays(leaves, static), path, solved[-1])
    period = jnp.sum(durations(there, flow_data(units, speed), solved / units))
    return field_bifurcation(
        kind,
        "cycle",
        path,
        CycleJoints(solved[:-2].reshape(number, size), solved[-2], speed),
        None,
        parameter=solved[-1],
        state=solved[:size],
        period=period,
        frequency=2 * jnp.pi / period,
        **found.accuracy(-1),
    )


def _size_of(value):
    """Return the scale of a parameter: its magnitude, or 1 if it is 0."""
    return jnp.where(jnp.abs(value) > 0, jnp.abs(value), 1.0)


def bialternate_sum(matrix: Float[Array, "n n"]) -> Float[Array, "m m"]:
    """Return the matrix whose eigenvalues are sums of two eigenvalues of `matrix`."""
    pairs = np.array(list(itertools.combinations(range(matrix.shape[0]), 2)))
    i, j = pairs[:, 0], pairs[:, 1]
    same = jnp.eye(matrix.shape[0])

    def outer(first, second, third, fourth):
        return matrix[first[:, None], second] * same[third[:, None], fourth]

    return outer(i, i, j, j) + outer(j, j, i, i) - outer(i, j, j, i) - outer(j, i, i, j)
