r"""The first roots of thousands of beams with bodies at once: one program, no host.

Starts from a symmetric eigenproblem, a few simultaneous sweeps, and the certificate at
a fixed number of nodes. Whatever this is not enough for (strong damping
that couples modes, gyroscopic or active bodies, roots too close to part) is marked as
not certified, so nobody waits for the slowest lane.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .characteristic import Dimensionless, equilibrated, matrix, phase_and_rate
from .ritz import fast_starts, ritz_problem
from .roots import AT_ZERO, SMALL_CIRCLE, deflated_step

# Roots beyond the wanted ones that are polished too: the certifying circle passes between
# the last wanted one and the next, and these two may change places on the way.
_SPARE = 2
# Steps converge with the third power: three from a good start. What takes more than this is
# left to the search for one design at a time.
_SWEEPS = 8
# Steps of the certifying half circle. With all known roots divided out the phase hardly
# turns: what turns by more than 0.3 in one of them is left to that search as well.
_NODES = 6
# Nodes about 0, mirrored by the lower half: of 12 in all, sums are exact to the 12th power
# of the circle's radius over the next root's modulus.
_SMALL_UNIT = np.exp(1j * np.pi * (np.arange(6) + 0.5) / 6)
_SLOW = 1e-3  # in the beam's own unit: from here on `zeros_at_origin` looks for gaps
ROUNDED = 1e-9  # a last step below this leaves an error near rounding


def first_starts(system: Dimensionless, count: int):
    """Return starts of the first roots and some more, and what is beyond them."""
    return split(fast_starts(ritz_problem(system, count + 6)), count, jnp)


def split(starts, count: int, xp):
    """Return as many starts as are polished, and those beyond, infinite ones far away."""
    wanted = count + _SPARE
    beyond = starts[..., wanted : wanted + 2 * count]
    return starts[..., :wanted], xp.where(xp.isfinite(beyond), beyond, 1e30 + 0j)


def sweep(system: Dimensionless, roots, passive):
    """Return all roots one simultaneous step on, and the steps' relative sizes.

    Real ones stay real, and those at 0 stay there.
    """
    still, real = roots == 0, roots.imag == 0
    rates = jax.vmap(lambda root: phase_and_rate(system, root))(jnp.where(still, 1j, roots))
    others = _others(real, passive.imag == 0)
    steps = deflated_step(roots, rates[1], _with_mirrored(roots, passive), others)
    steps = jnp.where(jnp.isfinite(steps) & ~still, steps, 0.0)
    steps = jnp.where(real, steps.real + 0j, steps)
    roots = roots - steps
    return roots, jnp.abs(steps) / jnp.where(still, 1.0, jnp.abs(roots))


def unconverged(size, count: int):
    """Return whether a sweep moved any of the first roots by more than rounding."""
    return jnp.any(size[:count] > ROUNDED)


def judged(system: Dimensionless, roots, size, passive, count: int, zeros: bool = True):
    """Return roots and last steps by modulus, whether certified, and within what radius.

    Roots at 0 have not moved: with `zeros` it is looked whether they are there, without
    they leave a list uncertified.
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
    # all in one: two batched solves side by side can wait for each other for ever
    nodes = jnp.concatenate([outer, inner])
    phases, rates = jax.vmap(lambda node: phase_and_rate(system, node))(nodes)
    on_outer = outer, phases[: len(outer)], rates[: len(outer)]
    agrees = _none_missing(*on_outer, roots, real, passive)
    upper = jnp.all(roots[:count].imag >= 0)
    converged = ~unconverged(size, count) & upper
    certified = agrees & apart & converged & _distinct(roots[:count])
    there = _at_zero(inner * rates[len(outer) :], still) if zeros else jnp.asarray(False)
    certified &= there | ~jnp.any(still)
    # the search for one design tells a slow motion from one at 0 that rounding has moved
    certified &= ~jnp.any(~still & (jnp.abs(roots) < _SLOW))
    return roots, size, certified, radius


