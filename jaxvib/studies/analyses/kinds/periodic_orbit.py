"""The study `periodic_orbit`: the steady state of each sample."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from .... import orbits, systems
from ....drawing import colours
from ....ensemble import Reason, undecided
from ...config import samples as sampling
from ...config.tables import Table, option
from ...pictures.curves import amplitude_curves, sweep_curves
from ...pictures.motion import motion, work_rates
from ...pictures.picture import Chart, Classes, Picture, Points, Scale, Share
from ...pictures.regimes import (
    Sorting,
    change_maps,
    motion_name,
    period_of,
    periodic,
    regimes_text,
    sort_by_regime,
    sort_by_verdict,
    touching,
)
from ...pictures.swept_planes import Plane, axis, long_paths, planes
from ...resources import library
from ...store.fields import Variable, from_fields, variables
from ...store.finished_study import Run, readable
from ...store.subsample import evenly_chosen
from ..study_kind import Role, StudyKind, at, strongest

laws = library("systems.base.law")
rubbing = library("systems.contacts.annular")


class Options(Table):
    """Longest period, engine and number of stored motions."""

    kind: Literal["periodic_orbit"] = option("the kind of analysis")
    period: float | None = option(
        "only for systems under constant loads: approximate period of the motions, from "
        "which limit cycles are found", None, gt=0.0, unit="s", allowed="(0, inf) s",
    )  # fmt: skip
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    engine: Literal["auto", "diffrax", "event"] = option("engine of the simulation", "auto")
    traces: int = option("motions stored over one period", 256, ge=0, le=4096)


_TRACE_POINTS = 128  # of a stored motion, denser where it bends


def compute(
    system, samples, options: Options, run, progress, number=None
) -> dict[str, Variable]:
    """Return the orbits of samples, each field along the axis `sample`.

    `number`: total number of samples, which decides on the engine.
    """
    number = number or len(next(iter(samples.values())))
    engine, why = orbits.transient_engine(
        system, options.engine, number, options.max_periods
    )
    settings = orbits.SettlingSettings(
        None, options.max_periods, run.rtol, run.evidence, options.engine
    )
    found = orbits.regimes(
        system, samples, settings=settings, number=number, progress=progress,
        period=options.period,
    )  # fmt: skip
    fields = variables(found, ("sample",))
    notes = {"engine of transients": f"{engine} ({why})"}
    return fields | {"result": dataclasses.replace(fields["result"], notes=notes)}


def traces(system, samples, study, read) -> dict[str, Variable]:
    """Return the time histories of an even subsample over one period.

    Nothing if `traces` is 0.
    """
    grid = sampling.grid_of(study.sampling, study.paths)
    chosen = evenly_chosen(study.samples, grid, study.analysis.traces)
    if study.sampling.how.refined:
        chosen = chosen[read("computed")[chosen] > 0]
    if not chosen.size:
        return {}
    here = {path: column[chosen] for path, column in samples.items()}
    known = from_fields(orbits.PeriodicOrbit, lambda name: read(name)[chosen])
    found = orbits.orbit_trajectories(system, here, known, points=_TRACE_POINTS)
    fields = {
        "sample": Variable(("trace",), chosen, "", "position along sample"),
        "times": Variable(("trace", "time"), found.times, "s", "time"),
        "states": Variable(("trace", "time", "state"), found.states, "", "state"),
        "contact_force": Variable(
            ("trace", "time", "contact"), found.contact_force, "N", "contact force"
        ),
    }
    if loses_power(system, here):
        rates = orbits.contact_work_rates(system, here, known)
        fields["work_rate"] = Variable(
            ("trace", "contact"), rates, "W", "mean power lost in the contact"
        )
    return fields


def loses_power(system: Any, paths: Iterable[str]) -> bool:
    """Return whether contacts have friction of their own, or damp elastic structures.

    `paths`: of the numbers that samples change.
    """
    contacts = system.contacts
    varied = (*paths, *dict(system.formulas))
    changes = any(path.endswith(".friction_coefficient") for path in varied)
    rubs = any(
        changes or contacts[c].friction_coefficient > 0 for c in rubbing.annular(contacts)
    )
    elastic = isinstance(getattr(system, "linear", None), systems.ElasticStructure)
    return rubs or (elastic and any(laws.is_damped(contact.law) for contact in contacts))


def summary(read: Callable, study: Any) -> list[str]:
    """Return the regimes with their shares, and the best and the worst sample."""
    codes = read("result")
    kinds, counts = np.unique(
        np.stack([codes, read("periods"), read("contacts"), read("contact_duration") > 0]),
        axis=1,
        return_counts=True,
    )
    shares: Counter[str] = Counter()
    for kind, count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        shares[motion_name(*kind[:3], bool(kind[3]))] += count
    most = shares.most_common(5)
    listed = [f"{_share(count, len(codes))} {name}" for name, count in most]
    rest = len(codes) - sum(count for _, count in most)
    listed += [f"{_share(rest, len(codes))} in {len(shares) - 5} other regimes"] * bool(
        rest
    )
    stable, largest = read("stable"), read("largest_multiplier")
    open_ = undecided(codes, stable)
    lines = [
        f"regimes    {', '.join(listed)}",
        f"stability  {np.mean(stable == 1):.1%} stable, {np.mean(stable == 0):.1%} "
        f"unstable, {int(open_.sum())} undecided{_why(codes[open_])}",
    ]
    if np.isfinite(largest).any():
        best = int(np.nanargmin(largest))
        lines.append(
            f"best       largest |multiplier| {largest[best]:.3g} at "
            f"{at(read, study, best)}"
        )
    # Over all samples with a value: aperiodic motions have forces too.
    return lines + strongest(read, study, lambda sample: at(read, study, sample))


def _share(count: int, number: int) -> str:
    """Return a share with its standard error for independent random samples.

    Rounding may decide between chaotic and undecided motions, so that shares may differ
    by as much between machines.
    """
    share = count / number
    return f"{share:.1%} +- {np.sqrt(share * (1 - share) / number):.1%}"


def _why(codes) -> str:
    """Return the reasons of undecided samples with their counts."""
    counts = Counter(codes.tolist())
    words = {Reason.SUCCESS: "|multiplier| within its error of 1"}
    listed = [
        f"{count} {words.get(code) or Reason(code).motion.removesuffix(' (undecided)')}"
        for code, count in sorted(counts.items())
    ]
    return f" ({', '.join(listed)})" if listed else ""


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return maps over two long paths (or curves, scatter plots), and a motion."""
    run = runs[0]
    if len(long_paths(run)) > 1:
        found = [*maps(runs), amplitude_curves(runs)]
    elif len(run.paths) > 1 and not run.grid:
        found = scatters(runs)
    else:
        found = sweep_curves(runs) if run.paths else []
    found = [*found, *work_rates(runs)]
    one = motion(runs)
    return [*found, one] if one else found


