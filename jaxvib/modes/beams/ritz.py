r"""Starting values: the beam with bodies in a small basis, a quadratic eigenproblem.

The basis is the first modes of the bare beam, one residual shape for each link (what
the modes left out add to the static response to that link's force), and the bodies.
With residual shapes a start is good to a few digits whatever the links' stiffness.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ... import linalg
from .bare_beam import bare_modes
from .characteristic import Dimensionless, Numbers

# Residual shapes have length 1. What is left of two that differ by an overlap below this
# would be multiplied by 3e4 to have it too, and its rounding with it.
_COINCIDENT = 1e-9
# Times that damping between modes is allowed for in quick starts: each puts the values so
# far into a sum that is of second order in the coupling, so that the second changes little.
_COUPLED = 2
_SMALL = 1.0  # of a value's square: more than what second order may change


class RitzProblem(eqx.Module):
    """(lambda^2 M + lambda D + C) y = 0, real matrices of one size, dimensionless."""

    mass: Float[Numbers, "r r"]
    damping: Float[Numbers, "r r"]
    stiffness: Float[Numbers, "r r"]


def ritz_problem(system: Dimensionless, modes: int, xp=jnp) -> RitzProblem:
    """Return the eigenproblem in the basis of the first `modes` bare modes and more.

    `xp` is the array library: numpy on the host, where nothing is to be compiled.
    """
    bare = bare_modes(system.ends, 2 * modes + 40)
    held, supports = _held_values(system, bare, xp)
    frequencies = bare.wave_numbers**2
    low, high = held[:, :modes], held[:, modes:]
    residual = high / frequencies[modes:] ** 2
    norms = xp.sqrt(xp.sum(residual**2, axis=1, keepdims=True))
    residual = residual / xp.where(norms > 0, norms, 1.0)
    overlap, turn = linalg.symmetric_system(residual @ residual.T)
    distinct = overlap > _COINCIDENT
    scale = xp.where(distinct, 1 / xp.sqrt(xp.where(distinct, overlap, 1.0)), 0.0)
    residual = (turn * scale).T @ residual
    held = xp.concatenate([low, high @ residual.T], axis=1)
    stiff = (residual * frequencies[modes:] ** 2) @ residual.T
    # a shape that was there already gets a stiffness out of the way
    stiff = stiff + xp.diag(xp.where(distinct, 0.0, frequencies[-1] ** 2))
    shapes, bodies, links = held.shape[1], system.mass.shape[0], len(system.turns)
    stretch = xp.concatenate([held[:links], -system.link_map], axis=1)

    # What overflows here has no starts, and is told as such by who looks for them.
    @np.errstate(over="ignore", invalid="ignore")
    def overlay(of_beam, of_links, of_bodies, excess):
        total = (stretch.T * of_links) @ stretch
        total = total + xp.block([[of_beam, nothing], [nothing.T, of_bodies]])
        if excess is None:
            return total
        onto_beam = xp.zeros((shapes, shapes + bodies))
        return total - xp.concatenate([onto_beam, excess @ stretch])

    free, nothing = xp.zeros((shapes, shapes)), xp.zeros((shapes, bodies))
    apart = xp.zeros((modes, shapes - modes))
    bending = xp.block([[xp.diag(frequencies[:modes] ** 2), apart], [apart.T, stiff]])
    if supports:
        at_supports = held[links:]
        bending = bending + (at_supports.T * xp.stack(supports)) @ at_supports
    return RitzProblem(
        overlay(xp.eye(shapes), system.link_inertance, system.mass, None),
        overlay(free, system.link_damping, system.damping, system.excess_damping),
        overlay(bending, system.link_stiffness, system.stiffness, system.excess_stiffness),
    )


def _held_values(system: Dimensionless, bare, xp):
    """Return what links and elastic supports hold of each mode, and supports' springs."""
    places = [system.positions]
    slopes = list(system.turns)
    stiffnesses = []
    for x, side, conditions, elastic in zip(
        (0.0, 1.0), (1, -1), system.conditions, system.elastic, strict=True
    ):
        if elastic:
            places.append(xp.array([x, x]))
            slopes += [False, True]
            stiffnesses += [side * conditions[1, 0], -side * conditions[0, 1]]
    return bare.at(xp.concatenate(places), np.array(slopes, bool), xp), stiffnesses


