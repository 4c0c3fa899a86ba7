r"""Time history of a beam with bodies under a point force, by modal superposition.

Each eigenvalue is a pole of the response to a force, with the residue

$$R_k = \frac{(c\,x_k)(y_k\,r)}{y_k\,M'(\lambda_k)\,x_k},\qquad M x_k = 0,\ y_k M = 0,$$

where c selects the output and r the point of the force. So
$u(t) = 2\,\mathrm{Re} \sum_k R_k q_k(t)$ (without the factor 2 for real values) with
$\dot q_k = \lambda_k q_k + F(t)$; the omitted modes contribute statically.
**Source:** Adhikari, *Structural Dynamic Analysis with Generalized Damping Models*
(2014), chapter 5, for matrices.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ...foundation.quantity import check_ascending
from ...systems.beam import BeamWithBodies
from .characteristic import equilibrated, matrix, mixing
from .modes import beam_eigenvalues, deflection
from .response import applied_force, response_to_row


@mixing
def beam_motion(
    system: BeamWithBodies,
    times: ArrayLike | Sequence[float],
    force: ArrayLike | Sequence[float],
    *,
    force_at: ArrayLike | None = None,
    force_on: int | None = None,
    at: ArrayLike | Sequence[float] = (),
    count: int = 20,
) -> tuple[Float[Array, "time point"], Float[Array, "time n"]]:
    """Return the motion of the beam and its bodies from rest under a point force.

    The force is piecewise linear between the times; for such a force the motion of each
    of the first `count` modes is exact.

    **Arguments:** `times` (s), ascending; `force` (N) at these times; `force_at`: a
    point of the beam (m), or `force_on`: the index of a body's degree of freedom; `at`:
    points of the beam (m). **Returns:** displacements of the beam at `at` and of the
    bodies, m.
    Differentiable. **Raises:** `ValueError` for times that do not ascend, a force of
    another shape, unless exactly one of `force_at` and `force_on` is given, and for a
    repeated eigenvalue (e.g. rigid motions), for which superposition does not hold.

    >>> bare = jv.BeamWithBodies(beam)
    >>> times = np.linspace(0.0, 0.1, 11)
    >>> moved, _ = jv.modes.beam_motion(bare, times, np.ones(11), force_at=1.0, at=[1.0])
    >>> moved.shape
    (11, 1)
    """
    times, force = jnp.asarray(times, float), jnp.asarray(force, float)
    if times.ndim != 1 or times.shape != force.shape or times.size < 2:
        raise ValueError(
            f"times and force have shapes {times.shape} and {force.shape}; allowed: one "
            "shape (n,), n at least 2"
        )
    check_ascending("times", times, "s")
    scaled, row = applied_force(system, force_at, force_on)
    modes = beam_eigenvalues(system, count)
    many = modes.multiplicities > 1.5
    if not isinstance(many, jax.core.Tracer) and bool(many.any()):
        value = complex(modes.values[int(jnp.argmax(many))])
        raise ValueError(f"eigenvalue {value:.6g} rad/s is repeated; allowed: single ones")
    points = jnp.asarray(at, float) / scaled.length
    flexibility = scaled.length**3 / system.beam.bending_stiffness
    moved = _sum_of_modes(
        scaled, row, points, flexibility, modes.values, modes.vectors, (times, force)
    )
    return moved[:, : points.size], moved[:, points.size :]


@jax.jit
def _sum_of_modes(scaled, row, points, flexibility, values, vectors, pushed):
    """Return the motions (time, points and bodies) caused by a force in a row of M.

    `pushed`: the times and the force at these times.
    """
    times, force = pushed
    roots = values * scaled.time
    if vectors.shape[1] < scaled.size:
        # the idle link at the force moves with the beam and transmits no force
        links = 4 + len(scaled.turns)
        vectors = jnp.insert(vectors, links - 1, 0.0, axis=1)
    residues = flexibility / scaled.time * _residues(scaled, roots, vectors, row, points)
    # complex values represent conjugate pairs
    weight = jnp.where(jnp.abs(roots.imag) > 1e-12 * jnp.abs(roots), 2.0, 1.0)
    residues = weight[:, None] * residues
    still = response_to_row(scaled, row, points, flexibility, jnp.zeros(1))
    static = jnp.concatenate(still, axis=1)
    rest = (static + jnp.sum(residues / values[:, None], axis=0)).real
    return (_driven(values, times, force) @ residues).real + force[:, None] * rest


def _residues(scaled, roots, vectors, row, points):
    """Return the dimensionless residues (value, points and bodies)."""
    first = 4 + len(scaled.turns)

    def of_one(root, vector):
        m, rows, columns = equilibrated(matrix(scaled, root))
        one = jnp.ones_like(root)
        slope = jax.jvp(lambda value: matrix(scaled, value), (root,), (one,))[1]
        pull = rows * (slope @ vector)
        size = jnp.max(jnp.abs(pull))
        border = jnp.conj(vector / columns)
        border = border / jnp.max(jnp.abs(border))
        bordered = jnp.block(
            [[m, (pull / size)[:, None]], [border[None], jnp.zeros((1, 1))]]
        )
        right = jnp.zeros(bordered.shape[0], complex).at[-1].set(1.0)
        left = jnp.linalg.solve(bordered.T, right)[:-1]  # y M = 0, y M' x = size
        moved = jax.vmap(lambda x: deflection(scaled, root, vector, x)[0])(points)
        seen = jnp.concatenate([moved, vector[first:]])
        return seen * left[row] * rows[row] / size

    return jax.vmap(of_one)(roots, vectors)


def _driven(values, times, force):
    """Return q (time, value) of q' = value q + F from rest, F piecewise linear."""

    def step(q, piece):
        length, begin, end = piece
        z = values * length
        grown = jnp.exp(z)
        # phi_1 and phi_2 of exponential integrators, by series near 0
        small = jnp.abs(z) < 1e-2
        safe = jnp.where(small, 1.0, z)
        one = jnp.where(small, 1 + z / 2 + z**2 / 6 + z**3 / 24, (grown - 1) / safe)
        two = jnp.where(
            small, 0.5 + z / 6 + z**2 / 24 + z**3 / 120, (grown - 1 - safe) / safe**2
        )
        q = grown * q + length * (begin * one + (end - begin) * two)
        return q, q

    start = jnp.zeros(values.shape, complex)
    pieces = jnp.diff(times), force[:-1], force[1:]
    return jnp.concatenate([start[None], jax.lax.scan(step, start, pieces)[1]])
