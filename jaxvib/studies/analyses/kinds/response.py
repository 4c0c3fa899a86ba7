"""The study `response`: motions under loads of any time history, or of none."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from .... import ensemble, transients
from ....drawing.labels import with_unit
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Picture, Scale
from ...pictures.swept_lines import named, path_lines, sample_lines
from ...pictures.swept_planes import axis, long_paths, planes, slider_samples
from ...resources import lazily, library
from ...store.fields import Variable, variables
from ...store.finished_study import Run, readable
from .. import initial_state
from ..noises import EngineName, Level, check_levels
from ..study_kind import Role, StudyKind, freedoms, where

jnp = lazily("jax.numpy")
limits, motions = library("transients.limits"), library("transients.response")
of_samples = library("studies.analyses.sample_systems")

# Motions are expensive and large: chunks are small.
_CHUNK = 16


class Options(Table):
    """Initial state, duration, times and limits."""

    units_of: ClassVar = initial_state.UNITS

    kind: Literal["response"] = option("the kind of analysis")
    displacement: dict[str, float] = initial_state.displacement()
    velocity: dict[str, float] = initial_state.velocity()
    duration: float = option("duration of each motion", gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 481, ge=2, le=10_000)
    limits: dict[str, Level] = option(
        "limits, for first-passage times", {},
        allowed="a table of limits, such as limits.stroke",
    )  # fmt: skip
    engine: EngineName = option("engine of the simulation", "auto")


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return histories, peaks, means and passages under any loads."""
    reached = [level.limit(system) for level in options.limits.values()]
    engine = motions.chosen_engine(system, options.engine)
    times = jnp.linspace(0.0, options.duration, options.points)
    moved_by = initial_state.beside_rest(system, options)

    def moved(each):
        state = each.rest()
        state = state.at[: moved_by.size].add(moved_by)  # behind: states of elements
        found = transients.response(
            each, options.duration, state, limits=reached, rtol=run.rtol, engine=engine,
            throw=False,
        )  # fmt: skip
        return found, motions.history(each, state, times, run.rtol)

    lanes = of_samples.each_system(system, samples)
    both = ensemble.map_samples(moved, lanes, chunk=_CHUNK, progress=progress)
    fields = {
        name: one for found in both for name, one in variables(found, ("sample",)).items()
    }
    units = system.labels.units[2 * limits.freedoms_of(system) :]
    notes = {"component_units": ", ".join(units)}
    fields["further_states"] = replace(fields["further_states"], notes=notes)
    return {name: field for name, field in fields.items() if field.values.size}


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest displacements and contact forces, and the limits reached."""
    names, reached = study.axes["freedom"], list(study.analysis.limits)
    shown = functools.partial(study.quantity_text, digits=4)
    peaks, errors, times = map(read, ("peak", "peak_error", "peak_time"))
    contacts = study.axes.get("contact", [])
    forces = read("max_contact_force") if contacts else np.zeros((1, 0))
    lines = []
    for i, name in enumerate(names[:4]):
        for at in _largest(peaks[:, i]):
            peak = shown(study.freedom_units[i], peaks[at, i], error=errors[at, i])
            time = shown("s", times[at, i])
            lines.append(f"largest    {name} {peak} at t = {time}{where(read, study, at)}")
    for i, name in enumerate(contacts[:2]):
        for at in _largest(forces[:, i]):
            force = shown("N", forces[at, i])
            lines.append(f"largest    force of {name} {force}{where(read, study, at)}")
    for i, name in enumerate(reached[:2]):
        passed = np.isfinite(read("first_passage")[:, i])
        lines.append(
            f"passage    {name} reached by {passed.sum()} of {passed.size} samples"
        )
    return lines


def _largest(values: np.ndarray) -> list[int]:
    """Return the sample of the largest value, none if all are NaN."""
    return [int(np.nanargmax(values))] if np.isfinite(values).any() else []


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the motions, and their peaks if one path is swept."""
    time = Axis("time (s)")
    lines = sample_lines(runs, "instants", "displacements", "freedom")
    charts = [Chart(time, Axis("displacement (m)"), lines)]
    for place, name in enumerate(_further(runs[0])):
        lines = sample_lines(
            runs, "instants", "further_states", "further", only=[place], names=_further
        )
        charts.append(Chart(time, Axis(name), lines))
    found = [
        Picture(
            "history",
            "Motion over time",
            "Displacements from rest; peaks are also located between the stored times."
            + " Below, the states of elements." * (len(charts) > 1),
            "Displacements over time.",
            tuple(charts),
            choice=slider_samples(runs[0])[1],
            stacked=len(charts) > 1,
        )
    ]
    paths = long_paths(runs[0])
    if not paths:
        return found
    shown = [("peak", "freedom", "largest displacement (m)")]
    if all(run.has("max_contact_force") for run in runs):
        shown.append(("max_contact_force", "contact", "largest contact force (N)"))
    over = " and ".join(map(readable, paths))
    peaks = Picture(
        "peaks",
        f"Peaks over {over}",
        "The largest absolute displacement from rest of each degree of freedom"
        + ", and the largest force of each contact." * (len(shown) > 1)
        + "." * (len(shown) == 1),
        f"Largest displacements over {over}.",
        tuple(chart for each in shown for chart in _peaks(runs, *each)),
        choice=planes(runs)[0].choice if len(paths) > 1 else None,
        stacked=len(paths) == 1 and len(shown) > 1,
    )
    return [peaks, *found]


def _peaks(runs: Sequence[Run], field: str, along: str, label: str) -> Iterator[Chart]:
    """Return curves over one swept path, or a map of each component over two."""
    paths = long_paths(runs[0])
    if len(paths) == 1:
        lines = tuple(path_lines(runs, paths[0], field, along=along))
        yield Chart(axis(runs[0], paths[0]), Axis(label), lines)
        return
    for plane in planes(runs):
        values = plane.run.field(field)
        for i, name in enumerate(plane.run.names(along, values.shape[1])):
            scale = Scale.over(label, "cividis", [r.field(field)[:, i] for r in runs])
            title = named(name, plane.run, runs)
            yield Chart(plane.x, plane.y, plane.cells(values[:, i], scale), title)


def _further(run: Run) -> list[str]:
    """Return the names of the states of elements, with units."""
    if not run.has("further_states"):
        return []
    count = run.field("further_states").shape[2]
    states = run.names("state", run.field("state").shape[1])
    units = run.results["further_states"].attrs["component_units"].split(", ")
    return [with_unit(*each) for each in zip(states[-count:], units, strict=True)]


KIND = StudyKind(
    "response", Options, compute, summary, pictures,
    needs=frozenset({Role.DRIVEN}),
    checks=(
        lambda options, known: check_levels(options.limits, known.system),
        freedoms(initial_state.named),
    ),
    axes=lambda options: {"limit": list(options.limits)} if options.limits else {},
    sample_bytes=lambda options: 400.0 + 32.0 * options.points,
)  # fmt: skip