_NO_CONTACT = ("no contact", colours.NO_CONTACT)


def maps(runs: Sequence[Run]) -> list[Picture]:
    """Return the maps of one or several grid studies, the most asked for first."""
    found = [regime_map(runs), *change_maps(runs), stability_map(runs)]
    if touching(runs):
        found[1:1] = [force_map(runs)]
        found.append(contacts_map(runs))
        if all(run.has("contact_duration") for run in runs):
            found.append(closed_map(runs))
    return found


def regime_map(runs: Sequence[Run]) -> Picture:
    """Return the map of periods and contacts."""
    sorting = sort_by_regime(runs)
    charts = [
        _chart(plane, runs, plane.cells(members.astype(float), sorting.classes))
        for plane, members in zip(planes(runs), sorting.members, strict=True)
    ]
    text = regimes_text(runs)
    return _picture("regimes", "Regimes", text, charts, runs, sorting.shares)


def stability_map(runs: Sequence[Run]) -> Picture:
    """Return the map of the largest Floquet multiplier's modulus."""
    sorting = sort_by_verdict(runs)
    moduli = [
        np.where(periodic(run) & (run.field("stable") == 1),
                 run.field("largest_multiplier"), np.nan)
        for run in runs
    ]  # fmt: skip
    scale = Scale("largest |multiplier| of stable orbits", "sea", _lowest(moduli), 1.0)
    return _picture(
        "stability",
        "Stability",
        "Modulus of the largest Floquet multiplier over the orbit's period: the "
        "closer to 1, the slower the decay of a disturbance. Samples without a stable "
        "orbit are coloured by class.",
        _numbers(runs, moduli, scale, sorting),
        runs,
        tuple(share for share in sorting.shares if share.name != "stable"),
    )


def force_map(runs: Sequence[Run]) -> Picture:
    """Return the map of the peak contact force, on a logarithmic scale."""
    forces = [run.field("max_contact_force") for run in runs]
    positive = [np.where(force > 0, force, np.nan) for force in forces]
    scale = Scale.over("peak contact force (N)", "cividis", positive, log=True, unit="N")
    others = _beside_numbers(runs, forces)
    return _picture(
        "peak_force",
        "Peak contact force",
        "The largest contact force over the orbit's period, also between "
        "steps. Logarithmic colour scale.",
        _numbers(runs, positive, scale, others),
        runs,
        others.shares[1:],
    )


