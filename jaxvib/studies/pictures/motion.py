"""One orbit: phase plane, contacts and their names, stops; work rates of contacts."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ..store.finished_study import Run, readable
from .picture import Axis, Chart, Line, Picture
from .regimes import periodic
from .swept_planes import axis, value_text

_MOST_TRACES = 400  # in the page: about 1 MB for two bodies
_CONTACT = 5  # the line colour of a single contact
_KEPT_BITS = 14  # of a float32's 23 mantissa bits: 1e-4 of a value


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


def motion(runs: Sequence[Run]) -> Picture | None:
    """Return the picture of one stored orbit, None if no motions are stored."""
    found = [(run, stored) for run in runs if (stored := stored_motions(run, len(runs)))]
    if not found:
        return None
    run, stored = found[0]
    position = representative(run, stored["samples"])
    sample = stored["samples"][position]
    at = ", ".join(value_text(run, path, run.field(path)[sample]) for path in run.paths)
    times, states, force = (stored[name][position] for name in ("times", "states", "force"))
    freedoms = len(stored["freedoms"])
    orbit = tuple(
        Line(states[:, i], states[:, freedoms + i], name, i)
        for i, name in enumerate(stored["freedoms"])
    )
    names = contact_labels(run, force.shape[1])
    several = len(names) > 1
    colours = [freedoms + i if several else _CONTACT for i in range(len(names))]
    forces = tuple(
        Line(times, column, name, colour, legend=several)
        for name, colour, column in zip(names, colours, force.T, strict=True)
    )
    rates = states[:, freedoms : 2 * freedoms]
    walls = tuple(
        Line(
            np.repeat(stop.places[sample], 2), np.array([rates.min(), rates.max()]),
            names[stop.contact], colours[stop.contact], "dot", legend=not several,
        )
        for stop in stored["stops"]
    )  # fmt: skip
    plane = Chart(Axis("displacement (m)"), Axis("velocity (m/s)"), (*orbit, *walls))
    over_time = Chart(Axis("time (s)"), Axis("contact force (N)"), forces)
    addition = ", and its contact force over time" if forces else ""
    return Picture(
        "orbit",
        "One orbit",
        f"A steady-state motion in the phase plane{addition}: {at}.",
        f"Phase plane{' and contact force' if forces else ''} of the orbit at {at}.",
        (plane, over_time, _strongest(times, force, colours)) if forces else (plane,),
        view="motion",
    )


def _strongest(times: np.ndarray, force: np.ndarray, colours: Sequence[int]) -> Chart:
    """Return a chart of the strongest contact, which may last 1/1000 of the motion."""
    contact = int(np.argmax(force.max(0)))
    column = force[:, contact]
    peak = int(np.argmax(column))
    apart = np.flatnonzero(column == 0)
    first = max(apart[apart < peak], default=0)
    last = min(apart[apart > peak], default=len(column) - 1)
    near = slice(first, last + 1)
    milliseconds = 1e3 * (times[near] - times[first])
    pulse = Line(
        milliseconds, column[near], "contact force", colours[contact], legend=False
    )
    return Chart(
        Axis("time (ms)"), Axis("contact force (N)"), (pulse,), "strongest contact"
    )


def stored_motions(run: Run, runs: int) -> dict | None:
    """Return the usable stored motions of one of several runs, None if there are none.

    If there are more than the page can hold, a subsample. The keys are `samples`
    (traces,), `times` (traces, p), `states` (traces, p, n), `force` (traces, p,
    contacts), the names of the `freedoms` and the `stops`.
    """
    if run.traces is None:
        return None
    samples, states = run.traces["sample"].values, run.traces["states"].values
    usable = np.flatnonzero(np.isfinite(states).all((1, 2)) & ~run.failed[samples])
    if not usable.size:
        return None
    usable = usable[:: -(-usable.size // (_MOST_TRACES // runs))]
    freedoms = _freedoms(run, states.shape[-1])
    return {
        "samples": samples[usable].astype(np.int32),
        "times": run.traces["times"].values[usable],
        "states": states[usable],
        "force": run.traces["contact_force"].values[usable],
        "freedoms": freedoms,
        "stops": stops(run, freedoms),
    }


def _freedoms(run: Run, size: int) -> list[str]:
    """Return the names of the displacements; other states may follow the velocities."""
    known = run.study.get("axes", {})
    further = len(known.get("state", [])) == size and 2 * len(known["freedom"]) < size
    return list(known["freedom"]) if further else run.names("freedom", size // 2)


def representative(run: Run, samples: np.ndarray) -> int:
    """Return the position of the sample shown first: with contacts, near the middle."""
    places = [_centred(run.field(path))[samples] for path in run.paths]
    distance = np.linalg.norm([np.zeros(len(samples)), *places], axis=0)
    touching = periodic(run)[samples] & (run.field("contacts")[samples] > 0)
    return int(np.argmin(np.where(touching, distance, distance + 10)))


def coarse(values: np.ndarray, bits: int = _KEPT_BITS) -> np.ndarray:
    """Round to float32 with few mantissa bits, which compress well."""
    whole = np.ascontiguousarray(values, np.float32).view(np.uint32)
    dropped = 23 - bits
    rounded = whole + np.where(
        np.isfinite(values), np.uint32(1 << (dropped - 1)), np.uint32(0)
    )
    truncated = rounded & np.uint32(~((1 << dropped) - 1) & 0xFFFFFFFF)
    return np.where(np.isfinite(values), truncated, whole).view(np.float32)


def _centred(values: np.ndarray) -> np.ndarray:
    span = np.ptp(values)
    return (values - values.min()) / (span if span else 1.0) - 0.5


def work_rates(runs: Sequence[Run]) -> list[Picture]:
    """Return the picture of the work rates of stored motions, if there are any."""
    run = runs[0]
    traces = run.traces or {}
    if "work_rate" not in traces or len(run.paths) != 1:
        return []
    samples, rates = traces["sample"].values, traces["work_rate"].values
    path = run.paths[0]
    x = run.field(path)[samples]
    order = np.argsort(x, kind="stable")
    names = run.names("contact", rates.shape[1])
    lines = tuple(
        Line(x[order], rates[order, contact], name, contact)
        for contact, name in enumerate(names)
    )
    return [
        Picture(
            "work_rate",
            f"Work rate over {readable(path)}",
            "Mean power lost in each contact (damping and friction) of the stored motions.",
            f"Work rate of each contact over {readable(path)}.",
            (Chart(axis(run, path), Axis("work rate (W)"), lines),),
        )
    ]


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
