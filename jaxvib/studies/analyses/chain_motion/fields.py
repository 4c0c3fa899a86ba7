"""Energy density and frames of some chains of a study, for display."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ....dynamics.chains.motion import chain_fields
from ....foundation.arrays import stack_lanes
from ....systems import replace
from ...config import samples as sampled
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ...store.subsample import evenly_chosen

_MOST_SAMPLES = 4  # with stored fields, each bodies x times
_MOST_TIMES = 257  # of the space-time picture
_MOST_FRAMES = 480  # of the animation, over all samples: 20 s at 24 per second


def fields_of_chains(
    system: Any,
    values: Mapping[str, np.ndarray | Rows],
    study: Any,
    start: Callable,
    **moved: Any,
) -> dict[str, Variable]:
    """Return the fields of an even subsample; `start` gives a chain's initial state.

    `moved` contains further arguments of `chain_fields`.
    """
    options = study.analysis
    grid = sampled.grid_of(study.sampling, study.paths) if study.paths else None
    chosen = evenly_chosen(study.samples, grid, _MOST_SAMPLES)
    times = np.linspace(0.0, options.duration, min(options.points, _MOST_TIMES))
    frames = _MOST_FRAMES // len(chosen) + 1

    @eqx.filter_jit
    def fields(here):
        chain = replace(system, here)
        return chain_fields(chain, start(chain), times, frames, **moved)

    rows = [fields({path: column[i] for path, column in values.items()}) for i in chosen]
    return {
        "sample": Variable(("trace",), chosen, "", "position along sample"),
        "instants": Variable(("time",), times, "s", "time"),
        **variables(stack_lanes(rows), ("trace",)),
    }
