"""The history of a design: objective and variables over the optimiser's steps."""

from collections.abc import Sequence

import numpy as np

from .picture import Axis, Chart, Line, Picture
from .reading import Run


def design_history(runs: Sequence[Run]) -> Picture:
    """Return the objective and each design variable over the steps."""
    names = ["objective", *(path for path in runs[0].paths)]
    charts = tuple(_chart(runs, name) for name in names)
    values = runs[0].field("objective")
    start, end = values[0], values[-1]
    return Picture(
        "design_history",
        "Design history",
        f"The objective falls from {start:.4g} to {end:.4g} "
        f"{runs[0].unit('objective')} in {len(values) - 1} steps.",
        f"Objective and {', '.join(names[1:])} over {len(values) - 1} steps.",
        charts,
    )


def _chart(runs: Sequence[Run], name: str) -> Chart:
    lines = []
    for number, run in enumerate(runs):
        values = run.field(name)
        label = run.name if len(runs) > 1 else name
        steps = np.arange(len(values), dtype=float)
        lines.append(Line(steps, values, label, number, legend=len(runs) > 1))
    unit = runs[0].unit(name)
    return Chart(Axis("step"), Axis(name + (f" ({unit})" if unit else "")), tuple(lines))
