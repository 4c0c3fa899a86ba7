"""The study `continuation`: one branch of periodic orbits over a parameter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ..... import branches, orbits, systems
from .....drawing.polyline import kind_words
from .....ensemble import reason
from ....config.bounds import Bounds, check_bounds, of_path
from ....config.quantities import Asked, ByKey, Places
from ....config.tables import Table, option
from ....resources import library
from ....store.fields import Variable, orbit_variables, variables
from ...measure_options import unit_of_field
from ...study_kind import (
    Known,
    Role,
    StudyKind,
    once,
    strongest,
    swept_values,
)
from .charts import pictures
from .stability_chart import KINDS

branch_events = library("branches.tracing.events")


def _of_events(given: Mapping, places: Places) -> ByKey:
    """Return what values of an orbit's quantities take."""
    return lambda name: Asked(unit_of_field(name))


class Options(Table):
    """Parameter, bounds and method of a continuation."""

    units_of: ClassVar = {
        "bounds": of_path("path"),
        "second_bounds": of_path("second_path"),
        "events": _of_events,
    }

    kind: Literal["continuation"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("range of the parameter")
    method: Literal["arclength"] = option("along the branch, around folds", "arclength")
    periods: int = option("period of the motion in load periods", 1, ge=1, le=8)
    most_points: int = option("maximum number of orbits", 500, ge=2, le=100_000)
    events: dict[str, float] = option(
        "events: values of an orbit's quantities to be located", {},
        allowed="numbers by quantity, such as max_contact_force",
    )  # fmt: skip
    stop_at: list[str] = option("events that end the branch", [])
    second_path: str = option(
        "a second parameter, to continue bifurcations in both", "",
        allowed="a parameter's path, or nothing",
    )  # fmt: skip
    second_bounds: Bounds | None = option("range of the second parameter", None)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_what_went(cls, given: Any) -> Any:
        if isinstance(given, dict) and "correct" in given:
            raise ValueError("correct: every point is corrected; leave the key out")
        return given


def curve_variables(
    curves: Sequence, declared: Mapping, paths: Sequence[str]
) -> dict[str, Variable]:
    """Return curves and their special points as labelled arrays.

    `curve.<path>` has the axes `curve` and `curve_point`, with NaN beyond the number of
    points; special points are along the axis `special`.
    """
    counts = [len(curve.parameters) for curve in curves]
    special = [(number, p) for number, c in enumerate(curves) for p in c.codimension_two]
    names = sorted({point.kind for _, point in special})
    ends = np.array([curve.ends for curve in curves], np.int32).reshape(-1, 2)
    level = np.asarray(float(declared[paths[1]].value))
    found = {
        "curve.kind": _coded("curve", [curve.kind for curve in curves], KINDS),
        "curve.points": _column("curve", counts, np.int32, "number of points"),
        "curve.ends": Variable(("curve", "end"), ends, "", "reason codes of both ends"),
        "curve.level": Variable((), level, "", "second parameter on the branch"),
        "special.kind": _coded("special", [point.kind for _, point in special], names),
        "special.curve": _column("special", [i for i, _ in special], np.int32, "its curve"),
    }
    for position, path in enumerate(paths):
        unit, text = declared[path].unit, declared[path].description
        values = np.full((len(curves), max(counts, default=0)), np.nan)
        for row, curve in zip(values, curves, strict=True):
            row[: len(curve.parameters)] = np.asarray(curve.parameters)[:, position]
        places = [point.parameters[position] for _, point in special]
        found[f"curve.{path}"] = Variable(("curve", "curve_point"), values, unit, text)
        found[f"special.{path}"] = _column("special", places, float, text, unit)
    return found


def _column(axis: str, values: Sequence, kind: type, words: str, unit="") -> Variable:
    return Variable((axis,), np.array(values, kind), unit, words)


def _coded(axis: str, names: Sequence[str], known: Sequence[str], words="kind") -> Variable:
    """Return names by their positions among the known ones, which `meaning` spells."""
    notes = {"meaning": ", ".join(f"{i} {name}" for i, name in enumerate(known))}
    codes = np.array([known.index(name) for name in names], np.int8)
    return Variable((axis,), codes, "", words, notes)


def curve_lines(read: Callable, options: Options) -> list[str]:
    """Return the summary lines of each curve."""
    lines = []
    columns = [read(f"curve.{path}") for path in (options.path, options.second_path)]
    counts, ends = read("curve.points"), read("curve.ends")
    for number, code in enumerate(read("curve.kind")):
        last = counts[number] - 1
        first, second = (
            f"({columns[0][number][i]:.6g}, {columns[1][number][i]:.6g})" for i in (0, last)
        )
        low, high = (reason(end) for end in ends[number])
        lines.append(
            f"curve      {kind_words(KINDS[code])} in {options.path} and "
            f"{options.second_path}, {counts[number]} points"
        )
        lines.append(f"           from {first}: {low}")
        lines.append(f"           to {second}: {high}")
    return lines


# Descriptions that are shorter than those of an orbit.
_OF_ORBITS = {
    "state": "",
    "floquet_multipliers": "",
    "largest_multiplier": "",
    "stable": "",
    "contacts": "",
    "max_contact_force": "",
    "amplitude": "",
    "residual": "largest component of s(nT) - s(0)",
    "state_error": "",
}


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return the branch, each field along the axis `point`."""
    start = orbits.periodic_orbit(
        system,
        periods=options.periods,
        rtol=run.rtol,
        evidence=run.evidence,
        throw=False,
    )
    if int(start.result):
        raise RuntimeError(f"no orbit to start from: {reason(start.result)}")
    branch = branches.continue_orbit(
        system,
        start,
        options.path,
        tuple(options.bounds),
        method=options.method,
        settings=branches.ContinuationSettings(
            most_points=options.most_points,
            rtol=run.rtol,
            evidence=run.evidence,
            events=options.events,
            stop_at=options.stop_at,
        ),
    )
    fields = _points(branch) | _bifurcations(branch) | _events(branch, options)
    if options.second_path and options.second_bounds:
        (low, high), (left, right) = options.bounds, options.second_bounds
        bounds = {options.path: (low, high), options.second_path: (left, right)}
        settings = branches.ContinuationSettings(most_points=options.most_points)
        curves = branches.bifurcation_curves(system, branch, bounds, settings=settings)
        fields |= curve_variables(curves, systems.parameters(system), list(bounds))
    values = fields.pop("parameter")
    codes = np.zeros(len(values.values), np.int32)
    return {
        **swept_values(system, options.path, values),
        **fields,
        "result": Variable(("point",), codes, "", "reason code"),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the ends of the branch, its stability and its extreme values."""
    path = study.analysis.path
    values, largest = map(read, (path, "largest_multiplier"))
    low, high = (reason(code) for code in read("ends"))
    best = int(np.nanargmin(largest))
    stable = read("stable")
    contacts = sorted(set(read("contacts").tolist()))
    codes, places = read("bifurcation.kind"), read("bifurcation.parameter")
    marks = [
        f"{kind_words(KINDS[code])} at {study.value_text(path, place, 8)}"
        + (f" (not located: {reason(how)})" if how else "")
        for code, place, how in zip(codes, places, read("bifurcation.result"), strict=True)
    ]
    return [
        f"branch     from {study.value_text(path, values[0], 6)} ({low})",
        f"           to {study.value_text(path, values[-1], 6)} ({high})",
        f"stability  {np.mean(stable == 1):.1%} stable, {np.mean(stable == 0):.1%} "
        f"unstable, {int(np.sum(stable == -1))} undecided; contacts {contacts}",
        f"best       largest |multiplier| {largest[best]:.3g} at "
        f"{study.value_text(path, values[best])}",
        *strongest(read, study, lambda i: study.value_text(path, values[i])),
        *marks,
        *_event_lines(read, study),
        *(curve_lines(read, study.analysis) if study.analysis.second_path else []),
    ]


def _points(branch) -> dict[str, Variable]:
    """Return the branch's orbits, each field along the axis `point`."""
    own = variables(branch, without=("orbits", "bifurcations", "events"))
    known = orbit_variables(branch.orbits, "point", _OF_ORBITS)
    first = {"parameter": own.pop("parameter"), "states": known.pop("state")}
    return first | known | own


def _bifurcations(branch) -> dict[str, Variable]:
    """Return the bifurcations, each field along the axis `bifurcation`."""
    points = branch.bifurcations
    states = np.array([point.state for point in points])
    states = states.reshape(len(points), branch.states.shape[1])
    return {
        "bifurcation.kind": _coded("bifurcation", [p.kind for p in points], KINDS),
        **_places("bifurcation", points),
        "bifurcation.state": Variable(
            ("bifurcation", "state"), states, "", "state at t = 0"
        ),
    }


def _events(branch, options: Options) -> dict[str, Variable]:
    """Return the events, each field along the axis `event`."""
    names = [event.name for event in branch.events]
    quantity = _coded("event", names, list(options.events), "quantity")
    return {"event.quantity": quantity, **_places("event", branch.events)}


def _places(axis: str, points: Sequence) -> dict[str, Variable]:
    places, codes = [p.parameter for p in points], [p.result for p in points]
    return {
        f"{axis}.parameter": _column(axis, places, float, "value of the parameter"),
        f"{axis}.result": _column(axis, codes, np.int32, "reason code"),
    }


def _event_lines(read: Callable, study: Any) -> list[str]:
    options = study.analysis
    names = list(options.events)
    units = [unit_of_field(name) for name in names]
    return [
        f"{names[code]} = "
        f"{study.quantity_text(units[code], options.events[names[code]])} at "
        f"{study.value_text(options.path, place, 8)}"
        for code, place in zip(read("event.quantity"), read("event.parameter"), strict=True)
    ]


def _fits(options: Options, known: Known) -> None:
    check_bounds(options.path, options.bounds, known.values, known.declared)
    if options.events or options.stop_at:
        branch_events.orbit_events(options.events, options.stop_at)
    second, bounds = options.second_path, options.second_bounds
    if bool(second) != (bounds is not None):
        raise ValueError("second_path and second_bounds; allowed: both or neither")
    if second and bounds:
        if second == options.path:
            raise ValueError(f"second_path = {second!r}; allowed: another one than path")
        check_bounds(second, bounds, known.values, known.declared)


KIND = StudyKind(
    "continuation", Options, once(compute), summary, pictures,
    needs=frozenset({Role.PERIODIC}),
    sampled=False,
    counted="orbits",
    checks=(_fits,),
    sample_bytes=lambda options: 50e3,
)  # fmt: skip
