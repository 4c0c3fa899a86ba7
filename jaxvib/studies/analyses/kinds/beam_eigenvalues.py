"""The study `beam_eigenvalues`: certified values, derivatives, mode shapes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from .... import modes, systems
from ....ensemble import Reason
from ...config import samples as sampling
from ...config.samples import METHODS
from ...config.tables import Table, option
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
from ...pictures.swept_lines import look, named
from ...pictures.swept_planes import axis, choice_of, sample_text
from ...resources import lazily, library
from ...store.fields import Variable, stacked, variables
from ...store.finished_study import Run, readable
from ...store.subsample import evenly_chosen
from ..study_kind import Role, StudyKind, at

beam_curves = library("modes.beams.eigenvalue_curves")
beam_slopes = library("modes.beams.slopes")
jax = lazily("jax")


class Options(Table):
    """Number of eigenvalues and of stored mode shapes."""

    kind: Literal["beam_eigenvalues"] = option("the kind of analysis")
    count: int = option("eigenvalues of each sample, by modulus", 10, ge=1, le=200)
    shapes: int = option("samples whose mode shapes are stored", 16, ge=0, le=256)
    points: int = option("points of a mode shape along the beam", 101, ge=2, le=10_000)


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return the eigenvalues of samples, each field along the axis `sample`."""
    designs = _Designs(system)
    if not samples:
        return variables(_of_one(system, options.count))
    found = modes.beam_spectra(designs, samples, options.count, progress=progress)
    slopes = beam_slopes.beam_slopes(designs, samples, found.values)
    known = systems.parameters(system)
    fields = {}
    for path, values in slopes.items():
        parameter = next(p for p in known if f"{path}.".startswith(f"{p}."))
        unit = f"(rad/s)/({known[parameter].unit or '1'})"
        words = f"d values / d {path}; NaN for repeated values"
        fields[f"slopes.{path}"] = Variable(("sample", "value"), values, unit, words)
    return {**variables(found), **fields}


def group(system, samples, study, read) -> dict[str, Variable]:
    """Return mode shapes of an even subsample."""
    grid = sampling.grid_of(study.sampling, study.paths)
    options = study.analysis
    chosen = evenly_chosen(study.samples, grid, options.shapes)
    there = np.isfinite(read("values")[chosen]).all(axis=1)
    found = {
        i: _shapes_of(
            systems.replace(system, {p: v[i] for p, v in samples.items()}), options
        )
        for i in np.asarray(chosen)[there].tolist()
    }
    blank = next(iter(found.values()), None) or _shapes_of(system, options)
    blank = {
        key: replace(one, values=np.full_like(one.values, np.nan))
        for key, one in blank.items()
    }
    rows = [found.get(i, blank) for i in np.asarray(chosen).tolist()]
    fields = stacked(rows or [blank], "shape")
    if not rows:
        fields = {key: replace(one, values=one.values[:0]) for key, one in fields.items()}
    places = np.asarray(chosen, np.int64)
    return {"sample": Variable(("shape",), places, "", "sample"), **fields}


def summary(read: Callable, study: Any) -> list[str]:
    """Return certification, range, least damped value and crossings."""
    values, certified = read("values"), read("certified")
    repeated = int(read("repeated").sum())
    ratios = -values.real / np.where(values == 0, 1.0, np.abs(values))
    worst = np.unravel_index(np.nanargmin(ratios), ratios.shape)
    where = at(read, study, worst[0])
    where = f" at {where}" if where else ""
    ends = np.nanmin(np.abs(values)), np.nanmax(np.abs(values))
    lines = [
        f"certified  {int(np.sum(certified))} of {len(certified)}, {repeated} of them "
        "recomputed individually",
        f"values     {values.shape[1]} each, modulus "
        + study.quantity_text("rad/s", *ends, digits=6),
        f"least      damped: {study.quantity_text('rad/s', values[worst], digits=6)}"
        f"{where}",
    ]
    if not study.sampling.how.drawn and len(values) > 2:  # neighbours are in rows
        lines.append(f"curves     {_met(read, study)}")
    return lines


class _Designs:
    """A map from samples to systems; equal instances share a compiled form."""

    def __init__(self, system):
        leaves, structure = jax.tree.flatten(system)
        self._system = system
        self._key = (structure, tuple(np.asarray(leaf).tobytes() for leaf in leaves))

    def __call__(self, sample):
        return systems.replace(self._system, sample)

    def __eq__(self, other):
        return isinstance(other, _Designs) and self._key == other._key

    def __hash__(self):
        return hash(self._key)


def _of_one(system, count: int):
    """Return the result for a single system, as for one design."""
    found = modes.beam_eigenvalues(system, count=count)
    certified = np.asarray(found.certified)[None]
    return modes.BeamSpectra(
        np.asarray(found.values)[None],
        np.asarray(found.residuals)[None],
        certified,
        np.asarray(found.radius)[None],
        np.zeros(1, bool),
        np.where(certified, int(Reason.SUCCESS), int(Reason.NOT_CERTIFIED)),
    )


