"""Pictures of a beam's eigenvalues: curves, root loci, animated mode shapes."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ....modes.beams.eigenvalue_curves import (
    Curves,
    Meeting,
    meetings,
    order_of,
    rows_of_curves,
)
from ...config.samples import METHODS
from ...pictures.comparison_styles import look, named
from ...pictures.picture import (
    Axis,
    Chart,
    Choice,
    Line,
    Notes,
    Picture,
    Points,
    Scale,
    Scene,
)
from ...pictures.swept_planes import axis, sample_text
from ...store.finished_study import Run, readable

_MOST_ROWS = 64  # rows of neighbouring samples in the page
_WIDE = 30.0  # ratio of moduli from which the axis is logarithmic
_RE, _IM = Axis("Re (1/s)"), Axis("Im (rad/s)")
_IN_FILES = 6  # modes in the picture files
_MEETINGS = {
    "crossing": ("curves cross", "diamond"),
    "veering": ("curves veer", "square"),
    "undecided": ("undecided", "cross"),
}


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of a study of eigenvalues; of two studies, both curves."""
    shapes = _shapes(runs[0])
    how = METHODS.get(runs[0].study["config"]["sweep"].get("method"))  # None: no sweep
    if how is None or how.drawn or runs[0].size < 2:
        return [_cloud(runs), *shapes]
    rows = [_rows(run) for run in runs]
    return [_over_path(runs, rows), *_loci(runs, rows), *shapes]


def _rows(run: Run) -> list[tuple[np.ndarray, Curves]]:
    columns = {path: run.field(path) for path in run.paths}
    slopes = {path: run.field(f"slopes.{path}") for path in run.paths}
    rows = rows_of_curves(columns, run.grid or None, run.field("values"), slopes)
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).round().astype(int)
    return [rows[i] for i in chosen]


def _x_path(run: Run) -> str:
    return max(run.grid, key=run.grid.__getitem__) if run.grid else run.paths[0]


def _choice(run: Run, rows) -> Choice | None:
    if len(rows) < 2:
        return None
    others = [path for path in run.grid if path != _x_path(run)]
    return Choice(
        ", ".join(map(readable, others)),
        tuple(sample_text(run, row[0], others) for row, _ in rows),
    )


def _over_path(runs: Sequence[Run], rows) -> Picture:
    run, choice = runs[0], _choice(runs[0], rows[0])
    path = _x_path(run)
    x = axis(run, path)
    moduli = np.abs(np.concatenate([each.field("values").ravel() for each in runs]))
    wide = bool(moduli.min() > 0 and moduli.max() > _WIDE * moduli.min())
    layers, ratios = [], []
    for number, each in enumerate(runs):
        for option, (row, curves) in enumerate(rows[number]):
            here = option if choice else None
            layers += _lines(runs, number, row, curves, path, here, np.abs)
            ratios += _lines(runs, number, row, curves, path, here, _damping_ratio)
            layers += _notes(each, row, meetings(curves), path, here)
    met = [m for _, curves in rows[0] for m in meetings(curves)]
    counts = {kind: sum(m.kind == kind for m in met) for kind in _MEETINGS}
    return Picture(
        "eigenvalues",
        f"Eigenvalues over {readable(path)}",
        "Modulus and damping ratio (-Re / modulus) of each value. Neighbouring samples are "
        "joined by the values' derivatives, so that a curve follows its mode: curves cross "
        "(diamonds), or veer (squares), that is, approach, turn away and exchange modes. "
        f"Found: {counts['crossing']} crossings, "
        f"{counts['veering']} veerings, {counts['undecided']} undecided.",
        f"Modulus and damping ratio of {run.field('values').shape[1]} eigenvalues over "
        f"{x.label}.",
        (
            Chart(x, Axis("modulus (rad/s)", log=wide), tuple(layers), "modulus"),
            Chart(x, Axis("damping ratio"), tuple(ratios), "damping"),
        ),
        choice=choice,
    )


