"""The study of basins: on which attractor each state of a plane settles."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ...store.fields import Variable, variables
from ..continuation.kind import Bounds
from ..cost import Cost
from ..measures import flat


class BasinsOptions(Table):
    """Which initial states are tried, and for how long."""

    kind: Literal["basins"] = Field(description="the kind of analysis")
    grid: Annotated[dict[str, Bounds], pydantic.BeforeValidator(flat)] = Field(
        min_length=2, max_length=2,
        description="two components of the state at t = 0, the others being at rest",
        json_schema_extra={"allowed": "component = [lowest, highest] for two components"},
    )  # fmt: skip
    points: int = Field(
        default=64, ge=2, le=2000, description="initial states along each component"
    )
    max_periods: int = Field(
        default=8, ge=1, le=8, description="longest motion looked for, in load periods"
    )
    transient: int = Field(
        default=512, ge=16, le=1_000_000,
        description="load periods after which a motion is undecided or has no period",
    )  # fmt: skip


class BasinsKind:
    """Attractors by name, where each initial state leads, and the shares."""

    name = "basins"
    sampled = False
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return BasinsOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for bounds that do not ascend or an unknown component."""
        for name, (low, high) in options.grid.items():
            if not low < high:
                raise ValueError(f"grid.{name} = [{low:g}, {high:g}] does not ascend")
            if system is not None and name not in state_names(system):
                raise ValueError(unknown_key("component", name, state_names(system)))

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the initial states."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return labels along the axis `start`, and what is known of each attractor."""
        from ....dynamics.flow import engine_for
        from ....orbits import basins, state_grid

        names = state_names(system)
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

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/basins.toml`."""
        number = options.points**2
        return Cost(6.0, 25.0, 5e-3 * number, 3.0, 80.0 * number, ("stage", "_orbit"))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
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
    from ....orbits.attractors import named

    columns = (read(f"attractors.{name}") for name in ("result", "periods", "contacts"))
    each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return [f"A{i}: {named(*numbers)}" for i, numbers in enumerate(each, 1)]


def state_names(system) -> list[str]:
    """Return the names of a system's components of the state, as studies write them."""
    if hasattr(system, "linear"):
        freedoms = list(system.linear.names)
        return [*freedoms, *(f"rate of {name}" for name in freedoms)]
    return ["x_main", "x_attached", "v_main", "v_attached"]
