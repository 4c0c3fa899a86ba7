"""Measures of periodic orbits."""

import dataclasses
import operator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...drawing.labels import Labels
from ...dynamics.flow import flow
from ...dynamics.integrated_system import IntegratedSystem
from ...dynamics.measures import ContactForces
from ...foundation.suggestions import unknown_key
from ...orbits import DriftingOrbit, PeriodicOrbit, periodic_orbit
from ...orbits.shooting.transient import run_transient
from .measure import Measure, Outcome, Partial

# Tight, because a design uses the orbit without further error estimates.
_RTOL = 1e-10
# Fields of an orbit with derivatives.
_FIELDS = ("state", "amplitude", "largest_multiplier", "max_contact_force", "progress")


@dataclasses.dataclass(frozen=True)
class OrbitAnalysis:
    """The periodic orbit reached by a transient, tracked from design to design."""

    periods: int = 1
    rtol: float = _RTOL
    compiled = True
    start_compiled = True

    def start(self, system: eqx.Module) -> Array:
        """Return the state after a transient."""
        return _after_transient(system, self.periods)

    def __call__(self, system, memory) -> Outcome:
        """Return the orbit near the previous one."""
        orbit = periodic_orbit(
            system, memory, self.periods, rtol=self.rtol, evidence="quick", throw=False
        )
        margin = orbit.grazing_margin / jnp.max(orbit.amplitude)
        return Outcome(orbit, orbit.state, orbit.result, margin, orbit.contacts)


@eqx.filter_jit
def _after_transient(system, periods):
    return run_transient(system, periods)[0]


def orbit_measure(
    field: str, component: int = 0, *, periods: int = 1, rtol: float = 1e-8
) -> Measure:
    """Return a measure of a field of the periodic orbit.

    "amplitude" (m), "largest_multiplier", "max_contact_force" (N), "state", the
    "progress" of a system with a drift, in the unit of its coordinate, or
    "stability_margin", which is 1 - |largest multiplier|. **Raises:** `ValueError` for
    a field that is unknown or not differentiable, or the progress of a system without
    a drift.

    >>> jv.design.orbit_measure("max_contact_force").unit
    'N'
    """
    analysis = OrbitAnalysis(periods, rtol)
    if field == "stability_margin":
        return Measure(analysis, _margin, "", "1 - |largest multiplier|")
    read = orbit_field(field, component)
    return Measure(analysis, read, read.unit, f"{field}[{component}]")


def orbit_field(field: str, component: int) -> "_Field":
    """Return the function from an orbit to one component of a differentiable field.

    **Raises:** `ValueError` for a field that is unknown or not differentiable.
    """
    return _Field(field, component)


class _Field(eqx.Module):
    """One component of a differentiable field of a periodic orbit."""

    field: str = eqx.field(static=True)
    component: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.field not in _FIELDS:
            raise ValueError(unknown_key("field of an orbit", self.field, _FIELDS))

    @property
    def unit(self) -> str:
        """The unit of the field, "" if it depends on the coordinate."""
        fields = {field.name: field for field in dataclasses.fields(DriftingOrbit)}
        return Labels().own_unit(fields[self.field].metadata["unit"])

    def __call__(self, orbit: PeriodicOrbit) -> Float[Array, ""]:
        """Return the component."""
        if not hasattr(orbit, self.field):
            raise ValueError(f"{self.field} of a system without a drift; see jv.drifting")
        return jnp.atleast_1d(getattr(orbit, self.field))[self.component]


def contact_impulse(contact: int = 0, *, periods: int = 1) -> Measure:
    r"""Return a measure of a contact's impulse $\int F_c dt$ over one period, N s.

    The impulse is integrated as an additional state.

    >>> jv.design.contact_impulse().unit
    'N s'
    """
    analysis = ImpulseAnalysis(OrbitAnalysis(periods))
    read = Partial(operator.getitem, (contact,))
    return Measure(analysis, read, "N s", f"impulse of contact {contact}")


@dataclasses.dataclass(frozen=True)
class ImpulseAnalysis:
    """The impulses of all contacts over a periodic orbit."""

    orbit: OrbitAnalysis
    compiled = True
    start_compiled = True

    def start(self, system: eqx.Module) -> Array:
        """Return the state after a transient."""
        return self.orbit.start(system)

    def __call__(self, system, memory) -> Outcome:
        """Return the impulses, N s, of the orbit near the previous one."""
        found = self.orbit(system, memory)
        orbit = found.result
        counted: Any = IntegratedSystem(system, ContactForces)
        end = flow(counted, counted.begun(orbit.state), 0.0, orbit.period, throw=False)
        return found._replace(result=end[orbit.state.shape[0] :])


def _margin(orbit: PeriodicOrbit):
    return 1.0 - orbit.largest_multiplier
