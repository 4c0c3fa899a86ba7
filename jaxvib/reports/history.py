"""The history of a design: objective and variables over the optimiser's steps."""

from collections.abc import Sequence

import numpy as np

from .picture import Axis, Chart, Line, Picture
from .reading import Run


def design_history(runs: Sequence[Run]) -> Picture:
    """Return the objective and each tuned parameter over the steps."""
    variables = runs[0].tuned
    objective = runs[0].field("objective")
    best = int(np.nanargmin(objective))
    unit = runs[0].unit("objective")
    change = f"{objective[0]:.4g} to {objective[best]:.4g} {unit}".rstrip()
    label = f"{_objective(runs[0])} ({unit})" if unit else _objective(runs[0])
    charts = [_chart(runs, "objective", label)]
    charts += [_chart(runs, path, runs[0].label(path)) for path in variables]
    return Picture(
        "design_history",
        "Design history",
        f"The objective, {_objective(runs[0])}, goes from {change}, its least value at "
        f"step {best}.",
        f"Objective and {', '.join(variables)} over {len(objective) - 1} steps: {change}.",
        tuple(charts),
    )


def _objective(run: Run) -> str:
    """Return what was tuned for: a field of the orbit, and of which body."""
    options = run.study["config"]["analysis"]
    field, component = options["objective"], options["component"]
    freedoms = run.study["axes"].get("freedom", [])
    if field == "amplitude" and component < len(freedoms):
        return f"half peak-to-peak of {freedoms[component]}"
    return field


def _chart(runs: Sequence[Run], name: str, label: str) -> Chart:
    lines = []
    for number, run in enumerate(runs):
        values = run.field(name)
        steps = np.arange(len(values), dtype=float)
        several = len(runs) > 1
        title = run.name if several else name
        lines.append(Line(steps, values, title, number, legend=several, marks=True))
    return Chart(Axis("step"), Axis(label), tuple(lines))
