"""The study `basins`: the attractor of each initial state in a plane."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from .... import orbits
from ....drawing import colours
from ....foundation.suggestions import unknown_key
from ...config.bounds import BoundsByPath
from ...config.quantities import ByKey, Places
from ...config.tables import Table, option
from ...pictures.picture import Axis, Cells, Chart, Classes, Notes, Picture, Scale, Share
from ...pictures.swept_planes import MOST_CELLS
from ...resources import library
from ...store.fields import Variable, orbit_variables, variables
from ...store.finished_study import Run
from ..study_kind import Known, Role, StudyKind, once

basin_pictures = library("orbits.pictures")
attractors_of = library("orbits.searches.attractors")
shocks_of = library("orbits.searches.smallest_shock")


def _states(given: Mapping, places: Places) -> ByKey:
    return places.state


UnitByComponent = dict[str, Annotated[float, Field(gt=0.0, allow_inf_nan=False)]]


class BasinTable(Table):
    """Grid of initial states, limits of the integration, and shocks."""

    units_of: ClassVar = {"grid": _states, "shock": _states}

    kind: str = option("the kind of analysis")
    grid: BoundsByPath = option(
        "ranges of two components of the state at t = 0; the others at rest", min_length=2,
        max_length=2, allowed="component = [lowest, highest] for two components",
    )  # fmt: skip
    points: int = option("initial states along each component", 64, ge=2, le=2000)
    period: float | None = option(
        "only for systems under constant loads: approximate period of the motions, used to "
        "sample their states", None, gt=0.0, unit="s", allowed="(0, inf) s",
    )  # fmt: skip
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    transient: int = option(
        "load periods after which a motion counts as undecided or aperiodic", 512, ge=16,
        le=1_000_000,
    )  # fmt: skip
    shock: UnitByComponent | None = option(
        "units of the components that a shock changes; with it, the smallest shock that "
        "leaves each attractor is stored", None, min_length=1,
        allowed="component = unit for one component or more",
    )  # fmt: skip
    largest_shock: float = option("largest shock tried, in its units", 1.0, gt=0.0)


def check_basins(options: BasinTable, box: int | None, system: Any) -> None:
    """Raise `ValueError` for bounds that do not ascend or an unknown component.

    `box`: the states along a side of a box, if there are boxes; `system`: once built.
    """
    if box is not None and box > options.points:
        raise ValueError(f"box = {box} is larger than points = {options.points}")
    for name, (low, high) in options.grid.items():
        if not low < high:
            raise ValueError(f"grid.{name} = [{low:g}, {high:g}] does not ascend")
    for name in (*options.grid, *(options.shock or ())):
        if system is not None and name not in system.state_names:
            raise ValueError(unknown_key("component", name, system.state_names))


class Options(BasinTable):
    """Grid of initial states, limits of the integration, and measures."""

    kind: Literal["basins"] = option("the kind of analysis")
    box: int | None = option(
        "states along a side of the boxes of the basin entropy; with it, entropy and "
        "integrity measures are stored", None, ge=2, le=2000,
    )  # fmt: skip


_AXES = {"state": "state_component"}  # `attractors.state` is a field
# Descriptions of attractors' fields that differ from those of an orbit.
_OF_ORBITS = {
    "period": "period of the motion, NaN if aperiodic",
    "periods": "period in load periods, 0 if aperiodic",
    "contacts": "",
    "contacts_per_period": "",
    "floquet_multipliers": "",
    "largest_multiplier": "",
    "stable": "",
    "amplitude": "",
    "max_contact_force": "",
    "lyapunov_exponent": "",
    "lyapunov_error": "its standard error, NaN for periodic motions",
    "result": "reason code: success for periodic motions",
}


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return labels along the axis `start`, and the fields of each attractor."""
    starts = starts_of(system, options)
    settings = orbits.SettlingSettings(options.transient, options.max_periods, run.rtol)
    found = orbits.basins(system, starts, settings=settings, period=options.period)
    engine, why = orbits.basins_engine(system, len(starts), options.period)
    fields = _basin_variables(found)
    fields["result"] = replace(fields["result"], notes={"engine": f"{engine} ({why})"})
    if options.box:
        fields |= _robustness(found, options.box)
    if options.shock and len(found.attractors.state):
        fields |= shock_variables(system, found.attractors.state, options, settings)
    units = {"component_units": ", ".join(system.labels.units)}
    return {
        "starts": Variable(("start", "state"), starts, "", "state at t = 0", units),
        **fields,
    }


