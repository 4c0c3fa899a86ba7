"""Where energy goes in some of the chains of a study, stored to be shown and played."""

from collections.abc import Callable, Mapping

import equinox as eqx
import numpy as np

from ....dynamics.chains.motion import chain_fields
from ....systems import replace
from ...config import samples as sampled
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ...store.thinned import evenly_chosen
from ..stacking import stacked

_MOST_SAMPLES = 4  # whose fields are stored: each is bodies times instants
_MOST_TIMES = 257  # of the space-time picture, one more than cells along its other axis
_MOST_FRAMES = 480  # of a film, all samples together: 20 s at 24 a second


def fields_of_chains(
    system, values: Mapping[str, np.ndarray | Rows], study, start: Callable, **moved
) -> dict[str, Variable]:
    """Return the fields of evenly chosen samples, `start` giving a chain's first state.

    What else `chain_fields` is to be told stands in `moved`.
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
        **variables(stacked(rows), ("trace",)),
    }
