r"""Frequency response of a beam with bodies under a harmonic force.

Without modal superposition: the equations of the characteristic function with the force
on the right-hand side, $M(i \omega)\,(c, F, Z) = r$, so the response is exact at any
frequency that is not an undamped eigenvalue.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex

from ...systems.structures.beam import BeamWithBodies
from .characteristic import Dimensionless, dimensionless, equilibrated, matrix, mixing
from .modes import deflection


@mixing
def beam_response(
    system: BeamWithBodies,
    frequencies: ArrayLike | Sequence[float],
    *,
    force_at: ArrayLike | None = None,
    force_on: int | None = None,
    at: ArrayLike | Sequence[float] = (),
) -> tuple[Complex[Array, "frequency point"], Complex[Array, "frequency n"]]:
    """Return the response of the beam and its bodies to a unit harmonic force.

    **Arguments:** `frequencies` (rad/s); `force_at`: a point of the beam (m), or
    `force_on`: the index of a body's degree of freedom; `at`: points of the beam (m).
    **Returns:** complex displacements per unit force (m/N), of the beam at `at` and of
    the bodies. Differentiable in every parameter and in both positions. **Raises:**
    `ValueError` unless exactly one of `force_at` and `force_on` is given.

    >>> bare = jv.BeamWithBodies(beam)
    >>> moved, _ = jv.modes.beam_response(bare, [10.0], force_at=1.0, at=[1.0])
    >>> f"{abs(moved[0, 0]):.4f} m/N"
    '0.0107 m/N'
    """
    scaled, row = applied_force(system, force_at, force_on)
    points = jnp.asarray(at, float) / scaled.length
    flexibility = scaled.length**3 / system.beam.bending_stiffness
    frequencies = jnp.asarray(frequencies, float)
    return response_to_row(scaled, row, points, flexibility, frequencies)


@jax.jit
def response_to_row(
    scaled: Dimensionless,
    row: ArrayLike,
    points: Array,
    flexibility: Array,
    frequencies: Array,
) -> tuple[Array, Array]:
    """Return the response of the beam and its bodies to a unit force in a row of M.

    **Arguments:** `row`: its index; `points`, in units of the beam's length;
    `flexibility` (m/N): the unit of displacement per force; `frequencies` (rad/s).
    **Returns:** as `beam_response`.
    """
    first = 4 + len(scaled.turns)

    def of_one(frequency):
        eigenvalue = 1j * frequency * scaled.time
        m, rows, columns = equilibrated(matrix(scaled, eigenvalue))
        right = jnp.zeros(scaled.size, complex).at[row].set(rows[row])
        unknowns = columns * jnp.linalg.solve(m, right)
        moved = jax.vmap(lambda x: deflection(scaled, eigenvalue, unknowns, x)[0])(points)
        return flexibility * moved, flexibility * unknowns[first:]

    return jax.vmap(of_one)(frequencies)


def applied_force(
    system: BeamWithBodies, force_at: ArrayLike | None, force_on: int | None
) -> tuple[Dimensionless, int]:
    """Return a system with a row for the applied force, and the index of that row.

    A force on the beam is applied in the row of an additional link without stiffness.
    **Raises:** `ValueError` unless exactly one of the positions is given.
    """
    if (force_at is None) == (force_on is None):
        raise ValueError(
            "give one of force_at (m) and force_on (number of a degree of freedom)"
        )
    scaled = dimensionless(system)
    row = 4 + scaled.positions.shape[0]
    if force_on is not None:
        return scaled, row + force_on
    return _with_idle_link(scaled, jnp.asarray(force_at, float) / scaled.length), row


def _with_idle_link(scaled, position):
    def longer(values, value=0.0):
        return jnp.append(values, value)

    def wider(part):
        return None if part is None else jnp.pad(part, ((0, 0), (0, 1)))

    return dataclasses.replace(
        scaled,
        positions=longer(scaled.positions, position),
        link_stiffness=longer(scaled.link_stiffness),
        link_damping=longer(scaled.link_damping),
        link_inertance=longer(scaled.link_inertance),
        link_map=jnp.pad(scaled.link_map, ((0, 1), (0, 0))),
        excess_stiffness=wider(scaled.excess_stiffness),
        excess_damping=wider(scaled.excess_damping),
        turns=(*scaled.turns, False),
    )
