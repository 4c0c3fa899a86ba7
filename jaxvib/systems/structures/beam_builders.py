"""Builders of beams with oscillators, a rigid body or lumped masses."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from .beam import Beam, BeamWithBodies


def oscillators_on_beam(
    beam: Beam,
    positions: ArrayLike | Sequence[Any],
    masses: ArrayLike | Sequence[Any],
    stiffness: ArrayLike | Sequence[Any],
    damping: ArrayLike | Sequence[Any] | None = None,
) -> BeamWithBodies:
    """Return a beam with one mass on a spring and a damper at each position.

    **Arguments:** `positions` (m), `masses` (kg), `stiffness` (N/m), `damping` (N s/m, 0
    unless given), all of shape (bodies,). **Raises:** `ValueError` as `BeamWithBodies`.

    >>> carried = jv.oscillators_on_beam(beam, [0.5], masses=[0.1], stiffness=[50.0])
    >>> jv.beam_eigenvalues(carried, count=2).values.imag.round(2).tolist()
    [20.83, 27.65]
    """
    positions, masses = jnp.asarray(positions, float), jnp.asarray(masses, float)
    return BeamWithBodies(
        beam, positions, stiffness, damping, np.eye(positions.size), jnp.diag(masses)
    )


def rigid_body_on_beam(
    beam: Beam,
    positions: ArrayLike | Sequence[Any],
    centre: ArrayLike,
    mass: ArrayLike,
    inertia: ArrayLike,
    stiffness: ArrayLike | Sequence[Any],
    damping: ArrayLike | Sequence[Any] | None = None,
) -> BeamWithBodies:
    """Return a beam with one rigid body on links at some positions (m).

    The body translates and rotates: z = (displacement of its mass centre, rotation),
    with `mass` (kg), `inertia` about the mass centre (kg m^2), and the mass centre
    above x = `centre` (m) of the beam. **Arguments:** `stiffness` (N/m) and `damping`
    (N s/m) of the links, shape (links,). **Raises:** `ValueError` as `BeamWithBodies`.

    >>> block = jv.rigid_body_on_beam(
    ...     beam, [0.4, 0.6], centre=0.5, mass=0.2, inertia=1e-3, stiffness=[1e3, 1e3]
    ... )
    >>> jv.beam_eigenvalues(block, count=1).values.imag.round(2).tolist()
    [23.99]
    """
    positions = jnp.asarray(positions, float)
    link_map = jnp.stack([jnp.ones_like(positions), positions - centre], axis=1)
    matrix = jnp.diag(jnp.stack([jnp.asarray(mass, float), jnp.asarray(inertia, float)]))
    return BeamWithBodies(beam, positions, stiffness, damping, link_map, matrix)


def lumped_masses_on_beam(
    beam: Beam,
    positions: ArrayLike | Sequence[Any],
    masses: ArrayLike | Sequence[Any],
    inertias: ArrayLike | Sequence[Any] | None = None,
) -> BeamWithBodies:
    """Return a beam with lumped masses and rotary inertias.

    **Arguments:** `positions` (m), `masses` (kg), `inertias` (kg m^2), all of shape
    (masses,). **Raises:** `ValueError` as `BeamWithBodies`.

    >>> tip = jv.lumped_masses_on_beam(jv.Beam(1.0, 1.0, 1.0), [1.0], masses=[1.0])
    >>> jv.beam_eigenvalues(tip, count=1).values.imag.round(4).tolist()
    [1.5573]
    """
    positions = jnp.asarray(positions, float)
    number = positions.size
    if inertias is None:
        return BeamWithBodies(
            beam, positions, np.zeros(number), link_inertance=jnp.asarray(masses, float)
        )
    both = jnp.concatenate([jnp.asarray(masses, float), jnp.asarray(inertias, float)])
    return BeamWithBodies(
        beam,
        jnp.tile(positions, 2),
        np.zeros(2 * number),
        link_inertance=both,
        turns=(False,) * number + (True,) * number,
    )
