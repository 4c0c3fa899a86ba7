"""Pictures of a linear motion: displacements, animation, energies of modules."""

from collections.abc import Sequence

import numpy as np

from ...pictures.comparison_styles import look, named
from ...pictures.layouts import beam_layout, row_layout
from ...pictures.motion import coarse
from ...pictures.picture import Axis, Chart, Choice, Line, Picture, Scene
from ...pictures.swept_planes import slider_samples
from ...store.finished_study import Run

_MOST_SAMPLES = 8  # selectable by the slider
_MOST_FRAMES = 480  # of the animation: 20 s at 24 per second
_IN_FILES = 4  # times in the picture files


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return displacements, energies, and the animation of the first study."""
    run = runs[0]
    samples, choice = slider_samples(run, _MOST_SAMPLES)
    return [_freedoms(runs, samples, choice), _moving(run, samples, choice),
            _energies(run, samples, choice)]  # fmt: skip


def _freedoms(runs: Sequence[Run], samples, choice: Choice | None) -> Picture:
    turns = runs[0].field("rotations")[0] > 0
    charts = []
    for label, kind in (("displacement (m)", ~turns), ("rotation (rad)", turns)):
        if not kind.any():
            continue
        lines = []
        for number, run in enumerate(runs):
            names = run.names("freedom", len(turns))
            for option, sample in enumerate(samples):
                for freedom in np.flatnonzero(kind):
                    lines.append(
                        Line(
                            run.field("instants")[sample],
                            run.field("places")[sample, :, freedom],
                            named(names[freedom], run, runs),
                            *look(int(freedom), number, runs),
                            option=option if choice else None,
                        )
                    )
        charts.append(Chart(Axis("time (s)"), Axis(label), tuple(lines)))
    return Picture(
        "freedoms",
        "Motion over time",
        "Every degree of freedom, by exact propagation between the given times; values "
        "in between are not computed.",
        "Displacements and rotations over time.",
        tuple(charts),
        choice=choice,
    )


def _energies(run: Run, samples, choice: Choice | None) -> Picture:
    names = run.names("module", run.field("kinetic").shape[2])
    charts = []
    for field, label in (
        ("potential", "potential energy (J)"),
        ("kinetic", "kinetic energy (J)"),
        ("dissipated", "power lost (W)"),
    ):
        values = run.field(field)
        shown = [i for i in range(len(names)) if np.any(values[samples, :, i])]
        if shown:
            lines = tuple(
                Line(
                    run.field("instants")[sample],
                    values[sample, :, i],
                    names[i],
                    i,
                    option=option if choice else None,
                )
                for option, sample in enumerate(samples)
                for i in shown
            )
            charts.append(Chart(Axis("time (s)"), Axis(label), lines))
    return Picture(
        "module_energies",
        "Energy in each module",
        "Stored and dissipated energy of each module; modules without energy are omitted.",
        "Potential and kinetic energy and lost power of each module over time.",
        tuple(charts),
        choice=choice,
    )


def _moving(run: Run, samples, choice: Choice | None) -> Picture:
    turns = run.field("rotations")[0] > 0
    names = run.names("freedom", len(turns))
    table = run.study["config"]["system"]["modules"]
    thin = max(1, -(-(run.field("instants").shape[1] - 1) // _MOST_FRAMES))
    times = run.field("instants")[0, ::thin]
    both = [
        run.field(field)[samples, ::thin].astype(float) for field in ("places", "rates")
    ]
    layout = beam_layout(table, names)
    how = "Beams are drawn as their cubics, displacements and slopes magnified."
    if layout is None:
        layout = row_layout(table, names, turns)
        how = "Translations and rotations are drawn at separate scales."
        scale = np.ones(len(names))
        for kind in (turns, ~turns):
            scale[kind] = np.abs(both[0][..., kind]).max(initial=0.0) or 1.0
        both = [values / scale for values in both]
    scene = Scene(
        "motion",
        layout,
        {"sample": choice.options} if choice else {},
        places=coarse(both[0]),
        rates=coarse(both[1]),
        duration=float(times[-1]),
    )
    chosen = np.unique(np.linspace(0, len(times) - 1, _IN_FILES).astype(int))
    return Picture(
        "assembly_motion",
        "Animation of the system",
        how,
        "Animated bodies of the system.",
        tuple(_still(both[0][0, i], names, float(times[i])) for i in chosen),
        view="scene",
        scene=scene,
    )


def _still(place: np.ndarray, names: list[str], time: float) -> Chart:
    levels = np.arange(len(names), dtype=float)
    line = Line(place, levels, "place", 0, legend=False, marks=True)
    y = Axis("", ticks=tuple(names))
    return Chart(Axis("position, to scale"), y, (line,), f"t = {time:.4g} s")
