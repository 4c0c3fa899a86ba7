"""The study `bifurcation_diagram`: attractors over one parameter, by simulation."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from .... import orbits
from ...config.bounds import Bounds, check_allowed, of_path
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Line, Picture, Points
from ...pictures.regimes import Sorting, motion_name, sort_by_regime
from ...pictures.swept_lines import named, symbol
from ...pictures.swept_planes import axis
from ...store.fields import Variable, joined, orbit_variables, variables
from ...store.finished_study import Run, readable
from ..study_kind import Known, Role, StudyKind, once, strongest, swept_values

SWEEPS = ("rest", "up", "down")


class Options(Table):
    """Parameter, values, initial states and durations."""

    units_of: ClassVar = {"bounds": of_path("path")}

    kind: Literal["bifurcation_diagram"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("lowest and highest value of the parameter")
    values: int = option("values, evenly spaced", 201, ge=2, le=100_000)
    sweep: Literal["rest", "up", "down", "both"] = option(
        "initial state: rest, or the final state at the previous value", "rest"
    )
    transient: int = option("load periods of the transient", 256, ge=1, le=1_000_000)
    points: int = option("load periods that are recorded", 64, ge=16, le=4096)


# Descriptions of fields that differ from those of an orbit.
_OF_ORBITS = {
    "periods": "period in load periods, 0 if aperiodic",
    "contacts": "contacts (onsets) per period, -1 if aperiodic",
    "contacts_per_period": "",
    "amplitude": "",
    "max_contact_force": "",
    "lyapunov_exponent": "",
    "lyapunov_error": "its standard error",
    "result": "reason code: success for periodic motions",
}


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return Poincaré samples over a parameter, sweep after sweep."""
    up = np.linspace(options.bounds[0], options.bounds[1], options.values)
    sweeps = ("up", "down") if options.sweep == "both" else (options.sweep,)
    rows = []
    for sweep in sweeps:
        found = orbits.bifurcation_diagram(
            system,
            options.path,
            up[::-1] if sweep == "down" else up,
            follow=sweep != "rest",
            points=options.points,
            settings=orbits.SettlingSettings(options.transient, rtol=run.rtol),
        )
        own = variables(found, without=("orbits",))
        rows.append(own | orbit_variables(found.orbits, "value", _OF_ORBITS))
    fields = joined(*rows)
    units = {"component_units": ", ".join(system.labels.units)}
    numbers = np.repeat([SWEEPS.index(sweep) for sweep in sweeps], options.values)
    return {
        **swept_values(system, options.path, fields.pop("parameter")),
        **fields,
        "states": replace(fields["states"], notes=units),
        "sweep": Variable(
            ("value",), numbers.astype(np.int8), "", "0 from rest, 1 up, 2 down"
        ),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the classes with their shares, and the extreme exponent and force."""
    path = study.analysis.path
    values, exponent = map(read, (path, "lyapunov_exponent"))
    motions = zip(read("result").tolist(), read("periods").tolist(), strict=True)
    names = [motion_name(code, periods) for code, periods in motions]
    shares = Counter(names).most_common(5)
    listed = ", ".join(f"{count / len(names):.1%} {name}" for name, count in shares)
    lines = [f"motions    {listed}"]
    if np.isfinite(exponent).any():
        wild = int(np.nanargmax(exponent))
        error = read("lyapunov_error")[wild]
        lines.append(
            f"exponent   largest "
            f"{study.quantity_text('1/s', exponent[wild], digits=4, error=error)} at "
            f"{study.value_text(path, values[wild])}"
        )
    return lines + strongest(read, study, lambda i: study.value_text(path, values[i]))


_WORDS = {"rest": "from rest", "up": "followed up", "down": "followed down"}
_ERRORS = 1.96  # standard errors of a 95 % interval
_MOST_COMPONENTS = 3  # charts of state components


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the Poincaré samples of displacements, with the largest exponent below."""
    path = runs[0].paths[0]
    values = np.concatenate([run.field(path) for run in runs])
    # a common range for all charts, which are stacked
    low, high = float(values.min()), float(values.max())
    x = replace(axis(runs[0], path), low=low, high=high)
    sorting = sort_by_regime(runs)
    states = runs[0].names("state", runs[0].field("states").shape[2])
    shown = min(max(1, len(states) // 2), _MOST_COMPONENTS)
    charts = [
        Chart(
            x,
            Axis(runs[0].component("states", "state", component, len(states))),
            tuple(_points(runs, sorting, path, component)),
        )
        for component in range(shown)
    ]
    charts.append(
        Chart(x, Axis("largest Lyapunov exponent (1/s)"), tuple(_exponents(runs, path)))
    )
    words = ", ".join(f"{share.name}: {sum(share.counts)}" for share in sorting.shares)
    picture = Picture(
        "bifurcation_diagram",
        f"Bifurcation diagram over {readable(path)}",
        "The state at t = 0, T, 2T, ..., once per load period, after the transient: one "
        "point for a motion of period 1, n points for period n, a cloud for chaos. "
        "Below, the largest Lyapunov exponent with 95 % confidence limits (dotted); it is "
        "positive for chaos. "
        "Sweeps up and down differ where attractors coexist.",
        f"Poincaré samples and largest Lyapunov exponent over {x.label}. {words}.",
        tuple(charts),
        sorting.shares,
        stacked=True,
    )
    return [picture]


def _points(runs, sorting: Sorting, path: str, component: int) -> Iterator[Points]:
    for number, run in enumerate(runs):
        states = run.field("states")[:, :, component]
        value, point = np.nonzero(np.isfinite(states))
        yield Points(
            run.field(path)[value],
            states[value, point],
            sorting.members[number][value].astype(float),
            sorting.classes,
            symbol=symbol(number),
        )


def _exponents(runs: Sequence[Run], path: str) -> Iterator[Line]:
    colour = 0
    for run in runs:
        values, exponent = run.field(path), run.field("lyapunov_exponent")
        error = _ERRORS * run.field("lyapunov_error")
        sweeps = run.field("sweep")
        for sweep in np.unique(sweeps):
            own = np.flatnonzero(sweeps == sweep)
            own = own[np.argsort(values[own])]
            name = named(_WORDS[SWEEPS[sweep]], run, runs)
            yield Line(values[own], exponent[own], name, colour)
            for bound in (exponent - error, exponent + error):
                yield Line(values[own], bound[own], name, colour, "dot", legend=False)
            colour += 1
    ends = np.concatenate([run.field(path) for run in runs])
    limit = np.array([ends.min(), ends.max()])
    yield Line(limit, np.zeros(2), "zero", 5, "dot")


def _bounds(options: Options, known: Known) -> None:
    check_allowed(options.path, options.bounds, known.declared)


def _bytes(options: Options) -> float:
    motions = options.values * (2 if options.sweep == "both" else 1)
    return 64.0 * motions * options.points


KIND = StudyKind(
    "bifurcation_diagram", Options, once(compute), summary, pictures,
    needs=frozenset({Role.PERIODIC}),
    sampled=False,
    counted="motions",
    checks=(_bounds,),
    sample_bytes=_bytes,
)  # fmt: skip
