"""The study `chain_motion`: motions of single chains."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .... import dynamics, systems
from ...config import samples as sampled
from ...config.tables import Table, option
from ...pictures.layouts import chain_layout
from ...pictures.motion import coarse
from ...pictures.picture import Axis, Cells, Chart, Choice, Line, Picture, Scale, Scene
from ...pictures.swept_lines import look, named
from ...pictures.swept_planes import choice_of, sample_text, slider_samples
from ...resources import lazily, library
from ...store.fields import Variable, variables
from ...store.finished_study import Run
from ...store.subsample import evenly_chosen
from ..study_kind import Known, Role, StudyKind, at

arrays = library("foundation.arrays")
eqx = lazily("equinox")
jax = lazily("jax")
jnp = lazily("jax.numpy")


class Ground(Table):
    """A spring from every body to the ground, f = -k y - c y^3."""

    stiffness: float = option(
        "k of a spring from every body to the ground", 0.0, unit="N/m"
    )
    cubic: float = option("c of a spring from every body to the ground", 0.0, unit="N/m^3")


class Stopped(Table):
    """A Hertz stop at a distance from a body."""

    body: int = option("the body that can hit the stop", ge=0)
    gap: float = option("gap at rest", unit="m")
    stiffness: float = option("Hertz stiffness K of the contact", gt=0.0, unit="N/m^1.5")


class Options(Table):
    """Initial state, duration, ground springs and stops of a chain."""

    kind: Literal["chain_motion"] = option("the kind of analysis")
    start: Literal["packet", "kick", "random"] = option(
        "initial state of the chain", "packet"
    )
    branch: Literal["lower", "upper"] = option("dispersion branch of a packet", "lower")
    wave_number: float = option(
        "wave number of a packet", 1.0, ge=-3.2, le=3.2, unit="rad/body"
    )
    width: float = option("width of a packet", 8.0, gt=0.0, unit="bodies")
    body: int = option("the kicked body, or the centre of a packet", 0, ge=0)
    velocity: float = option("velocity of the kicked body", 1.0, unit="m/s")
    angular_velocity: float = option(
        "angular velocity of the kicked body", 0.0, unit="rad/s"
    )
    rotational: float = option(
        "rotational share of the energy of random velocities", 0.0, ge=0.0, le=1.0
    )
    duration: float = option("duration of the simulation", 64.0, gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 257, ge=2, le=10_000)
    ground: Ground = option("springs to the ground", Ground())
    stops: list[Stopped] = option(
        "stops", [], max_length=1000,
        allowed="tables with body, gap and stiffness",
    )  # fmt: skip
    step: float | None = option(
        "largest step size with stops or ground springs", None, gt=0.0,
        unit="s", allowed="(0, inf) s",
    )  # fmt: skip


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return the motions of samples: energies over time, and the bands of waves."""
    times = np.linspace(0.0, options.duration, options.points)

    def moved(chain):
        start = first_state(chain, options, run.seed)
        return dynamics.chain_motion(chain, start, times, **_forces(options))

    return each_chain(moved, system, samples, progress)


def group(system, samples, study, read) -> dict[str, Variable]:
    """Return the energy density and frames of an even subsample."""

    def start(chain):
        return first_state(chain, study.analysis, study.run.seed)

    return fields_of_chains(system, samples, study, start, **_forces(study.analysis))


def summary(read: Callable, study: Any) -> list[str]:
    """Return the mean energies and fluctuations of up to four samples."""
    lines = []
    for sample in range(min(4, len(read("result")))):
        where = at(read, study, sample)
        where = f"{where}: " if where else ""
        parts = ", ".join(
            f"{kind} {read(f'statistics.mean.{kind}')[sample]:.4g} +- "
            f"{read(f'statistics.fluctuation.{kind}')[sample]:.2g} J"
            for kind in ("translational", "rotational", "potential")
        )
        lines.append(f"energies   {where}{parts} (mean over time +- fluctuation)")
    return [*lines, f"energy     conserved to {read('energy_change').max():.1g}"]


def _forces(options) -> dict:
    """Return the nonlinear forces of a chain, with the step size."""
    ground = (options.ground.stiffness, options.ground.cubic)
    springs = (dynamics.CubicGround(*map(jnp.asarray, ground)),) if any(ground) else ()
    stops = tuple(
        dynamics.Stop(
            stop.body,
            jnp.asarray(stop.gap),
            systems.HertzContact(jnp.asarray(stop.stiffness)),
        )
        for stop in options.stops
    )
    return {"forces": (*springs, *stops), "step": options.step}


