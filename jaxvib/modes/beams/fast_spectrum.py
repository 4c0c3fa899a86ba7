r"""First roots of thousands of beams with bodies in one batched program, without the host.

Starts from a symmetric eigenproblem, a few simultaneous sweeps, and the certificate at
a fixed number of nodes. Harder cases (strong damping that couples modes, gyroscopic or
active bodies, roots too close to separate) are marked as not certified, so that the
batch does not wait for the slowest lane.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.types import AnyArray
from .characteristic import (
    Dimensionless,
    Numbers,
    equilibrated,
    matrix,
    phase_and_rate,
)
from .ritz import fast_starts, ritz_problem
from .roots import AT_ZERO, SMALL_CIRCLE, deflated_step

# Additional roots that are polished: the certifying circle passes between the last
# wanted root and the next, which may swap their order.
_SPARE = 2
# Convergence is cubic: three steps from a good start. Slower designs are left to the
# single-design search.
_SWEEPS = 8
# Steps of the certifying half circle. With all known roots divided out the phase is
# almost constant; changes above 0.3 per step are left to the single-design search.
_NODES = 6
# Nodes about 0, mirrored by the lower half: 12 in all. The error of sums is the 12th
# power of the circle's radius over the next root's modulus.
_SMALL_UNIT = np.exp(1j * np.pi * (np.arange(6) + 0.5) / 6)
_SLOW = 1e-3  # dimensionless; the smallest modulus in the gaps of `zeros_at_origin`
ROUNDED = 1e-9  # relative step after which the error is at rounding level


class Judged(NamedTuple):
    """Dimensionless roots of a design, including spare ones, and the certificate.

    `sizes`: of the last steps, relative; `radius`: of the certified circle.
    """

    roots: Numbers
    sizes: Numbers
    certified: Numbers
    radius: Numbers


def first_starts(system: Dimensionless, count: int) -> tuple[Array, Array]:
    """Return starts of the first roots and a few more, and starts beyond them."""
    return split(fast_starts(ritz_problem(system, count + 6)), count, jnp)


def split(starts: AnyArray, count: int, xp: Any) -> tuple[Any, Any]:
    """Return the starts to be polished and those beyond; infinite ones become 1e30."""
    number = count + _SPARE
    beyond = starts[..., number : number + 2 * count]
    return starts[..., :number], xp.where(xp.isfinite(beyond), beyond, 1e30 + 0j)


def sweep(system: Dimensionless, roots: Array, passive: Array) -> tuple[Array, Array]:
    """Return all roots after one simultaneous step, and the relative step sizes.

    Real roots stay real, and roots at 0 are fixed.
    """
    still, real = roots == 0, roots.imag == 0
    rates = jax.vmap(lambda root: phase_and_rate(system, root))(jnp.where(still, 1j, roots))
    others = _other_roots(real, passive.imag == 0)
    steps = deflated_step(roots, rates[1], _with_mirrored(roots, passive), others)
    steps = jnp.where(jnp.isfinite(steps) & ~still, steps, 0.0)
    steps = jnp.where(real, steps.real + 0j, steps)
    roots = roots - steps
    return roots, jnp.abs(steps) / jnp.where(still, 1.0, jnp.abs(roots))


def unconverged(size: Array, count: int) -> Array:
    """Return whether the last step of any of the first roots exceeds rounding."""
    return jnp.any(size[:count] > ROUNDED)


def judged(
    system: Dimensionless,
    roots: Array,
    size: Array,
    passive: Array,
    count: int,
    zeros: bool = True,
) -> Judged:
    """Return the roots by modulus, with their certificate.

    Roots at 0 are fixed during sweeps: with `zeros` they are verified, otherwise they
    leave a design uncertified.
    """
    order = jnp.argsort(jnp.abs(roots))
    roots, size = roots[order], size[order]
    real = roots.imag == 0
    inside, outside = jnp.abs(roots[count - 1]), jnp.abs(roots[count])
    radius = jnp.sqrt(inside * outside)
    apart = outside > (1 + 1e-3) * inside
    still = roots == 0
    outer = radius * np.exp(1j * np.linspace(0.0, np.pi, _NODES + 1))
    inner = _SMALL_UNIT * _small_radius(roots, still) if zeros else jnp.zeros(0, complex)
    # one call: two concurrent batched solves can deadlock
    nodes = jnp.concatenate([outer, inner])
    phases, rates = jax.vmap(lambda node: phase_and_rate(system, node))(nodes)
    on_outer = outer, phases[: len(outer)], rates[: len(outer)]
    agrees = _none_missing(*on_outer, roots, real, passive)
    upper = jnp.all(roots[:count].imag >= 0)
    converged = ~unconverged(size, count) & upper
    certified = agrees & apart & converged & _distinct(roots[:count])
    there = _at_zero(inner * rates[len(outer) :], still) if zeros else jnp.asarray(False)
    certified &= there | ~jnp.any(still)
    # the single-design search distinguishes slow roots from roots at 0 moved by
    # rounding
    certified &= ~jnp.any(~still & (jnp.abs(roots) < _SLOW))
    return Judged(roots, size, certified, radius)


def step_of(
    system: Dimensionless, roots: Array, passive: Array, place: Array
) -> tuple[Array, Array]:
    """Return one root after a step, and the relative step size; see `sweep`."""
    real = roots.imag == 0
    root = roots[place]
    others = jax.lax.dynamic_index_in_dim(_other_roots(real, passive.imag == 0), place)
    rate = phase_and_rate(system, root)[1]
    known = _with_mirrored(roots, passive)
    step = deflated_step(root[None], rate[None], known, others)[0]
    step = jnp.where(jnp.isfinite(step), step, 0.0)
    step = jnp.where(root.imag == 0, step.real + 0j, step)
    root = root - step
    return root, jnp.abs(step) / jnp.abs(root)


def fast_spectrum(system: Dimensionless, count: int) -> tuple[Numbers, ...]:
    """Like `certified_spectrum` for a count, but traceable."""
    roots, passive = first_starts(system, count)

    def body(state):
        return *sweep(system, state[0], passive), state[2] + 1

    begin = (roots, jnp.full(len(roots), jnp.inf), 0)
    roots, size, _ = jax.lax.while_loop(
        lambda state: (state[2] < _SWEEPS) & unconverged(state[1], count), body, begin
    )
    roots, _, certified, radius = judged(system, roots, size, passive, count)
    roots = roots[:count]
    parts = jax.vmap(lambda root: _null_vector(system, root))(roots)
    repeated = jnp.sum(roots[:, None] == roots, axis=1).astype(float)
    return (roots, *parts, repeated, certified.astype(float), radius)


def _with_mirrored(roots, passive):
    return jnp.concatenate([roots, passive, roots.conj(), passive.conj()])


def _other_roots(real, passive_real):
    """Return a mask of known roots (with mirror images) except each row's own."""
    count, more = real.shape[0], passive_real.shape[0]
    own = jnp.concatenate([1.0 - jnp.eye(count), jnp.ones((count, more))], axis=1)
    # a real root is its own mirror image
    mirrored = jnp.where(jnp.concatenate([real, passive_real]), 0.0, 1.0)
    return jnp.concatenate([own, jnp.broadcast_to(mirrored, own.shape)], axis=1)


