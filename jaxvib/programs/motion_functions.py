"""Functions of a system's motions, and its parameters as one array, for machine code."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..dynamics.engines.choice import engine_of
from ..dynamics.engines.engine import Engine
from ..dynamics.motion import Want
from ..dynamics.observables import largest_forces
from ..ensemble import Reason
from ..foundation.range import Range
from ..kernels.export.object_code import CFunction
from ..systems import parameters, replace
from ..systems.base.system import System, state_shape

RTOL = 1e-10  # default of `flow`
# Of motions: `FIELD_JUMPS` if derivatives by the state are asked for.
RETURN_CODES = (
    Reason.SUCCESS,
    Reason.BAD_PARAMETER,
    Reason.STEP_LIMIT,
    Reason.STEP_UNDERFLOW,
    Reason.FIELD_JUMPS,
)


# Numbers of an array parameter; longer ones, such as those of a measured record, are
# data, and would fill the table of names.
_MOST = 64


class Number(NamedTuple):
    """A number of the array: its path in the system and its declaration."""

    path: str
    unit: str
    description: str
    value: float
    allowed: Range


class ParameterVector:
    """The parameters of a system as one array of float64.

    **Fields:** `numbers`: one per entry; entries of arrays have paths such as
    `linear.mass.0.1`; `constants`: paths of longer arrays, which keep their values;
    `derived`: paths of parameters that a formula of the system defines.
    """

    def __init__(self, system: System):
        self._system, known = system, parameters(system)
        self.derived = tuple(path for path, _ in system.formulas)
        given = {path: each for path, each in known.items() if path not in self.derived}
        self.constants = tuple(p for p, e in given.items() if np.size(e.value) > _MOST)
        self._shapes = {
            path: np.shape(each.value)
            for path, each in given.items()
            if path not in self.constants
        }
        self.numbers = [
            Number(
                ".".join([path, *map(str, place)]),
                given[path].unit,
                given[path].description,
                float(np.asarray(given[path].value)[place]),
                given[path].allowed,
            )
            for path, shape in self._shapes.items()
            for place in np.ndindex(shape)
        ]

    @property
    def values(self) -> np.ndarray:
        """The system's own values."""
        return np.array([number.value for number in self.numbers])

    def system(self, vector: Float[Array, " numbers"]) -> System:
        """Return the system with the values of an array."""
        values, start = {}, 0
        for path, shape in self._shapes.items():
            end = start + int(np.prod(shape))
            values[path] = vector[start:end].reshape(shape)
            start = end
        return replace(self._system, values)

    def allowed(self, vector: Float[Array, " numbers"]) -> Bool[Array, ""]:
        """Return whether all values are in their ranges."""
        inside = [
            number.allowed.contains(vector[place])
            for place, number in enumerate(self.numbers)
            if number.allowed != Range()
        ]
        return jnp.all(jnp.isfinite(vector)) & jnp.all(jnp.asarray([True, *inside]))


