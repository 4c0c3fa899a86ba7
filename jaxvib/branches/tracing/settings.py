"""Settings of continuation: step sizes, tolerances and events."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...foundation.quantity import Range, check_range
from ...orbits.settings import Settings
from ...orbits.shooting.error_estimates import error_factor
from .events import OrbitEvents, orbit_events


@dataclasses.dataclass(frozen=True)
class ContinuationSettings(Settings):
    """Settings of `continue_orbit` and the other continuation functions.

        levels = {"contacts_per_period": 2}
        fine = jv.branches.ContinuationSettings(largest_step=0.01, events=levels)
        jv.continue_orbit(system, orbit, "load.frequency", (5.0, 8.0), settings=fine)

    **Fields:** `first_step`, `smallest_step`, `largest_step`: in the parameter's unit,
    default: 1/50, 1e-7 (1e-11 of orbits whose contacts are all elastic) and 1/20 of its
    range; for curves in two parameters relative to their ranges. `most_points`: the
    largest number of points of a branch. `segments`: of the period for multiple shooting:
    default one; for cycles an even number of at least 6, default: chosen automatically,
    6 to 384.
    `rtol`, `evidence`: of each orbit, see `periodic_orbit`.
    `events`: values of an orbit's quantities, as `{"max_contact_force": 2e4}`, or
    functions of an orbit by any name; their zeros are located like bifurcations and are
    in a branch's `.events`. `stop_at`: terminal events.

    **Raises:** `ValueError` for a number out of its range, an unknown level of
    evidence, an unknown quantity, a name of a bifurcation, or an event to stop at that
    is not among the events.

    >>> jv.branches.ContinuationSettings(most_points=50, evidence="quick").most_points
    50
    """

    first_step: float | None = None
    smallest_step: float | None = None
    largest_step: float | None = None
    most_points: int = 500
    segments: int | None = None
    rtol: float = 1e-8
    evidence: str = "checked"
    events: Mapping[str, float | Callable[..., Any]] = dataclasses.field(
        default_factory=dict
    )
    stop_at: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("first_step", "smallest_step", "largest_step"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), "", Range(above=0.0))
        check_range("most_points", self.most_points, "", Range(at_least=2))
        if self.segments is not None:
            check_range("segments", self.segments, "", Range(at_least=1))
        error_factor(self.evidence)
        orbit_events(self.events, self.stop_at)

    @property
    def factor(self) -> float:
        """The factor by which the level of evidence tightens the tolerance."""
        return error_factor(self.evidence)

    @property
    def checked_events(self) -> OrbitEvents:
        """The events as functions of an orbit."""
        return orbit_events(self.events, self.stop_at)

    def steps(self, span: float) -> dict[str, float]:
        """Return the step sizes for a range of length `span`, by name."""
        usual = {
            "first_step": span / 50,
            "smallest_step": span * 1e-7,
            "largest_step": span / 20,
        }
        given = {name: getattr(self, name) for name in usual}
        return {name: usual[name] if step is None else step for name, step in given.items()}


USUAL = ContinuationSettings()


def report_to(progress: Callable[[int], None] | None) -> Callable[[int], None]:
    """Return the progress callback, or a callback that does nothing."""
    return progress or (lambda count: None)
