"""Curves of shares, integrity measures, entropy and smallest shocks over a parameter."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import axis
from ...store.finished_study import Run, readable

_FRACTAL = np.log(2)  # boundary basin entropy beyond which a boundary is fractal


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return one picture per study: its curves, one chart below the other."""
    return [_picture(run, len(runs) > 1) for run in runs]


def _picture(run: Run, several: bool) -> Picture:
    path = run.paths[0]
    values = run.field(path)
    low, high = float(values.min()), float(values.max())
    x = dataclasses.replace(axis(run, path), low=low, high=high)
    charts = [
        Chart(x, Axis("share of the states", low=0.0), tuple(_shares(run, values))),
        Chart(x, Axis("integrity (half widths)", low=0.0), tuple(_integrity(run, values))),
        Chart(x, Axis("basin entropy", low=0.0), tuple(_entropies(run, values))),
    ]
    shock = run.study["config"]["analysis"].get("shock")
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


def _integrity(run: Run, values) -> Iterator[Line]:
    yield from _lines(run, values, "integrity_factor", "solid")
    yield from _lines(run, values, "local_integrity", "dot", legend=False)


def _entropies(run: Run, values) -> Iterator[Line]:
    yield Line(values, run.field("entropy"), "all boxes", 0, marks=True)
    yield Line(values, run.field("boundary_entropy"), "boundaries", 0, "dot", marks=True)


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
