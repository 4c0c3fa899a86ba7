"""The regime of each sample as a named, coloured class: period n with k contacts, ..."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...drawing import colours
from ...ensemble import Reason
from ..store.finished import Run
from .picture import Classes, Share

_COLOURS = {
    Reason.QUASI_PERIODIC: colours.QUASI_PERIODIC,
    Reason.CHAOTIC: colours.CHAOTIC,
    Reason.LONGER_PERIOD: colours.LONGER,
}
_MOTIONS = {
    code: (code.motion, _COLOURS.get(code, colours.UNDECIDED))
    for code in Reason if code.motion
}  # fmt: skip
_FAILED = ("failed", colours.FAILED)

_VERDICTS = {
    1: ("stable", colours.STABLE),
    0: ("unstable", colours.UNSTABLE),
    -1: ("undecided", colours.UNDECIDED),
}


@dataclasses.dataclass(frozen=True)
class Sorting:
    """Samples of one or two runs sorted into common classes.

    `members` has each sample's position in `classes`, shape (samples,) for each run.
    """

    classes: Classes
    members: tuple[np.ndarray, ...]

    @property
    def shares(self) -> tuple[Share, ...]:
        """The classes with the number of their samples in each run."""
        number = len(self.classes.names)
        counts = [np.bincount(members, minlength=number) for members in self.members]
        pairs = zip(self.classes.names, self.classes.colours, strict=True)
        return tuple(
            Share(name, colour, tuple(int(count[i]) for count in counts))
            for i, (name, colour) in enumerate(pairs)
        )


def sort_by_regime(runs: Sequence[Run]) -> Sorting:
    """Sort samples by period and contacts per orbit, then by what else they are."""
    return _sort([_regimes(run) for run in runs])


def sort_by_verdict(runs: Sequence[Run]) -> Sorting:
    """Sort samples by their stability verdict, or by why they have none."""
    return _sort([_verdicts(run) for run in runs])


def periodic(run: Run) -> np.ndarray:
    """Return which samples settled on a periodic orbit, shape (samples,)."""
    return run.field("result") == Reason.SUCCESS


def regime_name(periods: int, contacts: int) -> str:
    """Return the name of the regime of period n with k contacts per orbit."""
    return f"period {periods} with {contacts} contact{'' if contacts == 1 else 's'}"


# A class in the making is (rank, name, colour); the rank puts legends in order.
def _regimes(run: Run) -> list[tuple]:
    numbers = zip(
        run.field("result").tolist(),
        run.field("periods").tolist(),
        run.field("contacts").tolist(),
        strict=True,
    )
    known: dict[tuple, tuple] = {}
    return [known.setdefault(each, _regime(*each)) for each in numbers]


def _regime(code: int, periods: int, contacts: int) -> tuple:
    if code == Reason.SUCCESS:
        colour = colours.regime_colour(periods, contacts)
        return (0, periods, contacts), regime_name(periods, contacts), colour
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
    order = list(_MOTIONS)
    if code in order:
        return (1, order.index(Reason(code)), 0), *_MOTIONS[Reason(code)]
    return (2, 0, 0), *_FAILED


def _sort(labelled: list[list[tuple]]) -> Sorting:
    found = sorted({label for labels in labelled for label in labels})
    position = {label: i for i, label in enumerate(found)}
    classes = Classes(
        tuple(name for _, name, _ in found), tuple(colour for *_, colour in found)
    )
    members = [np.array([position[x] for x in labels], int) for labels in labelled]
    return Sorting(classes, tuple(members))
