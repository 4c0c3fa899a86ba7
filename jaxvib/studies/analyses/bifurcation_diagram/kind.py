"""The analysis `bifurcation_diagram`: attractors over one parameter, by simulation."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...config.bounds import Bounds, check_allowed, of_path
from ...config.tables import Table, option
from ..base import AnalysisKind, Role

SWEEPS = ("rest", "up", "down")


class BifurcationDiagramOptions(Table):
    """Parameter, values, initial states and durations."""

    units_of: ClassVar = {"bounds": of_path("path")}

    kind: Literal["bifurcation_diagram"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("lowest and highest value of the parameter")
    values: int = option("values, evenly spaced", 201, ge=2, le=100_000)
    sweep: Literal["rest", "up", "down", "both"] = option(
        "initial state: rest, or the final state at the previous value", "rest"
    )
    transient: int = option("load periods of the transient", 256, ge=1, le=1_000_000)
    points: int = option("load periods that are recorded", 64, ge=16, le=4096)


class BifurcationDiagramKind(AnalysisKind[BifurcationDiagramOptions]):
    """Poincaré samples over a parameter, with the largest Lyapunov exponent."""

    name = "bifurcation_diagram"
    options = BifurcationDiagramOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "motions"

    def check(
        self,
        options: BifurcationDiagramOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for an unknown path or bounds outside of its range."""
        check_allowed(options.path, options.bounds, declared)

    def coordinates(self, options: BifurcationDiagramOptions) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def sample_bytes(self, options: BifurcationDiagramOptions) -> float:
        """Return the stored bytes per sample."""
        motions = options.values * (2 if options.sweep == "both" else 1)
        return 64.0 * motions * options.points
