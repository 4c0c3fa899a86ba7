"""Computes responses to a harmonic force, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....ensemble import Reason, map_samples
from ....modes import frequency_response
from ....systems.roles import Linear
from ...store.fields import Variable
from ..sample_systems import each_system
from ..summary_text import highest, where
from .kind import FrequencyResponseOptions


def compute(
    system: Linear,
    samples: Mapping[str, np.ndarray],
    options: FrequencyResponseOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the responses of samples, each field along the axis `sample`."""
    frequencies = np.linspace(options.low, options.high, options.points)

    def respond(each):
        return frequency_response(each, frequencies, force=options.force)

    response = map_samples(respond, each_system(system, samples), progress=progress)
    # the response of an undamped system is unbounded at its natural frequencies
    known = np.isfinite(response).all((1, 2))
    codes = np.where(known, int(Reason.SUCCESS), int(Reason.SINGULAR))
    axes = ("sample", "frequency", "freedom")
    instants = np.broadcast_to(frequencies, (len(response), options.points))
    return {
        "frequencies": Variable(axes[:2], instants.copy(), "rad/s", "frequency"),
        "amplitude": Variable(
            axes, np.abs(response), "", "displacement or rotation per unit force"
        ),
        "phase": Variable(axes, np.angle(response), "rad", "phase behind the force"),
        "result": Variable(("sample",), codes.astype(np.int32), "", "reason code"),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the highest peak of up to five degrees of freedom over all samples."""
    names, units = study.axes["freedom"], study.freedom_units
    amplitude, frequencies = read("amplitude"), read("frequencies")[0]
    per = "N" if units[names.index(study.analysis.force)] == "m" else "(N m)"
    return [
        f"peak       {name} "
        f"{study.quantity_text(f'{units[i]}/{per}', amplitude[sample, at, i], digits=4)} "
        f"at {study.quantity_text('rad/s', frequencies[at])}{where(read, study, sample)}"
        for i, (name, sample, at) in enumerate(highest(amplitude, names))
    ]
