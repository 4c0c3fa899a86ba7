"""Computes responses to noise samples, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ....ensemble import Reason
from ....foundation.arrays import stack_lanes
from ....systems.linear_part import linear_part_alone
from ....systems.system import System
from ....transients import response_covariance, responses, statistics
from ....transients.ensemble import load_place
from ...store.fields import Variable, variables
from ..sample_systems import systems
from ..summary_text import where
from .kind import NoiseResponseOptions

# Fields per seed, with the axes that follow those of sample and seed.
_OF_SEEDS = ("peak", "peak_error", "mean_square", "max_contact_force", "contacts",
             "first_passage")  # fmt: skip


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: NoiseResponseOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return statistics along the axis `sample`, and the results of each seed."""
    noise = options.noise.process()
    seeds = np.arange(options.first_seed, options.first_seed + options.seeds)
    laws = noise.loads(options.noise.highest, options.duration, seeds)
    limits = [level.limit(system) for level in options.limits.values()]
    every, known, linear, codes = [], [], [], []
    for each in systems(system, samples):
        found = responses(each, options.load, laws, options.duration, limits=limits,
                          rtol=run.rtol, engine=options.engine)  # fmt: skip
        every.append(found)
        known.append(statistics(found))
        linear.append(_linear_variance(each, options, noise))
        codes.append(_code(np.asarray(found.result)))
        progress(1)
    by_seed = variables(stack_lanes(every), ("sample", "seed"))
    fields = {name: by_seed[name] for name in _OF_SEEDS if by_seed[name].values.size}
    touching = [np.mean(np.any(np.asarray(found.contacts) > 0, axis=-1)) for found in every]
    exact = Variable(
        ("sample", "state"), np.stack(linear), "",
        "variance at the end by Lyapunov's equation, without contacts and frictions",
    )  # fmt: skip
    return {
        **variables(stack_lanes(known), ("sample",)),
        "linear_variance": exact,
        "touching": Variable(
            ("sample",), np.asarray(touching), "", "share of the seeds that touch a contact"
        ),
        **fields,
        "result": Variable(
            ("sample",), np.asarray(codes, np.int32), "", "reason code: the first failure"
        ),
    }


def _code(results: np.ndarray) -> int:
    """Return the code of a sample: its first failure if over 10 % failed."""
    failed = np.flatnonzero(results)
    few = failed.size <= 0.1 * results.size
    return int(Reason.SUCCESS) if few else int(results[failed[0]])


def _linear_variance(system, options, noise) -> np.ndarray:
    """Return the exact variance of the state's linear part, NaN if there is none."""
    try:
        part = linear_part_alone(system)
    except ValueError:  # springs without a slope, or under static load
        return np.full(len(system.rest()), np.nan)
    load = system.loads[load_place(system, options.load)]
    push = load.push(part.matrices()[0])
    found = response_covariance(part, noise, jnp.asarray(push), options.duration)
    return np.diag(np.asarray(found))


def summary(read: Callable, study: Any) -> list[str]:
    """Return peaks, root mean squares and passages of the sample with the highest peak."""
    names, options = study.axes["freedom"], study.analysis
    peak, error = read("mean_peak"), read("mean_peak_error")
    at = int(np.nanargmax(peak[:, 0])) if np.isfinite(peak[:, 0]).any() else 0
    here = where(read, study, at)
    lines = [
        f"peak       {name} "
        f"{study.quantity_text(unit, peak[at, i], digits=4, error=error[at, i])} on "
        f"average, root mean square "
        f"{study.quantity_text(unit, read('root_mean_square')[at, i], digits=4)}{here}"
        for i, (name, unit) in enumerate(
            zip(names[:2], study.freedom_units[:2], strict=True)
        )
    ]
    apart = (read("variance") - read("linear_variance"))[at] / read("variance_error")[at]
    if read("touching")[at] > 0:
        lines.append(f"contact    {read('touching')[at]:.1%} of the seeds have contact")
    elif np.isfinite(apart).all():
        worst = np.max(np.abs(apart))
        lines.append(
            f"linear     variances within {worst:.2g} standard errors of Lyapunov's"
        )
    for i, name in enumerate(list(options.limits)[:2]):
        share, spread = read("passed")[at, i], read("passed_error")[at, i]
        lines.append(
            f"passage    {name} reached by {share:.1%} +- {spread:.1%} of the seeds"
        )
    return lines
