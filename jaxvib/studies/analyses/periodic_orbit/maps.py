"""Maps over two swept parameters: regime, stability, peak contact force, contacts."""

from collections.abc import Sequence

import numpy as np

from ....drawing import colours
from ...pictures.changes import change_maps
from ...pictures.picture import Chart, Classes, Picture, Scale, Share
from ...pictures.regimes import (
    Sorting,
    period_of,
    periodic,
    regimes_text,
    sort_by_regime,
    sort_by_verdict,
    touching,
)
from ...pictures.swept_planes import Plane, planes
from ...store.finished_study import Run, readable

_NO_CONTACT = ("no contact", colours.NO_CONTACT)


def maps(runs: Sequence[Run]) -> list[Picture]:
    """Return the maps of one or several grid studies of periodic orbits."""
    of_contacts = [force_map(runs), contacts_map(runs)] if touching(runs) else []
    return [regime_map(runs), stability_map(runs), *of_contacts, *change_maps(runs)]


def regime_map(runs: Sequence[Run]) -> Picture:
    """Return the map of periods and contacts."""
    sorting = sort_by_regime(runs)
    charts = [
        _chart(plane, runs, plane.cells(members.astype(float), sorting.classes))
        for plane, members in zip(planes(runs), sorting.members, strict=True)
    ]
    return _picture(
        "regimes",
        "Regimes",
        regimes_text(runs),
        charts,
        runs,
        sorting.shares,
    )


def stability_map(runs: Sequence[Run]) -> Picture:
    """Return the map of the largest Floquet multiplier's modulus."""
    sorting = sort_by_verdict(runs)
    moduli = [run.field("largest_multiplier") for run in runs]
    stable = [periodic(run) & (run.field("stable") == 1) for run in runs]
    low = _lowest([values[where] for values, where in zip(moduli, stable, strict=True)])
    scale = Scale("largest |multiplier| of stable orbits", "sea", low, 1.0)
    charts = []
    for plane, members in zip(planes(runs), sorting.members, strict=True):
        where = stable[plane.number]
        numbers = plane.cells(np.where(where, moduli[plane.number], np.nan), scale)
        others = plane.cells(np.where(where, np.nan, members), sorting.classes)
        charts.append(_chart(plane, runs, numbers + others))
    return _picture(
        "stability",
        "Stability",
        "Modulus of the largest Floquet multiplier over the orbit's period: the "
        "closer to 1, the slower the decay of a disturbance. Samples without a stable "
        "orbit are coloured by class.",
        charts,
        runs,
        tuple(share for share in sorting.shares if share.name != "stable"),
    )


def force_map(runs: Sequence[Run]) -> Picture:
    """Return the map of the peak contact force, on a logarithmic scale."""
    forces = [run.field("max_contact_force") for run in runs]
    positive = np.concatenate([force[force > 0] for force in forces])
    low, high = (positive.min(), positive.max()) if positive.size else (1.0, 10.0)
    scale = Scale(
        "peak contact force (N)", "cividis", float(low), float(high), log=True, unit="N"
    )
    charts, others = [], _beside_numbers(runs, forces)
    for plane, force, members in zip(planes(runs), forces, others.members, strict=True):
        numbers = plane.cells(np.where(force > 0, force, np.nan), scale)
        rest = plane.cells(np.where(force > 0, np.nan, members), others.classes)
        charts.append(_chart(plane, runs, numbers + rest))
    return _picture(
        "peak_force",
        "Peak contact force",
        "The largest contact force over the orbit's period, also between "
        "steps. Logarithmic colour scale.",
        charts,
        runs,
        others.shares[1:],
    )


def contacts_map(runs: Sequence[Run]) -> Picture:
    """Return the map of contacts per period, that of the load if it has one."""
    counted = f"per {period_of(runs)}"
    rates = [np.where(periodic(r), r.field("contacts_per_period"), np.nan) for r in runs]
    high = max([1.0, *(float(np.nanmax(r)) for r in rates if np.isfinite(r).any())])
    scale = Scale(f"contacts {counted}", "sea", 0.0, high)
    sorting = sort_by_regime(runs)
    charts = []
    for plane, rate, members in zip(planes(runs), rates, sorting.members, strict=True):
        rest = np.where(np.isfinite(rate), np.nan, members)
        layers = plane.cells(rate, scale) + plane.cells(rest, sorting.classes)
        charts.append(_chart(plane, runs, layers))
    return _picture(
        "contacts",
        "Contacts",
        f"Contact onsets {counted} of each periodic orbit: 1/2 is one contact in "
        "two periods. Aperiodic motions are coloured as in the regime map.",
        charts,
        runs,
        tuple(share for share in sorting.shares if not share.name.startswith("period ")),
    )


def _lowest(values: list[np.ndarray]) -> float:
    every = np.concatenate(values)
    return float(np.floor(10 * every.min()) / 10) if every.size else 0.0


def _beside_numbers(runs: Sequence[Run], forces: Sequence[np.ndarray]) -> Sorting:
    """Sort samples into those with a force, without contact, and failed ones."""
    classes = Classes(
        ("with contact", _NO_CONTACT[0], "failed"),
        ("#00000000", _NO_CONTACT[1], colours.FAILED),
    )
    members = [np.select([force > 0, force == 0], [0, 1], 2) for force in forces]
    return Sorting(classes, tuple(members))


def _chart(plane: Plane, runs: Sequence[Run], layers) -> Chart:
    title = runs[plane.number].name if len(runs) > 1 else ""
    return Chart(plane.x, plane.y, tuple(layers), title)


def _picture(name, title, text, charts, runs, shares: tuple[Share, ...]) -> Picture:
    plane = planes(runs)[0]
    seen = [share for share in shares if sum(share.counts)]
    total = runs[0].size
    words = ", ".join(f"{share.name}: {share.counts[0]} of {total}" for share in seen)
    over = f"{readable(plane.x_path)} and {readable(plane.y_path)}"
    alt = f"{title} over {over}. {words or text}"
    return Picture(
        name,
        title,
        text + plane.thinned,
        alt,
        tuple(charts),
        tuple(seen),
        plane.choice,
        plane.slices,
    )