def starts_of(system, options: BasinTable) -> np.ndarray:
    """Return the grid of initial states, (starts, n)."""
    names = system.state_names
    grid = {
        names.index(name): np.linspace(bounds[0], bounds[1], options.points)
        for name, bounds in options.grid.items()
    }
    return orbits.state_grid(system, grid)


def _robustness(found, box: int) -> dict[str, Variable]:
    """Return entropy and integrity measures."""
    measured = orbits.robustness(found, box=box)
    own = variables(measured.entropy) | variables(measured, without=("share", "entropy"))
    return {f"robustness.{name}": one for name, one in own.items()}


def shock_variables(
    system, states: np.ndarray, options: BasinTable, settings
) -> dict[str, Variable]:
    """Return the smallest shock of each of one attractor or more by its states."""
    names = system.state_names
    units = {names.index(name): unit for name, unit in (options.shock or {}).items()}
    most, period = options.largest_shock, options.period
    shocks = shocks_of.smallest_shocks(
        system, states, units, most, period=period, settings=settings
    )
    return {
        f"shock.{name}": replace(
            one, axes=tuple(_AXES.get(axis, axis) for axis in one.axes)
        )
        for name, one in variables(shocks, ("attractor",)).items()
    }


def _basin_variables(found) -> dict[str, Variable]:
    """Return the fields of basins, followed by those of their attractors."""
    known = found.attractors
    first = variables(known, without=("orbits",))
    points, axis = first["points"], "state_component"
    each = {
        "state": Variable(("attractor", axis), known.state, "", "one state at t = 0"),
        "points": replace(points, axes=("attractor", "point", axis)),
        **orbit_variables(known.orbits, "attractor", _OF_ORBITS),
    }
    own = variables(found, without=("attractors", "starts"))
    return own | {f"attractors.{name}": one for name, one in each.items()}


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest shares with their errors, the entropy, the number undecided."""
    names, options = attractor_names(read), study.analysis
    share, error = read("share"), read("share_error")
    most = 5 - (options.box is not None)
    lines = []
    for i in np.argsort(-share, kind="stable")[:most].tolist():
        words = f"{names[i]:<32} {share[i]:.1%} +- {error[i]:.1%}"
        if options.shock:
            words += f", {shock_words(read, i, options.largest_shock)}"
        lines.append(words)
    if options.box is not None:
        lines.append(entropy_words(read))
    undecided = int(np.sum(read("label") < 0))
    return [*lines, f"undecided  {undecided} of {len(read('label'))} initial states"]


def entropy_words(read: Callable) -> str:
    """Return the stored basin entropies as text."""
    names = ("entropy", "entropy_error", "boundary_entropy", "boundary_entropy_error")
    entropy, error, edge, edge_error = (float(read(f"robustness.{name}")) for name in names)
    text = f"basin entropy {entropy:.3g} +- {error:.1g}"
    return text if np.isnan(edge) else f"{text}, boundary {edge:.3g} +- {edge_error:.1g}"


def shock_words(read: Callable, attractor: int, largest: float) -> str:
    """Return the stored smallest shock of an attractor as text."""
    size = float(read("shock.size")[attractor])
    return f"no shock to {largest:g}" if np.isnan(size) else f"smallest shock {size:.4g}"


def attractor_names(read: Callable) -> list[str]:
    """Return the names of stored attractors: `A1: period 1, 0 contacts`."""
    fields = "result", "periods", "contacts", "period", "max_contact_force"
    *columns, forces = (read(f"attractors.{name}") for name in fields)
    columns.append(np.asarray(forces) > 0)
    each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return [f"A{i}: {attractors_of.named(*numbers)}" for i, numbers in enumerate(each, 1)]


_MOST_MARKED = 8  # points of an attractor


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return one picture per study: basins over the plane, and the settling time."""
    return [_picture(run, len(runs) > 1) for run in runs]


