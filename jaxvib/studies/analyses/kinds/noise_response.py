"""The study `noise_response`: peaks, mean squares and first passages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from .... import transients
from ....ensemble import Reason
from ...config.tables import option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_lines import WIDTH, path_lines, slider_lines
from ...pictures.swept_planes import axis, long_paths, slider_samples
from ...resources import lazily, library
from ...store.fields import Variable, variables
from ...store.finished_study import Run, readable
from ..noises import Level, Shaken, check_levels, check_shaken
from ..study_kind import Known, Role, StudyKind, one_by_one, where

jnp = lazily("jax.numpy")
linear_parts = library("systems.linear_part")
loads = library("transients.ensemble")


class Options(Shaken):
    """Noise and limits."""

    kind: Literal["noise_response"] = option("the kind of analysis")
    limits: dict[str, Level] = option(
        "limits, for first-passage times", {},
        allowed="a table of limits, such as limits.stroke",
    )  # fmt: skip


# Fields per seed, with the axes that follow those of sample and seed.
_OF_SEEDS = ("peak", "peak_error", "mean_square", "max_contact_force", "contacts",
             "first_passage")  # fmt: skip


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return statistics over the noise samples, and the results of each."""
    limits = [level.limit(system) for level in options.limits.values()]
    found = transients.responses(
        system, options.load, options.laws(options.seeds), options.duration,
        limits=limits, rtol=run.rtol, engine=options.engine,
    )  # fmt: skip
    by_seed = variables(found, ("seed",))
    touching = np.mean(np.any(np.asarray(found.contacts) > 0, axis=-1))
    return {
        **variables(transients.statistics(found)),
        "linear_variance": Variable(
            ("state",), _linear_variance(system, options), "",
            "variance at the end by Lyapunov's equation, without contacts and frictions",
        ),
        "touching": Variable(
            (), np.asarray(touching), "", "share of the seeds that touch a contact"
        ),
        **{name: by_seed[name] for name in _OF_SEEDS if by_seed[name].values.size},
        "result": Variable(
            (), np.asarray(_code(np.asarray(found.result)), np.int32), "",
            "reason code: the first failure",
        ),
    }  # fmt: skip


def _code(results: np.ndarray) -> int:
    """Return the code of a sample: its first failure if over 10 % failed."""
    failed = np.flatnonzero(results)
    few = failed.size <= 0.1 * results.size
    return int(Reason.SUCCESS) if few else int(results[failed[0]])


def _linear_variance(system, options: Options) -> np.ndarray:
    """Return the exact variance of the state's linear part, NaN if there is none."""
    try:
        part = linear_parts.linear_part_alone(system)
    except ValueError:  # springs without a slope, or under static load
        return np.full(len(system.rest()), np.nan)
    load = system.loads[loads.load_place(system, options.load)]
    push = load.push(part.matrices()[0])
    found = transients.response_covariance(
        part, options.noise.process(), jnp.asarray(push), options.duration
    )
    return np.diag(np.asarray(found))


def summary(read: Callable, study: Any) -> list[str]:
    """Return peaks, root mean squares and passages of the sample with the highest peak."""
    names, options = study.axes["freedom"], study.analysis
    peak, error = read("mean_peak"), read("mean_peak_error")
    at = int(np.nanargmax(peak[:, 0])) if np.isfinite(peak[:, 0]).any() else 0
    here = where(read, study, at)
    lines = [
        f"peak       {name} "
        f"{study.quantity_text(unit, peak[at, i], digits=4, error=error[at, i])} on "
        f"average, root mean square "
        f"{study.quantity_text(unit, read('root_mean_square')[at, i], digits=4)}{here}"
        for i, (name, unit) in enumerate(
            zip(names[:2], study.freedom_units[:2], strict=True)
        )
    ]
    apart = (read("variance") - read("linear_variance"))[at] / read("variance_error")[at]
    if read("touching")[at] > 0:
        lines.append(f"contact    {read('touching')[at]:.1%} of the seeds have contact")
    elif np.isfinite(apart).all():
        worst = np.max(np.abs(apart))
        lines.append(
            f"linear     variances within {worst:.2g} standard errors of Lyapunov's"
        )
    for i, name in enumerate(list(options.limits)[:2]):
        share, spread = read("passed")[at, i], read("passed_error")[at, i]
        lines.append(
            f"passage    {name} reached by {share:.1%} +- {spread:.1%} of the seeds"
        )
    return lines


