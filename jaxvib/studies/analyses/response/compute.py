"""Computes motions from rest, and a summary of their peaks."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ....dynamics import simulate
from ....ensemble import map_samples
from ....foundation.quantity import result_field
from ....systems.system import System
from ....transients import Response, response
from ....transients.limits import freedoms_of
from ....transients.response import chosen_engine
from ...store.fields import Variable, variables
from ..sample_systems import each_system
from ..summary_text import where
from .kind import ResponseOptions

# Motions are expensive and large: chunks are small.
_CHUNK = 16


class History(eqx.Module):
    """Displacements from rest, and states of elements, at given times."""

    instants: Float[Array, " time"] = result_field("times", "s", ("time",))
    displacements: Float[Array, "time freedom"] = result_field(
        "displacements from rest", "m", ("time", "freedom")
    )
    further_states: Float[Array, "time further"] = result_field(
        "states of elements", "", ("time", "further")
    )


class _Motion(eqx.Module):
    response: Response
    history: History


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: ResponseOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return responses and histories, each field along the axis `sample`."""
    limits = [level.limit(system) for level in options.limits.values()]
    engine = chosen_engine(system, options.engine)
    times = jnp.linspace(0.0, options.duration, options.points)

    def moved(each) -> _Motion:
        found = response(
            each, options.duration, limits=limits, rtol=run.rtol, engine=engine, throw=False
        )
        start = each.rest()
        path = simulate(each, start, times, run.rtol, throw=False)
        change = path.states - start[None]
        return _Motion(found, History(times, change[:, :count], change[:, further:]))

    count, units = freedoms_of(system), system.labels.units
    further = 2 * count  # states of elements are behind the velocities, and 0 at rest
    lanes = each_system(system, samples)
    found = map_samples(moved, lanes, chunk=_CHUNK, progress=progress)
    fields = variables(found.response, ("sample",)) | variables(found.history, ("sample",))
    notes = {"component_units": ", ".join(units[further:])}
    fields["further_states"] = replace(fields["further_states"], notes=notes)
    return {name: field for name, field in fields.items() if field.values.size}


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest displacements and contact forces, and the limits reached."""
    names, limits = study.axes["freedom"], list(study.analysis.limits)
    shown = functools.partial(study.quantity_text, digits=4)
    peaks, errors, times = map(read, ("peak", "peak_error", "peak_time"))
    lines = []
    for i, name in enumerate(names[:4]):
        if not np.isfinite(peaks[:, i]).any():
            continue
        at = int(np.nanargmax(peaks[:, i]))
        lines.append(
            f"largest    {name} "
            f"{shown(study.freedom_units[i], peaks[at, i], error=errors[at, i])} "
            f"at t = {shown('s', times[at, i])}"
            f"{where(read, study, at)}"
        )
    contacts = study.axes.get("contact", [])
    forces = read("max_contact_force") if contacts else np.zeros((1, 0))
    for i, name in enumerate(contacts[:2]):
        if not np.isfinite(forces[:, i]).any():
            continue
        at = int(np.nanargmax(forces[:, i]))
        lines.append(
            f"largest    force of {name} {shown('N', forces[at, i])}"
            f"{where(read, study, at)}"
        )
    for i, name in enumerate(limits[:2]):
        passed = np.isfinite(read("first_passage")[:, i])
        lines.append(
            f"passage    {name} reached by {passed.sum()} of {passed.size} samples"
        )
    return lines
