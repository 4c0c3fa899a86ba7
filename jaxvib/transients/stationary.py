"""Covariance of the linear response to filtered noise, by a Lyapunov equation."""

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, check_shape, floats
from ..linalg import balance
from ..systems.base.roles import Linear
from ..systems.linear_part import linear_part_alone
from ..systems.loads import FilteredNoise

# The first step is 5e-20 of the time: its series converge for rates below 1e18 over the
# time. exp(A h) - 1 is doubled instead of exp(A h), which keeps the digits of slow
# parts.
_DOUBLINGS = 64
_TERMS = 18  # of the series, for rates times step below 1: 1/18! is 2e-16
_MOST_DOUBLINGS = 80  # until all has decayed: 2^80 is 1e24, above 1/rounding
_DECAYED = 1e-20  # share left of the free motions: its square is far below rounding
_ROUNDING = float(np.finfo(float).eps)  # of one product, relative


def response_covariance(
    system: Linear,
    noise: FilteredNoise,
    direction: Real[ArrayLike, " n"] | Sequence[Any],
    time: Real[Array, ""] | float | None = None,
    *,
    with_error: bool = False,
) -> Float[Array, "state state"] | tuple[Array, Array]:
    r"""Return the covariance of the state $(q, \dot q)$ of a linear system under noise.

    For the system's state augmented by the filter's, $\dot y = A y + b w$, it is the
    system's block of the solution $P$ of

    $$A P + P A^T + \pi S_0 b b^T = 0,$$

    or, at a `time` (s) after rest, that of $P - e^{At} P_0 e^{A^T t}$, where $P_0$ differs
    from $P$ only by the noise, which is stationary from the start. P is the integral of
    $\pi S_0 e^{At} b b^T e^{A^T t}$, whose length is doubled repeatedly: only positive
    parts are added, so that stiff systems keep their digits. Works under `jit`, `vmap`
    and differentiation.

    **Arguments:** `direction`: force per unit noise, N, shape (n,): that of an
    `AppliedLoad`, `-mass @ direction` of a `BaseMotion`. Contacts, friction elements
    and other loads are ignored, nonlinear springs are linearised at rest. `with_error`:
    whether to return $(P, E)$ with a bound $|P_{ij} - \hat P_{ij}| \le E_{ij}$ from the
    residual and its rounding, which may be pessimistic by the ratio of the fastest to
    the slowest rate.
    **Raises:** `ValueError` for a direction of another shape, a time that is not above 0,
    or an undamped system, which has no stationary state, or none that can be told from
    rounding (NaN if traced). **Source:** Smith, *SIAM J. Appl. Math.* 16 (1968) 198.

    >>> noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    >>> covariance = jv.response_covariance(tower, noise, [0.0, 1.0])
    >>> print(jnp.sqrt(jnp.diag(covariance)))
    [0.03565 0.07081 0.45281 0.86099]
    """
    if time is not None:
        check_range("time", time, "s", Range(above=0.0))
    system = linear_part_alone(system)
    size, direction = system.matrices()[0].shape[0], floats("direction", direction)
    check_shape("direction", direction, (size,))
    matrix, source = _with_filter(system, noise, direction)
    time = None if time is None else jnp.asarray(time, float)
    found, error, exists = _with_error(matrix, source, time, 2 * size)
    if is_concrete(exists) and is_concrete(matrix) and not exists:
        growth = float(np.max(np.linalg.eigvals(np.asarray(matrix)).real))
        raise ValueError(
            f"free motions grow as exp({growth:g} t), within rounding: there is no "
            "stationary state; allowed: a damped system, or a time"
        )
    return (found, error) if with_error else found


@eqx.filter_jit
def _with_filter(system, noise, direction):
    """Return A and pi S_0 b b^T of the system's state followed by the filter's."""
    mass, damping, stiffness = system.matrices()
    size = mass.shape[0]
    acting = jnp.concatenate([stiffness, damping, direction[:, None]], 1)
    solved = jnp.linalg.solve(mass, acting)
    down, push, out = noise.matrices()
    matrix = jnp.zeros((2 * size + out.shape[0],) * 2)
    matrix = matrix.at[:size, size : 2 * size].set(jnp.eye(size))
    matrix = matrix.at[size : 2 * size, : 2 * size].set(-solved[:, : 2 * size])
    matrix = matrix.at[size : 2 * size, 2 * size :].set(solved[:, 2 * size :] * out[None])
    matrix = matrix.at[2 * size :, 2 * size :].set(down)
    push = jnp.pad(push, (2 * size, 0))
    return matrix, jnp.pi * noise.density * jnp.outer(push, push)


