"""Computes shock response spectra, and a summary of their peaks."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....ensemble import Reason
from ....foundation.arrays import stack_lanes
from ....foundation.geometric import geometric_values
from ....systems.system import System
from ....transients import shock_spectrum
from ....transients.ensemble import load_place
from ...store.fields import Variable, variables
from ..sample_systems import systems
from ..summary_text import where
from .kind import ShockSpectrumOptions


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: ShockSpectrumOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the spectra of samples, for each damping ratio."""
    frequencies = geometric_values(options.low, options.high, options.points)
    place = load_place(system, options.load)
    found = []
    for each in systems(system, samples):
        law = each.loads[place].law
        spectra = [
            shock_spectrum(law, frequencies, ratio, duration=options.duration,
                           points=options.resolution)
            for ratio in options.damping_ratios
        ]  # fmt: skip
        found.append(stack_lanes(spectra))
        progress(1)
    whole = stack_lanes(found)
    known = np.isfinite(whole.maximax).all((1, 2))
    codes = np.where(known, int(Reason.SUCCESS), int(Reason.BAD_PARAMETER))
    return {
        **variables(whole, ("sample", "damping")),
        "result": Variable(("sample",), codes.astype(np.int32), "", "reason code"),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the highest acceleration at each damping ratio, at most five."""
    maximax, error, frequencies = map(read, ("maximax", "error", "frequencies"))
    lines = []
    for i, ratio in enumerate(study.analysis.damping_ratios[:5]):
        sample, at = np.unravel_index(np.nanargmax(maximax[:, i]), maximax[:, i].shape)
        highest, bar = maximax[sample, i, at], error[sample, i, at]
        lines.append(
            f"highest    {study.quantity_text('m/s^2', highest, error=bar)} at "
            f"{study.quantity_text('rad/s', frequencies[sample, i, at])}, damping {ratio:g}"
            f"{where(read, study, sample)}"
        )
    return lines
