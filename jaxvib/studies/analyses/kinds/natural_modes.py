"""The study `natural_modes` of assembled systems."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .... import ensemble
from ...config.tables import Table, option
from ...pictures.layouts import beam_layout, row_layout
from ...pictures.picture import Axis, Cells, Chart, Choice, Line, Picture, Scale, Scene
from ...pictures.swept_lines import look, named
from ...pictures.swept_planes import (
    axis,
    choice_of,
    long_paths,
    sample_text,
    slider_samples,
)
from ...resources import lazily, library
from ...store.fields import Variable, variables
from ...store.finished_study import Run, readable
from ...systems.kinds import SYSTEMS
from ..study_kind import Known, Role, StudyKind

arrays = library("foundation.arrays")
jax = lazily("jax")
kernels = library("kernels.calls.kernel_cache")
of_samples = library("studies.analyses.sample_systems")
mode_tables = library("modes.energy_shares")


class Options(Table):
    """No options: all modes are computed."""

    kind: Literal["natural_modes"] = option("the kind of analysis")


_LISTED = 4  # modes in the summary


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return the modes of samples, each field along the axis `sample`."""
    leaves, static = arrays.partition_arrays(of_samples.each_system(system, samples))
    found = ensemble.map_samples(_undamped(static), leaves, progress=progress)
    count, part = len(found.modes.frequencies), system.linear_part()
    tables = [
        mode_tables.mode_table(part, jax.tree.map(lambda leaf, i=i: leaf[i], found))
        for i in range(count)
    ]
    return variables(arrays.stack_lanes(tables), ("sample",))


@functools.lru_cache(maxsize=32)
def _undamped(static):
    def stage(leaves):
        return mode_tables.undamped(arrays.combine_arrays(leaves, static).linear_part())

    return kernels.cached_kernel(stage, static)


def summary(read: Callable, study: Any) -> list[str]:
    """Return the lowest modes of the first sample with their dominant parts."""
    frequencies, ratios = read("frequencies"), read("damping_ratios")
    missing = np.isnan(frequencies)
    spins = missing.all(1) & np.isfinite(read("damped_frequencies")).any(1)
    names = study.axes
    lines = []
    for mode in range(0 if spins.all() else min(_LISTED, frequencies.shape[1])):
        module = names["module"][int(read("potential_shares")[0, :, mode].argmax())]
        freedom = names["freedom"][int(read("kinetic_shares")[0, :, mode].argmax())]
        spread = _spread(frequencies[:, mode], study)
        lines.append(
            f"mode {mode + 1}     {spread}, damping ratio {ratios[0, mode]:.3g}, "
            f"largest strain energy {module}, largest motion {freedom}"
        )
    falling = int((missing.any(1) & ~spins).sum())
    lines += [
        f"unstable   {falling} samples are statically unstable (no real frequency)"
    ] * bool(falling)
    if spins.any():
        what = "are gyroscopic or unstable in every mode: see damped_frequencies"
        lines.append(f"no modes   {spins.sum()} samples {what}")
    return lines


def _spread(values, study: Any) -> str:
    low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
    if not np.isfinite(low):
        return "no frequency"
    ends = (low,) if low == high else (low, high)
    return study.quantity_text("rad/s", *ends, digits=6)


