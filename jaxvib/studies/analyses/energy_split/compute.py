"""Computes the energy partition of random chains, and its summary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ....dynamics import random_velocities
from ....dynamics.chains.ensemble import ensemble_split
from ....foundation.arrays import stack_lanes
from ....systems import replace
from ....systems.chain import BeamChain
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ..chain_motion.fields import fields_of_chains
from ..summary_text import at
from .kind import EnergySplitOptions


def compute(
    system: BeamChain,
    samples: Mapping[str, np.ndarray],
    options: EnergySplitOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the shares of samples, each field along the axis `sample`."""
    times = np.linspace(0.0, options.duration, options.points)

    @eqx.filter_jit
    def split(values):
        return ensemble_split(
            replace(system, values),
            times,
            chains=options.chains,
            rotational=options.rotational,
            seed=run.seed,
        )

    rows = []
    for values in zip(*samples.values(), strict=True):
        rows.append(split({p: np.asarray(v) for p, v in zip(samples, values, strict=True)}))
        progress(1)
    return variables(stack_lanes(rows), ("sample",))


def group(
    name: str,
    system: BeamChain,
    samples: Mapping[str, np.ndarray | Rows],
    study: Any,
    read: Callable,
) -> dict[str, Variable]:
    """Return the energy density and frames of the first chain of some samples."""

    def start(chain):
        key = jax.random.fold_in(jax.random.key(study.run.seed), 0)
        return random_velocities(chain, key, 1.0, study.analysis.rotational)

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
