"""Systems of bodies without loads and losses, whose motions keep their energy."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .base.law import is_damped, is_impulsive
from .contacts.annular import AnnularContact
from .impact import ImpactSystem, LinearSystem


def energies(
    system: Any, time: Any, state: Float[Array, " state"]
) -> Float[Array, " energies"]:
    """Return the energies of motion, of linear springs and of each contact, J."""
    equation = system.equation().at(time)
    mass, _, stiffness = system.linear_part().matrices()
    position, velocity = jnp.split(state, 2)
    position = position - equation.offset
    found = [velocity @ mass @ velocity / 2, position @ stiffness @ position / 2]
    for contact, depth in zip(equation.contacts, equation.penetrations(state), strict=True):
        found.append(contact.law.energy(depth))
    return jnp.stack(found)


def total_energy(system: Any, state: Float[Array, " state"]) -> Float[Array, ""]:
    """Return the energy of a state of a conservative system, J, 0 at rest."""
    stored = jnp.sum(energies(system, 0.0, state))
    position = jnp.split(state, 2)[0]
    for spring in system.springs:
        stored = stored + spring.law.energy(spring.direction @ position)
    return stored


def why_not_conservative(system: ImpactSystem) -> str:
    """Return what may change the energy of a system's motions, "" if nothing does."""
    for name in ("loads", "frictions", "elements"):
        if parts := getattr(system, name):
            return f"{name}.{parts[0].name or 0} acts on it"
    for name in ("contacts", "springs"):
        for place, part in enumerate(getattr(system, name)):
            if why := _why_lossy(part):
                return f"{name}.{part.name or place} {why}"
    damping = np.asarray(system.matrices()[1])
    if damping.any():
        return f"damping is not 0, up to {np.abs(damping).max():g}"
    return ""


def _why_lossy(part: Any) -> str:
    """Return why a contact or spring may take or give energy, "" if it does not."""
    if part.variation is not None:
        return "varies in time"
    if isinstance(part, AnnularContact) and float(part.friction_coefficient):
        return "has friction"
    if is_damped(part.law):
        return "has a force that may depend on a rate"
    if not hasattr(part.law, "energy"):
        return f"has a {type(part.law).__name__}, a law without an energy"
    return "is a hard stop" if is_impulsive(part.law) else ""


def slowed(system: ImpactSystem, rate: Any) -> ImpactSystem:
    r"""Return a conservative system with the damping $D = \rho M$, of a rate $\rho$, 1/s.

    Its energy falls or grows steadily: with another rate than 0 no motion is periodic.
    """
    mass, _, stiffness = system.matrices()
    linear = LinearSystem(mass, rate * mass, stiffness)
    return ImpactSystem(linear, contacts=system.contacts, springs=system.springs)
