"""Which attractor each state leads to, and what is said of the shares."""

from collections.abc import Callable

import numpy as np

from ....dynamics.engines import engine_for
from ....orbits import basins, state_grid
from ....orbits.attractors import named
from ...store.fields import Variable, variables


def compute(system, samples, options, run, progress) -> dict[str, Variable]:
    """Return labels along the axis `start`, and what is known of each attractor."""
    names = system.state_names
    grid = {
        names.index(name): np.linspace(*bounds, options.points)
        for name, bounds in options.grid.items()
    }
    starts = state_grid(system, grid)
    engine, why = engine_for(system, "auto", len(starts))
    found = basins(
        system,
        starts,
        max_periods=options.max_periods,
        transient=options.transient,
        rtol=run.rtol,
        engine=engine,
    )
    progress(1)
    notes = {"engine": f"{engine} ({why})"}
    fields = variables(found)
    result = fields.pop("result")
    return {
        "starts": Variable(("start", "state"), starts, "", "state at t = 0"),
        **fields,
        "result": Variable(
            result.axes, result.values, result.unit, result.description, notes
        ),
    }


def summary(read: Callable, study) -> list[str]:
    """Return the largest shares with their errors, and how many are undecided."""
    names = attractor_names(read)
    share, error = read("share"), read("share_error")
    lines = [
        f"{names[i]:<32} {share[i]:.1%} +- {error[i]:.1%}"
        for i in np.argsort(-share, kind="stable")[:5]
    ]
    undecided = int(np.sum(read("label") < 0))
    return [*lines, f"undecided  {undecided} of {len(read('label'))} initial states"]


def attractor_names(read: Callable) -> list[str]:
    """Return the names of stored attractors: `A1: period 1, 0 contacts`."""
    columns = (read(f"attractors.{name}") for name in ("result", "periods", "contacts"))
    each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return [f"A{i}: {named(*numbers)}" for i, numbers in enumerate(each, 1)]
