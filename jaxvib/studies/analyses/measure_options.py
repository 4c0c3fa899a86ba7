"""Measures in a config: the analysis, and the numbers taken from its result."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field

from ...foundation.suggestions import unknown_key
from ..config.bounds import by_path, of_path
from ..config.quantities import Asked, Places
from ..config.tables import Table, option
from ..config.values import Over, OverByPath, scenarios
from ..resources import library

_Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
_Places = Annotated[
    list[Annotated[int, Field(ge=0, le=1000)]], Field(min_length=1, max_length=100)
]


@dataclasses.dataclass(frozen=True)
class Measured:
    """A kind of measure.

    **Fields:** `needs`, `may`: its required and optional keys; `unit`: of the values,
    or by `field`; `build`: builds the measure from `jaxvib.design`, the options and the
    run.
    """

    needs: tuple[str, ...]
    may: tuple[str, ...]
    unit: str | Mapping[str, str]
    build: Callable[[Any, Any, Any], Any]


def _orbit(design, options, run):
    factor = library("orbits.error_estimates").error_factor(run.evidence)
    rtol = max(run.rtol * factor, 1e-13)
    return design.orbit_measure(
        options.field, options.component or 0, periods=options.periods or 1, rtol=rtol
    )


def _packet(design, options, run):
    names = ("centre", "width", "wave_number", "duration", "body")
    packet = design.Packet(**{name: getattr(options, name) for name in names})
    return design.packet_measure(options.share, packet)


def _change(design, options, run):
    raise ValueError('measure = "change" is for designs only')


KEYS: Mapping[str, Measured] = {
    "periodic_orbit": Measured(
        ("field",), ("component", "periods"), {"amplitude": "m", "max_contact_force": "N"},
        _orbit,
    ),
    "contact_impulse": Measured(
        (), ("component", "periods"), "N s",
        lambda design, options, run: design.contact_impulse(
            options.component or 0, periods=options.periods or 1
        ),
    ),
    "bifurcation": Measured(
        ("bifurcation", "path", "bounds"), ("periods", "guess"), "",
        lambda design, options, run: design.bifurcation_measure(
            options.bifurcation, options.path, tuple(options.bounds),
            periods=options.periods or 1, guess=options.guess,
        ),
    ),
    "stable_range": Measured(
        ("field", "path", "bounds"), ("periods", "guess"), "",
        lambda design, options, run: design.stable_range_measure(
            options.field, options.path, tuple(options.bounds),
            periods=options.periods or 1, guess=options.guess,
        ),
    ),
    "branch_maximum": Measured(
        ("field", "path", "bounds"), ("component", "periods", "guess"),
        {"amplitude": "m", "max_contact_force": "N"},
        lambda design, options, run: design.branch_maximum_measure(
            options.field, options.path, tuple(options.bounds), options.component or 0,
            periods=options.periods or 1, guess=options.guess,
        ),
    ),
    "response": Measured(
        ("force", "at", "frequencies"), (), "m/N",
        lambda design, options, run: design.response_measure(
            options.force, options.at, options.frequencies.listed()
        ),
    ),
    "response_peaks": Measured(
        ("force", "at", "low", "high", "count"), (), "m/N",
        lambda design, options, run: design.peaks_measure(
            options.force, options.at, options.low, options.high, options.count
        ),
    ),
    "white_noise": Measured(
        ("force", "at"), (), "m^2",
        lambda design, options, run: design.white_noise_measure(options.force, options.at),
    ),
    "natural_frequency": Measured(
        ("modes",), (), "rad/s",
        lambda design, options, run: design.natural_frequency_measure(tuple(options.modes)),
    ),
    "beam_eigenvalues": Measured(
        ("field", "modes"), ("high",),
        {"decay": "1/s", "frequency": "rad/s", "modulus": "rad/s", "gap": "rad/s"},
        lambda design, options, run: design.beam_measure(
            options.field, tuple(options.modes), below=options.high
        ),
    ),
    "placement": Measured(
        ("targets", "count"), (), "",
        lambda design, options, run: design.placement_measure(
            tuple(complex(*target) for target in options.targets), options.count
        ),
    ),
    "packet": Measured(
        ("centre", "width", "wave_number", "duration", "body", "share"), (), "", _packet
    ),
    "energy_share": Measured(
        ("duration", "share"), (), "",
        lambda design, options, run: design.energy_share_measure(
            options.share, design.RandomSplit(options.duration, seed=run.seed)
        ),
    ),
    "parameter": Measured(
        ("paths",), (), "",
        lambda design, options, run: design.parameter_measure(*options.paths),
    ),
    "change": Measured((), (), "", _change),
}  # fmt: skip


class MeasureOptions(Table):
    """A measure of a periodic motion, a bifurcation, a response, a beam or a chain.

    `KEYS` lists the keys of each `measure`.
    """

    units_of: ClassVar = {"bounds": of_path("path"), "over": by_path}

    measure: Literal[tuple(KEYS)] = option("the measured quantity")  # ty: ignore
    field: (
        Literal[
            "amplitude",
            "largest_multiplier",
            "max_contact_force",
            "progress",
            "state",
            "stability_margin",
            "damping_ratio",
            "decay",
            "frequency",
            "modulus",
            "gap",
            "width",
            "low",
            "high",
            "margin",
        ]
        | None
    ) = option(
        "field of an orbit, of eigenvalues or of a stable range",
        None,
        allowed='"amplitude", "largest_multiplier", "max_contact_force", "progress", '
        '"state", "stability_margin" of orbits; "damping_ratio", "decay", "frequency", '
        '"modulus", "gap" of beams; "width", "low", "high", "margin" of a stable range',
    )
    component: int | None = option(
        "index of the component or the contact", None, ge=0, le=1000,
        allowed="whole numbers in [0, 1000]",
    )  # fmt: skip
    periods: int | None = option(
        "period of the motion in load periods", None, ge=1, le=8,
        allowed="whole numbers in [1, 8]",
    )  # fmt: skip
    bifurcation: (
        Literal["fold", "period_doubling", "neimark_sacker", "grazing", "hopf"] | None
    ) = option(
        "kind of bifurcation", None,
        allowed='"fold", "period_doubling", "neimark_sacker", "grazing", "hopf"',
    )  # fmt: skip
    path: str | None = option("bifurcation parameter", None, allowed="a parameter's path")
    paths: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = option(
        "parameters to be summed", None, allowed="a list of parameters' paths"
    )
    bounds: _Pair | None = option(
        "range of the branch", None,
        allowed="[lowest, highest]",
    )  # fmt: skip
    guess: Annotated[list[float], Field(min_length=1, max_length=1000)] | None = option(
        "state of the motion, by default after a transient", None,
        allowed="a list of numbers",
    )  # fmt: skip
    force: str | int | None = option(
        "degree of freedom on which the force acts", None,
        allowed="name or position of a degree of freedom",
    )  # fmt: skip
    at: str | int | None = option(
        "degree of freedom that is measured", None,
        allowed="name or position of a degree of freedom",
    )  # fmt: skip
    frequencies: Over | None = option(
        "frequencies of a response", None, unit="rad/s",
        allowed="a table such as { linspace = ... }",
    )  # fmt: skip
    low: float | None = option(
        "lowest frequency", None, ge=0.0, unit="rad/s", allowed="[0, inf) rad/s"
    )
    high: float | None = option(
        "highest frequency; higher modes are ignored", None, gt=0.0, unit="rad/s",
        allowed="(0, inf) rad/s",
    )  # fmt: skip
    count: int | None = option(
        "number of peaks or eigenvalues", None, ge=1, le=200,
        allowed="whole numbers in [1, 200]",
    )  # fmt: skip
    modes: _Places | None = option(
        "indices of eigenvalues or natural frequencies", None,
        allowed="whole numbers in [0, 1000]",
    )  # fmt: skip
    targets: Annotated[list[_Pair], Field(min_length=1, max_length=100)] | None = option(
        "target eigenvalues", None, unit="1/s",
        allowed="pairs [real, imaginary] in 1/s",
    )  # fmt: skip
    centre: float | None = option(
        "centre of the packet", None, unit="bodies", allowed="a number"
    )
    width: float | None = option(
        "width of the packet", None, gt=0.0, unit="bodies", allowed="(0, inf)"
    )
    wave_number: float | None = option(
        "wave number of the packet", None, unit="rad/body", allowed="a number"
    )
    duration: float | None = option(
        "time at which the energy is measured", None, gt=0.0, unit="s",
        allowed="(0, inf) s",
    )  # fmt: skip
    body: int | None = option(
        "body before which energy counts as reflected", None, ge=0,
        allowed="whole numbers in [0, inf)",
    )  # fmt: skip
    share: (
        Literal["reflected", "transmitted", "translational", "rotational", "potential"]
        | None
    ) = option(
        "share of the energy",
        None,
        allowed='"reflected", "transmitted" of a packet; '
        '"translational", "rotational", "potential" of a chain',
    )
    over: OverByPath | None = option(
        "values of parameters by path: one scenario for each combination", None,
        allowed="tables such as load.frequency = { linspace = .. }",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _keys_go_with_measure(self):
        measured = KEYS[self.measure]
        needed, possible = measured.needs, measured.may
        own = set(MeasureOptions.model_fields) - {"measure", "over"}
        given = {name for name in own if getattr(self, name) is not None}
        missing, strange = set(needed) - given, given - {*needed, *possible}
        if missing:
            raise ValueError(
                f'measure = "{self.measure}" needs {", ".join(sorted(missing))}'
            )
        if strange:
            raise ValueError(
                f'{", ".join(sorted(strange))} do not fit measure = "{self.measure}"; '
                f"allowed: {', '.join([*needed, *possible]) or 'no key'}"
            )
        return self


def build_measure(
    options: MeasureOptions, run: Any, system: Any = None, bounds: Mapping | None = None
) -> Any:
    """Build the measure of a config.

    **Arguments:** `system`, `bounds`: reference and ranges for the change of a design.
    **Raises:** `ValueError` for a field that the measure does not have.
    """
    design = library("design")
    if options.measure == "change" and system is not None and bounds:
        return design.change_measure(system, bounds)
    measure = KEYS[options.measure].build(design, options, run)
    return design.over(measure, scenarios(options.over)) if options.over else measure


def check_measure(options: MeasureOptions, declared: Mapping) -> None:
    """Raise `ValueError` for unknown paths."""
    paths = [*(options.over or ()), *(options.paths or ())]
    paths += [options.path] if options.path else []
    for path in paths:
        if path not in declared:
            raise ValueError(unknown_key("parameter", path, declared))


def measured_in(given: Mapping, places: Places) -> Asked | None:
    """Return what numbers take that are compared with a measure's; None if several."""
    field, paths = given.get("field"), [given.get("path")]
    if given.get("measure") == "parameter":
        paths = several if isinstance(several := given.get("paths"), list) else []
    elif given.get("measure") not in ("bifurcation", "stable_range"):
        unit = getattr(KEYS.get(str(given.get("measure"))), "unit", "")
        unit = unit if isinstance(unit, str) else unit.get(str(field), "")
        # The measured degree of freedom may be an angle.
        return Asked("m or rad" if unit == "m" and places.angles else unit)
    found = {places.parameter(path) for path in paths}
    return found.pop() if len(found) == 1 else None


def unit_of_field(name: str) -> str:
    """Return the unit of a field of a periodic orbit, "" if it has none or several."""
    unit = KEYS["periodic_orbit"].unit
    return unit if isinstance(unit, str) else unit.get(name, "")


def unit_of(options: MeasureOptions, unit_at: Callable[[str], str]) -> str:
    """Return the unit of a measure, "" if it has none or several.

    `unit_at`: returns the unit of the parameter at a path, which is also that of the
    place of a bifurcation and of a stable range.
    """
    paths = options.paths if options.measure == "parameter" else None
    if options.measure in ("bifurcation", "stable_range") and options.path is not None:
        paths = [options.path]
    if paths is not None:
        units = {unit_at(path) for path in paths}
        return units.pop() if len(units) == 1 else ""
    unit = KEYS[options.measure].unit
    return unit if isinstance(unit, str) else unit.get(options.field or "", "")


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
