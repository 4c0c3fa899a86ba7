"""Computes steady-state motions, time histories of some, and their summary."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ....ensemble import Reason, reason, undecided
from ....orbits import (
    PeriodicOrbit,
    SettlingSettings,
    contact_work_rates,
    orbit_trajectories,
    regimes,
    transient_engine,
)
from ....systems import ElasticStructure
from ....systems.annular import annular
from ....systems.law import is_damped
from ....systems.system import System
from ...config import samples
from ...pictures.regimes import regime_name
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ...store.subsample import evenly_chosen
from ..summary_text import at
from .kind import PeriodicOrbitOptions

_TRACE_POINTS = 128  # of a stored motion, denser where it bends


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: PeriodicOrbitOptions,
    run: Any,
    progress: Callable[[int], None],
    number: int | None = None,
) -> dict[str, Variable]:
    """Return the orbits of samples, each field along the axis `sample`.

    `number`: total number of samples, which decides on the engine.
    """
    number = number or len(next(iter(samples.values())))
    engine, why = transient_engine(system, options.engine, number, options.max_periods)
    orbits = regimes(
        system,
        samples,
        settings=SettlingSettings(
            None, options.max_periods, run.rtol, run.evidence, options.engine
        ),
        number=number,
        progress=progress,
        period=options.period,
    )
    fields = variables(orbits, ("sample",))
    notes = {"engine of transients": f"{engine} ({why})"}
    return fields | {"result": dataclasses.replace(fields["result"], notes=notes)}


def group(
    name: str,
    system: Any,
    values: Mapping[str, np.ndarray | Rows],
    study: Any,
    read: Callable,
) -> dict[str, Variable]:
    """Return the time histories of an even subsample over one period.

    Nothing if `traces` is 0.
    """
    grid = samples.grid_of(study.sampling, study.paths)
    chosen = evenly_chosen(study.samples, grid, study.analysis.traces)
    if study.sampling.how.refined:
        chosen = chosen[read("computed")[chosen] > 0]
    if not chosen.size:
        return {}
    declared = dataclasses.fields(PeriodicOrbit)
    names = [field.name for field in declared if "unit" in field.metadata]
    orbits = PeriodicOrbit(**{field: read(field)[chosen] for field in names})
    here = {path: column[chosen] for path, column in values.items()}
    traces = orbit_trajectories(system, here, orbits, points=_TRACE_POINTS)
    found = {}
    if loses_power(system, here):
        rates = contact_work_rates(system, here, orbits)
        found["work_rate"] = Variable(
            ("trace", "contact"), rates, "W", "mean power lost in the contact"
        )
    return found | {
        "sample": Variable(("trace",), chosen, "", "position along sample"),
        "times": Variable(("trace", "time"), traces.times, "s", "time"),
        "states": Variable(("trace", "time", "state"), traces.states, "", "state"),
        "contact_force": Variable(
            ("trace", "time", "contact"), traces.contact_force, "N", "contact force"
        ),
    }


def loses_power(system: Any, paths: Iterable[str]) -> bool:
    """Return whether contacts have friction of their own, or damp elastic structures.

    `paths`: of the numbers that samples change.
    """
    contacts = system.contacts
    varied = (*paths, *dict(system.formulas))
    changes = any(path.endswith(".friction_coefficient") for path in varied)
    rubs = any(changes or contacts[c].friction_coefficient > 0 for c in annular(contacts))
    elastic = isinstance(getattr(system, "linear", None), ElasticStructure)
    return rubs or (elastic and any(is_damped(contact.law) for contact in contacts))


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
        shares[_regime(*kind[:3], bool(kind[3]))] += count
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
    # Over all samples with a value: aperiodic motions have forces too.
    force = read("max_contact_force")
    if np.isfinite(largest).any():
        best = int(np.nanargmin(largest))
        lines.append(
            f"best       largest |multiplier| {largest[best]:.3g} at "
            f"{at(read, study, best)}"
        )
    if np.nan_to_num(force).max() > 0:
        worst = int(np.nanargmax(force))
        lines.append(
            f"worst      contact force "
            f"{study.quantity_text('N', force[worst], digits=4)} at "
            f"{at(read, study, worst)}"
        )
    return lines


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


def _regime(code, periods, contacts, touching) -> str:
    if code:
        if Reason(code).undecided:
            return "undecided"
        if code == Reason.EQUILIBRIUM:
            return Reason.EQUILIBRIUM.motion
        text = reason(code)
        name = text.removeprefix("converged to ").partition(",")[0]
        return name if Reason(code).motion else "failed"
    return regime_name(periods, contacts, touching)