def _picture(run: Run, several: bool) -> Picture:
    options = run.options
    (first, first_bounds), (second, second_bounds) = options["grid"].items()
    number = int(options["points"])
    stride = -(-number // MOST_CELLS)
    x = np.linspace(*first_bounds, number)[::stride]
    y = np.linspace(*second_bounds, number)[::stride]

    def laid_out(values):
        return values.reshape(number, number)[::stride, ::stride].T

    names = attractor_names(run.field)
    label = run.field("label")
    classes = basin_pictures.basin_classes(names)
    members = np.where(label < 0, len(names), label).astype(float)
    periods = run.field("periods_run").astype(float)
    scale = Scale("settling time (periods)", "sea", 0.0, float(periods.max()))
    axes = Axis(_at_start(run, first)), Axis(_at_start(run, second))
    title = f" of {run.name}" * several
    shares = tuple(_shares(run, names, classes))
    words = ", ".join(share.name for share in shares)
    thinned = f" Every {stride}th state along each axis is shown." * (stride > 1)
    return Picture(
        f"basins_{run.name}" if several else "basins",
        f"Basins of attraction{title}",
        "Each initial state coloured by the attractor that it converges to; the other "
        "components are at rest. Marks: the attractors' states, once per load period, or "
        "along a cycle. Second chart: the time until the attractor was identified, in load "
        f"periods, or in periods given by the config.{thinned}{_robust(run)}",
        f"Basins of attraction over {first} and {second}. {words}.",
        (
            Chart(*axes, (Cells(x, y, laid_out(members), classes),
                          *_marks(run, names, first, second)), "basin"),
            Chart(*axes, (Cells(x, y, laid_out(periods), scale),), "settling time"),
        ),
        shares,
    )  # fmt: skip


def _robust(run: Run) -> str:
    """Return sentences on the entropy, the integrity and the smallest shocks."""
    options, words = run.options, []
    shares = range(len(run.field("share")))
    if options.get("box"):
        words.append(f"{entropy_words(run.field).capitalize()}.")
        factor = run.field("robustness.integrity_factor")
        edge = run.field("robustness.factor_at_edge")
        each = (f"A{i + 1} {'>= ' * bool(edge[i])}{factor[i]:.3g}" for i in shares)
        words.append(
            "Integrity factor (radius of the largest disc within a basin, in half widths "
            f"of the plane): {', '.join(each)}."
        )
    if options.get("shock"):
        most = options.get("largest_shock", 1.0)
        each = (f"A{i + 1}: {shock_words(run.field, i, most)}" for i in shares)
        units = ", ".join(f"{name} in {unit:g}" for name, unit in options["shock"].items())
        words.append(f"Shocks ({units}): {'; '.join(each)}.")
    return "".join(f" {word}" for word in words)


def _at_start(run: Run, name: str) -> str:
    names = run.names("state", run.field("starts").shape[1])
    label = run.component("starts", "state", names.index(name), len(names))
    return label.replace(name, f"{name} at t = 0", 1)


def _shares(run: Run, names: Sequence[str], classes: Classes) -> Iterator[Share]:
    label, share, error = run.field("label"), run.field("share"), run.field("share_error")
    for i, name in enumerate(names):
        words = f"{name}, {share[i]:.1%} ± {error[i]:.1%}"
        yield Share(words, classes.colours[i], (int(np.sum(label == i)),))
    if (label < 0).any():
        undecided = float(run.field("undecided"))
        words = f"undecided, {undecided:.1%}"
        yield Share(words, colours.UNDECIDED, (int(np.sum(label < 0)),))


def _marks(run: Run, names: Sequence[str], first: str, second: str) -> Iterator[Notes]:
    points = run.field("attractors.points")
    components = run.names("state", points.shape[2])
    across, up = components.index(first), components.index(second)
    for i, name in enumerate(names):
        yield basin_pictures.attractor_marks(
            points[i], (across, up), i, name, name.split(":")[0], _MOST_MARKED
        )


def _fits(options: Options, known: Known) -> None:
    check_basins(options, options.box, known.system)


KIND = StudyKind(
    "basins", Options, once(compute), summary, pictures,
    needs=frozenset({Role.PERIODIC}),
    sampled=False,
    counted="initial states",
    checks=(_fits,),
    sample_bytes=lambda options: 80.0 * options.points**2,
)  # fmt: skip