@functools.partial(jax.jit, static_argnums=3)
def _with_error(matrix, source, time, known: int) -> tuple[Array, Array, Bool[Array, ""]]:
    """Return the `known` block of P, its error bound, and whether it exists.

    Any symmetric residual is between plus and minus a diagonal one, whose P bounds the
    error: weighted by the deviations, the sums of its absolute rows.
    """
    still = jnp.zeros_like(matrix)
    if time is None:
        whole = _stationary(matrix, source)
    else:  # the noise is stationary from the start
        inner = _stationary(matrix[known:, known:], source[known:, known:])
        whole = _later(matrix, source, still.at[known:, known:].set(inner), time)
    fixed, size = jax.lax.stop_gradient(matrix), matrix.shape[0]
    found, given = jax.lax.stop_gradient((whole, source))
    sizes, rounding = jnp.abs(fixed) @ jnp.abs(found), (size + 2) * _ROUNDING
    left = rounding * (sizes + sizes.T + jnp.abs(given))
    if time is None:
        moved = fixed @ found
        left = left + jnp.abs(moved + moved.T + given)
    variances = jnp.diagonal(found)
    weights = jnp.sqrt(jnp.where(variances > 0, variances, jnp.inf))
    bound = jnp.diag(weights * jnp.sum(left / weights[None], axis=1))
    bound = jnp.where(jnp.isfinite(bound), bound, 0.0)
    spread = jnp.diagonal(
        _whole_integral(fixed, bound) if time is None else _later(fixed, bound, still, time)
    )
    exists = jnp.all((spread < variances) | ((variances == 0) & (spread == 0)))
    error = jnp.sqrt(jnp.outer(spread, spread))
    if time is None:
        whole, error = (jnp.where(exists, x, jnp.nan) for x in (whole, error))
    else:
        exists = jnp.asarray(True)
    return whole[:known, :known], error[:known, :known], exists


def _stationary(matrix, source):
    """Return P with A P + P A^T + Q = 0, NaN unless all free motions decay."""

    def residual(found):
        moved = matrix @ found
        return -moved - found @ matrix.T

    def solve(_, source):
        return _whole_integral(jax.lax.stop_gradient(matrix), source)

    def solve_transposed(_, source):
        return _whole_integral(jax.lax.stop_gradient(matrix.T), source)

    return jax.lax.custom_linear_solve(residual, source, solve, solve_transposed)


def _whole_integral(matrix, source):
    r"""Return the integral of $e^{At} Q e^{A^T t}$ over all times; NaN if it diverges."""
    weights = balance(matrix)
    matrix = matrix * weights[None] / weights[:, None]
    scales = jnp.outer(weights, weights)
    step = 0.5 / jnp.max(jnp.sum(jnp.abs(matrix), axis=1))
    one = jnp.eye(matrix.shape[0])

    def left(grown):
        return jnp.max(jnp.abs(one + grown))

    def goes_on(state):
        turn, grown, _ = state
        return (turn < _MOST_DOUBLINGS) & (left(grown) > _DECAYED)

    def twice(state):
        turn, grown, added = state
        return turn + 1, 2 * grown + grown @ grown, added + _moved(grown, added)

    begun = 0, *_first_step(matrix, source / scales, step)
    _, grown, added = jax.lax.while_loop(goes_on, twice, begun)
    return jnp.where(left(grown) <= _DECAYED, added * scales, jnp.nan)


def _first_step(matrix, source, step):
    r"""Return $e^{Ah} - 1$ and the integral of $e^{As} Q e^{A^T s}$ by their series."""
    power, term = matrix * step, source * step
    grown, added = power, term
    for k in range(2, _TERMS + 1):
        power = matrix @ power * (step / k)
        term = (matrix @ term + term @ matrix.T) * (step / k)
        grown, added = grown + power, added + term
    return grown, added


def _moved(grown, covariance):
    """Return a covariance after the current time."""
    once = covariance + grown @ covariance
    return once + once @ grown.T


def _later(matrix, source, start, time):
    r"""Return P(t) of dP/dt = A P + P A^T + Q.

    For a short time h, $e^{Ah} - 1$ and the integral of $e^{As} Q e^{A^T s}$ are power
    series; then the time is doubled repeatedly.
    """
    grown, added = _first_step(matrix, source, time / 2.0**_DOUBLINGS)

    def twice(_, pair):
        grown, added = pair
        return 2 * grown + grown @ grown, added + _moved(grown, added)

    grown, added = jax.lax.fori_loop(0, _DOUBLINGS, twice, (grown, added))
    return _moved(grown, start) + added
