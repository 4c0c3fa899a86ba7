"""`modelDescription.xml` of an FMU, version 3.0."""

import math
from typing import NamedTuple
from xml.etree import ElementTree

from .fmu_variables import Variable, Variables

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
            offers = {"providesDirectionalDerivatives": "true"}
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
