"""Computes modes of linear systems, and a summary of the lowest."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ....ensemble import map_samples
from ....foundation.arrays import combine_arrays, partition_arrays, stack_lanes
from ....kernels.calls.kernel_cache import cached_kernel
from ....modes.mode_table import mode_table, undamped
from ...store.fields import Variable, variables
from ..sample_systems import each_system
from .kind import NaturalModesOptions

_LISTED = 4  # modes in the summary


def compute(
    system: Any,
    samples: Mapping[str, np.ndarray],
    options: NaturalModesOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the modes of samples, each field along the axis `sample`."""
    leaves, static = partition_arrays(each_system(system, samples))
    found = map_samples(_undamped(static), leaves, progress=progress)
    count, part = len(found.modes.frequencies), system.linear_part()
    tables = [
        mode_table(part, jax.tree.map(lambda leaf, i=i: leaf[i], found))
        for i in range(count)
    ]
    return variables(stack_lanes(tables), ("sample",))


@functools.lru_cache(maxsize=32)
def _undamped(static):
    def stage(leaves):
        return undamped(combine_arrays(leaves, static).linear_part())

    return cached_kernel(stage, static)


def summary(read: Callable, study: Any) -> list[str]:
    """Return the lowest modes of the first sample with their dominant parts."""
    frequencies, ratios = read("frequencies"), read("damping_ratios")
    missing = np.isnan(frequencies)
    spins = missing.all(1) & np.isfinite(read("damped_frequencies")).any(1)
    names = study.axes
    lines = []
    for mode in range(0 if spins.all() else min(_LISTED, frequencies.shape[1])):
        module = names["module"][int(read("potential_shares")[0, :, mode].argmax())]
        freedom = names["freedom"][int(read("kinetic_shares")[0, :, mode].argmax())]
        spread = _spread(frequencies[:, mode], study)
        lines.append(
            f"mode {mode + 1}     {spread}, damping ratio {ratios[0, mode]:.3g}, "
            f"largest strain energy {module}, largest motion {freedom}"
        )
    falling = int((missing.any(1) & ~spins).sum())
    lines += [
        f"unstable   {falling} samples are statically unstable (no real frequency)"
    ] * bool(falling)
    if spins.any():
        what = "are gyroscopic or unstable in every mode: see damped_frequencies"
        lines.append(f"no modes   {spins.sum()} samples {what}")
    return lines


def _spread(values, study: Any) -> str:
    low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
    if not np.isfinite(low):
        return "no frequency"
    ends = (low,) if low == high else (low, high)
    return study.quantity_text("rad/s", *ends, digits=6)
