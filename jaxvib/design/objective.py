"""Objectives: scalar fields of a periodic orbit."""

import dataclasses
import difflib

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..orbits import PeriodicOrbit

_DIFFERENTIABLE = ("state", "amplitude", "largest_multiplier", "max_contact_force")


class ResultObjective(eqx.Module):
    """A field of the periodic orbit, or one component of it.

    **Fields:** `field`: `"amplitude"`, `"largest_multiplier"`, `"max_contact_force"`
    or `"state"`; `component`: its index, ignored for a scalar. **Raises:** `ValueError`
    for a field that is not differentiable or unknown.

    >>> objective = jv.design.ResultObjective("max_contact_force")
    >>> round(float(objective(orbit)) / 1e3, 2)  # kN
    26.49
    """

    field: str = eqx.field(static=True)
    component: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        if self.field not in _DIFFERENTIABLE:
            near = difflib.get_close_matches(self.field, _DIFFERENTIABLE, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"objective = {self.field!r}; allowed: {', '.join(_DIFFERENTIABLE)}{hint}"
            )

    @property
    def unit(self) -> str:
        """The unit of the field."""
        for field in dataclasses.fields(PeriodicOrbit):
            if field.name == self.field:
                return field.metadata["unit"]
        return ""

    def __call__(self, orbit: PeriodicOrbit) -> Float[Array, ""]:
        """Return the objective of an orbit."""
        return jnp.atleast_1d(getattr(orbit, self.field))[self.component]
