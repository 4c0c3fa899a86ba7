"""Computes a branch with its bifurcations, events and curves, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....branches import ContinuationSettings, bifurcation_curves, continue_orbit
from ....branches.events import orbit_events as orbit_events
from ....ensemble import reason
from ....orbits import periodic_orbit
from ....systems import parameters
from ....systems.system import System
from ...store.fields import Variable
from ..measure_options import unit_of_field
from ..orbits import orbit_variables, own_variables
from .curves import KINDS, curve_lines, curve_variables
from .kind import ContinuationOptions

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


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: ContinuationOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the branch, each field along the axis `point`."""
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
        settings=ContinuationSettings(
            most_points=options.most_points,
            rtol=run.rtol,
            evidence=run.evidence,
            events=options.events,
            stop_at=options.stop_at,
        ),
    )
    progress(1)
    fields = _points(branch) | _bifurcations(branch) | _events(branch, options)
    if options.second_path and options.second_bounds:
        (low, high), (left, right) = options.bounds, options.second_bounds
        bounds = {options.path: (low, high), options.second_path: (left, right)}
        settings = ContinuationSettings(most_points=options.most_points)
        curves = bifurcation_curves(system, branch, bounds, settings=settings)
        fields |= curve_variables(curves, parameters(system), list(bounds))
    values = fields.pop("parameter").values
    swept = parameters(system)[options.path]
    codes = np.zeros(len(values), np.int32)
    return {
        options.path: Variable(("point",), values, swept.unit, swept.description),
        **fields,
        "result": Variable(("point",), codes, "", "reason code"),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the ends of the branch, its stability and its extreme values."""
    path = study.analysis.path
    values, largest, force = map(read, (path, "largest_multiplier", "max_contact_force"))
    low, high = (reason(code) for code in read("ends"))
    best, worst = int(np.nanargmin(largest)), int(np.nanargmax(force))
    stable = read("stable")
    contacts = sorted(set(read("contacts").tolist()))
    codes, places = read("bifurcation.kind"), read("bifurcation.parameter")
    marks = [
        f"{KINDS[code].replace('_', ' ')} at {study.value_text(path, place, 8)}"
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
        f"worst      contact force {study.quantity_text('N', force[worst], digits=4)} at "
        f"{study.value_text(path, values[worst])}",
        *marks,
        *_event_lines(read, study),
        *(curve_lines(read, study.analysis) if study.analysis.second_path else []),
    ]


def _points(branch) -> dict[str, Variable]:
    """Return the branch's orbits, each field along the axis `point`."""
    own = own_variables(branch, "orbits", "bifurcations", "events")
    orbits = orbit_variables(branch.orbits, "point", _OF_ORBITS)
    first = {"parameter": own.pop("parameter"), "states": orbits.pop("state")}
    return first | orbits | own


def _bifurcations(branch) -> dict[str, Variable]:
    """Return the bifurcations, each field along the axis `bifurcation`."""
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
    """Return the events, each field along the axis `event`."""
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
