r"""Starting values: a quadratic eigenproblem in a small Ritz basis.

The basis is the first modes of the bare beam, one residual shape per link (the static
response of the omitted modes to the link's force), and the bodies. Residual shapes make
starts accurate to a few digits for any link stiffness.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ... import linalg
from .bare_beam import bare_modes
from .characteristic import Dimensionless, Numbers

# Smallest eigenvalue of the overlap of unit residual shapes: normalising a smaller one
# would multiply it and its rounding errors by more than 3e4.
_COINCIDENT = 1e-9
# Fixed-point iterations for modal coupling by damping in `fast_starts`: each evaluates
# the second-order correction at the current values; the second changes little.
_COUPLED = 2
_SMALL = 1.0  # largest second-order correction, relative to the value's square


class RitzProblem(eqx.Module):
    """(lambda^2 M + lambda D + C) y = 0, real matrices of one size, dimensionless."""

    mass: Float[Numbers, "r r"]
    damping: Float[Numbers, "r r"]
    stiffness: Float[Numbers, "r r"]


def ritz_problem(system: Dimensionless, modes: int, xp: Any = jnp) -> RitzProblem:
    """Return the eigenproblem in the basis of `modes` bare modes, residuals and bodies.

    `xp` is the array namespace: NumPy on the host avoids compilation.
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
    # linearly dependent shapes get a large stiffness
    stiff = stiff + xp.diag(xp.where(distinct, 0.0, frequencies[-1] ** 2))
    shapes, bodies, links = held.shape[1], system.mass.shape[0], len(system.turns)
    stretch = xp.concatenate([held[:links], -system.link_map], axis=1)

    # Systems that overflow here have no starts; callers report that.
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
    """Return modes at links and elastic supports, and support stiffnesses."""
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


def all_starts(problem: RitzProblem) -> Complex[np.ndarray, " roots"]:
    """Return all finite eigenvalues of a Ritz problem by modulus, on the host.

    The eigenproblem for 1/(lambda - 1) keeps small values accurate for any link
    stiffness and allows a singular mass matrix. Empty if numbers overflow.
    """
    mass, damping, stiffness = (
        np.asarray(part) for part in (problem.mass, problem.damping, problem.stiffness)
    )
    size = len(mass)
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = stiffness + (damping + mass)
        change = np.hstack([damping + 2 * mass, mass])
        finite = np.isfinite(shifted).all() and np.isfinite(change).all()
        slope = np.linalg.solve(shifted, change) if finite else np.full_like(change, np.nan)
    if not np.isfinite(slope).all():
        return np.zeros(0, complex)
    companion = np.block([[-slope], [np.eye(size), np.zeros((size, size))]])
    inverse = np.linalg.eigvals(companion)
    inverse = inverse[np.abs(inverse) > 1e-13]
    values = 1.0 + 1 / inverse.astype(complex)
    return values[np.argsort(np.abs(values))]


def fast_starts(problem: RitzProblem) -> Complex[Array, " starts"]:
    """Return eigenvalues of a lightly damped symmetric Ritz problem, by modulus.

    Undamped modes by a symmetric eigenproblem, then each with its modal damping: roots
    of lambda^2 + d lambda + omega^2 with Im >= 0. An overdamped mode has two entries,
    the other modes one and an infinite one at the end. Coupling by damping is included
    to second order. Unlike a nonsymmetric eigenproblem, this is vectorised,
    differentiable and equal on every device.
    """
    # Each step depends on the previous one: two concurrent batched solves can deadlock
    # in XLA's thread pool on two cores.
    factor = jnp.linalg.cholesky(problem.mass)
    below = functools.partial(jax.scipy.linalg.solve_triangular, factor, lower=True)
    symmetric = below(below(problem.stiffness).T)
    squares, modes = jnp.linalg.eigh((symmetric + symmetric.T) / 2)
    shapes = below(modes, trans="T")
    coupling = shapes.T @ (problem.damping @ shapes)
    damping = jnp.diagonal(coupling) / 2
    # modes without damping or stiffness get exact zeros
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
    """Return eigenvalues corrected for modal coupling by damping.

    lambda^2 + d_ii lambda + omega_i^2 - sum_j (d_ij lambda)^2 / (lambda^2 + d_jj lambda
    + omega_j^2) = 0, with the sum evaluated at the current value.
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
