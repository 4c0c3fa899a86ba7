"""Measures in a config, their limits and searches: an analysis, numbers of its result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pydantic
from pydantic import Field

from ... import design
from ...foundation.suggestions import unknown_key
from ..config.bounds import BoundsByPath, by_path, check_variables, of_path
from ..config.quantities import Asked, Places
from ..config.tables import Table, option
from ..config.values import Over, OverByPath, scenarios
from ..resources import library
from ..store.fields import Variable

_Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
_Field = Literal[
    "amplitude", "largest_multiplier", "max_contact_force", "progress", "state",
    "stability_margin", "damping_ratio", "decay", "frequency", "modulus", "gap", "width",
    "low", "high", "margin",
]  # fmt: skip
_Bifurcation = Literal["fold", "period_doubling", "neimark_sacker", "grazing", "hopf"]
_Share = Literal["reflected", "transmitted", "translational", "rotational", "potential"]
_FREEDOM = "name or position of a degree of freedom"
_Places = Annotated[
    list[Annotated[int, Field(ge=0, le=1000)]], Field(min_length=1, max_length=100)
]


class Measured(NamedTuple):
    """A kind of measure.

    **Fields:** `constructor`: in `jaxvib.design`; its arguments are the values of the
    keys that are `needed` and, by name, of those that `may` be given; `unit`: of the
    values, or by `field`.
    """

    constructor: str
    needed: str
    may: str = ""
    unit: str | Mapping[str, str] = ""

    def unit_of(self, field: str | None) -> str:
        """Return the unit of the values of a field, "" if it has none or several."""
        return self.unit if isinstance(self.unit, str) else self.unit.get(field or "", "")

    @property
    def keys(self) -> list[str]:
        """All keys, those needed first."""
        return f"{self.needed} {self.may}".split()


_OF_ORBIT = {"amplitude": "m", "max_contact_force": "N"}
_OF_BEAM = {"decay": "1/s", "frequency": "rad/s", "modulus": "rad/s", "gap": "rad/s"}
KEYS: Mapping[str, Measured] = {
    "periodic_orbit": Measured("orbit_measure", "field", "component periods", _OF_ORBIT),
    "contact_impulse": Measured("contact_impulse", "", "component periods", "N s"),
    "bifurcation": Measured(
        "bifurcation_measure", "bifurcation path bounds", "periods guess"
    ),
    "stable_range": Measured("stable_range_measure", "field path bounds", "periods guess"),
    "branch_maximum": Measured(
        "branch_maximum_measure", "field path bounds", "component periods guess", _OF_ORBIT
    ),
    "response": Measured("response_measure", "force at frequencies", "", "m/N"),
    "response_peaks": Measured("peaks_measure", "force at low high count", "", "m/N"),
    "white_noise": Measured("white_noise_measure", "force at", "", "m^2"),
    "natural_frequency": Measured("natural_frequency_measure", "modes", "", "rad/s"),
    "beam_eigenvalues": Measured("beam_measure", "field modes", "high", _OF_BEAM),
    "placement": Measured("placement_measure", "targets count"),
    "packet": Measured("packet_measure", "centre width wave_number duration body share"),
    "energy_share": Measured("energy_share_measure", "duration share"),
    "parameter": Measured("parameter_measure", "paths"),
    "change": Measured("change_measure", ""),
}


_OF_PARAMETERS = ("parameter", "bifurcation", "stable_range")  # their numbers' unit


class MeasureOptions(Table):
    """A measure of a periodic motion, a bifurcation, a response, a beam or a chain.

    `KEYS` lists the keys of each `measure`.
    """

    units_of: ClassVar = {"bounds": of_path("path"), "over": by_path}

    measure: Literal[tuple(KEYS)] = option("the measured quantity")  # ty: ignore
    field: _Field | None = option(
        "field of an orbit, of eigenvalues or of a stable range", None,
        allowed='"amplitude", "largest_multiplier", "max_contact_force", "progress", '
        '"state", "stability_margin" of orbits; "damping_ratio", "decay", "frequency", '
        '"modulus", "gap" of beams; "width", "low", "high", "margin" of a stable range',
    )  # fmt: skip
    component: int | None = option(
        "index of the component or the contact", None, ge=0, le=1000
    )
    periods: int | None = option("period of the motion in load periods", None, ge=1, le=8)
    bifurcation: _Bifurcation | None = option("kind of bifurcation", None)
    path: str | None = option("bifurcation parameter", None, allowed="a parameter's path")
    paths: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = option(
        "parameters to be summed", None, allowed="a list of parameters' paths"
    )
    bounds: _Pair | None = option("range of the branch", None, allowed="[lowest, highest]")
    guess: Annotated[list[float], Field(min_length=1, max_length=1000)] | None = option(
        "state of the motion, by default after a transient", None,
        allowed="a list of numbers",
    )  # fmt: skip
    force: str | int | None = option(
        "degree of freedom on which the force acts", None, allowed=_FREEDOM
    )
    at: str | int | None = option(
        "degree of freedom that is measured", None, allowed=_FREEDOM
    )
    frequencies: Over | None = option(
        "frequencies of a response", None, unit="rad/s",
        allowed="a table such as { linspace = ... }",
    )  # fmt: skip
    low: float | None = option("lowest frequency", None, ge=0.0, unit="rad/s")
    high: float | None = option(
        "highest frequency; higher modes are ignored", None, gt=0.0, unit="rad/s"
    )
    count: int | None = option("number of peaks or eigenvalues", None, ge=1, le=200)
    modes: _Places | None = option(
        "indices of eigenvalues or natural frequencies", None,
        allowed="whole numbers in [0, 1000]",
    )  # fmt: skip
    targets: Annotated[list[_Pair], Field(min_length=1, max_length=100)] | None = option(
        "target eigenvalues", None, unit="1/s", allowed="pairs [real, imaginary] in 1/s"
    )
    centre: float | None = option(
        "centre of the packet", None, unit="bodies", allowed="a number"
    )
    width: float | None = option("width of the packet", None, gt=0.0, unit="bodies")
    wave_number: float | None = option(
        "wave number of the packet", None, unit="rad/body", allowed="a number"
    )
    duration: float | None = option(
        "time at which the energy is measured", None, gt=0.0, unit="s"
    )
    body: int | None = option("body before which energy counts as reflected", None, ge=0)
    share: _Share | None = option(
        "share of the energy", None,
        allowed='"reflected", "transmitted" of a packet; '
        '"translational", "rotational", "potential" of a chain',
    )  # fmt: skip
    over: OverByPath | None = option(
        "values of parameters by path: one scenario for each combination", None,
        allowed="tables such as load.frequency = { linspace = .. }",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _keys_go_with_measure(self):
        kind = KEYS[self.measure]
        own = set(MeasureOptions.model_fields) - {"measure", "over"}
        given = {name for name in own if getattr(self, name) is not None}
        missing, strange = set(kind.needed.split()) - given, given - set(kind.keys)
        if missing:
            raise ValueError(
                f'measure = "{self.measure}" needs {", ".join(sorted(missing))}'
            )
        if strange:
            raise ValueError(
                f'{", ".join(sorted(strange))} do not fit measure = "{self.measure}"; '
                f"allowed: {', '.join(kind.keys) or 'no key'}"
            )
        return self


def build_measure(
    options: MeasureOptions, run: Any, system: Any = None, bounds: Mapping | None = None
) -> Any:
    """Build the measure of a config.

    **Arguments:** `system`, `bounds`: reference and ranges for the change of a design.
    **Raises:** `ValueError` for a field that the measure does not have.
    """
    design, kind = library("design"), KEYS[options.measure]
    given = {key: _value(getattr(options, key)) for key in kind.keys}
    keywords = {key: given[key] for key in kind.may.split() if given[key] is not None}
    arguments = [given[key] for key in kind.needed.split()]
    match options.measure:
        case "periodic_orbit":
            factor = library("orbits.shooting.error_estimates").error_factor(run.evidence)
            keywords["rtol"] = max(run.rtol * factor, 1e-13)
        case "contact_impulse":
            arguments = [keywords.pop("component", 0)]
        case "beam_eigenvalues":
            keywords = {"below": options.high}
        case "placement":
            arguments[0] = tuple(complex(*target) for target in given["targets"])
        case "packet":
            arguments = [given.pop("share"), design.Packet(**given)]
        case "energy_share":
            arguments = [options.share, design.RandomSplit(options.duration, seed=run.seed)]
        case "parameter":
            arguments = list(given["paths"])
        case "change":
            if system is None or not bounds:
                raise ValueError('measure = "change" is for designs only')
            arguments = [system, bounds]
    measure = getattr(design, kind.constructor)(*arguments, **keywords)
    return design.over(measure, scenarios(options.over)) if options.over else measure


def _value(given: Any) -> Any:
    if isinstance(given, Over):
        return given.listed()
    return tuple(given) if isinstance(given, list) else given


def check_measure(options: MeasureOptions, declared: Mapping) -> None:
    """Raise `ValueError` for unknown paths."""
    for path in (*(options.over or ()), *_paths_of(options.model_dump())):
        if path not in declared:
            raise ValueError(unknown_key("parameter", path, declared))


def measured_in(given: Mapping, places: Places) -> Asked | None:
    """Return what numbers take that are compared with a measure's; None if several."""
    if given.get("measure") in _OF_PARAMETERS:
        found = {places.parameter(path) for path in _paths_of(given)}
        return found.pop() if len(found) == 1 else None
    kind = KEYS.get(str(given.get("measure")))
    unit = kind.unit_of(str(given.get("field"))) if kind else ""
    # The measured degree of freedom may be an angle.
    return Asked("m or rad" if unit == "m" and places.angles else unit)


