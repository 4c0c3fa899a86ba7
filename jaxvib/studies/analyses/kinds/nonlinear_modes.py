"""The study `nonlinear_modes`: free periodic motions along their energy."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from .... import branches
from ....drawing.polyline import STYLES, SYMBOLS
from ...config.tables import Table, option
from ...pictures.curves import amplitude_label
from ...pictures.picture import Axis, Chart, Line, Notes, Picture
from ...pictures.swept_lines import named
from ...resources import library
from ...store.fields import Variable, orbit_variables
from ...store.finished_study import Run
from ..study_kind import Known, Role, StudyKind, once

modes = library("branches.nonlinear_modes")
KINDS = ("fold", "branch_point", "period_doubling", "krein")
_FIELDS = ("energy", "frequency", "period_error", "amplitude", "contacts", "stable",
           "floquet_multipliers", "multiplier_error", "state", "result")  # fmt: skip
_POINTS = (("kind", ""), ("parameter", "J"), ("frequency", "rad/s"))


class Options(Table):
    """The mode and the largest energy."""

    kind: Literal["nonlinear_modes"] = option("the kind of analysis")
    mode: int = option("the linear mode, counted from 0", 0, ge=0)
    energy: float = option("largest energy", gt=0.0, unit="J")


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return the motions along the axis `point`, and their bifurcations."""
    settings = branches.ContinuationSettings(rtol=run.rtol, evidence=run.evidence)
    given = options.mode, options.energy
    family = branches.nonlinear_modes(system, *given, settings=settings)
    found = orbit_variables(family.orbits, "point", dict.fromkeys(_FIELDS, ""))
    found["states"] = found.pop("state")
    for name, unit in _POINTS:
        values = [getattr(point, name) for point in family.bifurcations]
        values = [KINDS.index(kind) for kind in values] if name == "kind" else values
        column = np.array(values, float if unit else np.int32)
        notes = {} if unit else {"meaning": ", ".join(KINDS)}
        about = "bifurcation", unit, f"{name} of the bifurcation"
        found[f"bifurcation.{name}"] = Variable((about[0],), column, *about[1:], notes)
    return found


def summary(read: Callable, study: Any) -> list[str]:
    """Return both ends, the stability and the bifurcations, at most three."""
    energy, frequency, stable = map(read, ("energy", "frequency", "stable"))
    marks = zip(read("bifurcation.kind"), read("bifurcation.parameter"), strict=True)
    first, last = (
        f"{study.quantity_text('rad/s', frequency[i], digits=6)} at "
        f"{study.quantity_text('J', energy[i])}"
        for i in (0, -1)
    )
    return [
        f"frequency  {first} to {last}",
        f"stability  elliptic at {np.mean(stable == 1):.0%} of {len(stable)} motions",
        *(f"{KINDS[code].replace('_', ' ')} at {study.quantity_text('J', place, digits=6)}"
          for code, place in list(marks)[:3]),
    ]  # fmt: skip


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return frequencies and amplitudes over the energy."""
    x, reach = Axis("energy (J)", log=True), Axis(amplitude_label(runs))
    backbone = (*_lines(runs, "frequency"), *_marks(runs))
    return [
        Picture(
            "backbone",
            "Frequency over the energy",
            "Free periodic motions: solid where elliptic, dashed where hyperbolic, dotted "
            "where undecided. Marks: other motions branch off, or instability begins.",
            "Frequency and amplitudes of a nonlinear mode over its energy.",
            (Chart(x, Axis("frequency (rad/s)"), backbone),
             Chart(x, reach, tuple(_lines(runs, "amplitude")))),
        )
    ]  # fmt: skip


def _lines(runs: Sequence[Run], field: str) -> Iterator[Line]:
    for number, run in enumerate(runs):
        stable, values = run.field("stable"), run.field(field)
        columns = values.reshape(len(values), -1).T
        names = run.names("freedom", len(columns)) if values.ndim > 1 else ["mode"]
        for part, (name, column) in enumerate(zip(names, columns, strict=True)):
            for verdict in set(stable.tolist()):
                own = stable == verdict
                own[1:] |= own[:-1].copy()  # up to the next point
                energy = np.where(own, run.field("energy"), np.nan)
                label, colour = named(name, run, runs), part + number * len(names)
                yield Line(energy, column, label, colour, STYLES[verdict][0],
                           legend=bool(verdict == stable[0]))  # fmt: skip


def _marks(runs: Sequence[Run]) -> Iterator[Notes]:
    for run in runs:
        code, *places = (run.field(f"bifurcation.{name}") for name, _ in _POINTS)
        for each in np.unique(code):
            x, y = (place[code == each] for place in places)
            name, symbol = (
                KINDS[each].replace("_", " "),
                SYMBOLS.get(KINDS[each], "hexagon"),
            )
            yield Notes(x, y, (name,) * len(x), name, symbol)


def _is_free(options: Options, known: Known) -> None:
    if known.system is not None:
        modes.checked_modes(known.system, options.mode)


KIND = StudyKind(
    "nonlinear_modes", Options, once(compute), summary, pictures,
    needs=frozenset({Role.DRIVEN}),
    sampled=False,
    counted="motions",
    checks=(_is_free,),
    sample_bytes=lambda options: 5e4,
)  # fmt: skip
