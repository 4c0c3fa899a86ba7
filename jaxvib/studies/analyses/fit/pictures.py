"""Pictures of a fit: data, fitted values and residuals."""

from collections.abc import Sequence

import numpy as np

from ...pictures.comparison_styles import named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...store.finished_study import Run


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return data and fit over frequency (or index), and the residuals."""
    curves, left = [], []
    for number, run in enumerate(runs):
        measured, predicted = run.field("measured"), run.field("predicted")
        known = run.has("frequencies")
        x = run.field("frequencies") if known else np.arange(len(measured), dtype=float)
        order = np.argsort(x, kind="stable")
        curves += [
            Line(
                x[order],
                measured[order],
                named("measured", run, runs),
                2 * number,
                "dot",
                marks=True,
            ),
            Line(x[order], predicted[order], named("fitted", run, runs), 2 * number + 1),
        ]
        left.append(
            Line(x[order], (measured - predicted)[order],
                 named("measured - fitted", run, runs), 2 * number, "dot", marks=True)
        )  # fmt: skip
    run = runs[0]
    unit = run.unit("measured")
    axis = Axis("frequency (rad/s)" if run.has("frequencies") else "index")
    label = f"measured ({unit})" if unit else "measured"
    return [
        Picture(
            "fit",
            "Measured and fitted",
            _words(run),
            "Measured and fitted values, and the residuals.",
            (Chart(axis, Axis(label), tuple(curves)),
             Chart(axis, Axis(f"residual ({unit})" if unit else "residual"), tuple(left))),
        )
    ]  # fmt: skip


def _words(run: Run) -> str:
    """Return every parameter with its interval."""
    names = [str(name) for name in run.results]
    parts = []
    for name in names:
        if name.startswith("fitted."):
            path = name.removeprefix("fitted.")
            low, high = run.field(f"interval.{path}")
            fitted = run.quantity_text(run.unit(name), float(run.field(name)))
            bounds = run.quantity_text(run.unit(name), low, high)
            parts.append(f"{path} {fitted} (95 %: {bounds})")
    deviation = float(run.field("deviation"))
    spread = run.quantity_text(run.unit("measured"), deviation, digits=3)
    return f"{'; '.join(parts)}. The standard deviation of the residuals is {spread}."
