"""The study `frequency_response` of linear systems under a harmonic force."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .... import ensemble, modes
from ....ensemble import Reason
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Picture
from ...pictures.swept_lines import sample_lines
from ...pictures.swept_planes import slider_samples
from ...resources import library
from ...store.fields import Variable
from ...store.finished_study import Run
from ..study_kind import Role, StudyKind, ascending, freedoms, highest, result_code, where

of_samples = library("studies.analyses.sample_systems")


class Options(Table):
    """Force position and frequencies."""

    kind: Literal["frequency_response"] = option("the kind of analysis")
    force: str = option(
        "the degree of freedom on which a unit force or moment acts",
        allowed="the name of a degree of freedom",
    )
    low: float = option("lowest frequency", ge=0.0, unit="rad/s")
    high: float = option("highest frequency", gt=0.0, unit="rad/s")
    points: int = option("frequencies", 501, ge=2, le=100_000)


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return amplitude and phase of every degree of freedom per unit force."""
    frequencies = np.linspace(options.low, options.high, options.points)

    def respond(each):
        return modes.frequency_response(each, frequencies, force=options.force)

    lanes = of_samples.each_system(system, samples)
    response = ensemble.map_samples(respond, lanes, progress=progress)
    axes = ("sample", "frequency", "freedom")
    instants = np.broadcast_to(frequencies, (len(response), options.points))
    # the response of an undamped system is unbounded at its natural frequencies
    known = np.isfinite(response).all((1, 2))
    return {
        "frequencies": Variable(axes[:2], instants.copy(), "rad/s", "frequency"),
        "amplitude": Variable(
            axes, np.abs(response), "", "displacement or rotation per unit force"
        ),
        "phase": Variable(axes, np.angle(response), "rad", "phase behind the force"),
        "result": result_code(known, Reason.SINGULAR, ("sample",)),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the highest peak of up to five degrees of freedom over all samples."""
    names, units = study.axes["freedom"], study.freedom_units
    amplitude, frequencies = read("amplitude"), read("frequencies")[0]
    per = "N" if units[names.index(study.analysis.force)] == "m" else "(N m)"
    return [
        f"peak       {name} "
        f"{study.quantity_text(f'{units[i]}/{per}', amplitude[sample, at, i], digits=4)} "
        f"at {study.quantity_text('rad/s', frequencies[at])}{where(read, study, sample)}"
        for i, (name, sample, at) in enumerate(highest(amplitude, names))
    ]


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return amplitude and phase over frequency, with a slider over samples."""
    amplitude, phase = (
        sample_lines(runs, "frequencies", field, "freedom", drawn=drawn)
        for field, drawn in (("amplitude", np.asarray), ("phase", _unbroken))
    )
    positive = np.concatenate([line.y[line.y > 0] for line in amplitude])
    low, high = float(positive.min()), float(positive.max())
    x, force = Axis("frequency (rad/s)"), runs[0].options["force"]
    y = Axis("amplitude per unit force", log=True, low=0.8 * max(low, 1e-6 * high),
             high=1.25 * high)  # fmt: skip
    return [
        Picture(
            "frequency_response",
            f"Response to a unit force on {force}",
            "Displacement (m) or rotation (rad) per unit force or moment, 0-peak, and its "
            "phase: 0 in phase with the force, -pi in antiphase.",
            "Amplitude and phase of each degree of freedom over frequency.",
            (Chart(x, y, amplitude, "amplitude"),
             Chart(x, Axis("phase (rad)"), phase, "phase")),
            choice=slider_samples(runs[0])[1],
        )
    ]  # fmt: skip


def _unbroken(phase: np.ndarray) -> np.ndarray:
    """Return values with a gap where the phase jumps from -pi to pi."""
    jumps = np.append(np.abs(np.diff(phase)) > np.pi, False)
    return np.where(jumps, np.nan, phase)


KIND = StudyKind(
    "frequency_response", Options, compute, summary, pictures,
    needs=frozenset({Role.LINEAR}),
    checks=(ascending("low", "high"), freedoms(lambda options: [options.force])),
    sample_bytes=lambda options: 48.0 * options.points,
)  # fmt: skip
