"""Pictures of steady states: maps, curves or scatter plots, and one motion."""

from collections.abc import Sequence

from ...pictures.curves import amplitude_curves, sweep_curves
from ...pictures.motion import motion
from ...pictures.picture import Picture
from ...pictures.swept_planes import long_paths
from ...pictures.work_rates import work_rates
from ...store.finished_study import Run
from .maps import maps
from .scatter import scatters


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return maps over two long paths (or curves, scatter plots), and a motion."""
    run = runs[0]
    if len(long_paths(run)) > 1:
        found = [*maps(runs), amplitude_curves(runs)]
    elif len(run.paths) > 1 and not run.grid:
        found = scatters(runs)
    else:
        found = sweep_curves(runs) if run.paths else []
    found = [*found, *work_rates(runs)]
    one = motion(runs)
    return [*found, one] if one else found
