"""Shock response spectra of samples, and what is said of their peaks."""

from collections.abc import Callable

import numpy as np

from ....ensemble import Reason
from ....systems import replace
from ....transients import shock_spectrum
from ....transients.ensemble import load_place
from ...store.fields import Variable, variables
from ..stacking import stacked


def compute(system, samples, options, run, progress) -> dict[str, Variable]:
    """Return the spectra of samples, for each damping ratio."""
    frequencies = np.geomspace(options.low, options.high, options.points)
    place = load_place(system, options.load)
    count = len(next(iter(samples.values()))) if samples else 1
    found = []
    for sample in range(count):
        here = {path: values[sample] for path, values in samples.items()}
        law = (replace(system, here) if here else system).loads[place].law
        spectra = [
            shock_spectrum(law, frequencies, ratio, duration=options.duration,
                           points=options.resolution)
            for ratio in options.damping_ratios
        ]  # fmt: skip
        found.append(stacked(spectra))
        progress(1)
    whole = stacked(found)
    known = np.isfinite(whole.maximax).all((1, 2))
    codes = np.where(known, int(Reason.SUCCESS), int(Reason.BAD_PARAMETER))
    return {
        **variables(whole, ("sample", "damping")),
        "result": Variable(("sample",), codes.astype(np.int32), "", "reason code"),
    }


def summary(read: Callable, study) -> list[str]:
    """Return the highest acceleration at each damping ratio, at most five."""
    maximax, error, frequencies = map(read, ("maximax", "error", "frequencies"))
    lines = []
    for i, ratio in enumerate(study.analysis.damping_ratios[:5]):
        sample, at = np.unravel_index(np.nanargmax(maximax[:, i]), maximax[:, i].shape)
        where = "".join(f", {p} = {read(p)[sample]:.5g}" for p in study.paths)
        lines.append(
            f"highest    {maximax[sample, i, at]:.5g} +- {error[sample, i, at]:.1g} m/s^2 "
            f"at {frequencies[sample, i, at]:.5g} rad/s, damping {ratio:g}{where}"
        )
    return lines