def _paths_of(given: Mapping) -> list:
    """Return the parameters that a table of a measure names, validated or not."""
    several = given.get("paths")
    one = [given["path"]] if given.get("path") else []
    return one + (several if isinstance(several, list) else [])


def unit_of_field(name: str) -> str:
    """Return the unit of a field of a periodic orbit, "" if it has none or several."""
    return KEYS["periodic_orbit"].unit_of(name)


def unit_of(options: MeasureOptions, unit_at: Callable[[str], str]) -> str:
    """Return the unit of a measure, "" if it has none or several.

    `unit_at`: returns the unit of the parameter at a path, which is also that of the
    place of a bifurcation and of a stable range.
    """
    if options.measure in _OF_PARAMETERS:
        units = {unit_at(path) for path in _paths_of(options.model_dump())}
        return units.pop() if len(units) == 1 else ""
    return KEYS[options.measure].unit_of(options.field)


def describe_measure(options: MeasureOptions, freedoms: Sequence[str]) -> str:
    """Return a short description of a measure, for summaries.

    `freedoms`: the names of the degrees of freedom, for the amplitude of one of them.
    """
    word = options.measure.replace("_", " ")
    detail = options.field or options.share or options.bifurcation
    place = "" if options.component is None else f"[{options.component}]"
    if options.field == "amplitude" and (options.component or 0) < len(freedoms):
        place = f" of {freedoms[options.component or 0]}"
    where = options.path and f" in {options.path}"
    words = f"{detail.replace('_', ' ')}{place}" if detail else word
    every = f" over {', '.join(options.over)}" if options.over else ""
    return f"{words}{where or ''}{every}"


