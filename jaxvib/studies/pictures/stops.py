"""Names of a study's contacts, and the stops of single bodies."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ..store.finished_study import Run


@dataclasses.dataclass(frozen=True)
class Stop:
    """A contact of one body with something fixed.

    The body meets it on the `side` 1 (or -1) of its displacement, at `places`, m, one
    for each sample. `contact` and `body` are positions among the study's own.
    """

    contact: int
    body: int
    side: int
    places: np.ndarray


def contact_labels(run: Run, number: int) -> list[str]:
    """Return the names of a study's contacts for legends: contact wall, contact 2, ..."""
    names = run.names("contact", number)
    return [f"contact {i + 1 if name == str(i) else name}" for i, name in enumerate(names)]


def stops(run: Run, freedoms: Sequence[str]) -> list[Stop]:
    """Return the stops whose gap is a number of the config or a swept parameter."""
    known = run.study.get("config", {}).get("system", {}).get("contacts")
    if not isinstance(known, Mapping):
        return []
    found = []
    for contact, (name, table) in enumerate(known.items()):
        place = _single_body(table.get("at"), freedoms)
        gap = _gaps(run, f"contacts.{name}.gap", table.get("gap"))
        if place and gap is not None:
            body, share = place
            found.append(Stop(contact, body, int(np.sign(share)), gap / share))
    return found


def _single_body(at: object, freedoms: Sequence[str]) -> tuple[int, float] | None:
    """Return the only body of a direction and its share, None for other directions."""
    shares = {at: 1.0} if isinstance(at, str) else at
    if not isinstance(shares, Mapping) or len(shares) != 1:
        return None
    [(body, share)] = shares.items()
    if body not in freedoms or not isinstance(share, int | float) or not share:
        return None
    return list(freedoms).index(body), float(share)


def _gaps(run: Run, path: str, given: object) -> np.ndarray | None:
    """Return the gap of each sample, m, None if another program has to compute it."""
    if run.has(path):
        return run.field(path)
    numeric = isinstance(given, int | float)
    return np.full(len(run.field("result")), float(given)) if numeric else None