def first_state(chain, options: Options, seed: int) -> Any:
    """Return the initial state of a chain. **Raises:** `ValueError` if invalid."""
    return _STARTS[options.start](chain, options, seed)


def _packet(chain, options, seed: int):
    # of the chain without defects, which the packet has not reached yet
    plain = systems.BeamChain(
        chain.bodies, chain.gamma, chain.ends, mass=chain.mass, length=chain.length,
        bending_stiffness=chain.bending_stiffness,
    )  # fmt: skip
    return dynamics.wave_packet(
        plain, float(options.body), options.width, options.wave_number,
        upper=options.branch == "upper",
    )  # fmt: skip


def _kick(chain, options, seed: int):
    return dynamics.kick(chain, options.body, options.velocity, options.angular_velocity)


def _random(chain, options, seed: int):
    key = jax.random.fold_in(jax.random.key(seed), 0)
    return dynamics.random_velocities(chain, key, 1.0, options.rotational)


_STARTS = {"packet": _packet, "kick": _kick, "random": _random}


_MOST_SAMPLES = 4  # with stored fields, each bodies x times
_MOST_TIMES = 257  # of the space-time picture
_MOST_FRAMES = 480  # of the animation, over all samples: 20 s at 24 per second


def each_chain(function, system, samples, progress) -> dict[str, Variable]:
    """Return the results of a function of one chain for samples, compiled once."""

    @eqx.filter_jit
    def compiled(values):
        return function(systems.replace(system, values))

    rows = []
    for values in zip(*samples.values(), strict=True) if samples else [()]:
        rows.append(
            compiled({p: np.asarray(v) for p, v in zip(samples, values, strict=True)})
        )
        progress(1)
    return variables(arrays.stack_lanes(rows), ("sample",))


def fields_of_chains(system, values, study, start, **moved) -> dict[str, Variable]:
    """Return the fields of an even subsample; `start` gives a chain's initial state.

    `moved` contains further arguments of `chain_fields`.
    """
    options = study.analysis
    grid = sampled.grid_of(study.sampling, study.paths) if study.paths else None
    chosen = evenly_chosen(study.samples, grid, _MOST_SAMPLES)
    times = np.linspace(0.0, options.duration, min(options.points, _MOST_TIMES))
    frames = _MOST_FRAMES // len(chosen) + 1

    @eqx.filter_jit
    def fields(here):
        chain = systems.replace(system, here)
        return dynamics.chain_fields(chain, start(chain), times, frames, **moved)

    rows = [fields({path: column[i] for path, column in values.items()}) for i in chosen]
    return {
        "sample": Variable(("trace",), chosen, "", "position along sample"),
        "instants": Variable(("time",), times, "s", "time"),
        **variables(arrays.stack_lanes(rows), ("trace",)),
    }


