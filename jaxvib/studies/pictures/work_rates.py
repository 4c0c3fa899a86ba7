"""Mean power lost in each contact over a swept parameter: its work rate."""

from collections.abc import Sequence

import numpy as np

from ..store.finished_study import Run, readable
from .picture import Axis, Chart, Line, Picture
from .swept_planes import axis


def work_rates(runs: Sequence[Run]) -> list[Picture]:
    """Return the picture of the work rates of stored motions, if there are any."""
    run = runs[0]
    traces = run.traces or {}
    if "work_rate" not in traces or len(run.paths) != 1:
        return []
    samples, rates = traces["sample"].values, traces["work_rate"].values
    path = run.paths[0]
    x = run.field(path)[samples]
    order = np.argsort(x, kind="stable")
    names = run.names("contact", rates.shape[1])
    lines = tuple(
        Line(x[order], rates[order, contact], name, contact)
        for contact, name in enumerate(names)
    )
    return [
        Picture(
            "work_rate",
            f"Work rate over {readable(path)}",
            "Mean power lost in each contact (damping and friction) of the stored motions.",
            f"Work rate of each contact over {readable(path)}.",
            (Chart(axis(run, path), Axis("work rate (W)"), lines),),
        )
    ]