def _damping_ratio(values: np.ndarray) -> np.ndarray:
    return -values.real / np.where(values == 0, 1.0, np.abs(values))


def _lines(runs, number, row, curves: Curves, path, option, of) -> Iterator[Line]:
    run = runs[number]
    for colour, curve in enumerate(order_of(curves)):
        yield Line(
            run.field(path)[row],
            of(curves.values[curve]),
            named(f"value {colour + 1}", run, runs),
            *look(colour, number, runs),
            option=option,
            legend=False,
        )


def _notes(run: Run, row, found: list[Meeting], path, option) -> Iterator[Notes]:
    x = run.field(path)[row]
    for kind, (name, symbol) in _MEETINGS.items():
        own = [meeting for meeting in found if meeting.kind == kind]
        if own:
            # The axis scale is unknown here: between neighbours the ratio serves as the
            # mean.
            places = np.interp([m.place for m in own], np.arange(len(x)), x)
            texts = tuple(f"{kind}, {m.apart:.3g} rad/s apart in the plane" for m in own)
            moduli = np.array([m.modulus for m in own])
            yield Notes(places, moduli, texts, name, symbol, option)


def _loci(runs: Sequence[Run], rows) -> list[Picture]:
    """Return the root locus of all values, and one with a slider over values."""
    run, choice = runs[0], _choice(runs[0], rows[0])
    path = _x_path(run)
    paint = _paint(run, path)
    every, single = [], []
    for number, each in enumerate(runs):
        for option, (row, curves) in enumerate(rows[number]):
            here = option if choice else None
            moved = np.broadcast_to(each.field(path)[row], curves.values.shape)
            known = np.isfinite(curves.values)
            for place, curve in enumerate(order_of(curves)):
                own = curves.values[curve][known[curve]]
                line = Line(own.real, own.imag, f"value {place + 1}",
                            *look(place, number, runs), legend=False)  # fmt: skip
                every.append(dataclasses.replace(line, option=here))
                single.append(dataclasses.replace(line, option=place))
                single.append(_dots(own, moved[curve][known[curve]], paint, place))
            every.append(_dots(curves.values[known], moved[known], paint, here))
    alt = f"Imaginary over real part of the eigenvalues as {path} grows."
    text = f"Eigenvalues in the closed upper half plane, coloured by {readable(path)}."
    chart = Chart(_RE, _IM, tuple(every))
    picture = Picture("root_locus", "Root locus", text, alt, (chart,), choice=choice)
    if choice is not None:
        return [picture]
    most = max(len(order_of(curves)) for _, curves in rows[0])
    alone = Picture(
        "root_locus_of_one",
        "Root locus of one value",
        f"One value at a time, with individual axes, coloured by {readable(path)}.",
        alt,
        (Chart(_RE, _IM, tuple(single)),),
        choice=Choice("value", tuple(f"value {i + 1}" for i in range(most))),
    )
    return [picture, alone]


def _dots(values, moved, paint: Scale, option: int | None) -> Points:
    return Points(values.real, values.imag, moved, paint, option=option)


def _paint(run: Run, path: str) -> Scale:
    values = run.field(path)
    log = axis(run, path).log
    return Scale(run.label(path), "sea", float(values.min()), float(values.max()), log)


def _cloud(runs: Sequence[Run]) -> Picture:
    """Return the values of all samples as points in the complex plane."""
    charts = []
    for run in runs:
        values = run.field("values")
        if not run.paths:
            real, imaginary = _apart(values[0].real), _apart(values[0].imag)
            line = Line(real, imaginary, "eigenvalues", 0, marks=True, legend=False)
            charts.append(Chart(_RE, _IM, (line,), run.name if len(runs) > 1 else ""))
        for path in run.paths[:4]:
            moved = np.repeat(run.field(path), values.shape[1])
            points = Points(
                values.real.ravel(), values.imag.ravel(), moved, _paint(run, path)
            )
            title = run.name if len(runs) > 1 else ""
            charts.append(Chart(_RE, _IM, (points,), title))
    return Picture(
        "root_locus",
        "Eigenvalues of all samples",
        "Eigenvalues in the closed upper half plane"
        + (", coloured by each swept number." if runs[0].paths else "."),
        "Imaginary over real part of the eigenvalues of all samples.",
        tuple(charts),
    )