def step_of(system: Dimensionless, roots, passive, place):
    """Return one of the roots one step on and the step's relative size; see `sweep`."""
    real = roots.imag == 0
    root = roots[place]
    others = jax.lax.dynamic_index_in_dim(_others(real, passive.imag == 0), place)
    rate = phase_and_rate(system, root)[1]
    known = _with_mirrored(roots, passive)
    step = deflated_step(root[None], rate[None], known, others)[0]
    step = jnp.where(jnp.isfinite(step), step, 0.0)
    step = jnp.where(root.imag == 0, step.real + 0j, step)
    root = root - step
    return root, jnp.abs(step) / jnp.abs(root)


def solved(system: Dimensionless, roots, passive, count: int):
    """Return what `judged` does after as many sweeps as it takes."""

    def body(state):
        return *sweep(system, state[0], passive), state[2] + 1

    begin = (roots, jnp.full(len(roots), jnp.inf), 0)
    roots, size, _ = jax.lax.while_loop(
        lambda state: (state[2] < _SWEEPS) & unconverged(state[1], count), body, begin
    )
    return judged(system, roots, size, passive, count)


def fast_spectrum(system: Dimensionless, count: int):
    """Return what `certified_spectrum` does, in one program: see there."""
    roots, passive = first_starts(system, count)
    roots, _, certified, radius = solved(system, roots, passive, count)
    roots = roots[:count]
    parts = jax.vmap(lambda root: _null_vector(system, root))(roots)
    repeated = jnp.sum(roots[:, None] == roots, axis=1).astype(float)
    return (roots, *parts, repeated, certified.astype(float), radius)


def _with_mirrored(roots, passive):
    return jnp.concatenate([roots, passive, roots.conj(), passive.conj()])


def _others(real, passive_real):
    """Return which known roots, mirrored ones included, are others than each row's own."""
    count, more = real.shape[0], passive_real.shape[0]
    own = jnp.concatenate([1.0 - jnp.eye(count), jnp.ones((count, more))], axis=1)
    # a real root is its own mirror image
    mirrored = jnp.where(jnp.concatenate([real, passive_real]), 0.0, 1.0)
    return jnp.concatenate([own, jnp.broadcast_to(mirrored, own.shape)], axis=1)


def _none_missing(nodes, phases, rates, roots, real, passive):
    """Return whether the phase of f over all known roots turns nowhere on a half circle."""
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
    """Return whether as many roots are at 0 as are said to be; see `zeros_at_origin`."""
    # the lower half mirrors the upper one: means of real parts
    number, first, second = (jnp.mean((_SMALL_UNIT**k * turns).real) for k in range(3))
    apart = jnp.maximum(jnp.abs(first), jnp.abs(second))
    return (jnp.abs(number - jnp.sum(still)) < 1e-3) & (apart < AT_ZERO)


def _distinct(roots):
    """Return whether all roots but those at 0 are clearly apart."""
    gaps = jnp.abs(roots[:, None] - roots) + jnp.eye(len(roots)) * 1e30
    near = gaps < 1e-7 * jnp.abs(roots)
    return ~jnp.any(near)


def _null_vector(system, root):
    """Return the null vector of M by inverse iteration, its backward error, condition."""
    m, rows, columns = equilibrated(matrix(system, root))
    slope = jax.jvp(lambda value: matrix(system, value), (root,), (jnp.ones_like(root),))[1]
    slope = slope * rows[:, None] * columns
    right, left = null_vectors(m)
    backward = jnp.linalg.norm(m @ right) / jnp.linalg.norm(m)
    condition = jnp.linalg.norm(m) / jnp.abs(root * (left @ slope @ right))
    return right * columns, backward, condition


def null_vectors(m):
    """Return the right and the left null vector of a matrix, by inverse iteration."""
    size = m.shape[0]
    # a shift of a rounding: M itself may be singular to the last bit
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
    # one after the other, see `fast_starts`
    left, right = jax.lax.optimization_barrier((left, right))
    for _ in range(2):
        left = solve(left, lower=False, transpose_a=True)
        left = solve(left, lower=True, transpose_a=True, unit_diagonal=True)
        left = unit(left[back])
    return right[:, 0], left[:, 0]
