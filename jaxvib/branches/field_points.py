r"""Bifurcations of equilibria and cycles of autonomous systems, by Newton's method.

With J the Jacobian of the vector field and $2 J \odot I$ its bialternate sum, whose
eigenvalues are sums of two eigenvalues of J; B the monodromy matrix transverse to the
cycle:

- an equilibrium's `"fold"`: $\det J = 0$;  `"hopf"`: $\det(2 J \odot I) = 0$;
- a cycle's `"fold"`: $\det(B - I) = 0$;  `"period_doubling"`: $\det(B + I) = 0$;
  `"neimark_sacker"`: $\det(B^{(2)} - I) = 0$.

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.2.
"""

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import linalg
from ..dynamics.flow import checked_state, flow
from ..ensemble import Reason, raise_if_empty, reason
from ..foundation.arrays import combine_arrays, partition_arrays
from ..orbits.equilibrium import Equilibrium
from ..orbits.implicit import implicit_root
from ..orbits.limit_cycle import LimitCycle, transverse
from ..orbits.multipliers import floquet_multipliers
from .bifurcation_results import FieldBifurcation, field_bifurcation
from .defining_equations import RTOL, has_torus, second_compound
from .equilibria import equilibrium_units
from .parameter_range import known_parameter
from .point import at
from .root import root_near

KINDS = {
    "equilibrium": ("fold", "hopf"),
    "cycle": ("fold", "period_doubling", "neimark_sacker"),
}
_NEAR = 1e-6  # distance to the imaginary axis, relative to the norm of the Jacobian


class _Guess(NamedTuple):
    """The start of Newton's method; the period of an equilibrium is NaN."""

    of: str
    state: Array
    period: Array
    value: Array


def field_bifurcation_point(
    system, guess, kind: str, path: str, throw: bool
) -> FieldBifurcation:
    """Return the bifurcation of a kind near a guess, see `bifurcation_point`."""
    start = _started(system, guess, known_parameter(system, path).value)
    if kind not in KINDS[start.of]:
        allowed = ", ".join(KINDS[start.of])
        raise ValueError(f"kind = {kind!r} of an {start.of}; allowed: {allowed}".replace(
            "an cycle", "a cycle"))  # fmt: skip
    if start.state.shape[0] < {"hopf": 2, "neimark_sacker": 3}.get(kind, 1):
        raise ValueError(f"kind = {kind!r}; the system has too few states")
    numbers = jax.lax.stop_gradient(start[1:])
    if start.of == "cycle":
        found = _of_cycle(system, *numbers, kind, path)
    else:
        found = _of_equilibrium(system, *numbers, kind, path)
    raise_if_empty(f"bifurcation_point: {kind}", throw, found.result)
    return found


def _started(system, guess, value) -> _Guess:
    """Return the values of a guess; raise `ValueError` for a failed one."""
    value, nothing = jnp.asarray(value, float), jnp.asarray(jnp.nan)
    if not isinstance(guess, Equilibrium | LimitCycle | FieldBifurcation):
        return _Guess("equilibrium", checked_state(system, guess), nothing, value)
    code = guess.result
    if not isinstance(code, jax.core.Tracer) and int(code) not in (0, Reason.SINGULAR):
        raise ValueError(f"guess was not found: {reason(code)}")
    if isinstance(guess, Equilibrium):
        return _Guess("equilibrium", guess.state, nothing, value)
    if isinstance(guess, LimitCycle):
        return _Guess("cycle", guess.state, guess.period, value)
    return _Guess(guess.of, guess.state, guess.period, guess.parameter)


