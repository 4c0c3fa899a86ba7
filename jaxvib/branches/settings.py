"""How a branch is followed: steps, tolerance, and what is watched on the way."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from .._quantity import Range, check_range
from ..orbits.evidence import evidence_factor
from ..orbits.settings import Settings
from .events import Watch, watch_of


@dataclasses.dataclass(frozen=True)
class ContinuationSettings(Settings):
    """How the verbs of continuation follow a branch.

        watch = {"contacts_per_period": 2}
        fine = jv.branches.ContinuationSettings(largest_step=0.01, events=watch)
        jv.continue_orbit(system, orbit, "load.frequency", (5.0, 8.0), settings=fine)

    **Fields:** `first_step`, `smallest_step`, `largest_step`: in the parameter's unit,
    1/50, 1e-7 and 1/20 of its range unless given; of curves in two parameters parts of
    their ranges. `most_points`: at which a branch stops. `segments`: into which the period
    is cut for multiple shooting, with `method="arclength"`. `correct`: whether Newton's
    method corrects each step, which `method="natural"` can do without. `rtol`, `evidence`:
    of each orbit, see `periodic_orbit`. `events`: values of an orbit's quantities, as
    `{"max_contact_force": 2e4}`, or any names with functions of an orbit whose zeros they
    are; located like bifurcations, in a branch's `.events`. `stop_at`: those of them that
    end the branch, with `method="arclength"`.

    **Raises:** `ValueError` for a number out of its range, an unknown level of evidence, a
    quantity that is not known, a name of a bifurcation, or an event to stop at that is not
    among the events.

    >>> jv.branches.ContinuationSettings(most_points=50, evidence="quick").most_points
    50
    """

    first_step: float | None = None
    smallest_step: float | None = None
    largest_step: float | None = None
    most_points: int = 500
    segments: int = 1
    correct: bool = True
    rtol: float = 1e-8
    evidence: str = "checked"
    events: Mapping[str, float | Callable] = dataclasses.field(default_factory=dict)
    stop_at: Sequence[str] = ()

    def __post_init__(self):
        for name in ("first_step", "smallest_step", "largest_step"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), "", Range(above=0.0))
        check_range("most_points", self.most_points, "", Range(at_least=2))
        check_range("segments", self.segments, "", Range(at_least=1))
        evidence_factor(self.evidence)
        watch_of(self.events, self.stop_at)

    @property
    def factor(self) -> float:
        """By what the evidence tightens the tolerance."""
        return evidence_factor(self.evidence)

    @property
    def watch(self) -> Watch:
        """The events as functions of an orbit."""
        return watch_of(self.events, self.stop_at)

    def steps(self, span: float) -> dict[str, float]:
        """Return the steps along a range of that length, by name."""
        usual = {
            "first_step": span / 50,
            "smallest_step": span * 1e-7,
            "largest_step": span / 20,
        }
        given = {name: getattr(self, name) for name in usual}
        return {name: usual[name] if step is None else step for name, step in given.items()}


USUAL = ContinuationSettings()


def report_to(progress: Callable[[int], None] | None) -> Callable[[int], None]:
    """Return whom to tell how many points were found, if only nobody."""
    return progress or (lambda count: None)
