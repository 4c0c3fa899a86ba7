"""Covariance of the linear response to filtered noise, by a Lyapunov equation."""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..foundation.quantity import Range, check_range, floats
from ..systems.linear_part import linear_part_alone
from ..systems.loads import FilteredNoise
from ..systems.roles import Linear

# The first step is 5e-20 of the time: its series converge for rates below 1e18 over the
# time. exp(A h) - 1 is doubled instead of exp(A h), which keeps the digits of slow
# parts.
_DOUBLINGS = 64
_TERMS = 18  # of the series, for rates times step below 1: 1/18! is 2e-16


def response_covariance(
    system: Linear,
    noise: FilteredNoise,
    direction: Real[ArrayLike, " n"] | Sequence,
    time: Real[Array, ""] | float | None = None,
) -> Float[Array, "state state"]:
    r"""Return the covariance of the state $(q, \dot q)$ of a linear system under noise.

    For the system's state augmented by the filter's, $\dot y = A y + b w$, it is the
    system's block of the solution $P$ of

    $$A P + P A^T + \pi S_0 b b^T = 0,$$

    or, at a `time` (s) after rest, that of $P - e^{At} P_0 e^{A^T t}$, where $P_0$ differs
    from $P$ only by the noise, which is stationary from the start. Works under `jit`,
    `vmap` and differentiation.

    **Arguments:** `direction`: force per unit noise, N, shape (n,): that of an
    `AppliedLoad`, `-mass @ direction` of a `BaseMotion`. Contacts, friction elements
    and other loads are ignored, nonlinear springs are linearised at rest.
    **Raises:** `ValueError` for a direction of another shape, a time that is not above 0,
    or an undamped system, which has no stationary state (NaN if traced).

    >>> noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    >>> covariance = jv.response_covariance(tower, noise, [0.0, 1.0])
    >>> print(jnp.sqrt(jnp.diag(covariance)))
    [0.03565 0.07081 0.45281 0.86099]
    """
    if time is not None:
        check_range("time", time, "s", Range(above=0.0))
    system = linear_part_alone(system)
    size, direction = system.matrices()[0].shape[0], floats("direction", direction)
    if jnp.shape(direction) != (size,):
        raise ValueError(f"direction has shape {jnp.shape(direction)}; allowed: ({size},)")
    matrix, source = _with_filter(system, noise, direction)
    if time is None and not isinstance(matrix, jax.core.Tracer):
        growth = float(np.max(np.linalg.eigvals(np.asarray(matrix)).real))
        if growth >= 0:
            raise ValueError(
                f"free motions grow as exp({growth:g} t): there is no stationary state; "
                "allowed: a damped system, or a time"
            )
    if time is None:
        found = _stationary(matrix, source)[: 2 * size, : 2 * size]
        return jnp.where(_decays(matrix), found, jnp.nan)
    return _later(matrix, source, jnp.asarray(time, float), 2 * size)


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


@jax.jit
def _stationary(matrix, source):
    """Return P with A P + P A^T + Q = 0."""
    size = matrix.shape[0]
    one = jnp.eye(size)
    both = jnp.kron(one, matrix) + jnp.kron(matrix, one)
    found = jnp.linalg.solve(both, -source.reshape(-1)).reshape(size, size)
    return (found + found.T) / 2


@jax.jit
def _decays(matrix) -> Bool[Array, ""]:
    """Return whether all free motions decay: A P + P A^T + 1 = 0 then has P > 0."""
    matrix = jax.lax.stop_gradient(matrix)
    found = _stationary(matrix, jnp.eye(matrix.shape[0]))
    return jnp.all(jnp.isfinite(jnp.linalg.cholesky(found)))


@functools.partial(jax.jit, static_argnums=3)
def _later(matrix, source, time, known: int):
    r"""Return the first rows and columns of P(t) of dP/dt = A P + P A^T + Q.

    The initial value is 0 in the `known` states and the stationary P in the others. For
    a short time h, $e^{Ah} - 1$ and the integral of $e^{As} Q e^{A^T s}$ are power
    series; then the time is doubled repeatedly.
    """
    inner = _stationary(matrix[known:, known:], source[known:, known:])
    start = jnp.zeros_like(matrix).at[known:, known:].set(inner)
    step = time / 2.0**_DOUBLINGS
    power, term = matrix * step, source * step
    grown, added = power, term
    for k in range(2, _TERMS + 1):
        power = matrix @ power * (step / k)
        term = (matrix @ term + term @ matrix.T) * (step / k)
        grown, added = grown + power, added + term

    def moved(grown, covariance):
        """Return a covariance after the current time."""
        once = covariance + grown @ covariance
        return once + once @ grown.T

    def twice(_, pair):
        grown, added = pair
        return 2 * grown + grown @ grown, added + moved(grown, added)

    grown, added = jax.lax.fori_loop(0, _DOUBLINGS, twice, (grown, added))
    return (moved(grown, start) + added)[:known, :known]