_MOST_MODES = 24  # more could not be distinguished
_IN_FILES = 6  # modes in the picture files


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of a study of modes; of two studies, both curves."""
    run = runs[0]
    samples, _ = slider_samples(run)
    swept = [] if run.size == 1 else [
        _over_path(runs, "frequencies", "natural frequency (rad/s)", "Natural frequencies"),
        _over_path(runs, "damping_ratios", "damping ratio", "Damping ratios"),
    ]  # fmt: skip
    return [_shapes(run, samples), *swept, _energies(run, samples)]


def _shapes(run: Run, samples: list[int]) -> Picture:
    modes = slice(0, _MOST_MODES)
    frequencies = run.field("frequencies")[samples, modes]
    shapes = np.moveaxis(run.field("shapes")[samples], 1, 2)[:, modes]
    kinetic = np.moveaxis(run.field("kinetic_shares")[samples], 1, 2)[:, modes]
    turns = run.field("rotations")[0] > 0
    names = run.names("freedom", len(turns))
    config = run.study["config"]["system"]
    table = SYSTEMS[config["kind"]].modules(config)
    layout = beam_layout(table, names)
    if layout is None:
        layout = row_layout(table, names, turns)
        drawn = _each_kind_by_itself(shapes, kinetic, turns)
        how = (
            "Translations and rotations are drawn at separate scales, smaller for the "
            "kind with less of the kinetic energy."
        )
    else:
        moving = np.array([name.endswith(".y") for name in names])
        largest = np.abs(np.where(moving, shapes, 0)).max(-1, keepdims=True)
        drawn = shapes / np.where(largest > 0, largest, 1.0)
        how = "Beams are drawn as their cubics, with their true slopes at this scale."
    ratios = run.field("damping_ratios")[samples[0]]
    labels = tuple(
        f"{i + 1}: {_rate(run, frequencies[0, i])}{_damping(ratios[i])}"
        for i in range(frequencies.shape[1])
    )
    numbers = tuple(str(i + 1) for i in range(len(labels)))
    picks = {"mode": labels if len(samples) == 1 else numbers}
    if len(samples) > 1:
        picks["sample"] = tuple(sample_text(run, sample) for sample in samples)
    scene = Scene("modes", layout, picks, shapes=drawn, frequencies=frequencies)
    return Picture(
        "mode_shapes",
        "Mode shapes",
        f"One undamped mode at a time, at reduced or increased speed. {how}",
        "Animated bodies of the system in the selected mode.",
        tuple(
            _static(run, drawn[0, i], names, labels[i])
            for i in range(min(_IN_FILES, len(labels)))
        ),
        view="scene",
        scene=scene,
    )


def _static(run: Run, shape: np.ndarray, names: list[str], title: str) -> Chart:
    places = np.arange(len(names), dtype=float)
    gap = np.full(len(names), np.nan)
    stems = np.stack([np.zeros(len(names)), shape, gap], -1)
    ends = np.stack([shape, gap, gap], -1)
    levels = np.repeat(places, 3)
    lines = (
        Line(stems.ravel(), levels, "shape", 0, legend=False),
        Line(ends.ravel(), levels, "shape", 0, legend=False, marks=True),
    )
    return Chart(
        Axis("amplitude", low=-1.1, high=1.1), Axis("", ticks=tuple(names)), lines, title
    )


def _each_kind_by_itself(shapes, kinetic, turns) -> np.ndarray:
    drawn = np.zeros_like(shapes)
    energies = np.stack([np.where(kind, kinetic, 0).sum(-1) for kind in (turns, ~turns)])
    scale = np.sqrt(np.clip(energies / np.maximum(energies.max(0), 1e-300), 0, 1))
    for kind, share in zip((turns, ~turns), scale, strict=True):
        own = np.where(kind, shapes, 0)
        largest = np.abs(own).max(-1, keepdims=True)
        drawn += own / np.where(largest > 0, largest, 1.0) * share[..., None]
    return np.where(np.isfinite(drawn), drawn, 0.0)


def _over_path(runs: Sequence[Run], field: str, label: str, title: str) -> Picture:
    run = runs[0]
    path = (long_paths(run) or run.paths)[0]
    x = axis(run, path)
    sheets, choice = _sheets(run, path)
    layers = []
    for number, each in enumerate(runs):
        values = each.field(field)
        for pick, samples in enumerate(sheets):
            for mode in range(min(values.shape[1], _MOST_MODES)):
                layers.append(
                    Line(
                        each.field(path)[samples],
                        values[samples, mode],
                        named(f"mode {mode + 1}", each, runs),
                        *look(mode, number, runs),
                        option=pick if choice else None,
                        marks=len(samples) < 60,
                    )
                )
    return Picture(
        field,
        f"{title} over {readable(path)}",
        "All modes, ascending in frequency: curves that meet exchange their modes."
        + " The slider sets the other swept paths." * bool(choice),
        f"{title} over {x.label}, one curve for each mode.",
        (Chart(x, Axis(label), tuple(layers)),),
        choice=choice,
    )


def _sheets(run: Run, path: str) -> tuple[list[np.ndarray], Choice | None]:
    """Return samples along a path, one list for each value of the other paths."""
    numbers = np.arange(run.size)
    others = [other for other in run.grid if other != path and run.grid[other] > 1]
    if not run.grid or not others:
        return [numbers[np.argsort(run.field(path), kind="stable")]], None
    position = list(run.grid).index(path)
    lines = np.moveaxis(numbers.reshape(tuple(run.grid.values())), position, -1)
    lines = lines.reshape(-1, run.grid[path])
    lines = lines[np.linspace(0, len(lines) - 1, min(len(lines), 64)).astype(int)]
    return list(lines), choice_of(run, lines[:, 0], others)


def _energies(run: Run, samples: list[int]) -> Picture:
    charts = []
    for field, along, title in (
        ("potential_shares", "module", "potential energy, by module"),
        ("kinetic_shares", "freedom", "kinetic energy, by degree of freedom"),
    ):
        values = run.field(field)[samples][..., :_MOST_MODES]
        names = tuple(run.names(along, values.shape[1]))
        modes = np.arange(values.shape[2], dtype=float)
        places = np.arange(values.shape[1], dtype=float)
        paint = Scale("share", "sea", 0.0, 1.0)
        options = range(len(samples)) if len(samples) > 1 else [None]
        layers = tuple(
            Cells(modes, places, sheet, paint, option=pick)
            for pick, sheet in zip(options, values, strict=True)
        )
        ticks = tuple(str(i + 1) for i in range(len(modes)))
        charts.append(
            Chart(Axis("mode", ticks=ticks), Axis("", ticks=names), layers, title)
        )
    return Picture(
        "energy_shares",
        "Energy distribution of each mode",
        "Shares of a mode's potential energy in the modules, and of its kinetic energy in "
        "the degrees of freedom; each column adds up to 1 (a motion without strain has "
        "none).",
        "Two maps of shares of energy: modules and degrees of freedom over modes.",
        tuple(charts),
        choice=choice_of(run, samples),
    )


def _rate(run: Run, value: float) -> str:
    shown = run.quantity_text("rad/s", value, digits=4)
    return shown if np.isfinite(value) else "unstable"


def _damping(ratio: float) -> str:
    return f", damping {ratio:.3g}" if np.isfinite(ratio) else ""


def _springs(options: Options, known: Known) -> None:
    if known.system is not None and known.system.springs:
        raise ValueError(
            "the system has nonlinear springs; allowed: modules, contacts, "
            "frictions and loads, or in Python `jv.natural_modes`, which linearises"
        )


KIND = StudyKind(
    "natural_modes", Options, compute, summary, pictures,
    needs=frozenset({Role.MODULES}),
    checks=(_springs,),
    sample_bytes=lambda options: 3000.0,
)  # fmt: skip
