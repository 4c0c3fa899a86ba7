"""The study `linear_motion`: free or forced motion of a linear system."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from .... import systems
from ...config.quantities import Asked, Places
from ...config.tables import Table, option
from ...pictures.layouts import beam_layout, row_layout
from ...pictures.motion import coarse
from ...pictures.picture import Axis, Chart, Choice, Line, Picture, Scene
from ...pictures.swept_lines import sample_lines
from ...pictures.swept_planes import slider_samples
from ...resources import lazily, library
from ...store.finished_study import Run
from .. import initial_state
from ..study_kind import Known, Role, StudyKind, freedoms, highest, mapped, where

jnp = lazily("jax.numpy")
motions = library("dynamics.assembly_motion")


def _of_force(given: Mapping, places: Places) -> Asked:
    return Asked("N m" if given.get("at") in places.angles else "N")


class Harmonic(Table):
    """A harmonic force F_0 cos(w t + phase), or moment, on one degree of freedom."""

    units_of: ClassVar = {"amplitude": _of_force}

    at: str | None = option(
        "degree of freedom on which it acts; none without a force", None,
        allowed="the name of a degree of freedom",
    )  # fmt: skip
    amplitude: float = option("0-peak, N, or N m on an angle", 1.0)
    frequency: float = option("angular frequency", 1.0, gt=0.0, unit="rad/s")
    phase: float = option("phase at t = 0", 0.0, unit="rad")


class Options(Table):
    """Initial state, force and times."""

    units_of: ClassVar = initial_state.UNITS

    kind: Literal["linear_motion"] = option("the kind of analysis")
    displacement: dict[str, float] = initial_state.displacement()
    velocity: dict[str, float] = initial_state.velocity()
    force: Harmonic = option("a harmonic force", Harmonic())
    duration: float = option("duration of the simulation", gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 481, ge=2, le=10_000)


def compute(system, options: Options, run):
    """Return the exact motion of a system, with the energies of its modules."""
    times = np.linspace(0.0, options.duration, options.points)
    start = initial_state.beside_rest(system, options)
    force, loads = options.force, ()
    if force.at is not None:
        numbers = force.amplitude, force.frequency, force.phase
        law = systems.HarmonicLoad(*map(jnp.asarray, numbers))
        loads = (systems.AppliedLoad(system.direction(force.at), law),)
    return motions.assembly_motion(system, start, times, loads=loads)


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest displacements over all samples, of up to five bodies."""
    names, units = study.axes["freedom"], study.freedom_units
    places, times = np.abs(read("places")), read("instants")[0]
    return [
        f"largest    {name} "
        f"{study.quantity_text(units[i], places[sample, at, i], digits=4)} at "
        f"t = {study.quantity_text('s', times[at], digits=4)}"
        f"{where(read, study, sample)}"
        for i, (name, sample, at) in enumerate(highest(places, names))
    ]


_MOST_SAMPLES = 8  # selectable by the slider
_MOST_FRAMES = 480  # of the animation: 20 s at 24 per second
_IN_FILES = 4  # times in the picture files


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return displacements, energies, and the animation of the first study."""
    run = runs[0]
    samples, choice = slider_samples(run, _MOST_SAMPLES)
    return [_freedoms(runs, choice), _moving(run, samples, choice),
            _energies(run, samples, choice)]  # fmt: skip


def _freedoms(runs: Sequence[Run], choice: Choice | None) -> Picture:
    turns = runs[0].field("rotations")[0] > 0
    charts = []
    for label, kind in (("displacement (m)", ~turns), ("rotation (rad)", turns)):
        only = np.flatnonzero(kind).tolist()
        lines = sample_lines(
            runs, "instants", "places", "freedom", most=_MOST_SAMPLES, only=only
        )
        charts += [Chart(Axis("time (s)"), Axis(label), lines)] * bool(only)
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
    charts = []
    for field, label in (
        ("potential", "potential energy (J)"),
        ("kinetic", "kinetic energy (J)"),
        ("dissipated", "power lost (W)"),
    ):
        values = run.field(field)
        only = [i for i in range(values.shape[2]) if np.any(values[samples, :, i])]
        lines = sample_lines(
            [run], "instants", field, "module", most=_MOST_SAMPLES, only=only
        )
        charts += [Chart(Axis("time (s)"), Axis(label), lines)] * bool(only)
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


def _excited(options: Options, known: Known) -> None:
    if not options.displacement and not options.velocity and options.force.at is None:
        raise ValueError(
            "no excitation; allowed: a displacement, a velocity or a force on a "
            "degree of freedom"
        )


def _named(options: Options) -> list[str]:
    forced = [] if options.force.at is None else [options.force.at]
    return [*initial_state.named(options), *forced]


KIND = StudyKind(
    "linear_motion", Options, mapped(compute), summary, pictures,
    needs=frozenset({Role.LINEAR}),
    checks=(_excited, freedoms(_named)),
    sample_bytes=lambda options: 150.0 * options.points,
)  # fmt: skip
