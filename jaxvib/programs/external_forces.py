"""Systems with an external force on each degree of freedom, as inputs of an FMU."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp

from ..systems import AppliedLoad, ConstantLoad, ImpactSystem, TwoBodyImpact
from ..systems.parameters import part_names
from ..systems.system import System

_FORCE = ".law.force"


class _PushedBodies(TwoBodyImpact):
    """Two bodies with further loads."""

    external: tuple[AppliedLoad, ...] = ()

    @property
    def loads(self) -> tuple[AppliedLoad, ...]:
        """The load on the main body, and the further ones."""
        return (*super().loads, *self.external)


class PushedSystem(NamedTuple):
    """A system with an external force on each degree of freedom, 0 by default.

    **Fields:** `forces`: the path of each force, by degree of freedom; none for a
    system that takes no loads.
    """

    system: System
    forces: dict[str, str]

    def is_external(self, path: str) -> bool:
        """Return whether a parameter belongs to an external force."""
        parts = (force.removesuffix(_FORCE) for force in self.forces.values())
        return any(path.startswith(f"{part}.") for part in parts)


def with_external_forces(system: System) -> PushedSystem:
    """Return a system with constant forces of 0 on its degrees of freedom."""
    names = system.freedom_names
    loads = tuple(
        AppliedLoad(direction, ConstantLoad(0.0), name=f"external_force_{place}")
        for place, direction in enumerate(jnp.eye(len(names)))
    )
    if isinstance(system, ImpactSystem):
        pushed: System = dataclasses.replace(system, loads=(*system.loads, *loads))
        field = "loads"
    elif type(system) is TwoBodyImpact:
        fields = {
            field.name: getattr(system, field.name) for field in dataclasses.fields(system)
        }
        pushed, field = _PushedBodies(**fields, external=loads), "external"
    else:
        return PushedSystem(system, {})
    parts = part_names(getattr(pushed, field))[-len(names) :]
    paths = [f"{field}.{part}{_FORCE}" for part in parts]
    return PushedSystem(pushed, dict(zip(names, paths, strict=True)))