def all_starts(problem: RitzProblem, shift: float = 1.0) -> Complex[np.ndarray, " roots"]:
    """Return every finite eigenvalue of a Ritz problem, on the host, by modulus.

    Eigenvalues of 1/(lambda - shift): small ones keep their digits next to links of
    any stiffness, and a singular mass matrix is allowed. None where numbers overflow.
    """
    mass, damping, stiffness = (
        np.asarray(part) for part in (problem.mass, problem.damping, problem.stiffness)
    )
    size = len(mass)
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = stiffness + shift * (damping + shift * mass)
        change = np.hstack([damping + 2 * shift * mass, mass])
        finite = np.isfinite(shifted).all() and np.isfinite(change).all()
        slope = np.linalg.solve(shifted, change) if finite else np.full_like(change, np.nan)
    if not np.isfinite(slope).all():
        return np.zeros(0, complex)
    companion = np.block([[-slope], [np.eye(size), np.zeros((size, size))]])
    inverse = np.linalg.eigvals(companion)
    inverse = inverse[np.abs(inverse) > 1e-13]
    values = shift + 1 / inverse.astype(complex)
    return values[np.argsort(np.abs(values))]


def fast_starts(problem: RitzProblem) -> Complex[Array, " starts"]:
    """Return eigenvalues of a lightly damped symmetric Ritz problem, by modulus.

    Undamped modes by a symmetric eigenproblem, then each with its own damping alone:
    roots of lambda^2 + d lambda + omega^2 with Im >= 0, where an overdamped one takes
    two places and the other modes leave one empty (infinite, at the end). What damping
    makes of one mode through another comes after that, to second order. Vectorised,
    differentiable and the same on every device, where a nonsymmetric one is not.
    """
    # Each step needs the one before it: two batched solves side by side can wait for
    # each other for ever in the pool of threads that XLA has on two cores.
    factor = jnp.linalg.cholesky(problem.mass)
    below = functools.partial(jax.scipy.linalg.solve_triangular, factor, lower=True)
    symmetric = below(below(problem.stiffness).T)
    squares, modes = jnp.linalg.eigh((symmetric + symmetric.T) / 2)
    shapes = below(modes, trans="T")
    coupling = shapes.T @ (problem.damping @ shapes)
    damping = jnp.diagonal(coupling) / 2
    # a motion that nothing dampens or holds has exact zeros
    least = 1e-13 * jnp.max(jnp.abs(problem.damping))
    damping = jnp.where(jnp.abs(damping) < least, 0.0, damping)
    noise = 1e-14 * jnp.max(squares)
    squares = jnp.where(jnp.abs(squares) < noise, 0.0, squares)
    inside = squares - damping**2
    root = jnp.sqrt(jnp.abs(inside))
    far = jnp.where(damping < 0, -damping + root, -damping - root)
    near = jnp.where(far == 0, 0.0, squares / jnp.where(far == 0, 1.0, far))
    oscillates = inside > 0
    first = jnp.where(oscillates, -damping + 1j * root, near)
    for _ in range(_COUPLED):
        first = jnp.where(oscillates, _coupled(first, squares, damping, coupling), first)
    second = jnp.where(oscillates, jnp.inf, far)
    starts = jnp.concatenate([first, second + 0j])
    return starts[jnp.argsort(jnp.abs(starts))]


def _coupled(values, squares, damping, coupling):
    """Return values of modes that feel each other through the damping.

    lambda^2 + d_ii lambda + omega_i^2 - sum_j (d_ij lambda)^2 / (lambda^2 + d_jj lambda
    + omega_j^2) = 0, the sum at the value so far.
    """
    size = len(squares)
    others = coupling**2 * (1 - np.eye(size))
    square = values**2
    below = square[:, None] + 2 * values[:, None] * damping + squares
    share = others / jnp.maximum(below.real**2 + below.imag**2, 1e-300)
    felt = square * ((share * below.real).sum(1) - 1j * (share * below.imag).sum(1))
    moved = -damping + jnp.sqrt(damping**2 - squares + felt + 0j)
    moved = jnp.where(moved.imag < 0, -2 * damping - moved, moved)
    small = (jnp.abs(felt) < _SMALL * jnp.abs(square)) & (moved.imag > 0)
    return jnp.where(small, moved, values)