class MotionFunctions:
    """The functions of one system that a program calls.

    Failed motions have NaN as results, and one of `RETURN_CODES`.
    """

    def __init__(self, system: System):
        self.parameters = ParameterVector(system)
        self._engine: Engine = engine_of(system, "auto")
        self._size = state_shape(system)[0]
        self.periodic = _is_periodic(system)
        equation = system.equation()
        self.hard = equation.hard_contacts()
        self.breaks = equation.next_breakpoint(0.0) is not None
        self.slides = bool(equation.frictions)

    def motion(self) -> CFunction:
        """Return the motion from `t0` to `t1`: state, contact forces, reason code."""

        def motion(parameters, t0, t1, rtol, state):
            lane = self.parameters.system(parameters)
            want = Want(rtol, forces=True)
            found = self._engine.integrate(lane, state, t0, t1, want)
            made = found.state, found.forces
            return self._checked(parameters, t1 - t0, rtol, state, found.result, made)

        return CFunction(motion, self._start("t0", "t1"), ("after", "forces", "return"))

    def response(self) -> CFunction:
        """Return the motion over a period, its monodromy matrix and largest forces."""

        def response(parameters, t0, rtol, state):
            lane = self.parameters.system(parameters)
            period = lane.period()
            want = Want(rtol, grazing=0.0, monodromy=True)
            found = self._engine.integrate(lane, state, t0, t0 + period, want)
            peaks = largest_forces(lane.equation(), found.observables)
            made = found.state, found.monodromy, peaks
            return self._checked(parameters, period, rtol, state, found.result, made)

        results = ("after", "monodromy", "peak_forces", "return")
        return CFunction(response, self._start("t0"), results)

    def sensitivity(self) -> CFunction:
        """Return the motion, and its change with a change of its arguments."""

        def sensitivity(parameters, t0, t1, rtol, state, *changes):
            def end(parameters, t0, t1, state):
                lane = self.parameters.system(parameters)
                found = self._engine.integrate(lane, state, t0, t1, Want(rtol))
                return found.state, found.result

            given = parameters, t0, t1, state
            after, change, code = jax.jvp(end, given, changes, has_aux=True)
            made = after, change
            return self._checked(parameters, t1 - t0, rtol, state, code, made)

        moved = {
            "d_parameters": self._vector(),
            "d_t0": 0.0,
            "d_t1": 0.0,
            "d_state": self._state(),
        }
        arguments = self._start("t0", "t1") | moved
        return CFunction(sensitivity, arguments, ("after", "d_after", "return"))

    def derivatives(self) -> CFunction:
        """Return the rates of a state, the contact forces and the gaps."""
        results = ("rates", "forces", "gaps")
        return CFunction(self._known(self._derivatives), self._at_a_time(), results)

    def tangents(self) -> CFunction:
        """Return the change of the `derivatives` with a change of their arguments."""

        def tangents(parameters, time, state, *changes):
            given = parameters, time, state
            return jax.jvp(self._derivatives, given, changes)[1]

        moved = {f"d_{name}": each for name, each in self._at_a_time().items()}
        results = ("d_rates", "d_forces", "d_gaps")
        return CFunction(self._known(tangents), self._at_a_time() | moved, results)

    def _derivatives(self, parameters, time, state):
        equation = self.parameters.system(parameters).equation()
        rates = equation.vector_field(time, state)
        forces = equation.at(time).forces_at(state)
        return rates, forces, -equation.penetrations(state)

    def rest(self) -> CFunction:
        """Return the state at rest."""

        def rest(parameters):
            return self.parameters.system(parameters).rest()

        return CFunction(self._known(rest), {"parameters": self._vector()}, ("state",))

    def period(self) -> CFunction:
        """Return the common period of the loads."""

        def period(parameters):
            return jnp.asarray(self.parameters.system(parameters).period(), float)

        return CFunction(self._known(period), {"parameters": self._vector()}, ("return",))

    def impact(self) -> CFunction:
        """Return the state after an impact at a hard stop, unchanged at other contacts."""

        def impact(parameters, contact, state):
            equation: Any = self.parameters.system(parameters).equation()
            half = state.shape[0] // 2
            velocity = state[half:]
            for place, hard in enumerate(equation.hard_contacts()):
                if not hard:
                    continue
                each = equation.contacts[place]
                closing = jnp.sum(each.direction * velocity)
                impulse = -(1 + each.law.restitution) * closing
                impulse = impulse / jnp.sum(each.direction * each.response)
                struck = (contact == place) & (closing > 0)
                velocity = jnp.where(struck, velocity + each.response * impulse, velocity)
            return jnp.concatenate([state[:half], velocity])

        arguments = {
            "parameters": self._vector(),
            "contact": np.int32(0),
            "state": self._state(),
        }
        return CFunction(self._known(impact), arguments, ("after",))

    def approach(self) -> CFunction:
        """Return the closing rate and acceleration of each contact in a state."""

        def approach(parameters, time, state):
            equation = self.parameters.system(parameters).equation()
            rate = equation.vector_field(time, state)
            return equation.contact_motion(state, rate)[1:]

        results = ("closing", "acceleration")
        return CFunction(self._known(approach), self._at_a_time(), results)

    def next_break(self) -> CFunction:
        """Return the next time at which a load is not smooth."""

        def next_break(parameters, time):
            equation = self.parameters.system(parameters).equation()
            return jnp.asarray(equation.next_breakpoint(time), float)

        arguments = {"parameters": self._vector(), "time": 0.0}
        return CFunction(self._known(next_break), arguments, ("return",))

    def all(self) -> Mapping[str, CFunction]:
        """Return the functions of a program in C by name."""
        found = {
            "rest": self.rest(),
            "motion": self.motion(),
            "sensitivity": self.sensitivity(),
            "derivatives": self.derivatives(),
        }
        if self.periodic:
            found |= {"period": self.period(), "response": self.response()}
        if any(self.hard):
            found["impact"] = self.impact()
        return found

    def _known(self, function):
        """Return a function of the parameters whose results are NaN out of their range."""

        @functools.wraps(function)
        def known(parameters, *given):
            inside = self.parameters.allowed(parameters)
            made = function(parameters, *given)
            return jax.tree.map(lambda each: jnp.where(inside, each, jnp.nan), made)

        return known

    def _checked(self, parameters, span, rtol, state, code, made):
        """Return the results with NaN, and the code, for arguments out of range."""
        usable = self.parameters.allowed(parameters) & jnp.all(jnp.isfinite(state))
        usable = usable & jnp.isfinite(span) & (span >= 0) & (rtol > 0) & (rtol <= 0.1)
        made = [jnp.where(usable, each, jnp.nan) for each in made]
        code = jnp.where(usable, code, Reason.BAD_PARAMETER)
        return (*made, jnp.asarray(code, jnp.int32))

    def _start(self, *times: str) -> dict[str, Any]:
        """Return example arguments of a motion."""
        numbers = dict.fromkeys((*times, "rtol"), 0.0)
        return {"parameters": self._vector(), **numbers, "state": self._state()}

    def _at_a_time(self) -> dict[str, Any]:
        return {"parameters": self._vector(), "time": 0.0, "state": self._state()}

    def _vector(self) -> np.ndarray:
        return np.zeros(len(self.parameters.numbers))

    def _state(self) -> np.ndarray:
        return np.zeros(self._size)


def _is_periodic(system: System) -> bool:
    """Return whether there is a period of the loads."""
    try:
        period = float(system.period())
    except ValueError:  # loads that do not repeat, or do not change
        return False
    return bool(np.isfinite(period))


def unique_names(texts: Sequence[str]) -> list[str]:
    """Return an identifier of C for each text, all different."""
    found: list[str] = []
    for text in texts:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
        name, number = plain or "_", 2
        while name in found:
            name, number = f"{plain}_{number}", number + 1
        found.append(name)
    return found
