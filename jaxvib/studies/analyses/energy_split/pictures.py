"""Pictures of energy partition: shares over time, and the motion of the first chain."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.comparison_styles import named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...store.finished_study import Run
from ..chain_motion.pictures import chain_pictures

_KINDS = (("translational", "translation"), ("rotational", "rotation"))
_SHOWN = 4  # samples with a curve


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the shares over time, and the motion of a chain."""
    charts = [
        Chart(
            Axis("time (s)"),
            Axis("share of the energy"),
            tuple(_shares(runs, kind)),
            f"kinetic energy in {word}",
        )
        for kind, word in _KINDS
    ]
    shares = Picture(
        "energy_split",
        "Kinetic energy in translation and in rotation",
        "Solid: mean over random chains. Dashed: theory of the infinite chain. "
        "Dotted: equilibrium, after a long time. The rest of the energy is "
        "potential.",
        "Shares of the energy in translation and in rotation over time, with the "
        "prediction for an infinite chain.",
        tuple(charts),
    )
    return [shares, *chain_pictures(runs[0])]


def _shares(runs: Sequence[Run], kind: str) -> Iterator[Line]:
    colour = 0
    for run in runs:
        for sample in range(min(_SHOWN, run.size)):
            time = run.field("instants")[sample]
            name = _named(runs, run, sample)
            yield Line(time, run.field(kind)[sample], name, colour)
            predicted = run.field(f"predicted_{kind}")[sample]
            yield Line(time, predicted, f"{name}, infinite", colour, "dash", legend=False)
            settled = np.full(2, run.field(f"equilibrium_{kind}")[sample])
            ends = time[[0, -1]]
            yield Line(
                ends, settled, f"{name}, in equilibrium", colour, "dot", legend=False
            )
            colour += 1


def _named(runs: Sequence[Run], run: Run, sample: int) -> str:
    at = ", ".join(f"{path} = {run.field(path)[sample]:.4g}" for path in run.paths)
    return named(at, run, runs)