def _shapes(run: Run) -> list[Picture]:
    if run.mode_shapes is None or not len(run.mode_shapes["sample"].values):
        return []
    stored = {
        str(name): np.asarray(run.mode_shapes[name].values) for name in run.mode_shapes
    }
    samples = np.asarray(run.mode_shapes["sample"].values)
    moving = np.concatenate([stored["shapes"], stored["links"]], axis=-1)
    # real and 1 at the largest motion of the beam or of a body
    place = np.abs(moving).argmax(-1)[..., None]
    moving = moving / np.take_along_axis(moving, place, -1)
    values = stored["values"]
    table = run.study["config"]["system"]
    length = stored["points"][:, -1:]
    layout = {
        "kind": "carrying",
        "ends": table["ends"],
        "points": stored["shapes"].shape[-1],
        "at": stored["positions"] / length,
        "links": _links(table),
        "bars": _bars(np.array(table["link_map"], float)),
    }
    labels = tuple(
        f"{i + 1}: {_value(value)}" if len(samples) == 1 else str(i + 1)
        for i, value in enumerate(values[0])
    )
    picks = {"mode": labels}
    if len(samples) > 1:
        picks["sample"] = tuple(sample_text(run, sample, run.paths) for sample in samples)
    scene = Scene(
        "damped",
        layout,
        picks,
        shapes=np.stack([moving.real, moving.imag]),
        frequencies=np.stack([values.real, values.imag]),
    )
    return [
        Picture(
            "mode_shapes",
            "Mode shapes",
            "One mode at a time: the beam below, its bodies above, each on its link, "
            "scaled to the largest motion. An oscillating mode is shown for one cycle "
            "without decay, at reduced or increased speed; a mode that only decays is "
            "shown for four times its decay time.",
            "The beam and its bodies, moving in the selected mode.",
            tuple(
                _static(stored, moving, mode)
                for mode in range(min(_IN_FILES, values.shape[1]))
            ),
            view="scene",
            scene=scene,
        )
    ]


def _static(stored, moving, mode: int) -> Chart:
    points = stored["points"][0]
    shape = moving[0, mode]
    lines = [
        Line(points, shape[: len(points)].real, "beam", 0),
        Line(points, shape[: len(points)].imag, "a quarter cycle before", 0, "dash"),
    ]
    links = stored["positions"][0]
    if len(links):
        motions = shape[len(points) :].real
        lines.append(Line(_apart(links), _apart(motions), "bodies at links", 1, marks=True))
    title = _value(stored["values"][0, mode])
    return Chart(Axis("x (m)"), Axis("amplitude", low=-1.1, high=1.1), tuple(lines), title)


def _apart(values) -> np.ndarray:
    """Return points separated by NaN, so that no line joins them."""
    return np.stack([values, np.full(len(values), np.nan)], -1).ravel()


def _links(table) -> list[str]:
    """Return what each link connects to: a body, the ground, or a mass on the beam."""
    kinds = []
    for row, stiffness, damping, inertance in zip(
        table["link_map"], table["link_stiffness"], table["link_damping"],
        table["link_inertance"], strict=True,
    ):  # fmt: skip
        if any(row):
            kinds.append("body")
        else:
            kinds.append("mass" if inertance and not (stiffness or damping) else "ground")
    return kinds


def _bars(link_map) -> list[list[int]]:
    """Return pairs of links that support one body with two freedoms."""
    used = link_map != 0
    return [
        [i, j]
        for i in range(len(used))
        for j in range(i + 1, len(used))
        if used[i].sum() > 1 and np.array_equal(used[i], used[j])
    ]


def _value(value) -> str:
    if value.imag == 0:
        return f"{value.real:.4g} 1/s"
    return f"{value.real:.4g} + {value.imag:.5g}i 1/s"
