"""The study `integrity_curves`: shares and integrity of basins over a parameter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from .... import orbits, systems
from ...config.bounds import Bounds, check_allowed, of_path
from ...config.tables import option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import axis
from ...store.fields import Variable, stacked, variables
from ...store.finished_study import Run, readable
from ..study_kind import Known, Role, StudyKind, once, swept_values
from .basins import BasinTable, check_basins, shock_variables, starts_of


class Options(BasinTable):
    """Parameter, values, grid of initial states, and measures."""

    units_of: ClassVar = {**BasinTable.units_of, "bounds": of_path("path")}

    kind: Literal["integrity_curves"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("lowest and highest value of the parameter")
    values: int = option(
        "values, evenly spaced: attractors are followed from one to the next", 21, ge=2,
        le=10_000,
    )  # fmt: skip
    box: int = option(
        "states along a side of the boxes of the basin entropy", 5, ge=2, le=2000
    )


MOST_TOLD = 4  # attractors in the summary


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return the measures of attractors along the axis `value`."""
    settings = orbits.SettlingSettings(options.transient, options.max_periods, run.rtol)
    curves = orbits.integrity_curves(
        system,
        options.path,
        np.linspace(options.bounds[0], options.bounds[1], options.values),
        starts_of(system, options),
        box=options.box,
        period=options.period,
        settings=settings,
    )
    shocks = _shocks(system, curves, options, settings) if options.shock else {}
    fields = variables(curves)
    share, state = fields.pop("share"), fields.pop("state")
    units = {"component_units": ", ".join(system.labels.units)}
    return {
        **swept_values(system, options.path, fields.pop("parameter")),
        "share": replace(share, notes={"attractors": "; ".join(curves.names)}),
        **fields,
        "state": replace(state, notes=units),
        **shocks,
    }


def _shocks(system, curves, options: Options, settings) -> dict[str, Variable]:
    """Return the smallest shock of each attractor at each value."""
    if not curves.names:
        return {}
    rows = [
        shock_variables(
            systems.replace(system, {options.path: value}), states, options, settings
        )
        for value, states in zip(curves.parameter, curves.state, strict=True)
    ]
    return stacked(rows, "value")


def summary(read: Callable, study: Any) -> list[str]:
    """Return the least share, factor and shock of attractors, and the undecided."""
    path = study.analysis.path
    values, share = read(path), read("share")
    names = [f"A{i + 1}" for i in range(share.shape[1])]

    def least(field: str, i: int, digits: str) -> str:
        column = read(field)[:, i]
        if not np.isfinite(column).any():
            return "none"
        place = int(np.nanargmin(column))
        return f"{column[place]:{digits}} at {study.value_text(path, values[place])}"

    lines = []
    for i in np.argsort(-np.nansum(share, axis=0), kind="stable")[:MOST_TOLD].tolist():
        words = [
            f"share {least('share', i, '.1%')}",
            f"factor {least('integrity_factor', i, '.3g')}",
        ]
        if study.analysis.shock:
            words.append(f"shock {least('shock.size', i, '.3g')}")
        exists = int(np.isfinite(share[:, i]).sum())
        lines.append(
            f"{names[i]:<10} at {exists} of {len(values)} values; least {', '.join(words)}"
        )
    entropy = read("entropy")
    if np.isfinite(entropy).any():
        place = int(np.nanargmax(entropy))
        lines.append(
            f"entropy    largest {entropy[place]:.3g} at "
            f"{study.value_text(path, values[place])}"
        )
    most = float(np.max(read("undecided")))
    return [*lines, f"undecided  at most {most:.1%} of the initial states of a value"]


_FRACTAL = np.log(2)  # boundary basin entropy beyond which a boundary is fractal


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return one picture per study: its curves, one chart below the other."""
    return [_picture(run, len(runs) > 1) for run in runs]


def _picture(run: Run, several: bool) -> Picture:
    path = run.paths[0]
    values = run.field(path)
    low, high = float(values.min()), float(values.max())
    x = replace(axis(run, path), low=low, high=high)
    integrity = [
        *_lines(run, values, "integrity_factor", "solid"),
        *_lines(run, values, "local_integrity", "dot", legend=False),
    ]
    entropies = (
        Line(values, run.field("entropy"), "all boxes", 0, marks=True),
        Line(values, run.field("boundary_entropy"), "boundaries", 0, "dot", marks=True),
    )
    charts = [
        Chart(x, Axis("share of the states", low=0.0), tuple(_shares(run, values))),
        Chart(x, Axis("integrity (half widths)", low=0.0), tuple(integrity)),
        Chart(x, Axis("basin entropy", low=0.0), entropies),
    ]
    shock = run.options.get("shock")
    words = ""
    if shock and run.has("shock.size"):
        layers = tuple(_lines(run, values, "shock.size", "solid"))
        charts.append(Chart(x, Axis("smallest shock (its units)", low=0.0), layers))
        units = ", ".join(f"{name} in units of {u:g}" for name, u in shock.items())
        words = f" Below, the smallest shock that leaves a basin ({units})."
    return Picture(
        f"integrity_curves_{run.name}" if several else "integrity_curves",
        f"Integrity over {readable(path)}{f' of {run.name}' * several}",
        "Each attractor where it exists. Share of the plane's initial states that lead to "
        "it; radius of the largest disc within its basin (integrity factor) and, dotted, "
        "its distance from states that lead elsewhere (local integrity), in half widths of "
        "the plane; where the plane's edge limits them, they are lower bounds "
        f"({_at_edge(run)}). Basin entropy, and dotted its mean over boxes on boundaries, "
        f"which are fractal above ln 2 = {_FRACTAL:.2f}.{words}",
        f"Shares, integrity measures and entropy over {x.label}. {_ends(run, values)}",
        tuple(charts),
        stacked=True,
    )


def _names(run: Run) -> list[str]:
    words = run.results["share"].attrs["attractors"]
    return words.split("; ") if words else []


def _lines(run: Run, values, field: str, style: str, legend: bool = True) -> Iterator[Line]:
    columns = run.field(field)
    for i, name in enumerate(_names(run)):
        yield Line(values, columns[:, i], name, i, style, legend=legend, marks=True)


def _shares(run: Run, values) -> Iterator[Line]:
    yield from _lines(run, values, "share", "solid")
    undecided = run.field("undecided")
    if undecided.any():
        yield Line(values, undecided, "undecided", len(_names(run)), "dot")


def _at_edge(run: Run) -> str:
    """Return how many of the measures the edge of the plane limits."""
    edges = [run.field(name) for name in ("factor_at_edge", "local_at_edge")]
    limited = sum(int(np.nansum(edge)) for edge in edges)
    return f"{limited} of {sum(int(np.isfinite(edge).sum()) for edge in edges)}"


def _ends(run: Run, values) -> str:
    """Return where each attractor exists."""
    share = run.field("share")
    return " ".join(
        f"{name}: from {there.min():.4g} to {there.max():.4g}."
        for i, name in enumerate(_names(run))
        for there in [values[np.isfinite(share[:, i])]]
    )


def _fits(options: Options, known: Known) -> None:
    check_allowed(options.path, options.bounds, known.declared)
    check_basins(options, options.box, known.system)


KIND = StudyKind(
    "integrity_curves", Options, once(compute), summary, pictures,
    needs=frozenset({Role.PERIODIC}),
    sampled=False,
    counted="values",
    checks=(_fits,),
    sample_bytes=lambda options: 2e3 * options.values,
)  # fmt: skip