def _none_missing(nodes, phases, rates, roots, real, passive):
    """Return whether f over all known roots has winding number 0 on a half circle."""
    known = _with_mirrored(roots, passive)
    twice = jnp.where(jnp.concatenate([real, passive.imag == 0]), 0.0, 1.0)
    counted = jnp.concatenate([jnp.ones_like(twice), twice])
    apart = nodes[:, None] - known
    phases = phases - jnp.sum(counted * jnp.angle(apart), axis=1)
    slopes = counted / (apart.real**2 + apart.imag**2) * apart.conj()
    turns = (nodes * (rates - jnp.sum(slopes, axis=1))).real
    jumps = jnp.diff(phases)
    jumps = jumps - 2 * jnp.pi * jnp.round(jumps / (2 * jnp.pi))
    step = np.pi / _NODES
    expected = step * (turns[1:] + turns[:-1]) / 2
    smooth = jnp.all(jnp.abs(jumps - expected) < 0.1)
    slow = jnp.all(jnp.abs(turns) * step < 0.3) & jnp.all(jnp.abs(jumps) < 0.3)
    return smooth & slow & (jnp.abs(jnp.sum(jumps)) < 0.05 * jnp.pi)


def _small_radius(roots, still):
    smallest = jnp.min(jnp.where(still, 1.0, jnp.abs(roots)))
    return SMALL_CIRCLE * jnp.minimum(smallest, 1.0)


def _at_zero(turns, still):
    """Return whether the number of roots at 0 is confirmed; see `zeros_at_origin`."""
    # the lower half mirrors the upper one: real parts suffice
    number, first, second = (jnp.mean((_SMALL_UNIT**k * turns).real) for k in range(3))
    apart = jnp.maximum(jnp.abs(first), jnp.abs(second))
    return (jnp.abs(number - jnp.sum(still)) < 1e-3) & (apart < AT_ZERO)


def _distinct(roots):
    """Return whether all roots except those at 0 are well separated."""
    gaps = jnp.abs(roots[:, None] - roots) + jnp.eye(len(roots)) * 1e30
    near = gaps < 1e-7 * jnp.abs(roots)
    return ~jnp.any(near)


def _null_vector(system, root):
    """Return the null vector by inverse iteration, backward error and condition."""
    m, rows, columns = equilibrated(matrix(system, root))
    slope = jax.jvp(lambda value: matrix(system, value), (root,), (jnp.ones_like(root),))[1]
    slope = slope * rows[:, None] * columns
    right, left = null_vectors(m)
    backward = jnp.linalg.norm(m @ right) / jnp.linalg.norm(m)
    condition = jnp.linalg.norm(m) / jnp.abs(root * (left @ slope @ right))
    return right * columns, backward, condition


def null_vectors(m: Array) -> tuple[Array, Array]:
    """Return the right and the left null vector of a matrix, by inverse iteration."""
    size = m.shape[0]
    # shifted by rounding level, since M may be exactly singular
    factors, _, order = jax.lax.linalg.lu(m + 1e-15 * jnp.eye(size))
    back = jnp.argsort(order)
    solve = functools.partial(jax.lax.linalg.triangular_solve, factors, left_side=True)

    def unit(vector):
        return vector / jnp.linalg.norm(vector)

    right = jnp.asarray(np.cos(np.arange(1.0, size + 1))[:, None] + 0j)
    left = right
    for _ in range(2):
        right = solve(right[order], lower=True, unit_diagonal=True)
        right = unit(solve(right, lower=False))
    # sequentially, see `fast_starts`
    left, right = jax.lax.optimization_barrier((left, right))
    for _ in range(2):
        left = solve(left, lower=False, transpose_a=True)
        left = solve(left, lower=True, transpose_a=True, unit_diagonal=True)
        left = unit(left[back])
    return right[:, 0], left[:, 0]