def contacts_map(runs: Sequence[Run]) -> Picture:
    """Return the map of contacts per period, that of the load if it has one."""
    counted = f"per {period_of(runs)}"
    rates = [np.where(periodic(r), r.field("contacts_per_period"), np.nan) for r in runs]
    high = max([1.0, *(float(np.nanmax(r)) for r in rates if np.isfinite(r).any())])
    sorting = sort_by_regime(runs)
    return _picture(
        "contacts",
        "Contacts",
        f"Contact onsets {counted} of each periodic orbit: 1/2 is one contact in "
        "two periods. Aperiodic motions are coloured as in the regime map.",
        _numbers(runs, rates, Scale(f"contacts {counted}", "sea", 0.0, high), sorting),
        runs,
        tuple(share for share in sorting.shares if not share.name.startswith("period ")),
    )


def closed_map(runs: Sequence[Run]) -> Picture:
    """Return the map of the share of time in which contacts are closed."""
    shares = [
        np.where(periodic(run), run.field("contact_duration") / run.field("period"), np.nan)
        / max(len(run.study.get("axes", {}).get("contact", [])), 1)
        for run in runs
    ]
    scale = Scale("share of time in contact", "sea", 0.0, 1.0)
    return _picture(
        "closed_share",
        "Time in contact",
        "The share of the period in which a contact is closed, in the mean over the "
        "contacts: 1 for motions that never leave them.",
        _numbers(runs, shares, scale, sort_by_regime(runs)),
        runs,
        (),
    )


def _numbers(runs: Sequence[Run], values, scale: Scale, sorting: Sorting) -> list[Chart]:
    """Return charts of numbers, and of classes where there are none."""
    charts = []
    for plane, here, members in zip(planes(runs), values, sorting.members, strict=True):
        rest = np.where(np.isfinite(here), np.nan, members)
        layers = plane.cells(here, scale) + plane.cells(rest, sorting.classes)
        charts.append(_chart(plane, runs, layers))
    return charts


def _lowest(values: list[np.ndarray]) -> float:
    every = np.concatenate(values)
    low = every[np.isfinite(every)].min(initial=np.inf)
    return float(np.floor(10 * low) / 10) if np.isfinite(low) else 0.0


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


_MOST_PATHS = 4  # more would give too many pairs


def scatters(runs: Sequence[Run]) -> list[Picture]:
    """Return regime and peak force of samples over pairs of their paths."""
    sorting = sort_by_regime(runs)
    regimes = [members.astype(float) for members in sorting.members]
    forces = [np.where(run.failed, np.nan, run.field("max_contact_force")) for run in runs]
    moduli = [np.where(periodic(r), r.field("largest_multiplier"), np.nan) for r in runs]
    positive = [np.where(force > 0, force, np.nan) for force in forces]
    found = [
        _scatter(runs, regimes, sorting.classes, "regimes", "Regimes",
                 regimes_text(runs), sorting.shares),
        _scatter(runs, moduli, Scale.over("largest |multiplier|", "sea", moduli),
                 "stability", "Stability", "Modulus of the largest Floquet multiplier "
                 "over the orbit's period; periodic orbits only."),
    ]  # fmt: skip
    if touching(runs):
        scale = Scale.over(
            "peak contact force (N)", "cividis", positive, log=True, unit="N"
        )
        found.append(
            _scatter(runs, positive, scale, "peak_force", "Peak contact force",
                     "The largest contact force over the orbit's period; only samples "
                     "with contact are shown.")
        )  # fmt: skip
    return found


def _scatter(runs, values, paint, name, title, text, shares=()) -> Picture:
    paths = sorted(runs[0].paths[:_MOST_PATHS], key=lambda path: "frequency" not in path)
    pairs = list(itertools.combinations(paths, 2))
    charts = [
        _scatter_chart(run, number, pair, values[number], paint, run.name * (len(runs) > 1))
        for pair in pairs
        for number, run in enumerate(runs)
    ]
    over = " and ".join(", ".join(map(readable, pair)) for pair in pairs)
    alt = f"{title} of {runs[0].size} samples over {over}."
    return Picture(name, title, text, alt, tuple(charts), tuple(shares))


def _scatter_chart(
    run: Run, number: int, pair: tuple[str, str], values, paint, title
) -> Chart:
    samples = np.flatnonzero(np.isfinite(values)).astype(np.int32)
    x, y = pair
    places = run.field(x)[samples], run.field(y)[samples]
    points = Points(*places, values[samples], paint, samples, number)
    return Chart(axis(run, x), axis(run, y), (points,), title)


KIND = StudyKind(
    "periodic_orbit", Options, compute, summary, pictures,
    needs=frozenset({Role.PERIODIC}),
    sampled=True,
    needs_sample_count=True,
    groups={"traces": traces},
    smooth=frozenset({
        "amplitude", "contact_duration", "contacts_per_period", "largest_multiplier",
        "lyapunov_exponent", "max_contact_force", "period",
    }),
    sample_bytes=lambda options: 700.0,
)  # fmt: skip
