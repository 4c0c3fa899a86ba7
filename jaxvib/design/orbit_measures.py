"""Measures of periodic orbits and of their bifurcation points."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..branches import bifurcation_point, continue_orbit
from ..dynamics.flow import flow
from ..ensemble import Reason, reason
from ..foundation.suggestions import unknown_key
from ..orbits import PeriodicOrbit, periodic_orbit
from ..orbits.transient import run_transient
from ..systems.equation import Equation
from ..systems.parameters import replace
from ..systems.system import System
from .measure import EvaluationLostError, Measure, Outcome
from .variables import entry_at

# Tight, because a design uses the orbit without further error estimates.
_RTOL = 1e-10
# Fields of an orbit with derivatives.
_FIELDS = ("state", "amplitude", "largest_multiplier", "max_contact_force")


@dataclasses.dataclass(frozen=True)
class OrbitAnalysis:
    """The periodic orbit reached by a transient, tracked from design to design."""

    periods: int = 1
    rtol: float = _RTOL
    compiled = True
    start_compiled = True

    def start(self, system: eqx.Module) -> Array:
        """Return the state after a transient."""
        return _after_transient(system)

    def __call__(self, system, memory) -> Outcome:
        """Return the orbit near the previous one."""
        orbit = periodic_orbit(
            system, memory, self.periods, rtol=self.rtol, evidence="quick", throw=False
        )
        margin = orbit.grazing_margin / jnp.max(orbit.amplitude)
        return Outcome(orbit, orbit.state, orbit.result, margin, orbit.contacts)


@eqx.filter_jit
def _after_transient(system):
    return run_transient(system)[0]


def orbit_measure(
    field: str, component: int = 0, *, periods: int = 1, rtol: float = 1e-8
) -> Measure:
    """Return a measure of a field of the periodic orbit.

    "amplitude" (m), "largest_multiplier", "max_contact_force" (N), "state" or
    "stability_margin", which is 1 - |largest multiplier|. **Raises:** `ValueError` for a
    field that is unknown or not differentiable.

    >>> jv.design.orbit_measure("max_contact_force").unit
    'N'
    """
    analysis = OrbitAnalysis(periods, rtol)
    if field == "stability_margin":
        return Measure(analysis, _margin, "", "1 - |largest multiplier|")
    read = _Field(field, component)
    return Measure(analysis, read, read.unit, f"{field}[{component}]")


class _Field(eqx.Module):
    """One component of a differentiable field of a periodic orbit."""

    field: str = eqx.field(static=True)
    component: int = eqx.field(static=True)

    def __check_init__(self):
        if self.field not in _FIELDS:
            raise ValueError(unknown_key("field of an orbit", self.field, _FIELDS))

    @property
    def unit(self) -> str:
        """The unit of the field."""
        fields = {field.name: field for field in dataclasses.fields(PeriodicOrbit)}
        return fields[self.field].metadata["unit"]

    def __call__(self, orbit: PeriodicOrbit) -> Float[Array, ""]:
        """Return the component."""
        return jnp.atleast_1d(getattr(orbit, self.field))[self.component]


def contact_impulse(contact: int = 0, *, periods: int = 1) -> Measure:
    r"""Return a measure of a contact's impulse $\int F_c dt$ over one period, N s.

    The impulse is integrated as an additional state.

    >>> jv.design.contact_impulse().unit
    'N s'
    """
    analysis = ImpulseAnalysis(OrbitAnalysis(periods))
    return Measure(analysis, _Component(contact), "N s", f"impulse of contact {contact}")


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
        counted = _Counted(system)
        contacts = counted.rest().shape[0] - orbit.state.shape[0]
        start = jnp.concatenate([orbit.state, jnp.zeros(contacts)])
        end = flow(counted, start, 0.0, orbit.period, throw=False)
        return found._replace(result=end[orbit.state.shape[0] :])


class _Counted(System):
    """A system augmented with the impulses of its contacts as states."""

    system: Any
    has_contacts = True

    def equation(self):
        return _CountedEquation(self.system.equation(), 2 * self.system.degrees_of_freedom)

    def rest(self):
        state = self.system.rest()
        return jnp.concatenate([state, jnp.zeros_like(self.equation().penetrations(state))])

    def period(self):
        return self.system.period()


class _CountedEquation(Equation):
    equation: Equation
    size: int = eqx.field(static=True)

    def vector_field(self, time, state):
        rate = self.equation.vector_field(time, state[: self.size])
        return jnp.concatenate([rate, self.forces_at(state)])

    def penetrations(self, state):
        return self.equation.penetrations(state[: self.size])

    def closing_rates(self, state):
        return self.equation.closing_rates(state[: self.size])

    def contact_forces(self, penetrations, rates):
        return self.equation.contact_forces(penetrations, rates)

    def contact_motion(self, state, rate):
        return self.equation.contact_motion(state[: self.size], rate[: self.size])

    def contact_reach(self, sizes):
        return self.equation.contact_reach(sizes[: self.size])


@dataclasses.dataclass(frozen=True)
class _Component:
    place: int

    def __call__(self, numbers):
        return numbers[self.place]


def _margin(orbit: PeriodicOrbit):
    return 1.0 - orbit.largest_multiplier


@dataclasses.dataclass(frozen=True)
class BifurcationAnalysis:
    """The bifurcation point of a periodic orbit along a parameter.

    The start traces the branch of the system's own orbit within `bounds` and takes the
    detected bifurcation nearest to the system's parameter; afterwards the point is
    tracked from design to design.
    """

    kind: str
    path: str
    bounds: tuple[float, float]
    periods: int = 1
    compiled = True
    start_compiled = False

    def __post_init__(self):
        if self.kind not in _SIDES:
            raise ValueError(unknown_key("kind of bifurcation", self.kind, _SIDES))

    def start(self, system: Any) -> Any:
        """Return an orbit near the bifurcation and its parameter value.

        **Raises:** `EvaluationLostError` if the branch has no such point.
        """
        first = periodic_orbit(system, periods=self.periods, throw=False)
        code = Reason(int(first.result))
        if code != Reason.SUCCESS:
            raise EvaluationLostError(
                code if code.failed else Reason.NO_BIFURCATION,
                f"the first orbit was not found: {reason(code)}",
            )
        branch = continue_orbit(system, first, self.path, self.bounds, method="arclength")
        places = np.flatnonzero(_changes(self.kind, branch))
        if not len(places):
            low, high = branch.parameter[0], branch.parameter[-1]
            raise EvaluationLostError(
                Reason.NO_BIFURCATION,
                f"no {self.kind} on the branch along {self.path} from {float(low):g} to "
                f"{float(high):g}",
            )
        own = float(entry_at(system, self.path).value)
        values = np.asarray(branch.parameter)
        near = places[np.argmin(np.abs(values[places] - own))]
        orbit = eqx.tree_at(lambda o: o.state, first, jnp.asarray(branch.states[near]))
        return orbit, jnp.asarray(values[near])

    def __call__(self, system, memory) -> Outcome:
        """Return the bifurcation point near the previous one."""
        orbit, value = memory
        there = replace(system, {self.path: value})
        orbit = eqx.tree_at(
            lambda o: o.period, orbit, orbit.periods.astype(float) * there.period()
        )
        point = bifurcation_point(there, orbit, self.kind, self.path, throw=False)
        after = (eqx.tree_at(lambda o: o.state, orbit, point.state), point.parameter)
        nothing = jnp.asarray(0, jnp.int32)
        return Outcome(point, after, point.result, jnp.asarray(jnp.inf), nothing)


def bifurcation_measure(
    kind: str, path: str, bounds: tuple[float, float], *, periods: int = 1, unit: str = ""
) -> Measure:
    """Return a measure of the parameter value of a bifurcation.

    **Arguments:** `kind`: "fold", "period_doubling", "neimark_sacker" or "grazing";
    `bounds`: the range of the parameter at `path` in which the branch is traced.
    **Raises:** `ValueError` for an unknown kind.

    >>> flip = jv.design.bifurcation_measure(
    ...     "fold", "load.amplitude", (100.0, 500.0), unit="N"
    ... )
    >>> flip.unit
    'N'
    """
    analysis = BifurcationAnalysis(kind, path, bounds, periods)
    return Measure(analysis, _parameter, unit, f"{path} at the {kind}")


def _parameter(point):
    return point.parameter


def _changes(kind: str, branch) -> np.ndarray:
    """Return a mask of the branch segments on which a bifurcation is detected."""
    return np.diff(_SIDES[kind](branch)) != 0


def _outside(branch) -> np.ndarray:
    multipliers = np.asarray(branch.floquet_multipliers)
    pair = np.abs(multipliers.imag) > 1e-8
    return np.any(pair & (np.abs(multipliers) > 1), axis=1).astype(int)


def _side_of(multiplier: float, branch) -> np.ndarray:
    others = np.asarray(branch.floquet_multipliers) - multiplier
    return np.sign(np.prod(others, axis=1).real)


# test functions at each point of a branch: they change across a bifurcation
_SIDES = {
    "fold": functools.partial(_side_of, 1.0),
    "period_doubling": functools.partial(_side_of, -1.0),
    "neimark_sacker": _outside,
    "grazing": lambda branch: np.asarray(branch.contacts),
}
