"""Systems of bodies without loads and losses, whose motions keep their energy."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import partial_eval
from jaxtyping import Array, Float

from .base.law import force_of, is_damped, is_impulsive
from .contacts.annular import AnnularContact
from .impact import ImpactSystem, LinearSystem
from .springs import NonlinearSpring

# Nodes of Gauss's rule for energies: exact for polynomials of degree 127.
_NODES = 64


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


def total_energy(
    system: Any, state: Float[Array, " state"], nodes: int = _NODES
) -> Float[Array, ""]:
    """Return the energy of a state of a conservative system, J, 0 at rest.

    That of laws without a method `energy` is the integral of their force, by Gauss's rule
    with so many nodes.
    """
    stored = jnp.sum(energies(system, 0.0, state))
    position = jnp.split(state, 2)[0]
    for spring in system.springs:
        elongation = spring.direction @ position
        stored = stored + (
            spring.law.energy(elongation)
            if hasattr(spring.law, "energy")
            else _work(spring.law, elongation, nodes)
        )
    return stored


def energy_doubt(system: Any, state: Float[Array, " state"]) -> Float[Array, ""]:
    """Return the error of the energy of springs whose law has no method `energy`, J."""
    if all(hasattr(spring.law, "energy") for spring in system.springs):
        return jnp.zeros(())
    fewer = total_energy(system, state, _NODES // 2)
    return jnp.abs(total_energy(system, state) - fewer)


def _work(law: Any, elongation: Array, nodes: int) -> Array:
    """Return the work of a force that depends on an elongation only, from 0 to it, J."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    at = elongation * (1 + places) / 2
    forces = jax.vmap(lambda place: force_of(law, place, jnp.zeros(())))(at)
    return elongation / 2 * (weights @ forces)


def at_rest(system: ImpactSystem) -> LinearSystem:
    """Return the linear system of small motions: the springs by their slopes at rest."""
    mass, damping, stiffness = system.matrices()
    zero = jnp.zeros(())
    for spring in system.springs:
        slope = jax.jacfwd(functools.partial(force_of, spring.law))(zero, zero)
        stiffness = stiffness + slope * jnp.outer(spring.direction, spring.direction)
    return LinearSystem(mass, damping, stiffness)


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
    if is_damped(part.law) and _uses_rate(part.law):
        return "has a force that may depend on a rate"
    if not hasattr(part.law, "energy") and not isinstance(part, NonlinearSpring):
        return f"has a {type(part.law).__name__}, a law without an energy"
    lossy = is_impulsive(part.law) and float(part.law.restitution) < 1
    return "is a hard stop with losses" if lossy else ""


def _uses_rate(law: Any) -> bool:
    """Return whether a law's formula uses the rate that it is given."""
    zero = jnp.zeros(())
    made = jax.make_jaxpr(lambda place, rate: force_of(law, place, rate))(zero, zero)
    _, used = partial_eval.dce_jaxpr(made.jaxpr, [True] * len(made.jaxpr.outvars))
    return used[1]
