"""The study `nonlinear_modes`: free periodic motions along their energy."""

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from .... import branches
from ....drawing.polyline import BranchCurves, branch_layers
from ...config.tables import Table, option
from ...pictures.curves import amplitude_label
from ...pictures.picture import Axis, Chart, Line, Notes, Picture
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
    return [
        Picture(
            "backbone",
            "Frequency over the energy",
            "Free periodic motions: solid where elliptic, dashed where hyperbolic, dotted "
            "where undecided. Marks: other motions branch off, or instability begins.",
            "Frequency and amplitudes of a nonlinear mode over its energy.",
            (Chart(x, Axis("frequency (rad/s)"), tuple(_layers(runs, "frequency"))),
             Chart(x, reach, tuple(_layers(runs, "amplitude")))),
        )
    ]  # fmt: skip


def _layers(runs: Sequence[Run], field: str) -> Iterator[Line | Notes]:
    branches = []
    for run in runs:
        columns = zip(
            *(run.field(f"bifurcation.{name}") for name, _ in _POINTS), strict=True
        )
        points = [
            SimpleNamespace(kind=KINDS[code], parameter=energy, state=[frequency])
            for code, energy, frequency in columns
        ]
        family = SimpleNamespace(
            parameter=run.field("energy"), states=run.field("frequency")[:, None],
            stable=run.field("stable"), bifurcations=points,
        )  # fmt: skip
        values = run.field(field).reshape(run.size, -1, 1)
        names = run.names("freedom", values.shape[1]) if field == "amplitude" else [field]
        curves = BranchCurves(field, tuple(names), values)
        branches.append((run.name * (len(runs) > 1), family, curves))
    return branch_layers(branches)


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
