"""The study of an assembled system's modes."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from ...config.tables import Table
from ...store.fields import Variable, variables
from ..cost import Cost
from ..stacking import each_system, stacked

_LISTED = 4  # modes, in the terminal


class NaturalModesOptions(Table):
    """Nothing is to be chosen: all modes are found."""

    kind: Literal["natural_modes"] = Field(description="the kind of analysis")


class NaturalModesKind:
    """Natural frequencies, damping ratios, modes and where their energy sits."""

    name = "natural_modes"
    sampled = None
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return NaturalModesOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise nothing: these options go with any assembly."""

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the modes of samples, each field along the axis `sample`."""
        import jax

        from ....ensemble import map_samples
        from ....modes.mode_table import mode_table, undamped

        batch = each_system(system, samples)
        found = map_samples(undamped, batch, progress=progress)
        count = len(found.modes.frequencies)
        tables = [
            mode_table(system, jax.tree.map(lambda leaf, i=i: leaf[i], found))
            for i in range(count)
        ]
        return variables(stacked(tables), ("sample",))

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/tower_modes.toml`."""
        return Cost(4.0, 4.0, 0.02, 3.0, 3000.0, ("undamped",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return the lowest modes of the first sample and what holds their energy."""
        frequencies, ratios = read("frequencies"), read("damping_ratios")
        names = study.axes
        lines = []
        for mode in range(min(_LISTED, frequencies.shape[1])):
            module = names["module"][int(read("potential_shares")[0, :, mode].argmax())]
            freedom = names["freedom"][int(read("kinetic_shares")[0, :, mode].argmax())]
            spread = _spread(frequencies[:, mode])
            lines.append(
                f"mode {mode + 1}     {spread} rad/s, damping ratio {ratios[0, mode]:.3g}, "
                f"most strained {module}, most moving {freedom}"
            )
        falling = int(np.isnan(frequencies).any(1).sum())
        lines += [f"unstable   {falling} samples fall over (no real frequency)"] * bool(
            falling
        )
        return lines


def _spread(values) -> str:
    low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
    if not np.isfinite(low):
        return "no frequency"
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