_MOST_POINTS = 400  # of a curve: the pixels of a chart


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return peaks and passages, and their change along a swept path."""
    run = runs[0]
    choice = slider_samples(run)[1]
    found = [_peaks(runs, choice)]
    if run.has("first_passage"):
        found.append(_passages(runs, choice))
    if len(long_paths(run)) == 1:
        found.append(_along(runs, long_paths(run)[0]))
    return found


def _peaks(runs, choice) -> Picture:
    lines = [
        Line(*_distribution(runs[number].field("peak")[sample, :, i]), **looks)
        for number, sample, i, looks in slider_lines(runs, "peak", "freedom")
    ]
    return Picture(
        "peaks",
        "Distribution of the peaks",
        "The share of the seeds whose largest displacement is at most the value on the "
        "axis, one line per degree of freedom.",
        "Distribution functions of the peaks.",
        (Chart(Axis("peak displacement (m)"), Axis("share of the seeds"), tuple(lines)),),
        choice=choice,
    )


def _passages(runs, choice) -> Picture:
    lines = []
    for number, sample, i, looks in slider_lines(runs, "first_passage", "limit"):
        run = runs[number]
        times, duration = run.field("first_passage"), float(run.options["duration"])
        for x, share, edge in _survival(times[sample, :, i], duration):
            line = Line(x, share, **looks)
            lines.append(replace(line, style="dot", legend=False) if edge else line)
    return Picture(
        "first_passages",
        "Survival",
        "The share of the seeds that have not reached a limit, over time; dotted: "
        "1.96 standard errors above and below.",
        "Shares of seeds below each limit over time.",
        (Chart(Axis("time (s)"), Axis("share below the limit", low=0.0, high=1.0),
               tuple(lines)),),
        choice=choice,
    )  # fmt: skip


def _along(runs, path: str) -> Picture:
    labels = {"mean_peak": "mean of the peaks (m)",
              "root_mean_square": "root mean square (m)"}  # fmt: skip
    charts = [
        Chart(axis(runs[0], path), Axis(label),
              tuple(path_lines(runs, path, field, f"{field}_error")))
        for field, label in labels.items()
    ]  # fmt: skip
    return Picture(
        "along",
        f"Peaks and mean squares over {readable(path)}",
        "Each point is an ensemble of the same seeds; dotted: 1.96 standard errors "
        "above and below.",
        f"Mean peaks and root mean squares over {readable(path)}.",
        tuple(charts),
        stacked=True,
    )


def _distribution(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the empirical distribution function of values, subsampled."""
    ordered = np.sort(values[np.isfinite(values)])
    share = np.arange(1, ordered.size + 1) / max(ordered.size, 1)
    some = np.linspace(0, ordered.size - 1, min(ordered.size, _MOST_POINTS)).astype(int)
    return ordered[some], share[some]


def _survival(times: np.ndarray, duration: float) -> Iterator[tuple]:
    """Return the survival function and its band: x, y, whether of the band."""
    known = times[~np.isnan(times)]
    x = np.linspace(0.0, duration, _MOST_POINTS)
    left = np.array([np.mean(known > time) for time in x])
    error = np.sqrt(left * (1 - left) / max(known.size, 1))
    for side in (0.0, -WIDTH, WIDTH):
        yield x, left + side * error, bool(side)


def _fits(options: Options, known: Known) -> None:
    check_shaken(options, known.system)
    check_levels(options.limits, known.system)


KIND = StudyKind(
    "noise_response", Options, one_by_one(compute), summary, pictures,
    needs=frozenset({Role.DRIVEN}),
    checks=(_fits,),
    axes=lambda options: {"limit": list(options.limits)} if options.limits else {},
    sample_bytes=lambda options: options.seeds * (80.0 + 16.0 * len(options.limits)),
)  # fmt: skip
