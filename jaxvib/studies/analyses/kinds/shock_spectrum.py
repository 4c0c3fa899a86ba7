"""The study `shock_spectrum` of a base motion."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from .... import systems, transients
from ....ensemble import Reason
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_lines import slider_lines
from ...pictures.swept_planes import slider_samples
from ...resources import library
from ...store.fields import Variable, variables
from ...store.finished_study import Run
from ..study_kind import Known, Role, StudyKind, ascending, one_by_one, result_code, where

arrays, geometric = library("foundation.arrays"), library("foundation.geometric")
loads, shock = library("transients.ensemble"), library("transients.shock")

_Ratio = Annotated[float, Field(ge=0.0, le=10.0)]


class Options(Table):
    """Base motion, frequencies and damping ratios."""

    kind: Literal["shock_spectrum"] = option("the kind of analysis")
    load: str = option("the base motion", allowed="a base motion's name")
    low: float = option("lowest frequency", gt=0.0, unit="rad/s")
    high: float = option("highest frequency", gt=0.0, unit="rad/s")
    points: int = option(
        "number of frequencies, logarithmically spaced", 121, ge=2, le=10_000
    )
    damping_ratios: list[_Ratio] = option(
        "damping ratios of the oscillators", [0.05], min_length=1, max_length=20, unit="",
        allowed="one or more numbers in [0, 10]",
    )  # fmt: skip
    duration: float | None = option(
        "duration of the shock; default: up to its last break", None, gt=0.0, unit="s",
        allowed="(0, inf) s",
    )  # fmt: skip
    resolution: int = option(
        "points between two breaks of the motion, unless it is a record",
        1024,
        ge=2,
        le=100_000,
    )


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return largest accelerations of oscillators on a moving base."""
    frequencies = geometric.geometric_values(options.low, options.high, options.points)
    law = system.loads[loads.load_place(system, options.load)].law
    spectra = [
        transients.shock_spectrum(law, frequencies, ratio, duration=options.duration,
                                  points=options.resolution)
        for ratio in options.damping_ratios
    ]  # fmt: skip
    fields = variables(arrays.stack_lanes(spectra), ("damping",))
    known = np.isfinite(fields["maximax"].values).all()
    return fields | {"result": result_code(known, Reason.BAD_PARAMETER)}


def summary(read: Callable, study: Any) -> list[str]:
    """Return the highest acceleration at each damping ratio, at most five."""
    maximax, error, frequencies = map(read, ("maximax", "error", "frequencies"))
    lines = []
    for i, ratio in enumerate(study.analysis.damping_ratios[:5]):
        sample, at = np.unravel_index(np.nanargmax(maximax[:, i]), maximax[:, i].shape)
        highest, bar = maximax[sample, i, at], error[sample, i, at]
        lines.append(
            f"highest    {study.quantity_text('m/s^2', highest, error=bar)} at "
            f"{study.quantity_text('rad/s', frequencies[sample, i, at])}, damping {ratio:g}"
            f"{where(read, study, sample)}"
        )
    return lines


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the spectra, with a slider over samples."""
    x = Axis("natural frequency (rad/s)", log=True)
    return [
        Picture(
            "shock_spectrum",
            "Shock response spectrum",
            "The largest absolute acceleration of an oscillator on the base, overall and "
            "after the shock (residual, dashed), and its largest displacement relative to "
            "the base.",
            "Largest accelerations and displacements over the natural frequency.",
            (
                Chart(x, Axis("acceleration (m/s^2)", log=True),
                      (*_lines(runs, "maximax", "solid"),
                       *_lines(runs, "residual", "dash"))),
                Chart(x, Axis("relative displacement (m)", log=True),
                      tuple(_lines(runs, "displacement", "solid"))),
            ),
            choice=slider_samples(runs[0])[1],
            stacked=True,
        )
    ]  # fmt: skip


def _lines(runs: Sequence[Run], field: str, style: str) -> Iterator[Line]:
    for number, sample, i, looks in slider_lines(runs, field, "damping", axis=1):
        each = runs[number].field(field)
        known = np.where(each[sample, i] > 0, each[sample, i], np.nan)
        looks |= {"name": f"damping {looks['name']}", "legend": style == "solid"}
        looks |= {"colour": i + number * each.shape[1], "style": style}
        yield Line(runs[number].field("frequencies")[sample, i], known, **looks)


def _base_motion(options: Options, known: Known) -> None:
    system = known.system
    if system is None:
        return
    load = system.loads[loads.load_place(system, options.load)]
    if not isinstance(load, systems.BaseMotion):
        raise ValueError(f"load = {options.load!r} is a force; allowed: a base motion")
    shock.shock_ends(load.law, options.duration)


KIND = StudyKind(
    "shock_spectrum", Options, one_by_one(compute), summary, pictures,
    needs=frozenset({Role.DRIVEN}),
    checks=(ascending("low", "high"), _base_motion),
    axes=lambda options: {"damping": [f"{each:g}" for each in options.damping_ratios]},
    sample_bytes=lambda options: 64.0 * options.points * len(options.damping_ratios),
)  # fmt: skip
