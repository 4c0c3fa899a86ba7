"""The study of one branch of periodic orbits, followed along a parameter."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ...._nearest import unknown_key
from ...config.catalogue import Declared
from ...config.tables import Table
from ...store.fields import Variable, variables
from ..cost import Cost
from .curves import KINDS, curve_lines, curve_variables

Bounds = Annotated[
    list[float],
    Field(min_length=2, max_length=2, json_schema_extra={"allowed": "[lowest, highest]"}),
]


class ContinuationOptions(Table):
    """Along which parameter, how far and how."""

    kind: Literal["continuation"] = Field(description="the kind of analysis")
    path: str = Field(
        description="the parameter", json_schema_extra={"allowed": "a parameter's path"}
    )
    bounds: Bounds = Field(description="values of the parameter to stop at")
    method: Literal["natural", "arclength"] = Field(
        default="arclength",
        description="steps in the parameter itself, or along the branch round its folds",
    )
    correct: bool = Field(
        default=True, description="whether Newton's method corrects each step"
    )
    periods: int = Field(
        default=1, ge=1, le=8, description="load periods in one of the motion"
    )
    most_points: int = Field(
        default=500, ge=2, le=100_000, description="orbits at which to stop"
    )
    events: dict[str, float] = Field(
        default={},
        description="values of an orbit's quantities to be found on the way",
        json_schema_extra={"allowed": "numbers by quantity, as max_contact_force"},
    )
    stop_at: list[str] = Field(
        default=[], description="the events that end the branch, by arclength"
    )
    second_path: str = Field(
        default="",
        description="a second parameter, to follow the bifurcations found in both",
        json_schema_extra={"allowed": "a parameter's path, or nothing"},
    )
    second_bounds: Bounds | None = Field(
        default=None, description="values of the second parameter to stop at"
    )


class ContinuationKind:
    """Periodic orbits along a parameter, from the one that the system settles on."""

    name = "continuation"
    sampled = False
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return ContinuationOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for bounds that do not enclose the parameter's value."""
        check_bounds(options.path, options.bounds, values, declared)
        if options.events or options.stop_at:
            from ....branches.events import watch_of

            watch_of(options.events, options.stop_at)
        if options.stop_at and options.method != "arclength":
            raise ValueError(
                f"stop_at = {options.stop_at}; allowed: with method = 'arclength' only"
            )
        if not options.correct and options.method != "natural":
            raise ValueError("correct = false; allowed: with method = 'natural' only")
        if bool(options.second_path) != (options.second_bounds is not None):
            raise ValueError("second_path and second_bounds; allowed: both or neither")
        if options.second_path:
            if options.second_path == options.path:
                raise ValueError(
                    f"second_path = {options.path!r}; allowed: another one than path"
                )
            check_bounds(options.second_path, options.second_bounds, values, declared)

    def coordinates(self, options) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the branch, each field along the axis `point`."""
        import equinox as eqx

        from ....branches import bifurcation_curves, continue_orbit
        from ....ensemble import reason
        from ....orbits import periodic_orbit
        from ....systems import parameters

        start = periodic_orbit(
            system,
            periods=options.periods,
            rtol=run.rtol,
            evidence=run.evidence,
            throw=False,
        )
        if int(start.result):
            raise RuntimeError(f"no orbit to start from: {reason(start.result)}")
        branch = continue_orbit(
            system,
            start,
            options.path,
            tuple(options.bounds),
            method=options.method,
            correct=options.correct,
            most_points=options.most_points,
            rtol=run.rtol,
            evidence=run.evidence,
            events=options.events,
            stop_at=options.stop_at,
        )
        progress(1)
        points = eqx.tree_at(lambda b: (b.bifurcations, b.events), branch, (None, None))
        fields = variables(points) | _bifurcations(branch) | _events(branch, options)
        if options.second_path:
            bounds = {
                options.path: tuple(options.bounds),
                options.second_path: tuple(options.second_bounds),
            }
            curves = bifurcation_curves(
                system, branch, bounds, most_points=options.most_points
            )
            fields |= curve_variables(curves, parameters(system), list(bounds))
        values = fields.pop("parameter").values
        swept = parameters(system)[options.path]
        codes = np.zeros(len(values), np.int32)
        return {
            options.path: Variable(("point",), values, swept.unit, swept.description),
            **fields,
            "result": Variable(("point",), codes, "", "reason code"),
        }

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/loading_curve.toml`."""
        steps = ("linearised",) if options.method == "natural" else ("correct", "examine")
        return Cost(6.0, 20.0, 3.0, 3.0, 50e3, ("orbit_from_guess", *steps))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return how far the branch goes, why it ends, and where it is worst."""
        from ....ensemble import reason

        path = study.analysis.path
        values, largest, force = map(
            read, (path, "largest_multiplier", "max_contact_force")
        )
        low, high = (reason(code) for code in read("ends"))
        best, worst = int(np.nanargmin(largest)), int(np.nanargmax(force))
        stable = read("stable")
        contacts = sorted(set(read("contacts").tolist()))
        codes, places = read("bifurcation.kind"), read("bifurcation.parameter")
        marks = [
            f"{KINDS[code].replace('_', ' ')} at {path} = {place:.8g}"
            + (f" (not located: {reason(how)})" if how else "")
            for code, place, how in zip(
                codes, places, read("bifurcation.result"), strict=True
            )
        ]
        return [
            f"branch     from {path} = {values[0]:.6g} ({low})",
            f"           to {path} = {values[-1]:.6g} ({high})",
            f"stability  {np.mean(stable == 1):.1%} stable, {np.mean(stable == 0):.1%} "
            f"unstable, {int(np.sum(stable == -1))} undecided; contacts {contacts}",
            f"best       largest |multiplier| {largest[best]:.3g} at {values[best]:.5g}",
            f"worst      contact force {force[worst]:.4g} N at {values[worst]:.5g}",
            *marks,
            *_event_lines(read, study.analysis),
            *(curve_lines(read, study.analysis) if study.analysis.second_path else []),
        ]


def _bifurcations(branch) -> dict[str, Variable]:
    """Return where the branch changes its kind, each along the axis `bifurcation`."""
    points, axes = branch.bifurcations, ("bifurcation",)
    notes = {"meaning": ", ".join(f"{i} {kind}" for i, kind in enumerate(KINDS))}
    size = branch.states.shape[1]
    states = np.array([point.state for point in points]).reshape(len(points), size)
    columns = {
        "kind": ([KINDS.index(point.kind) for point in points], np.int8, "kind", notes),
        "parameter": (
            [point.parameter for point in points], float, "value of the parameter", {}
        ),
        "result": ([point.result for point in points], np.int32, "reason code", {}),
    }  # fmt: skip
    found = {
        f"bifurcation.{name}": Variable(axes, np.array(values, kind), "", words, more)
        for name, (values, kind, words, more) in columns.items()
    }
    found["bifurcation.state"] = Variable((*axes, "state"), states, "", "state at t = 0")
    return found


def _events(branch, options) -> dict[str, Variable]:
    """Return where the events are, each along the axis `event`."""
    names, axes = list(options.events), ("event",)
    notes = {"meaning": ", ".join(f"{i} {name}" for i, name in enumerate(names))}
    kinds = np.array([names.index(event.name) for event in branch.events], np.int8)
    places = np.array([event.parameter for event in branch.events], float)
    codes = np.array([event.result for event in branch.events], np.int32)
    return {
        "event.quantity": Variable(axes, kinds, "", "quantity", notes),
        "event.parameter": Variable(axes, places, "", "value of the parameter"),
        "event.result": Variable(axes, codes, "", "reason code"),
    }


def _event_lines(read: Callable, options) -> list[str]:
    names = list(options.events)
    return [
        f"{names[code]} = {options.events[names[code]]:g} at {options.path} = {place:.8g}"
        for code, place in zip(read("event.quantity"), read("event.parameter"), strict=True)
    ]


def check_bounds(
    path: str, bounds, values: Mapping[str, float], declared: Mapping[str, Declared]
) -> None:
    """Raise `ValueError` unless a path is known and its value lies in the bounds.

    Of a path whose value is not among the `values` only the bounds are checked.
    """
    if path not in declared:
        raise ValueError(unknown_key("parameter", path, declared))
    low, high = bounds
    for bound in bounds:
        if not declared[path].allowed.contains(bound):
            raise ValueError(
                f"bounds of {path} = {bound:g} are out of range; allowed: {declared[path]}"
            )
    value = values.get(path, low)
    if not low <= value <= high or low == high:
        raise ValueError(
            f"bounds = [{low:g}, {high:g}] do not enclose {path} = {value:g}; allowed: "
            "bounds around the system's own value"
        )