def _shapes_of(system, options: Options) -> dict[str, Variable]:
    """Return the mode shapes of a system as labelled arrays."""
    found = modes.beam_eigenvalues(system, count=options.count)
    points = np.linspace(0.0, float(system.beam.length), options.points)
    bodies = np.asarray(found.bodies)
    links = bodies @ np.asarray(system.link_map).T
    return {
        "values": Variable(("value",), np.asarray(found.values), "rad/s", "eigenvalues"),
        "points": Variable(("point",), points, "m", "points along the beam"),
        "shapes": Variable(
            ("value", "point"), np.asarray(found.shape(points)), "",
            "deflection V of the beam, largest is 1",
        ),
        "bodies": Variable(("value", "freedom"), bodies, "", "motions Z of the bodies"),
        "links": Variable(
            ("value", "link"), links, "", "motions D Z of the bodies at the links"
        ),
        "positions": Variable(
            ("link",), np.asarray(system.positions), "m", "positions of the links"
        ),
    }  # fmt: skip


def _met(read: Callable, study) -> str:
    """Return the counts of crossings, veerings and undecided encounters of curves."""
    grid = sampling.grid_of(study.sampling, study.paths)
    columns = {path: read(path) for path in study.paths}
    slopes = {path: read(f"slopes.{path}") for path in study.paths}
    rows = beam_curves.rows_of_curves(columns, grid, read("values"), slopes)
    kinds = [met.kind for _, curves in rows for met in beam_curves.meetings(curves)]
    counted = (kinds.count(kind) for kind in ("crossing", "veering", "undecided"))
    return "{} crossings, {} veerings, {} undecided".format(*counted)


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


def _rows(run: Run) -> list[tuple[np.ndarray, Any]]:
    columns = {path: run.field(path) for path in run.paths}
    slopes = {path: run.field(f"slopes.{path}") for path in run.paths}
    rows = beam_curves.rows_of_curves(
        columns, run.grid or None, run.field("values"), slopes
    )
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).round().astype(int)
    return [rows[i] for i in chosen]


def _x_path(run: Run) -> str:
    return max(run.grid, key=run.grid.__getitem__) if run.grid else run.paths[0]


def _choice(run: Run, rows) -> Choice | None:
    others = [path for path in run.grid if path != _x_path(run)]
    return choice_of(run, [row[0] for row, _ in rows], others)


def _over_path(runs: Sequence[Run], rows) -> Picture:
    run, choice = runs[0], _choice(runs[0], rows[0])
    path = _x_path(run)
    x = axis(run, path)
    moduli = np.abs(np.concatenate([each.field("values").ravel() for each in runs]))
    wide = bool(moduli.min() > 0 and moduli.max() > _WIDE * moduli.min())
    layers, ratios = [], []
    for number, each in enumerate(runs):
        for pick, (row, curves) in enumerate(rows[number]):
            here = pick if choice else None
            layers += _lines(runs, number, row, curves, path, here, np.abs)
            ratios += _lines(runs, number, row, curves, path, here, _damping_ratio)
            layers += _notes(each, row, beam_curves.meetings(curves), path, here)
    met = [m for _, curves in rows[0] for m in beam_curves.meetings(curves)]
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


def _lines(runs, number, row, curves, path, option, of) -> Iterator[Line]:
    run = runs[number]
    for colour, curve in enumerate(beam_curves.order_of(curves)):
        yield Line(
            run.field(path)[row],
            of(curves.values[curve]),
            named(f"value {colour + 1}", run, runs),
            *look(colour, number, runs),
            option=option,
            legend=False,
        )


def _notes(run: Run, row, found, path, option) -> Iterator[Notes]:
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
        for pick, (row, curves) in enumerate(rows[number]):
            here = pick if choice else None
            moved = np.broadcast_to(each.field(path)[row], curves.values.shape)
            known = np.isfinite(curves.values)
            for place, curve in enumerate(beam_curves.order_of(curves)):
                own = curves.values[curve][known[curve]]
                line = Line(own.real, own.imag, f"value {place + 1}",
                            *look(place, number, runs), legend=False)  # fmt: skip
                every.append(replace(line, option=here))
                single.append(replace(line, option=place))
                single.append(_dots(own, moved[curve][known[curve]], paint, place))
            every.append(_dots(curves.values[known], moved[known], paint, here))
    alt = f"Imaginary over real part of the eigenvalues as {path} grows."
    text = f"Eigenvalues in the closed upper half plane, coloured by {readable(path)}."
    chart = Chart(_RE, _IM, tuple(every))
    picture = Picture("root_locus", "Root locus", text, alt, (chart,), choice=choice)
    if choice is not None:
        return [picture]
    most = max(len(beam_curves.order_of(curves)) for _, curves in rows[0])
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
    return Scale.over(run.label(path), "sea", [run.field(path)], axis(run, path).log)


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


KIND = StudyKind(
    "beam_eigenvalues", Options, compute, summary, pictures,
    needs=frozenset({Role.BEAM}),
    groups={"mode_shapes": group},
    sample_bytes=lambda options: 24.0 * options.count * 3,
)  # fmt: skip