@eqx.filter_jit
def _of_equilibrium(system, state, _, value, kind: str, path: str) -> FieldBifurcation:
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    here = at(combine_arrays(frozen, static), path, value)
    size = state.shape[0]
    units = jnp.append(equilibrium_units(here, state), _size_of(value))

    def matrix_at(leaves, unscaled, units):
        there = at(combine_arrays(leaves, static), path, unscaled[size])
        field = there.equation().vector_field

        def rate(state):
            found = field(0.0, state)
            return found, found

        matrix, left = jax.jacfwd(rate, has_aux=True)(unscaled[:size])
        inner = units[:size]
        return matrix * inner[None] / inner[:, None], left / inner

    start = jnp.append(state, value)
    first, _ = matrix_at(frozen, start, units)
    fastest = jnp.linalg.norm(first)

    def map_(x, arguments):
        leaves, units, fastest = arguments
        matrix, left = matrix_at(leaves, x * units, units)
        matrix = matrix / fastest
        tested = bialternate_sum(matrix) if kind == "hopf" else matrix
        return jnp.append(left / fastest, jnp.linalg.det(tested))

    found = root_near(map_, start / units, (frozen, units, fastest))
    solved = implicit_root(map_, found.x, (leaves, units, fastest)) * units
    values = linalg.eigenvalues(matrix_at(leaves, solved, units)[0])
    code, frequency = found.code, jnp.asarray(jnp.nan)
    if kind == "hopf":
        off = jnp.where(values.imag > 0, jnp.abs(values.real), jnp.inf)
        pair = jnp.argmin(jax.lax.stop_gradient(off))
        turns = (code != Reason.SUCCESS) | (off[pair] < _NEAR * fastest)
        code = jnp.where(turns, code, Reason.NO_BIFURCATION)
        frequency = values.imag[pair]
    return field_bifurcation(
        kind,
        "equilibrium",
        path,
        parameter=solved[size],
        state=solved[:size],
        period=2 * jnp.pi / frequency,
        frequency=frequency,
        residual=jnp.max(jnp.abs(found.left[:size])),
        test=jnp.abs(found.left[size]),
        iterations=found.iterations,
        result=code,
    )


@eqx.filter_jit
def _of_cycle(system, state, period, value, kind: str, path: str) -> FieldBifurcation:
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    here = at(combine_arrays(frozen, static), path, value)
    size = state.shape[0]
    largest = jnp.max(jnp.abs(state))
    reached = jnp.maximum(jnp.abs(state), 1e-3 * jnp.where(largest > 0, largest, 1.0))
    units = jnp.concatenate([reached, jnp.stack([period, _size_of(value)])])
    along = here.equation().vector_field(0.0, state) / reached
    along = along / jnp.linalg.norm(along)

    def both(x, arguments):
        leaves, units, along, state = arguments
        unscaled, inner = x * units, units[:size]
        there = at(combine_arrays(leaves, static), path, unscaled[-1])

        def end(state):
            final = flow(there, state, 0.0, unscaled[size], rtol=RTOL)
            return final, final

        monodromy, image = jax.jacfwd(end, has_aux=True)(unscaled[:size])
        rate = there.equation().vector_field(0.0, unscaled[:size])
        _, others = transverse(monodromy, rate, inner)
        phase = along @ ((unscaled[:size] - state) / inner)
        left = (image - unscaled[:size]) / inner
        return jnp.concatenate([left, jnp.stack([phase, _test(kind, others)])]), others

    def map_(x, arguments):
        return both(x, arguments)[0]

    start = jnp.concatenate([state, jnp.stack([period, value])])
    fixed = units, along, state
    found = root_near(map_, start / units, (frozen, *fixed))
    code = found.code
    if kind == "neimark_sacker":
        multipliers = floquet_multipliers(both(found.x, (frozen, *fixed))[1])
        turns = (code != Reason.SUCCESS) | has_torus(multipliers)
        code = jnp.where(turns, code, Reason.NO_BIFURCATION)
    solved = implicit_root(map_, found.x, (leaves, *fixed)) * units
    return field_bifurcation(
        kind,
        "cycle",
        path,
        parameter=solved[-1],
        state=solved[:size],
        period=solved[size],
        frequency=2 * jnp.pi / solved[size],
        residual=jnp.max(jnp.abs(found.left[: size + 1])),
        test=jnp.abs(found.left[size + 1]),
        iterations=found.iterations,
        result=code,
    )


def _test(kind: str, others):
    matrix = second_compound(others) if kind == "neimark_sacker" else others
    sign = 1.0 if kind == "period_doubling" else -1.0
    return jnp.linalg.det(matrix + sign * jnp.eye(matrix.shape[0]))


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
