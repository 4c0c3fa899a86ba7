"""Beams with bodies as a user draws them: oscillators, a rigid body, lumped masses."""

import jax.numpy as jnp
import numpy as np

from .beam import Beam, BeamWithBodies


def oscillators_on_beam(beam: Beam, positions, masses, stiffness, damping=None):
    """Return a beam with one mass (kg) on a spring (N/m) and a damper at each position."""
    number = np.shape(positions)[0]
    masses = jnp.asarray(masses, float)
    return BeamWithBodies(
        beam, positions, stiffness, damping, np.eye(number), jnp.diag(masses)
    )


def rigid_body_on_beam(
    beam: Beam, positions, centre, mass, inertia, stiffness, damping=None
):
    """Return a beam with one rigid body on links at some positions (m).

    The body shifts and turns: z = (displacement of its mass centre, rotation), with
    `mass` (kg), `inertia` about the mass centre (kg m^2), and the mass centre above
    x = `centre` (m) of the beam.
    """
    positions = jnp.asarray(positions, float)
    link_map = jnp.stack([jnp.ones_like(positions), positions - centre], axis=1)
    matrix = jnp.diag(jnp.stack([jnp.asarray(mass, float), jnp.asarray(inertia, float)]))
    return BeamWithBodies(beam, positions, stiffness, damping, link_map, matrix)


def lumped_masses_on_beam(beam: Beam, positions, masses, inertias=None):
    """Return a beam with lumped masses (kg), and inertias (kg m^2) that turn with it."""
    number = np.shape(positions)[0]
    if inertias is None:
        return BeamWithBodies(
            beam, positions, np.zeros(number), link_inertance=jnp.asarray(masses, float)
        )
    both = jnp.concatenate([jnp.asarray(masses, float), jnp.asarray(inertias, float)])
    return BeamWithBodies(
        beam,
        jnp.tile(jnp.asarray(positions, float), 2),
        np.zeros(2 * number),
        link_inertance=both,
        turns=(False,) * number + (True,) * number,
    )
