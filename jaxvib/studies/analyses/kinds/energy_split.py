"""The study `energy_split`: energy partition of random chains."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from .... import dynamics
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_lines import named
from ...pictures.swept_planes import sample_text
from ...resources import lazily
from ...store.fields import Variable
from ...store.finished_study import Run
from ..study_kind import Role, StudyKind, at
from .chain_motion import chain_pictures, each_chain, fields_of_chains

jax = lazily("jax")


class Options(Table):
    """Number of chains, initial energy and times."""

    kind: Literal["energy_split"] = option("the kind of analysis")
    chains: int = option("random chains for each sample", 256, ge=2, le=1_000_000)
    rotational: float = option(
        "rotational share of the initial energy", 0.0, ge=0.0, le=1.0
    )
    duration: float = option("duration of the simulation", 64.0, gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 65, ge=2, le=10_000)


def compute(system, samples, options: Options, run, progress) -> dict[str, Variable]:
    """Return translational and rotational shares over time, with the prediction."""
    times = np.linspace(0.0, options.duration, options.points)

    def split(chain):
        return dynamics.ensemble_split(
            chain, times, chains=options.chains, rotational=options.rotational,
            seed=run.seed,
        )  # fmt: skip

    return each_chain(split, system, samples, progress)


def group(system, samples, study, read) -> dict[str, Variable]:
    """Return the energy density and frames of the first chain of some samples."""

    def start(chain):
        key = jax.random.fold_in(jax.random.key(study.run.seed), 0)
        return dynamics.random_velocities(chain, key, 1.0, study.analysis.rotational)

    return fields_of_chains(system, samples, study, start)


def summary(read: Callable, study: Any) -> list[str]:
    """Return the final shares of up to five samples, and the deviation from theory."""
    off = [
        np.abs(read(kind) - read(f"predicted_{kind}"))[:, 1:] / read(f"{kind}_error")[:, 1:]
        for kind in ("translational", "rotational")
    ]
    lines = []
    for sample in range(min(4, len(off[0]))):
        where = at(read, study, sample)
        shares = [
            f"{read(kind)[sample, -1]:.4f} +- {read(f'{kind}_error')[sample, -1]:.4f} "
            f"(in equilibrium {read(f'equilibrium_{kind}')[sample]:.4f}) in {word}"
            for kind, word in (
                ("translational", "translation"), ("rotational", "rotation"),
            )
        ]  # fmt: skip
        lines.append(f"{where}: {', '.join(shares)}")
    lines.append(
        f"deviation  at most {max(o.max() for o in off):.2g} error bars; energy "
        f"conserved to {read('energy_change').max():.1g}"
    )
    return lines


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
            name = named(sample_text(run, sample), run, runs)
            yield Line(time, run.field(kind)[sample], name, colour)
            predicted = run.field(f"predicted_{kind}")[sample]
            yield Line(time, predicted, f"{name}, infinite", colour, "dash", legend=False)
            settled = np.full(2, run.field(f"equilibrium_{kind}")[sample])
            ends = time[[0, -1]]
            yield Line(
                ends, settled, f"{name}, in equilibrium", colour, "dot", legend=False
            )
            colour += 1


KIND = StudyKind(
    "energy_split", Options, compute, summary, pictures,
    needs=frozenset({Role.CHAIN}),
    sampled=True,
    groups={"motion": group},
    sample_bytes=lambda options: options.points * 8 * 7,
)  # fmt: skip
