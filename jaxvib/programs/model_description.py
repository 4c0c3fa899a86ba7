"""The description of an FMU as XML, and its variables: a system with forces as inputs."""

import dataclasses
import math
from typing import NamedTuple
from xml.etree import ElementTree

import jax.numpy as jnp

from ..foundation.range import Range
from ..foundation.text import printable
from ..systems import AppliedLoad, ConstantLoad, ImpactSystem, TwoBodyImpact
from ..systems.base.system import System
from ..systems.parameters import part_names
from .motion_functions import MotionFunctions

_VERSION = "3.0"
_PERIODS = 10  # of the default experiment
# Of importers' integrators; co-simulation integrates with the default of `flow`.
_TOLERANCE = 1e-8
# Exponents of SI base units; other units have names only.
_BASE = {
    "kg": {"kg": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s^2": {"m": 1, "s": -2},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s^2": {"rad": 1, "s": -2},
    "1/s": {"s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N/m": {"kg": 1, "s": -2},
    "N s/m": {"kg": 1, "s": -1},
    "kg m^2": {"kg": 1, "m": 2},
}


_FORCE = ".law.force"


class Variable(NamedTuple):
    """A variable of an FMU: a number of float64.

    **Fields:** `start`: its value before a simulation, `None` if calculated;
    `derivative_of`: the value reference of the state of which it is the rate.
    """

    name: str
    unit: str
    description: str
    causality: str
    variability: str
    start: float | None = None
    allowed: Range = Range()
    derivative_of: int | None = None


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


class Variables:
    """All variables of an FMU, and where the parts of its C program find theirs.

    Value references are positions: the time, parameters, inputs, states, rates, contact
    forces and gaps. **Fields:** `places`: of parameters and inputs in the array of
    parameters; `first_state`: the value reference of the first state.
    """

    def __init__(self, pushed: PushedSystem, functions: MotionFunctions):
        system, inputs = pushed
        numbers = functions.parameters.numbers
        own = [k for k, each in enumerate(numbers) if not pushed.is_external(each.path)]
        at = {each.path: k for k, each in enumerate(numbers)}
        self.places = [*own, *(at[path] for path in inputs.values())]
        time = Variable("time", "s", "time", "independent", "continuous")
        self.all = [time, *(_parameter(numbers[k]) for k in own)]
        self.all += [
            Variable(
                f"external_force.{name}", numbers[at[path]].unit, f"force on {name}",
                "input", "continuous", 0.0,
            )
            for name, path in inputs.items()
        ]  # fmt: skip
        self.first_state = len(self.all)
        self.states = len(system.state_names)
        self.all += _states(system, self.first_state)
        self.contacts = part_names(system.contacts)
        self.all += [
            Variable(
                f"{name}.{contact}", unit, f"{name} of contact {contact}", "output",
                "continuous",
            )
            for name, unit in (("contact_force", "N"), ("gap", "m"))
            for contact in self.contacts
        ]  # fmt: skip
        self.all = _unique(self.all)

    @property
    def outputs(self) -> range:
        """The value references of states, which are outputs."""
        return range(self.first_state, self.first_state + self.states)

    @property
    def rates(self) -> range:
        """The value references of the states' rates."""
        return range(self.outputs.stop, self.outputs.stop + self.states)

    @property
    def forces(self) -> range:
        """The value references of contact forces."""
        return range(self.rates.stop, self.rates.stop + len(self.contacts))

    @property
    def gaps(self) -> range:
        """The value references of gaps."""
        return range(self.forces.stop, self.forces.stop + len(self.contacts))


class Description(NamedTuple):
    """Content of the model description of an FMU.

    **Fields:** `name`: model and file names; `title`; `token`: of the instantiation;
    `exchange`: whether it is for model exchange too; `stops`: whether it has hard
    stops; `period`: of its loads, s, NaN if it has none; `version`: of jaxvib.
    """

    name: str
    title: str
    token: str
    variables: Variables
    exchange: bool
    stops: bool
    period: float
    version: str

    def xml(self) -> bytes:
        """Return the content of the file."""
        root = ElementTree.Element(
            "fmiModelDescription",
            fmiVersion=_VERSION,
            modelName=self.title,
            instantiationToken=self.token,
            generationTool=f"jaxvib {self.version}",
            variableNamingConvention="flat",
        )
        common = {
            "modelIdentifier": self.name,
            "canGetAndSetFMUState": "true",
            "canSerializeFMUState": "true",
        }
        if self.exchange:
            provided = "providesDirectionalDerivatives", "providesAdjointDerivatives"
            offers = dict.fromkeys(provided, "true")
            if self.stops:
                offers["needsCompletedIntegratorStep"] = "true"
            ElementTree.SubElement(root, "ModelExchange", common | offers)
        variable_steps = {"canHandleVariableCommunicationStepSize": "true"}
        ElementTree.SubElement(root, "CoSimulation", common | variable_steps)
        self._units(root)
        categories = ElementTree.SubElement(root, "LogCategories")
        ElementTree.SubElement(categories, "Category", name="logStatusError")
        stop = _PERIODS * self.period if math.isfinite(self.period) else 1.0
        ElementTree.SubElement(
            root, "DefaultExperiment", startTime="0", stopTime=repr(stop),
            tolerance=repr(_TOLERANCE),
        )  # fmt: skip
        variables = ElementTree.SubElement(root, "ModelVariables")
        for reference, each in enumerate(self.variables.all):
            ElementTree.SubElement(variables, "Float64", _attributes(reference, each))
        self._structure(root)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"

    def _units(self, root: ElementTree.Element) -> None:
        names = sorted({each.unit for each in self.variables.all if each.unit})
        units = ElementTree.SubElement(root, "UnitDefinitions")
        for name in names:
            unit = ElementTree.SubElement(units, "Unit", name=name)
            if name in _BASE:
                powers = {base: str(power) for base, power in _BASE[name].items()}
                ElementTree.SubElement(unit, "BaseUnit", powers)

    def _structure(self, root: ElementTree.Element) -> None:
        variables = self.variables
        calculated = [*variables.forces, *variables.gaps]
        structure = ElementTree.SubElement(root, "ModelStructure")
        parts = {
            "Output": [*variables.outputs, *calculated],
            "ContinuousStateDerivative": variables.rates,
            "InitialUnknown": [*variables.rates, *calculated],
            "EventIndicator": variables.gaps if self.exchange else (),
        }
        for kind, references in parts.items():
            for reference in references:
                ElementTree.SubElement(structure, kind, valueReference=str(reference))


def _attributes(reference: int, variable: Variable) -> dict[str, str]:
    found = {
        "name": variable.name,
        "valueReference": str(reference),
        "causality": variable.causality,
        "variability": variable.variability,
        "description": variable.description,
    }
    if variable.unit:
        found["unit"] = variable.unit
    if variable.derivative_of is not None:
        found["derivative"] = str(variable.derivative_of)
    allowed = variable.allowed
    bounds = {
        "min": max(allowed.above, allowed.at_least),
        "max": min(allowed.at_most, allowed.below),
    }
    found |= {name: repr(each) for name, each in bounds.items() if math.isfinite(each)}
    if variable.start is not None:
        found["start"] = repr(variable.start)
        if variable.causality != "input":
            found["initial"] = "exact"
    return found


def _parameter(number) -> Variable:
    about = number.path, number.unit, number.description
    return Variable(*about, "parameter", "tunable", number.value, number.allowed)


def _states(system: System, first: int) -> list[Variable]:
    labels, rest = system.labels, system.rest()
    named = [(labels.name(k), labels.unit(k)) for k in range(len(system.state_names))]
    states = [
        Variable(name, unit, f"state {k}", "output", "continuous", float(rest[k]))
        for k, (name, unit) in enumerate(named)
    ]
    rates = [
        Variable(
            f"der({name})", _rate_unit(unit), f"rate of {name}", "local", "continuous",
            derivative_of=first + k,
        )
        for k, (name, unit) in enumerate(named)
    ]  # fmt: skip
    return [*states, *rates]


def _rate_unit(unit: str) -> str:
    """Return the unit of a rate.

    >>> _rate_unit("m"), _rate_unit("m/s")
    ('m/s', 'm/s^2')
    """
    if not unit:
        return "1/s"
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"


def _unique(variables: list[Variable]) -> list[Variable]:
    """Return the variables with names of one line, and a number behind equal ones."""
    found, names = [], set()
    for each in variables:
        plain = printable(each.name)
        name, number = plain, 2
        while name in names:
            name, number = f"{plain}-{number}", number + 1
        names.add(name)
        found.append(each._replace(name=name, description=printable(each.description)))
    return found


class _PushedBodies(TwoBodyImpact):
    """Two bodies with further loads."""

    external: tuple[AppliedLoad, ...] = ()

    @property
    def loads(self) -> tuple[AppliedLoad, ...]:
        """The load on the main body, and the further ones."""
        return (*super().loads, *self.external)


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
