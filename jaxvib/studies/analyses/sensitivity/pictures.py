"""Pictures of sensitivities: relative derivatives and Sobol indices by parameter."""

import functools
from collections.abc import Sequence

import numpy as np

from ...pictures.picture import Axis, Chart, Line, Picture
from ...store.finished_study import Run

_MOST_NUMBERS = 6  # of one measure with separate marks


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return a picture for each measure."""
    return [_of_measure(runs, name) for name in measures(runs[0])]


def measures(run: Run) -> list[str]:
    """Return the names of the measures."""
    names = [str(name) for name in run.results]
    return [n.removesuffix(".normalised") for n in names if n.endswith(".normalised")]


def _of_measure(runs: Sequence[Run], name: str) -> Picture:
    run = runs[0]
    shown = functools.partial(run.quantity_text, run.unit(f"{name}.value"))
    parameters = run.names("parameter", run.field(f"{name}.normalised").shape[1])
    charts = [
        _chart(runs, name, parameters, {"normalised": ""}, "% per %",
               "derivative at the system's values")
    ]  # fmt: skip
    words = "Change in % for a change of 1 % in each parameter, by exact derivatives."
    if run.has(f"{name}.first_order"):
        orders = {"first_order": "alone", "total_order": "with interactions"}
        charts.append(
            _chart(runs, name, parameters, orders, "share of variance",
                   "Sobol indices over the ranges")
        )  # fmt: skip
        mean, deviation = (
            float(run.field(f"{name}.{key}")[0]) for key in ("mean", "deviation")
        )
        words += (
            " Shares of the variance with every parameter uniform on its range: mean "
            f"{shown(mean)}, deviation {shown(deviation, digits=3)}; thin lines "
            "are 95 % confidence intervals."
        )
    value = float(run.field(f"{name}.value")[0])
    return Picture(
        f"sensitivity_{''.join(c if c.isalnum() else '_' for c in name)}",
        f"Sensitivities of {name}",
        f"{name} is {shown(value)}. {words}",
        f"Sensitivities of {name} to {', '.join(parameters)}.",
        tuple(charts),
    )


def _chart(runs, name: str, parameters, kinds: dict, label: str, title: str) -> Chart:
    places = np.arange(len(parameters), dtype=float)
    ticks = tuple(path.replace(".", ".\n", 1) for path in parameters)
    layers: list = []
    colour = 0
    for run in runs:
        for kind, word in kinds.items():
            values = run.field(f"{name}.{kind}")
            for number, row in enumerate(values[:_MOST_NUMBERS]):
                parts = [word, f"number {number}" if len(values) > 1 else "",
                         run.name if len(runs) > 1 else ""]  # fmt: skip
                title_of = ", ".join(part for part in parts if part) or kind
                layers.append(Line(places, row, title_of, colour, "dot", marks=True))
                bounds = f"{name}.{kind}_bounds"
                if run.has(bounds):
                    layers.append(_whiskers(places, run.field(bounds)[number], colour))
                colour += 1
    return Chart(Axis("parameter", ticks=ticks), Axis(label), tuple(layers), title)


def _whiskers(places, bounds, colour: int) -> Line:
    """Return intervals as vertical lines separated by gaps."""
    x = np.repeat(places, 3)
    y = np.column_stack([bounds, np.full(len(places), np.nan)]).ravel()
    return Line(x, y, "95 %", colour, legend=False)
