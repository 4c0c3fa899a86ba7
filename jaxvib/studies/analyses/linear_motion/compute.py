"""Computes exact motions of linear systems, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ....dynamics.assembly_motion import assembly_motion
from ....ensemble import map_samples
from ....systems import AppliedLoad, HarmonicLoad
from ....systems.roles import Linear
from ...store.fields import Variable, variables
from ..sample_systems import each_system
from ..summary_text import highest, where
from .kind import LinearMotionOptions


def compute(
    system: Linear,
    samples: Mapping[str, np.ndarray],
    options: LinearMotionOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the motions of samples, each field along the axis `sample`."""
    times = np.linspace(0.0, options.duration, options.points)
    start = jnp.concatenate(
        [system.direction(place) for place in (options.displacement, options.velocity)]
    )
    force = options.force
    loads = ()
    if force.at is not None:
        law = HarmonicLoad(*map(jnp.asarray, (force.amplitude, force.frequency,
                                              force.phase)))  # fmt: skip
        loads = (AppliedLoad(system.direction(force.at), law),)

    def moved(each):
        return assembly_motion(each, start, times, loads=loads)

    found = map_samples(moved, each_system(system, samples), progress=progress)
    return variables(found, ("sample",))


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest displacements over all samples, of up to five bodies."""
    names, units = study.axes["freedom"], study.freedom_units
    places, times = np.abs(read("places")), read("instants")[0]
    return [
        f"largest    {name} "
        f"{study.quantity_text(units[i], places[sample, at, i], digits=4)} at "
        f"t = {study.quantity_text('s', times[at], digits=4)}"
        f"{where(read, study, sample)}"
        for i, (name, sample, at) in enumerate(highest(places, names))
    ]