_MOST_BODIES = 192  # in the animation: more would be below screen resolution
_MOST_CELLS = 256  # along one axis of the space-time picture
_MOMENTS = 31  # times at which moments and shears are shown
_IN_FILES = 4  # samples and times in the picture files
_MOST_MARKED = 12  # defects; more would hide the chain
_KINDS = ("translational", "rotational", "potential")


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return energies over time, the animation and the dispersion of a chain."""
    return [_energies(runs), *chain_pictures(runs[0]), _bands(runs)]


def chain_pictures(run: Run) -> list[Picture]:
    """Return stored fields of chains: animation, energy density, moments, shears."""
    if run.motion is None:
        return []
    return [_moving(run), _density(run), _moments(run)]


def _energies(runs: Sequence[Run]) -> Picture:
    run, several, lines = runs[0], runs[0].size > 1, []
    for number, each in enumerate(runs):
        for sample in range(each.size):
            time = each.field("instants")[sample]
            for i, kind in enumerate(_KINDS):
                name = named(kind, each, runs)
                option = sample if several else None
                colour, style = look(i, number, runs)
                curve = each.field(kind)[sample]
                lines.append(Line(time, curve, name, colour, style, option=option))
                mean = each.field(f"statistics.mean.{kind}")[sample]
                level = np.full(2, mean)
                lines.append(
                    Line(time[[0, -1]], level, f"mean {name}", colour, "dot", option=option,
                         legend=False)
                )  # fmt: skip
    spread = ", ".join(
        f"{kind} {run.field(f'statistics.mean.{kind}')[0]:.3g} +- "
        f"{run.field(f'statistics.fluctuation.{kind}')[0]:.2g} J"
        for kind in _KINDS
    )
    return Picture(
        "energies",
        "Energies over time",
        "Dotted: time averages. Averages and their "
        f"root-mean-square fluctuations{' of the first sample' * several}: {spread}.",
        "Translational and rotational kinetic energy and potential energy over time.",
        (Chart(Axis("time (s)"), Axis("energy (J)"), tuple(lines)),),
        choice=slider_samples(run, run.size)[1],
    )


def _moving(run: Run) -> Picture:
    states = run.motion["states"].values  # (samples, frames, fields, bodies)
    frames = run.motion["frames"].values[0]
    chain = run.study["config"]["system"]
    bodies = states.shape[-1]
    first = 0
    if bodies > _MOST_BODIES:  # those around the initial position of the energy
        centre = int(run.motion["density"].values[0, 0].argmax())
        first = int(np.clip(centre - _MOST_BODIES // 2, 0, bodies - _MOST_BODIES))
    shown = slice(first, first + _MOST_BODIES)
    states = states[..., shown]
    count = states.shape[-1]
    if chain["ends"] in ("periodic", "free"):
        # without the rigid-body motion of a free chain
        states = states.copy()
        states[:, :, ::2] -= states[:, :, ::2].mean(-1, keepdims=True)
    both = coarse(states.reshape(*states.shape[:2], 2, 2 * count))
    complete = count == bodies
    layout = chain_layout(count, chain["length"], chain["ends"] if complete else "free")
    marked = [int(at) - first for name, at in _defects(run).items() if "body" in name]
    layout["marked"] = [k for k in marked if 0 <= k < count]
    picks = {}
    if len(states) > 1:
        samples = run.motion["sample"].values
        picks["sample"] = tuple(sample_text(run, sample) for sample in samples)
    scene = Scene(
        "motion",
        layout,
        picks,
        places=both[:, :, 0],
        rates=both[:, :, 1],
        duration=float(frames[-1]),
    )
    part = "" if complete else f" Shown: bodies {first} to {first + count - 1} of {bodies}."
    return Picture(
        "chain_motion",
        "Animation of the chain",
        "Each beam is drawn as its cubic, each body rotated; displacements and slopes are "
        "magnified; the mean motion of a free chain is subtracted."
        f"{part}{_defect_sentence(run)}",
        "Animated bodies and beams of the chain.",
        tuple(_static_chart(both[0, i, 0], chain["length"], t) for i, t in _evenly(frames)),
        view="scene",
        scene=scene,
    )


def _static_chart(place: np.ndarray, length: float, time: float) -> Chart:
    y, angle = place.reshape(2, -1)
    s = np.linspace(0.0, 1.0, 9)[:-1, None]
    cubic = (
        (1 - 3 * s**2 + 2 * s**3) * y[:-1]
        + (s - 2 * s**2 + s**3) * length * angle[:-1]
        + (3 * s**2 - 2 * s**3) * y[1:]
        + (s**3 - s**2) * length * angle[1:]
    )
    along = np.arange(len(y) - 1) + s
    line = Line(along.T.ravel(), cubic.T.ravel(), "beams", 0, legend=False)
    return Chart(Axis("body"), Axis("displacement (m)"), (line,), f"t = {time:.4g} s")


def _density(run: Run) -> Picture:
    time, samples = run.motion["instants"].values, run.motion["sample"].values
    several = len(samples) > 1
    walls = run.study["config"]["system"]["ends"] == "clamped"
    charts, most = [], 1
    for field, label, colours, first in (
        ("density", "energy of a body (J)", "sea", 0.0),
        ("flux", "energy flux to the right (W)", "balance", 0.5 - walls),
    ):
        values = run.motion[field].values
        steps = [max(1, -(-size // _MOST_CELLS)) for size in values.shape[1:]]
        values = values[:, :: steps[0], :: steps[1]]
        most = max(most, *steps)
        top = float(np.quantile(np.abs(values), 0.998)) or 1.0
        paint = Scale(label, colours, -top if colours == "balance" else 0.0, top)
        places = first + np.arange(values.shape[2]) * float(steps[1])
        layers = tuple(
            Cells(places, time[:: steps[0]], sheet, paint, option=i if several else None)
            for i, sheet in enumerate(values)
        )
        places_of = tuple(_at_defect(at, time[[0, -1]]) for at in _defects(run).values())
        charts.append(Chart(Axis("body"), Axis("time (s)"), layers + places_of, label))
    thinned = f" One in {most} values is shown." * (most > 1)
    return Picture(
        "energy_density",
        "Energy in space and time",
        "Energy of each body and half of its beams, and the power transmitted by each "
        "beam; waves are stripes whose slope is the group velocity."
        f"{thinned}{_defect_sentence(run)}",
        "Maps of the energy of each body and of the flux through each beam over time.",
        tuple(charts),
        choice=choice_of(run, samples),
    )


def _moments(run: Run) -> Picture:
    moments, shears = (run.motion[name].values[0] for name in ("moments", "shears"))
    frames = run.motion["frames"].values[0]
    chosen = _evenly(frames, _MOMENTS)
    starts = np.arange(shears.shape[1]) - (
        run.study["config"]["system"]["ends"] == "clamped"
    )
    along = np.stack([starts, starts + 1], -1).ravel()
    charts = []
    for label, ends in (
        ("bending moment E J_b y'' (N m)", moments),
        ("shear E J_b y''' (N)", np.stack([shears, shears], -1)),
    ):
        limit = 1.05 * float(np.abs(ends).max()) or 1.0
        lines = tuple(
            Line(along, ends[i].ravel(), label, 0,
                 option=option, legend=False)
            for option, (i, _) in enumerate(chosen)
        )  # fmt: skip
        ends = np.array([-limit, limit])
        lines += tuple(_at_defect(at, ends) for at in _defects(run).values())
        charts.append(Chart(Axis("body"), Axis(label, low=-limit, high=limit), lines))
    return Picture(
        "moments",
        "Bending moment and shear along the beams",
        "For the first stored chain. The moment is linear along each beam and the shear "
        "constant; both jump at a body, due to its inertia and mass.",
        "Bending moment and shear along every beam, at the time of the slider.",
        tuple(charts),
        choice=Choice("time", tuple(f"t = {time:.4g} s" for _, time in chosen)),
    )


def _defects(run: Run) -> dict[str, float]:
    """Return a description and the position of each defect, if there are few."""
    chain = run.study["config"]["system"]
    half = 0.5 - (chain["ends"] == "clamped")
    places = {
        f"{kind} {defect[kind]}": float(defect[kind] + (half if kind == "beam" else 0))
        for defect in chain.get("defects") or []
        for kind in ("body", "beam")
        if defect.get(kind) is not None
    }
    return places if len(places) <= _MOST_MARKED else {}


def _defect_sentence(run: Run) -> str:
    found = ", ".join(_defects(run))
    return f" Marked: {found}." if found else ""


def _at_defect(place: float, ends: np.ndarray) -> Line:
    return Line(np.full(2, place), ends, "defect", 1, "dash", legend=False)


def _bands(runs: Sequence[Run]) -> Picture:
    charts = []
    for label, fields, title in (
        ("frequency (rad/s)", ("lower", "upper"), "dispersion"),
        ("group velocity (bodies/s)", ("lower_velocity", "upper_velocity"), "velocity"),
    ):
        lines = []
        for number, run in enumerate(runs):
            for sample in range(min(_IN_FILES, run.size)):
                waves = run.field("wave_numbers")[sample]
                at = named(sample_text(run, sample), run, runs)
                for i, field in enumerate(fields):
                    name = ", ".join(filter(None, (("lower", "upper")[i], at)))
                    drawn = look(2 * sample + i, number, runs)
                    lines.append(Line(waves, run.field(field)[sample], name, *drawn))
        charts.append(
            Chart(Axis("wave number (rad/body)"), Axis(label), tuple(lines), title)
        )
    return Picture(
        "bands",
        "Dispersion: both branches",
        "Frequencies of an infinite chain without defects, and the group velocities of "
        "wave packets.",
        "Frequency and group velocity of both branches over wave number.",
        tuple(charts),
    )


def _evenly(times: np.ndarray, most: int = _IN_FILES) -> list[tuple[int, float]]:
    chosen = np.unique(np.linspace(0, len(times) - 1, min(most, len(times))).astype(int))
    return [(int(i), float(times[i])) for i in chosen]


def _fits(options: Options, known: Known) -> None:
    if known.system is None:
        return
    first_state(known.system, options, 0)
    for stop in options.stops:
        if stop.body >= known.system.bodies:
            raise ValueError(f"stops: body = {stop.body} is not in the chain")


KIND = StudyKind(
    "chain_motion", Options, compute, summary, pictures,
    needs=frozenset({Role.CHAIN}),
    checks=(_fits,),
    groups={"motion": group},
    sample_bytes=lambda options: 32.0 * options.points,
)  # fmt: skip
