"""Systems with an external force on each degree of freedom, as inputs of an FMU."""

import dataclasses

import numpy as np

from ..systems import AppliedLoad, ConstantLoad, ImpactSystem, TwoBodyImpact
from ..systems.system import System

_PREFIX = "external_force"


class _PushedBodies(TwoBodyImpact):
    """Two bodies with further loads."""

    external: tuple[AppliedLoad, ...] = ()

    @property
    def loads(self) -> tuple[AppliedLoad, ...]:
        """The load on the main body, and the further ones."""
        return (*super().loads, *self.external)


def with_external_forces(system: System) -> tuple[System, dict[str, str]]:
    """Return a system with constant forces of 0, and the paths of these forces.

    Paths are by degree of freedom; there are none for systems that take no loads.
    """
    names = system.freedom_names
    size = len(names)
    loads = tuple(
        AppliedLoad(direction, ConstantLoad(0.0), name=f"{_PREFIX}_{place}")
        for place, direction in enumerate(np.eye(size))
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
        return system, {}
    paths = {
        name: f"{field}.{_PREFIX}_{place}.law.force" for place, name in enumerate(names)
    }
    return pushed, paths


def is_external(path: str) -> bool:
    """Return whether a parameter belongs to an external force."""
    return path.split(".")[1:2] != [] and path.split(".")[1].startswith(f"{_PREFIX}_")
