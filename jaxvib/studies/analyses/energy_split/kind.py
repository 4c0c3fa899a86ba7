"""The study of how random chains share out their energy."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from ...config.tables import Table
from ...store.fields import Variable, variables
from ..chain_motion.fields import fields_of_chains
from ..cost import Cost


class EnergySplitOptions(Table):
    """How many chains, from what, and when they are looked at."""

    kind: Literal["energy_split"] = Field(description="the kind of analysis")
    chains: int = Field(
        default=256, ge=2, le=1_000_000, description="random chains for each sample"
    )
    rotational: float = Field(
        default=0.0, ge=0.0, le=1.0, description="share of the energy given to rotation"
    )
    duration: float = Field(
        default=64.0,
        gt=0.0,
        description="last time that is looked at",
        json_schema_extra={"unit": "s"},
    )
    points: int = Field(default=65, ge=2, le=10_000, description="times, evenly spaced")


class EnergySplitKind:
    """Translational and rotational shares over time, and what the bands predict."""

    name = "energy_split"
    sampled = True
    groups: Mapping[str, tuple[str, ...]] = {"motion": ("sample",)}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return EnergySplitOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise nothing: these options go with any chain."""

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the shares of samples, each field along the axis `sample`."""
        import equinox as eqx
        import jax

        from ....dynamics.chains.ensemble import ensemble_split
        from ....systems import replace

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
            rows.append(
                split({p: np.asarray(v) for p, v in zip(samples, values, strict=True)})
            )
            progress(1)
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        return variables(stacked, ("sample",))

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/beam_chain.toml`."""
        lines = options.chains * options.points / 1e5
        stored = options.points * 8 * 7
        return Cost(4.0, 3.0, 6.0 * lines, 3.0, stored, ("split",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return the energy density and frames of the first chain of some samples."""
        import jax

        from ....dynamics import random_velocities

        def start(chain):
            key = jax.random.fold_in(jax.random.key(study.run.seed), 0)
            return random_velocities(chain, key, 1.0, study.analysis.rotational)

        return fields_of_chains(system, samples, study, start)

    def summary(self, read: Callable, study) -> list[str]:
        """Return the last shares of at most five samples, and how well they agree."""
        off = [
            np.abs(read(kind) - read(f"predicted_{kind}"))[:, 1:]
            / read(f"{kind}_error")[:, 1:]
            for kind in ("translational", "rotational")
        ]
        lines = []
        for sample in range(min(4, len(off[0]))):
            at = ", ".join(f"{path} = {read(path)[sample]:.5g}" for path in study.paths)
            shares = [
                f"{read(kind)[sample, -1]:.4f} +- {read(f'{kind}_error')[sample, -1]:.4f} "
                f"(long after {read(f'equilibrium_{kind}')[sample]:.4f}) in {word}"
                for kind, word in (
                    ("translational", "translation"), ("rotational", "rotation"),
                )
            ]  # fmt: skip
            lines.append(f"{at}: {', '.join(shares)}")
        lines.append(
            f"prediction at most {max(o.max() for o in off):.2g} error bars away; energy "
            f"kept to {read('energy_change').max():.1g}"
        )
        return lines
