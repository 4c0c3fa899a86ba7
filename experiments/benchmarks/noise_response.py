"""Ten thousand samples of filtered noise on the damper of the main study.

    python -m experiments.benchmarks.noise_response [--seeds N]

The two bodies under white noise through a Kanai-Tajimi filter, 60 s from rest, each
motion computed twice (the second time at a hundred times the tolerance, for its error).
First with a gap that never closes: variances of the final states compared with
Lyapunov's equation, in standard errors. Then with the usual gap and steel contact:
peaks, passages of a limit, and the error of the motions; then a fragility curve of the
main body (`configs/fragility.toml`, 6000 motions of 30 s). Reported are wall time and
CPU time of all cores, including compilation, and the number of other running programs:
on a busy machine only CPU time is meaningful. Writes
`noise_response-<device>-<cores>.json`.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.transients import Limit, statistics

HERE = Path(__file__).parent
DURATION, HIGHEST = 60.0, 25.0
NOISE = jv.FilteredNoise.kanai_tajimi(2e4, 6.0, 0.4)
MAIN = np.array([1.0, 0.0])


def timed(function):
    """Return what a function returns, with what it took."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    clock, cores = time.perf_counter(), used()
    result = function()
    took = {
        "seconds": round(time.perf_counter() - clock, 2),
        "core seconds": round(used() - cores, 2),
        "others running": round(os.getloadavg()[0], 1),
    }
    return result, took


def rounded(values, digits=5):
    """Return numbers with so many digits, in lists."""
    return [float(f"{value:.{digits}g}") for value in np.ravel(values)]


def without_contact(seeds):
    """Return the variances beside those of the Lyapunov equation."""
    system = jv.two_body_impact(gap=50.0)
    found, took = timed(
        lambda: jv.responses(
            system, "load", NOISE.loads(HIGHEST, DURATION, range(seeds)), DURATION
        )
    )
    known = statistics(found)
    exact = np.diag(jv.response_covariance(system, NOISE, MAIN, DURATION))
    apart = (np.asarray(known.variance) - exact) / np.asarray(known.variance_error)
    return {
        **took,
        "contacts": int(np.sum(found.contacts)),
        "variances, m^2 and m^2/s^2": rounded(known.variance),
        "standard errors": rounded(known.variance_error, 2),
        "by Lyapunov": rounded(exact),
        "apart, standard errors": rounded(apart, 3),
        "failed": int(known.failed),
    }


def with_contact(seeds):
    """Return peaks and passages of the damper that collides."""
    system, limit = jv.two_body_impact(), Limit(MAIN, 0.15)
    found, took = timed(
        lambda: jv.responses(
            system,
            "load",
            NOISE.loads(HIGHEST, DURATION, range(seeds)),
            DURATION,
            limits=[limit],
        )
    )
    known = statistics(found)
    return {
        **took,
        "mean contacts": rounded(np.mean(found.contacts))[0],
        "mean peaks, m": rounded(known.mean_peak),
        "standard errors of them, m": rounded(known.mean_peak_error, 2),
        "root mean squares, m": rounded(known.root_mean_square),
        "share past 0.15 m": rounded(known.passed)[0],
        "standard error of it": rounded(known.passed_error, 2)[0],
        "median error of a peak, m": rounded(np.median(found.peak_error, axis=0), 2),
        "largest error of a peak, m": rounded(np.max(found.peak_error, axis=0), 2),
        "failed": int(known.failed),
    }


def fragility():
    """Return the curves of the ready study."""
    study = load(builtin_studies.folder() / "fragility.toml")
    kind, system = ANALYSES["fragility"], build(study)
    gaps = {"gap": np.asarray(study.paths["gap"].values)}
    run = study.analysis, study.run, lambda done: None
    fields, took = timed(lambda: kind.compute(system, gaps, *run))
    names = "median", "median_error", "dispersion", "dispersion_error"
    return {**took, "gaps, m": rounded(gaps["gap"]),
            **{name: rounded(fields[name].values) for name in names},
            "intensities": rounded(fields["intensities"].values[0]),
            "failures of 500": fields["failures"].values.tolist()}  # fmt: skip


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10_000)
    seeds = parser.parse_args().seeds
    found = machine()
    results = {"machine": found, "seeds": seeds, "seconds of each motion": DURATION}
    for part, measure in (
        ("without contact", lambda: without_contact(seeds)),
        ("with contact", lambda: with_contact(seeds)),
        ("fragility", fragility),
    ):
        results[part] = measure()
        print(part, json.dumps(results[part], indent=1), flush=True)
    if seeds == 10_000:
        file = HERE / f"noise_response-{found['device']}-{found['cores']}.json"
        file.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
