"""The regime of each sample as a named, coloured class, and maps of their changes."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...drawing import colours
from ...ensemble import Reason
from ...foundation.text import contacts_text
from ..store.finished_study import Run
from .picture import Chart, Classes, Picture, Scale, Share
from .swept_planes import planes

_MOTIONS = [code for code in Reason if code.motion]
_FAILED = ("failed", "failed", colours.FAILED, "x")
_UNDECIDED = "undecided"

_VERDICTS = {
    1: ("stable", "stable", colours.STABLE, ""),
    0: ("unstable", "unstable", colours.UNSTABLE, ""),
    -1: (_UNDECIDED, _UNDECIDED, colours.UNDECIDED, ""),
}


_CLASSES = Classes(
    ("same regime", "different regime", "failed in one"),
    (colours.SAME, colours.OTHER, colours.FAILED),
)
_MOST = 8.0  # the colour scale covers force ratios from 1/8 to 8


@dataclasses.dataclass(frozen=True)
class Sorting:
    """Samples of several runs sorted into common classes.

    `members` has each sample's index in `classes`, shape (samples,) for each run. A
    class has one colour and hatch; if it covers several regimes, `regimes` names each
    and `exact` has the index among them.
    """

    classes: Classes
    members: tuple[np.ndarray, ...]
    regimes: tuple[str, ...] = ()
    exact: tuple[np.ndarray, ...] = ()

    @property
    def shares(self) -> tuple[Share, ...]:
        """The classes with their number of samples in each run."""
        number = len(self.classes.names)
        counts = [np.bincount(members, minlength=number) for members in self.members]
        return tuple(
            Share(
                name,
                self.classes.colours[i],
                tuple(int(count[i]) for count in counts),
                self.classes.hatch(i),
            )
            for i, name in enumerate(self.classes.names)
        )


def sort_by_regime(runs: Sequence[Run]) -> Sorting:
    """Sort samples by period and contacts per orbit, then by the remaining outcomes."""
    return _sort([_regimes(run) for run in runs])


def sort_by_verdict(runs: Sequence[Run]) -> Sorting:
    """Sort samples by stability verdict, or the reason why there is none."""
    return _sort([_verdicts(run) for run in runs])


def periodic(run: Run) -> np.ndarray:
    """Return a mask of samples that converged to a periodic orbit, shape (samples,)."""
    return run.field("result") == Reason.SUCCESS


def touching(runs: Sequence[Run]) -> bool:
    """Return whether any sample has a contact."""
    return any((run.field("max_contact_force") > 0).any() for run in runs)


def period_of(runs: Sequence[Run]) -> str:
    """Return the period in which motions are counted: of the load, or of limit cycles."""
    cycles = all(run.options.get("period") for run in runs)
    return "period" if cycles else "load period"


def regimes_text(runs: Sequence[Run]) -> str:
    """Return the text of pictures of regimes."""
    if period_of(runs) == "load period":
        counted = "period (in load periods) and impacts per period"
    else:
        counted = "at rest, or a limit cycle and its impacts per period"
    return f"Steady state of each sample: {counted}."


def motion_name(
    code: int, periods: int, contacts: int | None = None, touching: bool = False
) -> str:
    """Return what a motion is: period n with k contacts, if given, or why it has none."""
    motion = Reason(code)
    if motion != Reason.SUCCESS:
        return _UNDECIDED if motion.undecided else motion.motion or _FAILED[0]
    if contacts is None:
        return f"period {periods}"
    words = contacts_text(contacts, touching)
    return f"period {periods}{' with' if words[0].isdigit() else ','} {words}"


# An unsorted regime is (rank, name, class name, colour, hatch); rank sorts the legend.
def _regimes(run: Run) -> list[tuple]:
    numbers = zip(
        run.field("result").tolist(),
        run.field("periods").tolist(),
        run.field("contacts").tolist(),
        _touches(run).tolist(),
        strict=True,
    )
    known: dict[tuple, tuple] = {}
    return [known.setdefault(each, _regime(*each)) for each in numbers]


def _touches(run: Run) -> np.ndarray:
    """Return which motions have a contact that closes, as far as it is stored."""
    stored = [each for each in ("contact_duration", "max_contact_force") if run.has(each)]
    return run.field(stored[0]) > 0 if stored else np.zeros(len(run.field("result")), bool)


def _regime(code: int, periods: int, contacts: int, touching: bool) -> tuple:
    if code == Reason.SUCCESS:
        colour, shared = colours.regime_class(periods, contacts)
        name, always = (
            motion_name(code, periods, contacts, touching),
            touching and not contacts,
        )
        if always:
            shared, contacts = shared.partition(" with ")[0] + ", always in contact", -1
        hatch = "/" if always else colours.period_hatch(periods)
        return (0, periods, contacts), name, shared, colour, hatch
    return _unsettled(code)


def _verdicts(run: Run) -> list[tuple]:
    numbers = zip(run.field("result").tolist(), run.field("stable").tolist(), strict=True)
    return [
        ((0, -verdict % 3, 0), *_VERDICTS[verdict])
        if code == Reason.SUCCESS
        else _unsettled(code)
        for code, verdict in numbers
    ]


def _unsettled(code: int) -> tuple:
    if code in _MOTIONS:
        known = Reason(code)
        colour, hatch = colours.motion_colour(known.name), colours.HATCHES.get(known.name)
        shared = known.motion if hatch else _UNDECIDED
        return (1, _MOTIONS.index(known), 0), known.motion, shared, colour, hatch or ""
    return (2, 0, 0), *_FAILED


def _sort(labelled: list[list[tuple]]) -> Sorting:
    found = sorted({label for labels in labelled for label in labels})
    seen: dict[tuple[str, str], list[tuple]] = {}
    for label in found:
        seen.setdefault(label[3:], []).append(label)
    classes = Classes(
        tuple(own[0][1] if len(own) == 1 else own[0][2] for own in seen.values()),
        tuple(colour for colour, _ in seen),
        tuple(hatch for _, hatch in seen),
    )
    place = {label: i for i, own in enumerate(seen.values()) for label in own}
    position = {label: i for i, label in enumerate(found)}
    return Sorting(
        classes,
        tuple(np.array([place[x] for x in labels], int) for labels in labelled),
        tuple(name for _, name, *_ in found),
        tuple(np.array([position[x] for x in labels], int) for labels in labelled),
    )


def change_maps(runs: Sequence[Run]) -> list[Picture]:
    """Return a map of changes from the first run to each other run over its grid."""
    return [
        _changes(runs, number)
        for number in range(1, len(runs))
        if _same_grid(runs[0], runs[number])
    ]


def _changes(runs: Sequence[Run], number: int) -> Picture:
    old, new = runs[0], runs[number]
    plane = planes(runs)[number]
    exact = sort_by_regime(runs).exact
    members = np.where(old.failed | new.failed, 2, exact[0] != exact[number])
    ratio = _force_ratio(old, new)
    label = f"peak force, {new.name} / {old.name}"
    scale = Scale(label, "balance", 1 / _MOST, _MOST, log=True)
    counts = np.bincount(members, minlength=3)
    shares = tuple(
        Share(name, colour, (int(count),))
        for name, colour, count in zip(
            _CLASSES.names, _CLASSES.colours, counts, strict=True
        )
        if count
    )
    classes = plane.cells(members.astype(float), _CLASSES, versus=0)
    return Picture(
        "changes" if len(runs) == 2 else f"changes_{number}",
        f"Changes from {old.name} to {new.name}",
        "Left: samples whose regime differs. Right: ratio of the peak contact "
        f"forces where both have contact, colour scale up to {_MOST:g} times.",
        f"{counts[1]} of {old.size} samples have a different regime.",
        (
            Chart(plane.x, plane.y, classes),
            Chart(plane.x, plane.y, plane.cells(ratio, scale, versus=0)),
        ),
        shares,
        plane.choice,
        plane.slices,
    )


def _same_grid(one: Run, other: Run) -> bool:
    return one.grid == other.grid and all(
        np.array_equal(one.field(path), other.field(path)) for path in one.paths
    )


def _force_ratio(old: Run, new: Run) -> np.ndarray:
    before, after = (run.field("max_contact_force") for run in (old, new))
    both = (before > 0) & (after > 0)
    ratio = np.divide(after, before, out=np.full(len(both), np.nan), where=both)
    return np.clip(ratio, 1 / _MOST, _MOST)
