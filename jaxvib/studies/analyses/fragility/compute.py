"""Computes failure shares at each intensity and the fragility curve, with summary."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ....ensemble import Reason
from ....foundation.arrays import stack_lanes
from ....systems.system import System
from ....transients import fragility_curve, responses, scaled
from ...store.fields import Variable, variables
from ..sample_systems import systems
from ..summary_text import where
from .kind import FragilityOptions

_AXES = ("sample", "intensity")


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: FragilityOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return shares of failures along `intensity`, and the curve, of each sample."""
    noise, levels = options.noise.process(), np.asarray(options.intensities)
    seeds = options.first_seed + np.arange(levels.size * options.seeds)
    laws = noise.loads(options.noise.highest, options.duration, seeds)
    laws = scaled(laws, jnp.repeat(jnp.asarray(levels), options.seeds))
    limits = [options.limit.limit(system)]
    curves, extremes, errors, failed = [], [], [], []
    for each in systems(system, samples):
        found = responses(each, options.load, laws, options.duration, limits=limits,
                          rtol=run.rtol, engine=options.engine)  # fmt: skip
        shape = levels.size, options.seeds
        reached = np.isfinite(found.first_passage[:, 0]).reshape(shape)
        good = (found.result == Reason.SUCCESS).reshape(shape)
        counts = np.sum(reached & good, axis=1), np.sum(good, axis=1)
        curves.append(fragility_curve(levels, *(c.astype(float) for c in counts)))
        extremes.append(found.extreme[:, 0].reshape(shape))
        errors.append(np.nanmax(found.peak_error, initial=0.0))
        failed.append(counts)
        progress(1)
    passed, trials = (np.stack([each[k] for each in failed]) for k in (0, 1))
    share = passed / np.maximum(trials, 1)
    spread = np.sqrt(share * (1 - share) / np.maximum(trials, 1))
    wide = np.broadcast_to(levels, (len(curves), levels.size)).copy()
    return {
        **variables(stack_lanes(curves), ("sample",)),
        "intensities": Variable(_AXES, wide, "", "factor of the noise"),
        "failures": Variable(_AXES, passed, "", "seeds that reach the limit"),
        "trials": Variable(_AXES, trials, "", "seeds whose motion did not fail"),
        "share": Variable(_AXES, share, "", "share of the seeds that reach the limit"),
        "share_error": Variable(_AXES, spread, "", "its standard error"),
        "extreme": Variable(
            (*_AXES, "seed"),
            np.stack(extremes),
            "m",
            "extreme value of the limited quantity",
        ),
        "largest_error": Variable(
            ("sample",), np.asarray(errors), "m", "largest error of a peak, by tolerance"
        ),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the curve of each sample, at most five."""
    lines = []
    for sample in range(min(5, len(read("median")))):
        here = where(read, study, sample)
        if read("result")[sample]:
            lines.append(f"curve      no fit{here}")
            continue
        median, beta = read("median")[sample], read("dispersion")[sample]
        errors = read("median_error")[sample], read("dispersion_error")[sample]
        lines.append(
            f"curve      median {median:.4g} +- {errors[0]:.1g}, dispersion "
            f"{beta:.4g} +- {errors[1]:.1g}{here}"
        )
    return lines
