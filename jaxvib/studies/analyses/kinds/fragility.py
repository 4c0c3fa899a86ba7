"""The study `fragility`: probability of reaching a limit over noise intensity."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from .... import transients
from ....ensemble import Reason
from ...config.tables import option
from ...pictures.picture import Axis, Chart, Line, Notes, Picture
from ...pictures.swept_lines import named, path_lines
from ...pictures.swept_planes import axis, long_paths, sample_text
from ...resources import lazily
from ...store.fields import Variable, from_fields, variables
from ...store.finished_study import Run, readable
from ..noises import Level, Shaken, check_levels, check_shaken
from ..study_kind import Known, Role, StudyKind, one_by_one, where

jnp = lazily("jax.numpy")

_Positive = Annotated[float, Field(gt=0.0)]


class Options(Shaken):
    """Noise, intensities and limit."""

    kind: Literal["fragility"] = option("the kind of analysis")
    seeds: int = option(
        "noise samples per intensity, different at each intensity", 500, ge=2, le=1_000_000
    )
    intensities: list[_Positive] = option(
        "factors of the noise amplitude, ascending", min_length=2, max_length=1000,
        unit="", allowed="two or more ascending numbers above 0",
    )  # fmt: skip
    limit: Level = option("failure limit")


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return shares of failures along `intensity`, and the fitted curve."""
    levels, axes = np.asarray(options.intensities), ("intensity",)
    laws = transients.scaled(
        options.laws(levels.size * options.seeds),
        jnp.repeat(jnp.asarray(levels), options.seeds),
    )
    found = transients.responses(
        system, options.load, laws, options.duration, rtol=run.rtol,
        limits=[options.limit.limit(system)], engine=options.engine,
    )  # fmt: skip
    shape = levels.size, options.seeds
    reached = np.isfinite(found.first_passage[:, 0]).reshape(shape)
    good = (found.result == Reason.SUCCESS).reshape(shape)
    passed, trials = np.sum(reached & good, axis=1), np.sum(good, axis=1)
    curve = transients.fragility_curve(levels, passed.astype(float), trials.astype(float))
    share = passed / np.maximum(trials, 1)
    spread = np.sqrt(share * (1 - share) / np.maximum(trials, 1))
    error = np.nanmax(found.peak_error, initial=0.0)
    return {
        **variables(curve),
        "intensities": Variable(axes, levels, "", "factor of the noise"),
        "failures": Variable(axes, passed, "", "seeds that reach the limit"),
        "trials": Variable(axes, trials, "", "seeds whose motion did not fail"),
        "share": Variable(axes, share, "", "share of the seeds that reach the limit"),
        "share_error": Variable(axes, spread, "", "its standard error"),
        "extreme": Variable(
            (*axes, "seed"), np.asarray(found.extreme[:, 0]).reshape(shape), "m",
            "extreme value of the limited quantity",
        ),
        "largest_error": Variable(
            (), np.asarray(error), "m", "largest error of a peak, by tolerance"
        ),
    }  # fmt: skip


def summary(read: Callable, study: Any) -> list[str]:
    """Return the curve of each sample, at most five."""
    lines = []
    for sample in range(min(5, len(read("median")))):
        here = where(read, study, sample)
        if read("result")[sample]:
            lines.append(f"curve      no fit{here}")
            continue
        median, beta = read("median")[sample], read("dispersion")[sample]
        errors = read("median_error")[sample], read("dispersion_error")[sample]
        lines.append(
            f"curve      median {median:.4g} +- {errors[0]:.1g}, dispersion "
            f"{beta:.4g} +- {errors[1]:.1g}{here}"
        )
    return lines


_MOST_SAMPLES = 6  # curves in one picture
_POINTS = 200  # of a fitted curve


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the curves, and the medians along a swept path."""
    lines = []
    for number, run in enumerate(runs):
        count = min(run.size, _MOST_SAMPLES)
        samples = np.linspace(0, run.size - 1, count).astype(int).tolist()
        for colour, sample in enumerate(samples):
            words = sample_text(run, sample) if run.paths else "limit reached"
            name = named(words, run, runs)
            lines += _curve(run, sample, name, colour + number * count)
    limit = runs[0].options["limit"]
    found = [
        Picture(
            "fragility",
            "Fragility",
            "Marks are shares of the seeds that reach the limit, with 95 % intervals (1.96 "
            "standard errors); the curve is the maximum-likelihood lognormal fit, with its "
            "95 % band (dotted).",
            f"Probability of reaching {runs[0].quantity_text('m', limit['level'])} "
            "over the intensity.",
            (
                Chart(
                    Axis("intensity, factor of the noise", log=True),
                    Axis("probability of reaching the limit", low=0.0, high=1.0),
                    tuple(lines),
                ),
            ),
        )
    ]
    if len(long_paths(runs[0])) == 1:
        found.append(_medians(runs, long_paths(runs[0])[0]))
    return found


def _curve(run: Run, sample: int, name: str, colour: int) -> list:
    levels, share = run.field("intensities")[sample], run.field("share")[sample]
    width = 1.96 * run.field("share_error")[sample]
    numbers = zip(run.field("failures")[sample], run.field("trials")[sample], strict=True)
    texts = tuple(f"{reached} of {trials}" for reached, trials in numbers)
    lines: list = [Notes(levels, share, texts, "seeds", "circle")]
    for x, y, half in zip(levels, share, width, strict=True):
        lines.append(
            Line(
                np.array([x, x]), np.array([y - half, y + half]), name, colour, legend=False
            )
        )
    if run.field("result")[sample]:
        return lines
    curve = from_fields(
        transients.Fragility, lambda field: jnp.asarray(run.field(field)[sample])
    )
    x = np.geomspace(0.8 * levels[0], 1.25 * levels[-1], _POINTS)
    return lines + curve.lines(x, name, colour)


def _medians(runs: Sequence[Run], path: str) -> Picture:
    lines = tuple(path_lines(runs, path, "median", "median_error"))
    return Picture(
        "medians",
        f"The median intensity over {readable(path)}",
        "The intensity at which half of the seeds reach the limit; dotted: 1.96 "
        "standard errors above and below.",
        f"Median intensities over {readable(path)}.",
        (Chart(axis(runs[0], path), Axis("median intensity"), lines),),
    )


def _fits(options: Options, known: Known) -> None:
    pairs = zip(options.intensities, options.intensities[1:], strict=False)
    if not all(low < high for low, high in pairs):
        raise ValueError(f"intensities = {options.intensities} do not ascend")
    check_shaken(options, known.system)
    check_levels({"limit": options.limit}, known.system)


KIND = StudyKind(
    "fragility", Options, one_by_one(compute), summary, pictures,
    needs=frozenset({Role.DRIVEN}),
    checks=(_fits,),
    sample_bytes=lambda options: len(options.intensities) * (32.0 + 8.0 * options.seeds),
)  # fmt: skip