COMBINED = Literal[
    "value", "sum", "mean", "largest", "smallest", "squares", "variance",
    "mean_and_deviation",
]  # fmt: skip


class LimitOptions(MeasureOptions):
    """A constraint: a measure and bounds for all its values."""

    units_of: ClassVar = {
        **MeasureOptions.units_of, "at_least": measured_in, "at_most": measured_in
    }  # fmt: skip

    at_least: float | None = option("lower bound", None, allowed="a number")
    at_most: float | None = option("upper bound", None, allowed="a number")

    @pydantic.model_validator(mode="after")
    def _has_a_bound(self):
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound; allowed: at_least, at_most or both")
        return self


class SearchOptions(Table):
    """Variables and constraints of a search."""

    units_of: ClassVar = {"variables": by_path}

    kind: str = option("the kind of analysis")
    variables: BoundsByPath = option(
        "design variables: path of each parameter, and its bounds", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    log: list[str] = option(
        "variables on a log scale", [], max_length=100,
        allowed="a list of paths in variables",
    )  # fmt: skip
    constraints: dict[str, LimitOptions] = option(
        "named constraints", {}, max_length=100,
        allowed="tables with measure, at_least and at_most",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _scales_what_moves(self):
        for path in self.log:
            if path not in self.variables:
                raise ValueError(f"log: {path} is not among the variables")
        return self


def check_search(
    options: SearchOptions,
    measures: Iterable,
    values: Mapping,
    declared: Mapping,
) -> None:
    """Raise `ValueError` for unknown paths or bounds without the value."""
    check_variables(options.variables, options.log, values, declared)
    for measure in (*measures, *options.constraints.values()):
        check_measure(measure, declared)


def scaled(options: Any) -> dict[str, tuple[float, float, str]]:
    """Return the bounds of all `variables` by path, with the scale of each."""
    return {
        path: (low, high, "log" if path in options.log else "linear")
        for path, (low, high) in options.variables.items()
    }


def settings_of(options: Any, run: Any) -> Any:
    """Return the settings of a search."""
    return design.SearchSettings(options.starts, options.steps, options.tolerance, run.seed)


def limits(options: SearchOptions, run: Any, system: Any) -> dict:
    """Return the constraints by name."""
    return {
        name: design.Limit(
            build_measure(limit, run, system, options.variables),
            -np.inf if limit.at_least is None else limit.at_least,
            np.inf if limit.at_most is None else limit.at_most,
        )
        for name, limit in options.constraints.items()
    }


def without(fields: dict[str, Variable], axis: str) -> dict[str, Variable]:
    """Return fields without an axis of length one."""
    found = {}
    for name, field in fields.items():
        if axis in field.axes:
            place = field.axes.index(axis)
            axes = (*field.axes[:place], *field.axes[place + 1 :])
            values = np.asarray(np.take(field.values, 0, axis=place))
            field = Variable(axes, values, field.unit, field.description)
        found[name] = field
    return found
